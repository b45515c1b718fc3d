"""`tacit fit`: one regression from a table and a formula."""

from __future__ import annotations

import shlex
import sys
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
    privacy: Mapping[str, Any],
    method: Mapping[str, Any],
    seed: int,
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
        if study is not None:
            check_free("study", study, force=force)
        folder = Path() if study is None else study.parent
        found = fit_study(
            data,
            formula,
            family=family,
            site=site,
            weights=weights,
            bounds={name: _bounds(name, text) for name, text in _pairs("bounds", bounds)},
            levels={name: text.split(",") for name, text in _pairs("levels", levels)},
            privacy=privacy,
            method=method,
            run={"seed": seed},
            folder=folder,
            reading=reading,
        )
        source = parse_study(found.text, "the study of this fit", folder)
        for name, what in found.taken.items():
            print(_warning(name, what), file=sys.stderr)
        for told in found.told:
            print(f"WARNING: {told}. Declare it: --decimal ,", file=sys.stderr)
        if study is not None:
            write_text("study", study, found.text)
        target = output if output is not None else free(Path("fit"))
        destination = Destination(target, force or output is None)
        return run_source(source, destination, None, public=public, useful=useful, json=json)

    return guarded(command, as_json=json)


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


def _pairs(option: str, given: Sequence[str]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for each in given:
        name, equals, value = each.partition("=")
        if not (name and equals and value):
            raise ConfigError(
                f"{option}={each!r} must be a column and its {option}, as in "
                + ("age=18:90" if option == "bounds" else "sex=f,m")
            )
        found.append((name, value))
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
