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
from tacit.errors import ConfigError
from tacit.study._output import Destination
from tacit.study.fitting import Fit, fit_study
from tacit.study.read import parse_study
from tacit.study.reading import Reading

_EXAMPLES = {"bounds": "age=18:90", "levels": "sex=f,m", "share": "age=2"}


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
        check_free(study, force)
        folder = Path() if study is None else study.parent
        found = fit_study(
            data,
            formula,
            family=family,
            site=site,
            weights=weights,
            bounds={name: bounds_of(name, text) for name, text in pairs("bounds", bounds)},
            levels={name: text.split(",") for name, text in pairs("levels", levels)},
            privacy=privacy,
            method=method,
            run={"seed": seed},
            folder=folder,
            reading=reading,
        )
        return run_written(
            found,
            "fit",
            output=output,
            study=study,
            force=force,
            public=public,
            useful=useful,
            json=json,
        )

    return guarded(command, as_json=json)


def check_free(study: Path | None, force: bool) -> None:
    """Refuse to replace a study file that nobody asked to be replaced."""
    if study is not None and study.exists() and not force:
        raise ConfigError(
            f"study={str(study)!r} exists; give --force to replace it, or another name"
        )


def run_written(
    found: Fit,
    what: str,
    *,
    output: Path | None,
    study: Path | None,
    force: bool,
    public: bool,
    json: bool,
    useful: bool = False,
) -> int:
    """Run a study that was written from a table, with a warning for what was read off it.

    Args:
        found: the study.
        what: what it makes, in a word: the name of the directory if none is given.
        output: directory for the results.
        study: where to write the study file, if anywhere.
        force: whether to replace files.
        public: whether to also write a report from releases only.
        json: whether to print one JSON document.
        useful: whether an answer that is not worth having has an exit code of its own.
    """
    folder = Path() if study is None else study.parent
    source = parse_study(found.text, f"the study of this {what}", folder)
    for name, read in found.taken.items():
        print(_warning(name, read), file=sys.stderr)
    for told in found.told:
        print(f"WARNING: {told}. Declare it: --decimal ,", file=sys.stderr)
    if study is not None:
        study.write_text(found.text, encoding="utf-8")
    target = output if output is not None else free(Path(what))
    destination = Destination(target, force or output is None)
    return run_source(source, destination, None, public=public, useful=useful, json=json)


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


def pairs(option: str, given: Sequence[str]) -> list[tuple[str, str]]:
    """An option of the form COLUMN=VALUE, given several times."""
    found: list[tuple[str, str]] = []
    for each in given:
        name, equals, value = each.partition("=")
        if not (name and equals and value):
            raise ConfigError(
                f"{option}={each!r} must be a column and its {option}, as in {_EXAMPLES[option]}"
            )
        found.append((name, value))
    return found


def bounds_of(name: str, text: str) -> tuple[float, float] | tuple[date, date]:
    """Bounds of a number or of dates, from LOW:HIGH."""
    low, _, high = text.partition(":")
    with suppress(ValueError):
        return float(low), float(high)
    with suppress(ValueError):
        return date.fromisoformat(low), date.fromisoformat(high)
    raise ConfigError(
        f"bounds={name + '=' + text!r} must be two numbers or dates with a colon, as in "
        f"{name}=18:90 or {name}=2020-01-01:2024-12-31"
    )
