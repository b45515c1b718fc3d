"""`tacit fit`: one regression from a table and a formula."""

from __future__ import annotations

import math
import re
import shlex
import sys
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any

from tacit.cli.console import guarded
from tacit.cli.running import free, run_source
from tacit.cli.writing import check_free, write_text
from tacit.errors import ConfigError
from tacit.study._output import Destination
from tacit.study.fitting import fit_study
from tacit.study.read import parse_study
from tacit.study.reading import Reading


def fit_table(
    data: Path,
    formula: str,
    *,
    family: str,
    site: str | None,
    weights: str | None,
    bounds: Sequence[str],
    levels: Sequence[str],
    sites: Sequence[str],
    maps: Sequence[str],
    missing_values: Sequence[str],
    privacy: Mapping[str, Any],
    method: Mapping[str, Any],
    seed: int | None,
    reading: Reading,
    output: Path | None,
    study: Path | None,
    force: bool,
    public: bool,
    useful: bool,
    json: bool,
) -> int:
    """Fit the regression; see `tacit fit --help`."""

    def command() -> int:
        try:
            return fitted()
        except ConfigError as error:
            raise ConfigError(_of_options(str(error))) from error

    def fitted() -> int:
        for name in ("epsilon", "delta"):
            if not math.isfinite(privacy[name]):
                bound = "above 0 and finite" if name == "epsilon" else "above 0 and below 1"
                raise ConfigError(f"--{name} {privacy[name]} must be {bound}")
        if study is not None:
            check_free("study", study, force=force, read={"the table": data})
        folder = Path() if study is None else study.parent
        found = fit_study(
            data,
            formula,
            family=family,
            site=site,
            weights=weights,
            bounds={name: _bounds(name, text) for name, text in _pairs("bounds", bounds).items()},
            levels={name: text.split(",") for name, text in _pairs("levels", levels).items()},
            sites=sites,
            maps={name: _map(name, text) for name, text in _pairs("map", maps).items()},
            missing_values=missing_values,
            privacy=privacy,
            method=method,
            run={} if seed is None else {"seed": seed},
            folder=folder,
            reading=reading,
        )
        source = parse_study(found.text, _STUDY, folder)
        for name, what in found.taken.items():
            print(_warning(name, what), file=sys.stderr)
        if found.sites:
            each = ", ".join(f"{name} ({count:,})" for name, count in found.sites.items())
            print(
                f"WARNING: the sites were read off column {site}: {each}. A name that is written "
                f"in two ways makes two sites (--map). Declare all: --sites "
                f"{shlex.quote(','.join(found.sites))}",
                file=sys.stderr,
            )
        for told in found.told:
            print(f"WARNING: {told}. Declare it: --decimal ,", file=sys.stderr)
        if privacy.get("records_per_person", 1) == 1:
            for name in found.repeated:
                print(
                    f"NOTE: several records have the same {name}. What is protected is one record, "
                    "and intervals take records as independent; to protect all records of a "
                    "person: --records-per-person",
                    file=sys.stderr,
                )
        if study is not None:
            write_text("study", study, found.text)
        target = output if output is not None else free(Path("fit"))
        destination = Destination(target, force or output is None)
        return run_source(source, destination, None, public=public, useful=useful, json=json)

    return guarded(command, as_json=json)


_STUDY = "the study of this fit"

_OPTIONS = {
    "privacy.epsilon": "--epsilon",
    "privacy.delta": "--delta",
    "model.family": "--family",
    "model.weights": "--weights",
    "method.sums": "--sums",
    "partition.column": "--site",
    "run.seed": "--seed",
    "run.output": "--output",
}
"""The options that keys of that study come from."""


def _of_options(message: str) -> str:
    """An error about the study of a fit, which its user does not see, about options instead."""

    def named(found: re.Match[str]) -> str:
        section, key, given = found.groups(default="")
        option = _OPTIONS.get(f"{section}.{key or given}")
        kept = f"{given}=" if given else ""
        return f"{option} " if option else kept

    where = rf"(?m)^{_STUDY}(?::\d+)?: (?:\[([\w.]+)\] )?(?:(\w+): )?(?:(\w+)=)?"
    accepted = "large_delta = true in [privacy] (Privacy(large_delta=True))"
    return re.sub(where, named, message).replace(accepted, "--large-delta")


def _warning(name: str, what: str) -> str:
    option = "levels" if what.startswith("levels") else "bounds"
    example = "A,B,..." if option == "levels" else "LOW:HIGH"
    if what.startswith(("format", "words")):
        return (
            f"WARNING: the {what} of column {name}: read off the records, and assumed public. "
            "Anybody who sees the study learns how the column is written"
        )
    return (
        f"WARNING: the {what} of column {name} were read off the records and count as public: "
        f"anybody who sees the result learns them. Declare what is known without the records: "
        f"--{option} {shlex.quote(name)}={example}"
    )


_EXAMPLES = {
    "bounds": "age=18:90",
    "levels": "sex=f,m",
    "map": """'smoker={ "Y" = "yes", "?" = "" }'""",
}


def _map(name: str, text: str) -> dict[str, str]:
    with suppress(tomllib.TOMLDecodeError):
        found = tomllib.loads(f"map = {text}")["map"]
        if isinstance(found, dict) and found and all(isinstance(v, str) for v in found.values()):
            return found
    raise ConfigError(
        f"map={name + '=' + text!r} must name values and what they mean, as in {_EXAMPLES['map']}"
    )


def _pairs(option: str, given: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not (name and equals and value):
            raise ConfigError(
                f"{option}={each!r} must be a column and its {option}, as in {_EXAMPLES[option]}"
            )
        if name in found:
            raise ConfigError(
                f"--{option} is given twice for {name!r}, as {found[name]} and {value}; leave one "
                "of them out"
            )
        found[name] = value
    return found


def _bounds(name: str, text: str) -> tuple[float, float] | tuple[date, date]:
    low, _, high = text.partition(":")
    with suppress(ValueError):
        return float(low), float(high)
    with suppress(ValueError):
        return date.fromisoformat(low), date.fromisoformat(high)
    raise ConfigError(
        f"bounds={name + '=' + text!r} must be two numbers or dates with a colon, as in "
        f"{name}=18:90 or {name}=2020-01-01:2024-12-31"
    )
