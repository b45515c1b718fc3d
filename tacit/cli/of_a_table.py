"""Commands on a table of records: the options that all of them share."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tacit.cli.options import (
    Bounds,
    Decimal,
    Delta,
    Encoding,
    Epsilon,
    Force,
    Json,
    LargeDelta,
    Levels,
    Local,
    Maps,
    MissingValues,
    Public,
    RecordsPerPerson,
    Seed,
    Separator,
    Sheet,
    SiteColumn,
    Sites,
    SitesPerPerson,
    StudyCopy,
    TableOutput,
    Useful,
)
from tacit.privacy.caution import DELTA

if TYPE_CHECKING:
    from tacit.study.reading import Reading


@dataclass(frozen=True)
class Given:
    """What these options say.

    Attributes:
        site: column that holds each record's site; `None` for simulated sites.
        sites: names of all sites; empty for those of the records.
        bounds: declared bounds, each COLUMN=LOW:HIGH.
        levels: declared levels, each COLUMN=A,B,...
        maps: other ways in which values are written, each COLUMN={...}.
        missing_values: values that mean a missing one in every column.
        privacy: keys of [privacy].
        seed: seed of the simulated noise; `None` for a drawn one.
        reading: options for reading the file.
        output: directory for the results.
        study: where to write the study file, if anywhere.
        force: whether to replace files.
        public: whether to also write a report from releases only.
        useful: whether an answer that is not worth having has an exit code of its own.
        json: whether to print one JSON document.
    """

    site: str | None
    sites: list[str]
    bounds: list[str]
    levels: list[str]
    maps: list[str]
    missing_values: list[str]
    privacy: dict[str, Any]
    seed: int | None
    reading: Reading
    output: Path | None
    study: Path | None
    force: bool
    public: bool
    useful: bool
    json: bool


def _gathered(
    site: SiteColumn = None,
    sites: Sites = None,
    epsilon: Epsilon = 1.0,
    delta: Delta = DELTA,
    large_delta: LargeDelta = False,
    bounds: Bounds = None,
    levels: Levels = None,
    maps: Maps = None,
    missing_values: MissingValues = None,
    separator: Separator = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
    sheet: Sheet = None,
    local: Local = False,
    records_per_person: RecordsPerPerson = 1,
    sites_per_person: SitesPerPerson = 1,
    seed: Seed = None,
    output: TableOutput = None,
    study: StudyCopy = None,
    force: Force = False,
    public: Public = False,
    fail_if_useless: Useful = False,
    json: Json = False,
) -> Given:
    from tacit.study.reading import Reading

    privacy: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "masks": not local}
    privacy |= {} if records_per_person == 1 else {"records_per_person": records_per_person}
    privacy |= {} if sites_per_person == 1 else {"sites_per_person": sites_per_person}
    privacy |= {"large_delta": True} if large_delta else {}
    return Given(
        site=site,
        sites=[] if sites is None else sites.split(","),
        bounds=bounds or [],
        levels=levels or [],
        maps=maps or [],
        missing_values=[] if missing_values is None else missing_values.split(","),
        privacy=privacy,
        seed=seed,
        reading=Reading(separator, encoding, decimal, sheet),
        output=output,
        study=study,
        force=force,
        public=public,
        useful=fail_if_useless,
        json=json,
    )


def of_a_table(command: Callable[..., int]) -> Callable[..., None]:
    """A command with these options, which it receives together as its argument `given`.

    Args:
        command: function of its own arguments and `given` that returns an exit code.
    """
    own = inspect.signature(command, eval_str=True).parameters
    shared = inspect.signature(_gathered, eval_str=True).parameters
    parameters = [
        each.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for each in (*(own[name] for name in own if name != "given"), *shared.values())
    ]

    def call(**named: Any) -> None:
        given = _gathered(**{name: named.pop(name) for name in shared})
        raise typer.Exit(command(**named, given=given))

    made: Any = call  # type checkers know no signature of functions
    made.__name__, made.__doc__ = command.__name__, command.__doc__
    made.__annotations__ = {each.name: each.annotation for each in parameters}
    made.__signature__ = inspect.Signature(parameters)  # which Typer reads the options off
    return made
