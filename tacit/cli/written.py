"""Studies that a command writes from a table and its options, and runs."""

from __future__ import annotations

import math
import shlex
import sys
import tomllib
from collections.abc import Sequence
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import TypedDict

from tacit.cli.hinting import KEPT, of_codes, of_spellings
from tacit.cli.of_a_table import Given
from tacit.cli.pairs import pairs
from tacit.cli.running import free, run_source
from tacit.cli.writing import check_free, check_study, write_text
from tacit.data.columns import as_map
from tacit.errors import ConfigError
from tacit.study._output import Destination
from tacit.study.fitting import Fit
from tacit.study.read import parse_study

_EXAMPLES = {
    "bounds": "age=18:90",
    "levels": "sex=f,m",
    "map": """'smoker={ "Y" = "yes", "?" = "" }'""",
    "share": "age=2",
    "reference": "age=50",
}


def check_given(data: Path, given: Given) -> None:
    """Refuse what no study can be written from, before the table is read.

    Raises:
        ConfigError: a study in the place of a table, an epsilon or delta that a study cannot hold
            (infinite, or no number), names of sites without a column of them, or a study file that
            is there already.
    """
    from tacit.data.loaders import several

    if data.suffix == ".toml":
        raise ConfigError(f"{data} is a study, not a table; run it by: tacit run {data}")
    if given.sites and given.site is None and not several(data):
        raise ConfigError(
            f"--sites {','.join(given.sites)} names sites, and no column holds them; name it by "
            "--site, or leave --sites out"
        )
    for name in ("epsilon", "delta"):
        if not math.isfinite(given.privacy[name]):
            bound = "above 0 and finite" if name == "epsilon" else "above 0 and below 1"
            raise ConfigError(f"--{name} {given.privacy[name]} must be {bound}")
    if given.study is not None:
        check_free("study", given.study, force=given.force, read={"the table": data})
        check_study("study", given.study)


def run_written(
    found: Fit,
    what: str,
    given: Given,
    *,
    site: str | None,
    independent: str,
) -> int:
    """Run a study that was written from a table, with a warning for what was read off it.

    Args:
        found: the study.
        what: what it makes, in a word: the name of the directory if none is given.
        given: options of all commands on a table.
        site: column of sites, if there is one.
        independent: results for which records are taken as independent.
    """
    folder = Path() if given.study is None else given.study.parent
    source = parse_study(found.text, f"the study of this {what}", folder)
    for name, read in found.taken.items():
        print(_warning(name, read), file=sys.stderr)
    if found.sites:
        each = ", ".join(f"{name} ({count:,})" for name, count in found.sites.items())
        print(
            f"WARNING: the sites were read off column {site}: {each}. A name that is "
            "written in two ways makes two sites (--map). Counts are private. Declare all: --sites "
            f"{shlex.quote(','.join(found.sites))}",
            file=sys.stderr,
        )
    for told in found.told:
        print(f"WARNING: {told}. Declare it: --decimal ,", file=sys.stderr)
    if given.privacy.get("records_per_person", 1) == 1:
        for name in found.repeated:
            print(
                f"NOTE: several records have the same {name}. What is protected is one record, "
                f"and {independent} take records as independent; to protect all records of a "
                "person: --records-per-person, and if they are at several sites "
                "--sites-per-person, only with --local and not between sites",
                file=sys.stderr,
            )
    _tell_odd(found)
    if given.study is not None:
        write_text("study", given.study, found.text)
    target = given.output if given.output is not None else free(Path(what))
    destination = Destination(
        target, given.force or given.output is None, resumable=False, option=True
    )
    return run_source(
        source, destination, None, public=given.public, useful=given.useful, json=given.json
    )


def _tell_odd(found: Fit) -> None:
    """Say what looks like a mistake in the table, to the owner of its records."""
    for name, numbers in found.far.items():
        remedy = f"--missing-values {','.join(numbers)}"
        print(f"NOTE: {of_codes(name, numbers)}: {remedy}", file=sys.stderr)
    for name, alike in found.spellings.items():
        remedy = f"--map {shlex.quote(f'{name}={as_map(alike)}')}"
        print(f"NOTE: {of_spellings(name, alike)}: {remedy}", file=sys.stderr)
    if found.fractions:
        print(
            f"NOTE: {found.fractions:,} values of the target are no whole numbers, and the family "
            "is of counts: check that it is meant",
            file=sys.stderr,
        )
    if found.constant:
        print(
            f"NOTE: every record has {found.constant}, so there is nothing to learn of it: check "
            "the column, or its map",
            file=sys.stderr,
        )
    for pair in found.copies:
        print(
            f"NOTE: the files {pair} hold the same records, which count twice: if one is a copy, "
            "move it away",
            file=sys.stderr,
        )
    if found.far or found.spellings or found.fractions or found.constant or found.copies:
        print(KEPT, file=sys.stderr)


def _warning(name: str, what: str) -> str:
    option = "levels" if what.startswith("levels") else "bounds"
    example = "A,B,..." if option == "levels" else "LOW:HIGH"
    if what.startswith("kind"):
        return (
            f"WARNING: that column {name} holds true or false was read off the records and counts "
            f"as public. Declare it: --levels {shlex.quote(name)}=false,true"
        )
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


def by_column(option: str, given: Sequence[str]) -> dict[str, str]:
    """An option of the form COLUMN=VALUE, given several times."""
    return pairs(option, given, f"a column and its {option}, as in {_EXAMPLES[option]}")


class Declarations(TypedDict):
    """What options declare, by column."""

    bounds: dict[str, tuple[float, float] | tuple[date, date]]
    levels: dict[str, list[str]]
    maps: dict[str, dict[str, str]]


def declarations(bounds: Sequence[str], levels: Sequence[str], maps: Sequence[str]) -> Declarations:
    """Bounds, levels and maps by column, from options."""
    return Declarations(
        bounds={name: _bounds(name, text) for name, text in by_column("bounds", bounds).items()},
        levels={name: text.split(",") for name, text in by_column("levels", levels).items()},
        maps=maps_of(maps),
    )


def maps_of(given: Sequence[str]) -> dict[str, dict[str, str]]:
    """Maps by column, from options."""
    return {name: _map(name, text) for name, text in by_column("map", given).items()}


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


def _map(name: str, text: str) -> dict[str, str]:
    with suppress(tomllib.TOMLDecodeError):
        found = tomllib.loads(f"map = {text}")["map"]
        if isinstance(found, dict) and found and all(isinstance(v, str) for v in found.values()):
            return found
    raise ConfigError(
        f"map={name + '=' + text!r} must name values and what they mean, as in {_EXAMPLES['map']}"
    )
