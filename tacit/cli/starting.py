"""`tacit init`: a commented study file for a table of the user's own."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tacit import checks
from tacit.cli.console import emit, guarded, noting, say
from tacit.cli.hinting import KEPT, of_codes, of_spellings
from tacit.cli.writing import check_free, check_study, write_text
from tacit.cli.written import maps_of
from tacit.data.columns import as_map
from tacit.study.draft_text import OPEN
from tacit.study.drafting import Draft, draft
from tacit.study.reading import Reading


def write_study(
    data: Path,
    output: Path,
    *,
    target: str | None,
    site: str | None,
    formula: str | None,
    family: Any,
    bounds_from_data: bool,
    reading: Reading,
    missing_values: Sequence[str],
    maps: Sequence[str],
    force: bool,
    json: bool,
) -> int:
    """Write the file; see `tacit init --help`."""

    def command() -> int:
        check_free("output", output, force=force, read={"the table": data})
        check_study("output", output)
        with noting():
            found = draft(
                data,
                folder=output.parent,
                target=target,
                site=site,
                formula=formula,
                family=family,
                bounds_from_data=bounds_from_data,
                reading=reading,
                missing_values=missing_values,
                maps=maps_of(maps),
            )
        write_text("output", output, found.text)
        if json:
            emit(
                {
                    "format": "tacit-init-1",
                    "study": str(output),
                    "target": found.target,
                    "site": found.site,
                    "to_declare": found.to_declare,
                    "bounds_from_data": bounds_from_data,
                    "decimal": found.reading.decimal,
                    "decimal_commas": list(found.decimal_commas),
                    "left_out": list(found.left_out),
                    "repeated": list(found.repeated),
                    "zero_one": list(found.zero_one),
                    "like_values": list(found.like_values),
                    "codes": {name: list(each) for name, each in found.codes.items()},
                    "far": {name: list(each) for name, each in found.far.items()},
                    "spellings": {name: dict(each) for name, each in found.spellings.items()},
                }
            )
        else:
            _tell(found, output, bounds_from_data=bounds_from_data, formula=formula is not None)
            if formula is None:
                say("For a regression with intervals instead: tacit init TABLE --formula FORMULA.")
        return 0

    return guarded(command, as_json=json)


def _tell(found: Draft, output: Path, *, bounds_from_data: bool, formula: bool) -> None:
    say(
        f"Wrote {output}: {found.used} of the table's {found.columns} columns, of which "
        f"{found.target!r} is to be predicted."
    )
    if found.like_values:
        shown = ", ".join(found.like_values[:5]) + (", ..." if found.like_values[5:] else "")
        say(
            f"WARNING: names of columns look like values ({shown}): is the line of names missing "
            "in the table? Then add it, and write the study again; what is in it now are values of "
            "a record."
        )
    if bounds_from_data:
        say(
            "WARNING: bounds and levels will be derived from the data and treated as public. "
            "Anybody who sees the study or the model learns the extremes of every column."
        )
    else:
        say(
            "Only the names and kinds of columns were used. Bounds are not derived from the data, "
            "because that would leak information: declare them as public numbers. "
            f"{found.to_declare} lines are marked '{OPEN.strip()}'."
        )
    if found.left_out:
        say(f"Left out, because they say who a record is about: {', '.join(found.left_out)}.")
    for name, codes in found.codes.items():
        texts = ", ".join(map(checks.shown, codes))
        say(
            f"NOTE: most values of {name} are numbers, but not {texts}. Declare codes of missing "
            "values by missing_values, and correct others in the table."
        )
    for name, numbers in found.far.items():
        say(f"NOTE: {of_codes(name, numbers)}: --missing-values {','.join(numbers)}")
    for name, alike in found.spellings.items():
        say(f"NOTE: {of_spellings(name, alike)}: --map {shlex.quote(f'{name}={as_map(alike)}')}")
    if found.far or found.spellings:
        say(KEPT)
    for name in found.repeated:
        say(
            f"NOTE: several records have the same {name}. What is protected is one record; for "
            "everything about a person, set records_per_person in [privacy] (and sites_per_person, "
            "only without masks and not between sites)."
        )
    if found.zero_one:
        family = " (of the target also --family gaussian)" if formula else ""
        say(
            f"NOTE: numbers that are 0 and 1 only are taken for no and yes: "
            f"{', '.join(found.zero_one)}. If one is a number, declare its bounds in place of "
            f"kind{family}."
        )
    if found.decimal_commas:
        say(
            f"NOTE: {', '.join(found.decimal_commas)} would be numbers with a decimal comma, and "
            "are text without one. If they are numbers: tacit init ... --decimal ,"
        )
    say(
        "The kinds of columns were read off the records, as `assumed` says in [data]: anybody who "
        "sees the study learns them. Delete what you know from a codebook."
    )
    fill = f"fill in the {found.to_declare} marked lines, then " if found.to_declare else ""
    say(f"Next: {fill}tacit run {output}")
