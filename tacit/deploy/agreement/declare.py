"""What an owner declares about its records before a manifest is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tacit.deploy.agreement.records import (
    counts_are_public,
    odd_values,
    read_table,
    repeated_persons,
    unfit_records,
)
from tacit.errors import TacitError
from tacit.study._sections.data import site_column
from tacit.study.build import PER_SITE, method_of
from tacit.study.costs import own_cost, read_owner
from tacit.study.read import Source


@dataclass(frozen=True)
class Count:
    """The number of records an owner has for a study. Private: only `declare` is for others.

    Attributes:
        declare: number for the manifest.
        exact: whether it must be the exact number of records; otherwise it is an upper bound.
        records: number of records that remain.
        dropped: number of records left out because they lack a value.
        lacking: number of records dropped because they lack a value of a column, by column.
        moved: number of values beyond a declared bound, which are moved to it, by column.
        repeated: columns whose names say who a record is about, and of which several records have
            one value, where the study protects single records.
        unfit: number of records that do not fit the study, and what is wrong with the first; empty
            if all fit. Of a whole cost, why it cannot be evaluated.
        cost: whether the owner has a whole cost in place of records.
        far: by column of numbers, those far outside all others, which may be codes.
        spellings: by column of levels, those that differ from a more frequent one only in case or
            blanks, and that one.
    """

    declare: int
    exact: bool
    records: int
    dropped: int
    moved: Mapping[str, int]
    unfit: str
    repeated: tuple[str, ...] = ()
    lacking: Mapping[str, int] = field(default_factory=dict)
    cost: bool = False
    far: Mapping[str, Sequence[str]] = field(default_factory=dict)
    spellings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def count(source: Source, data: Path) -> Count:
    """Count an owner's records as a run would.

    Args:
        source: the study.
        data: file of the owner's records.

    Raises:
        ConfigError: columns that do not fit the study.
        ProblemError: a file that cannot be read.
    """
    if source.costs:
        unfit = ""
        try:
            own_cost(source, 0, read_owner(data))
        except TacitError as error:
            unfit = str(error)
        return Count(1, exact=True, records=1, dropped=0, moved={}, unfit=unfit, cost=True)
    from tacit.data.total import lacking

    table = read_table(source, data)
    total, of = table.total, len(table.frame)
    records = len(total.rows)
    exact = counts_are_public(source, _names(source))
    far, alike = odd_values(table)
    return Count(
        declare=records if exact else rounded(max(records, 1)),
        exact=exact,
        records=records,
        dropped=of - records,
        moved=total.moved,
        unfit=unfit_records(table),
        lacking=lacking(table.frame, table.declared),
        repeated=repeated_persons(source, table),
        far=far,
        spellings=alike,
    )


def rounded(count: int) -> int:
    """The next power of two: a number to declare where the exact one is private."""
    return 1 << (count - 1).bit_length()


def _names(source: Source) -> tuple[str, ...]:
    """Names of the sites, if the study has them; no name affects whether counts are public."""
    study = source.study
    if source.costs:
        return study.partition.names
    if site_column(study.partition) is not None and study.partition.sites:
        return tuple(map(str, study.partition.sites))
    per_site = {*PER_SITE, "normaliser", *method_of(source).per_site}
    for section in (study.privacy, study.method, study.problem):
        for key, value in section or ():
            if key not in per_site:
                continue
            if isinstance(value, Mapping):
                return tuple(map(str, value))
            if isinstance(value, tuple):
                return tuple(f"site {number}" for number in range(len(value)))
    return ("one", "another")
