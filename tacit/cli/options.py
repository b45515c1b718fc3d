"""Options that several commands share."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.privacy.caution import DELTA
from tacit.privacy.digits import short

OWN_TABLE = (
    "Records of your site: a table, or a TOML file that says how yours is written (path, decimal, "
    "columns, ...)."
)
"""Help of --data where each owner has a table."""


def positive(option: typer.CallbackParam, value: float | None) -> float | None:
    """Refuse a number while options are read, before a missing one is asked for.

    A nan passes: it is refused where the number is used, with all that it must be.
    """
    return _checked(option, value, value is None or not value <= 0.0, "positive")


def all_positive(option: typer.CallbackParam, value: list[str] | None) -> list[str] | None:
    """Likewise for lists of numbers; what is none is left to who knows what else it may be."""
    for text in value or ():
        for each in text.split(","):
            with contextlib.suppress(ValueError):
                among = f" (in {text!r}, commas separate values; write 0.5 with a point)"
                among = among if "," in text else ""
                _checked(option, float(each), not float(each) <= 0.0, "positive", among)
    return value


def at_least_one(option: typer.CallbackParam, value: int | None) -> int | None:
    """Likewise for a number of things."""
    _checked(option, value, value is None or value >= 1, "at least 1")
    return value


def share(option: typer.CallbackParam, value: float | None) -> float | None:
    """Likewise where it is no share."""
    return _checked(option, value, value is None or 0.0 < value < 1.0, "above 0 and below 1")


def rate(option: typer.CallbackParam, value: float | None) -> float | None:
    """Likewise where it is no share, which may be all."""
    return _checked(option, value, value is None or 0.0 < value <= 1.0, "above 0 and at most 1")


def small(option: typer.CallbackParam, value: float | None) -> float | None:
    """Likewise where it is no delta; whether one of 0 will do depends on the noise."""
    allowed = "at least 0 and below 1; a common choice is below one over the number of records"
    return _checked(option, value, value is None or not (value < 0.0 or value >= 1.0), allowed)


def _checked(
    option: typer.CallbackParam, value: float | None, passed: bool, allowed: str, among: str = ""
) -> float | None:
    if not passed:
        from tacit.errors import ConfigError

        raise ConfigError(f"{max(option.opts, key=len)} {value} must be {allowed}{among}")
    return value


Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
Force = Annotated[bool, typer.Option("--force", help="Replace existing files.")]
Public = Annotated[
    bool,
    typer.Option(
        "--public", help="Also write report_public.html, which is made of released values only."
    ),
]
Useful = Annotated[
    bool,
    typer.Option(
        "--fail-if-useless",
        help="Exit with code 5 if there is no answer, a regression has no intervals, or a model is "
        "no better than the base rate.",
    ),
]
TableFile = Annotated[
    Path,
    typer.Argument(
        metavar="TABLE",
        help="CSV (or .tsv), Excel (.xlsx) or Parquet file; in the first line the column names. In "
        "quotes 'folder/*.csv' for several files with a column `file` of their names.",
    ),
]
SiteColumn = Annotated[
    str | None,
    typer.Option(
        "--site",
        "-s",
        show_default=False,
        help="Column with the site that holds each record.  [default: four simulated sites]",
    ),
]
Bounds = Annotated[
    list[str] | None,
    typer.Option(
        "--bounds",
        "-b",
        metavar="COLUMN=LOW:HIGH",
        show_default=False,
        help="Public bounds of a number, e.g. age=18:90, or of dates (2020-01-01:2024-12-31); "
        "repeatable. Without, the records' own are taken, which leaks them.",
    ),
]
Levels = Annotated[
    list[str] | None,
    typer.Option(
        "--levels",
        "-l",
        metavar="COLUMN=A,B,...",
        show_default=False,
        help="Public levels of a column, e.g. sex=f,m, or ill=false,true of a yes or no; "
        "repeatable. Without, likewise.",
    ),
]
Sites = Annotated[
    str | None,
    typer.Option(
        "--sites",
        metavar="A,B,...",
        show_default=False,
        help="Names of all sites. Without, those of the records are taken, which leaks them.",
    ),
]
Maps = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        metavar="COLUMN={...}",
        show_default=False,
        help="Other ways in which levels or sites are written, as in a study: "
        '\'smoker={ "Y" = "yes", "?" = "" }\', where "" is missing; repeatable.',
    ),
]
MissingValues = Annotated[
    str | None,
    typer.Option(
        "--missing-values",
        metavar="A,B,...",
        show_default=False,
        help="Values that mean a missing one in every column, e.g. 999,n/a.",
    ),
]
RecordsPerPerson = Annotated[
    int,
    typer.Option(
        "--records-per-person",
        min=1,
        help="Maximum number of records of one person at a site; all are protected together.",
    ),
]
SitesPerPerson = Annotated[
    int,
    typer.Option(
        "--sites-per-person",
        min=1,
        help="Maximum number of sites with records of one person; more than 1 needs --local, and "
        "is refused between sites.",
    ),
]
Local = Annotated[
    bool,
    typer.Option("--local", help="Local noise: each site hides alone, without secure aggregation."),
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        min=0,
        show_default=False,
        help="Seed of the simulated noise: the same results every time, which no guarantee "
        "then covers.  [default: drawn]",
    ),
]
StudyCopy = Annotated[
    Path | None,
    typer.Option("--study", show_default=False, help="Also write the study file, for `tacit run`."),
]
Separator = Annotated[
    str | None,
    typer.Option(
        show_default=False,
        help="Column separator of a CSV file, e.g. ';'.  [default: found in the line of column "
        "names]",
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        show_default=False,
        help="Character encoding of a CSV file, e.g. cp1252.  [default: recognised]",
    ),
]
Decimal = Annotated[
    str | None,
    typer.Option(
        show_default=False,
        help="Decimal mark of numbers stored as text: . or ,  [default: read off the records]",
    ),
]
Sheet = Annotated[
    str | None,
    typer.Option(show_default=False, help="Sheet of an Excel workbook.  [default: the first]"),
]


def to_folder(written: str, default: str) -> Any:
    """The option --output.

    Args:
        written: what the directory is for, as a sentence.
        default: what is taken without the option.
    """
    said = f"{written}  [default: {default}]"
    return typer.Option("--output", "-o", show_default=False, help=said)


Output = Annotated[Path | None, to_folder("Directory for the results.", "the study's own")]
TableOutput = Annotated[
    Path | None,
    to_folder("Directory for the results.", "named after the command, with -2, -3 ... if taken"),
]
Size = Annotated[
    int | None,
    typer.Option(
        "--size",
        min=1,
        show_default=False,
        help="Make the number of records private (add/remove adjacency): a public number near that "
        "of a site.",
    ),
]
Edges = Annotated[
    str | None,
    typer.Option(
        "--edges",
        metavar="T,T,...",
        show_default=False,
        help="Inner ends of the intervals of time, e.g. 30,90,365.  [default: of equal length]",
    ),
]
StudyFile = Annotated[Path, typer.Argument(metavar="STUDY", help="Study file (TOML).")]
Epsilon = Annotated[
    float,
    typer.Option("--epsilon", "-e", callback=positive, help="Privacy budget of the whole run."),
]
Delta = Annotated[
    float,
    typer.Option(
        "--delta",
        "-d",
        callback=small,
        show_default=False,
        help=f"Delta for the whole run.  [default: {short(DELTA)}]",
    ),
]
Multiplier = Annotated[
    float,
    typer.Option(
        "--noise-multiplier", "-z", callback=positive, help="Noise scale divided by sensitivity."
    ),
]
Rounds = Annotated[
    int,
    typer.Option(
        "--rounds",
        "-r",
        callback=at_least_one,
        help="Number of rounds, with one release per round.",
    ),
]
Agents = Annotated[int, typer.Option("--agents", callback=at_least_one, help="Number of agents.")]
LargeDelta = Annotated[
    bool,
    typer.Option(
        "--large-delta", help="Accept a delta of one over the number of records (agents) or more."
    ),
]
