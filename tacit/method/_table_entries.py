"""The entries of a table of groups, from what was released."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tacit.data.cells import MISSING, Column
from tacit.data.factors import bounds_of
from tacit.method import _table_tests as tests
from tacit.method._table_margins import Cells
from tacit.method._table_rows import MOMENTS
from tacit.method._table_statistics import (
    COUNT,
    FIRST,
    NOTHING,
    Estimate,
    deviation,
    normal,
    quantile,
    ratio,
    variance,
)

OVERALL = "overall"
"""Name of all groups together."""

NOISE = "mostly noise"
"""Note on an entry that says hardly anything about the records."""

SUPPRESSED = "suppressed"
"""Note on an entry that is not shown."""

QUARTILES = {"median": 0.5, "q1": 0.25, "q3": 0.75}
"""Quantiles of a number, by name."""

_HALF = 0.5
"""Part of the declared range from which on an interval says hardly anything."""


class Entry(NamedTuple):
    """One number of a table.

    Attributes:
        variable: name of the column; "records" for numbers of records.
        level: level that is counted; empty for a statistic of the whole column.
        group: name of the group, "overall", or empty for a comparison of all groups.
        statistic: "n", "percent", "mean", "sd", "median", "q1", "q3", "p_value" or "smd".
        value: the number; not a number where it is not shown.
        standard_error: error due to the noise.
        lower: lower end of a 95 % interval for the noise.
        upper: upper end.
        note: "mostly noise", "suppressed", the name of a test, or why there is no number.
    """

    variable: str
    level: str
    group: str
    statistic: str
    value: float
    standard_error: float = math.nan
    lower: float = math.nan
    upper: float = math.nan
    note: str = ""


@dataclass(frozen=True)
class Released:
    """Everything that is known of one column.

    Attributes:
        column: the column.
        cells: its levels, or the parts of a number, in every group.
        intervals: counts in equal intervals of a number, if its quantiles are asked for.
        edges: ends of these intervals.
    """

    column: Column
    cells: Cells
    intervals: Cells | None = None
    edges: tuple[float, ...] = ()


def entries(
    counts: Cells, columns: Sequence[Released], groups: Sequence[str], least: float
) -> Iterator[Entry]:
    """All entries, column by column.

    Args:
        counts: number of records of every group.
        columns: what is known of the columns.
        groups: names of the groups; empty for all records together.
        least: number of records below which a count is not shown.
    """
    for name, total in _over(counts, groups):
        number = normal(float(total.values[0, 0]), float(total.noise[0, 0]))
        yield _count("records", "", name, number, least)
    for each in columns:
        yield from (_levels if each.column.levels else _number)(each, groups, least)


def _over(cells: Cells, groups: Sequence[str]) -> Iterator[tuple[str, Cells]]:
    """The cells of all records, and of each group."""
    yield OVERALL, cells.overall
    for place, name in enumerate(groups):
        yield name, Cells(cells.values[place : place + 1], cells.noise)


def _entry(variable: str, level: str, group: str, statistic: str, e: Estimate, note: str) -> Entry:
    return Entry(variable, level, group, statistic, *e, note)


def _count(variable: str, level: str, group: str, found: Estimate, least: float) -> Entry:
    if least and found.value < least:
        return _entry(variable, level, group, "n", NOTHING, SUPPRESSED)
    noisy = found.error > 0.0 and found.lower <= 0.0
    return _entry(variable, level, group, "n", found, NOISE if noisy else "")


def _share(
    variable: str, level: str, group: str, cells: Cells, place: int, of: np.ndarray, least: float
) -> Iterator[Entry]:
    """Number and percentage of the records in one cell."""
    row, unit = cells.values[0], np.eye(len(cells.values[0]))[place]
    counted = _count(
        variable, level, group, normal(float(row[place]), float(cells.noise[place, place])), least
    )
    yield counted
    share = NOTHING if counted.note == SUPPRESSED else ratio(row, cells.noise, unit, of)
    yield _entry(variable, level, group, "percent", share.moved(0.0, 100.0), counted.note)


def _levels(each: Released, groups: Sequence[str], least: float) -> Iterator[Entry]:
    column = each.column
    size = len(column.levels)
    known = np.ones(size)
    known[len(_named(column.levels)) :] = 0.0
    for place, level in enumerate(column.levels):
        of = known if known[place] else np.ones(size)
        for name, cells in _over(each.cells, groups):
            yield from _share(column.name, level, name, cells, place, of, least)
    if compared := _compared(each.cells.part(0, int(known.sum())), groups):
        yield _test(column.name, tests.levels_differ(compared))
        yield Entry(column.name, "", "", "smd", tests.level_difference(compared))


def _number(each: Released, groups: Sequence[str], least: float) -> Iterator[Entry]:
    column = each.column
    low, high = bounds_of(column)
    centre, unit = (low + high) / 2.0, (high - low) / 2.0
    moments = each.cells.part(0, MOMENTS)
    for place, (name, cells) in enumerate(_over(moments, groups)):
        row, noise = cells.values[0], cells.noise
        hidden = bool(least) and float(COUNT @ row) < least
        mean = NOTHING if hidden else ratio(row, noise, FIRST, COUNT).moved(centre, unit)
        spread = NOTHING if hidden else deviation(variance(row, noise)).moved(0.0, unit)
        told = SUPPRESSED if hidden else _vague(mean, unit)
        yield _entry(column.name, "", name, "mean", mean, told)
        shown = not hidden and math.isnan(spread.value)
        vague = told or _vague_deviation(spread, unit)
        why = "the variance came out at 0 or below" if shown else vague
        yield _entry(column.name, "", name, "sd", spread, why)
        if each.intervals is None:
            continue
        counts = list(_over(each.intervals, groups))[place][1]
        size = len(each.edges) - 1
        for statistic, share in QUARTILES.items():
            found = NOTHING
            if not hidden:
                part = counts.part(0, size)
                found = quantile(part.values[0], part.noise, each.edges, share)
            vague = SUPPRESSED if hidden else _vague(found, unit)
            yield _entry(column.name, "", name, statistic, found, vague)
    if column.missing is not None:
        of = np.ones(each.cells.values.shape[1])
        for name, cells in _over(each.cells, groups):
            yield from _share(column.name, MISSING, name, cells, MOMENTS, of, least)
    if compared := _compared(moments, groups):
        yield _test(column.name, tests.means_differ(compared))
        yield Entry(column.name, "", "", "smd", tests.mean_difference(compared))


def _named(levels: Sequence[str]) -> Sequence[str]:
    """Levels without that of missing values, which is the last one."""
    return levels[:-1] if len(levels) > 1 and levels[-1] == MISSING else levels


def _compared(cells: Cells, groups: Sequence[str]) -> Cells | None:
    """The cells of the groups that are compared; `None` for fewer than two.

    Records without a group are none that anything is compared with.
    """
    size = len(_named(groups))
    return Cells(cells.values[:size], cells.noise) if size > 1 else None


def _vague(found: Estimate, unit: float) -> str:
    known = found.upper - found.lower < 2.0 * unit * _HALF
    return "" if known or found.error == 0.0 else NOISE


def _vague_deviation(found: Estimate, unit: float) -> str:
    """As `_vague`; a standard deviation is between 0 and `unit`."""
    known = found.lower > 0.0 and found.upper - found.lower < unit * _HALF
    return "" if known or found.error == 0.0 else NOISE


def _test(variable: str, found: tests.Found) -> Entry:
    return Entry(variable, "", "", "p_value", found.p_value, note=found.how)
