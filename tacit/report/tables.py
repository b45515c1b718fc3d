"""Numbers and tables as a report prints them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from typing import Any

from tacit.privacy.digits import rounded_up, short
from tacit.report.data import Row

HEADINGS = {
    "owner": "Site",
    "relation": "Adjacency",
    "query": "Query",
    "release": "Release",
    "noise_scale": "Noise scale",
    "noise_multiplier": "Noise multiplier",
    "charged": "Times charged",
    "coalition": "Most corrupted agents",
    "min_cohort": "Fewest agents per sum",
    "attempts": "Most sums",
    "objective_gap": "Objective gap",
    "consensus": "Disagreement",
    "epsilon": "Epsilon",
    "delta": "Delta",
    "auc": "AUC",
    "rmse": "RMSE",
    "agreed": "Agreed by the sites",
    "pooled": "Pooled, no privacy",
}
"""Headings that do not follow from the column name."""

COSTS = ("epsilon", "delta")
"""Columns whose numbers are rounded up, so that no cost is understated."""

_NUMBER = re.compile(r"[<-]?\d[\d.,]*(e[+-]?\d+)?")

NO_VALUE = "\N{EM DASH}"


@dataclass(frozen=True)
class Table:
    """A table ready to print.

    Attributes:
        headings: column headings.
        numeric: whether each column holds numbers, which are right-aligned.
        rows: cells as text.
        omitted: number of rows omitted to keep the page small.
        row_headings: whether the first cell of a row is its heading.
    """

    headings: tuple[str, ...]
    numeric: tuple[bool, ...]
    rows: tuple[tuple[str, ...], ...]
    omitted: int = 0
    row_headings: bool = False


def table(rows: Sequence[Row], most: int = 50) -> Table:
    """Rows as text, at most `most` of them; columns in the order in which they first appear.

    Example:
        >>> table([{"feature": "age", "agreed": 0.25}]).headings
        ('Feature', 'Agreed by the sites')
    """
    names = tuple(dict.fromkeys(name for row in rows for name in row))
    shown = rows[:most]
    return Table(
        headings=tuple(heading(name) for name in names),
        numeric=tuple(all(_aligned(row.get(name)) for row in rows) for name in names),
        rows=tuple(
            zip(*(_column([row.get(name) for row in shown], name) for name in names), strict=True)
        ),
        omitted=len(rows) - len(shown),
    )


def sideways(rows: Sequence[Row], key: str) -> Table:
    """The table transposed, one row per column: easier to read where cells hold much text.

    Example:
        >>> sideways([{"phase": "mix", "sender": "peer"}], "phase").rows
        (('Sender', 'peer'),)
    """
    names = [name for name in dict.fromkeys(n for row in rows for n in row) if name != key]
    return Table(
        headings=(heading(key), *(number(row.get(key)) for row in rows)),
        numeric=(False,) * (len(rows) + 1),
        rows=tuple(
            (heading(name), *(_cell(row.get(name), name) for row in rows)) for name in names
        ),
        row_headings=True,
    )


def heading(name: str) -> str:
    """A column's name in words."""
    if name in HEADINGS:
        return HEADINGS[name]
    words = name.replace("_", " ")
    return words[:1].upper() + words[1:]


def number(value: Any) -> str:
    """A value with four digits, thousands separators and no `nan`.

    Example:
        >>> number(20190), number(0.123456), number(1e-06), number(float("inf"))
        ('20,190', '0.1235', '1e-6', '∞')
    """
    if value is None:
        return NO_VALUE
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple):
        return ", ".join(number(item) for item in value)
    try:
        real = float(value)
    except (TypeError, ValueError):
        return str(value)
    if math.isnan(real):
        return NO_VALUE
    if math.isinf(real):
        return "\N{INFINITY}" if real > 0 else "\N{MINUS SIGN}\N{INFINITY}"
    if real == int(real) and abs(real) < 1e15:
        text = f"{int(real):,}"
    else:
        text = short(real, 4)
    return text.replace("-", "\N{MINUS SIGN}", 1) if text.startswith("-") else text


def cost(value: Any) -> str:
    """An epsilon or a delta: as `number` prints it, but rounded up.

    Example:
        >>> cost(1.00049), cost(2.0), cost(float("inf"))
        ('1.001', '2', '∞')
    """
    if value is None or not _is_number(value) or not 0.0 < float(value) < math.inf:
        return number(value)
    return rounded_up(float(value))


def _cell(value: Any, name: str) -> str:
    return cost(value) if name in COSTS else number(value)


def _column(values: Sequence[Any], name: str) -> list[str]:
    """The cells of a column, with the same number of decimals where four digits allow it."""
    if not all(_is_number(value) for value in values):
        return [_cell(value, name) for value in values]
    sizes = [abs(float(v)) for v in values if v is not None and math.isfinite(v) and v != 0]
    if not sizes or all(size == int(size) for size in sizes):
        return [_cell(value, name) for value in values]
    decimals = 3 - max(0, math.floor(math.log10(max(sizes))))
    if decimals < 1 or min(sizes) < 10.0 ** (1 - decimals):
        return [_cell(value, name) for value in values]
    if name in COSTS:
        values = [None if value is None else _raised(float(value), decimals) for value in values]
    return [
        f"{value:.{decimals}f}".replace("-", "\N{MINUS SIGN}")
        if value is not None and math.isfinite(value)
        else number(value)
        for value in values
    ]


def _raised(value: float, decimals: int) -> float:
    if not math.isfinite(value):
        return value
    return float(Decimal(repr(value)).quantize(Decimal(1).scaleb(-decimals), ROUND_CEILING))


def duration(seconds: float | int) -> str:
    """A time in words.

    Example:
        >>> duration(0.25), duration(75), duration(7200)
        ('0.25 s', '1 min 15 s', '2 h 0 min')
    """
    if seconds < 59.5:
        return f"{seconds:.2g} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _aligned(value: Any) -> bool:
    """Whether a cell is a number, or the text of one, such as "<0.001"."""
    return _is_number(value) or (isinstance(value, str) and bool(_NUMBER.fullmatch(value)))


def _is_number(value: Any) -> bool:
    if value is None:
        return True
    return not isinstance(value, str | list | tuple | bool) and hasattr(value, "__float__")
