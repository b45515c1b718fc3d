"""Widths of a table 1: noise alone, as in the intervals of counts, shares, means and deviations.

Groups and levels are taken for equally frequent, numbers for uniform between their bounds, and no
value for missing. A table is made of the cells that these give, and its intervals are taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np

from tacit.advise.widths import AWAY, Width, check_share, enough, noise_in_sum, word
from tacit.arguments import checked
from tacit.data.cells import MISSING, Column
from tacit.errors import ConfigError
from tacit.method._table_entries import OVERALL, Entry
from tacit.method.table_one import PrivateTableOne
from tacit.privacy.budget import Privacy

_SHOWN = {"percent": "share of", "mean": "mean of", "sd": "standard deviation of"}

_Key = tuple[str, str, str, str]


@checked(ConfigError)
def table_widths(
    method: PrivateTableOne, counts: Sequence[int], budget: Privacy, yes: float = 0.3
) -> list[Width]:
    """The widths of a table 1, of all records and of one of its equal groups.

    Args:
        method: the table, with the budget.
        counts: number of records of each site.
        budget: budget of the table.
        yes: share of yes in columns of yes or no, in (0, 1).

    Raises:
        ConfigError: a budget of which nothing is forecast.
    """
    check_share("yes", yes)
    records, noise = sum(counts), noise_in_sum(counts, budget)

    @cache
    def at(factor: float) -> Mapping[_Key, Entry]:
        return _entries(method, factor * records, noise, yes)

    def shown(key: _Key, factor: float, away: float) -> bool:
        entry = at(factor)[key]
        if entry.statistic in ("n", "percent"):
            # a count is marked where its interval reaches 0
            count = at(factor)[(*key[:3], "n")]
            lowest = count.lower + away * count.standard_error
            return lowest > 0.0
        held = at(factor)["records", "", key[2], "n"]
        moved = at(max(factor * (1.0 + away * held.standard_error / held.value), 1e-6))[key]
        return moved.note == "" and np.isfinite(moved.value)

    found: list[Width] = []
    for key in at(1.0):
        variable, level, group, statistic = key
        first = "" if method.by is None else method.by.levels[0]
        if group not in (OVERALL, first) or level == MISSING or statistic in ("q1", "q3"):
            continue
        if statistic == "n" and variable != "records":
            continue
        entry = at(1.0)[key]
        what = f"{_SHOWN.get(statistic, statistic + ' of')} {variable}"
        what = f"{what} = {level}" if level else what
        what = "number of records" if variable == "records" else what
        whole = what if group == OVERALL else f"{what}, a group"
        found.append(
            Width(
                whole,
                max(entry.upper - entry.value, entry.value - entry.lower),
                float("nan"),
                word(lambda away, key=key: shown(key, 1.0, away)),
                enough(records, lambda factor, key=key: shown(key, factor, -AWAY)),
            )
        )
    return found


def _entries(
    method: PrivateTableOne, records: float, noise: float, yes: float
) -> Mapping[_Key, Entry]:
    """The entries of a table of assumed records, with the errors of the noise."""
    query = method.query
    groups = _shares(method.by, 0.5) if method.by is not None else np.ones(1)
    parts: list[np.ndarray] = []
    for (column, _), block in zip(method.asked, query.blocks, strict=True):
        if column.levels:
            shares = _shares(column, yes)
        else:
            # `(1 - z)^2 / 4`, `(1 - z^2) / 2` and `(1 + z)^2 / 4` of a uniform z, or equal bins
            size = block.length // len(groups) - (column.missing is not None)
            shares = np.full(size, 1.0 / size)
            shares = shares if column.missing is None else np.append(shares, 0.0)
        parts.append(records * np.outer(groups, shares).ravel())
    table = method.told(parts, query.spread(noise), 1, 1)
    return {entry[:4]: entry for entry in table.entries}


def _shares(column: Column, yes: float) -> np.ndarray:
    """Assumed share of each level of a column; none of a missing value."""
    named = [each for each in column.levels if each != MISSING]
    plain = len(named) == 2 and tuple(named) == ("false", "true")
    shares = [1.0 - yes, yes] if plain else [1.0 / len(named)] * len(named)
    return np.array(shares + [0.0] * (len(column.levels) - len(named)))
