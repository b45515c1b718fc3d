"""Rules and small checks shared by the declarations of features and targets."""

from __future__ import annotations

import datetime
import math
import numbers
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np

from tacit import checks
from tacit.errors import ProblemError
from tacit.ranges import Key, Real

Number: TypeAlias = Annotated[Real | int, Key(float)]
"""A real number as people write it."""

_RULES = Literal["error", "drop", "middle", "indicator"]

Missing: TypeAlias = Annotated[_RULES | Real | int, Key(_RULES | float)]
"""Rule for a missing value.

`"error"`: the table is refused; `"drop"`: the record is left out; `"middle"`: the middle of the
declared bounds; `"indicator"`: the middle, and an additional 0/1 column; a number: that number.
"""

Statistics: TypeAlias = Literal["declared", "public"]
"""Source of constants: declarations only, or the data's own statistics, declared public."""

_LEVEL = str | int | float | bool

Levels: TypeAlias = Annotated[Sequence[Any], Key(tuple[_LEVEL, ...])]
"""Values of a column."""

Names: TypeAlias = Annotated[Sequence[Any], Key(tuple[str, ...])]
"""Names of sites, as in their column."""

Recoding: TypeAlias = Annotated[Mapping[Any, Any] | None, Key(dict[str, _LEVEL] | None)]
"""What values of a column are rewritten to, by value."""

Day: TypeAlias = Annotated[datetime.date | str, Key(datetime.date | str)]
"""A date, as one or as text in ISO 8601."""

OneOrMore: TypeAlias = Annotated[Any, Key(_LEVEL | tuple[_LEVEL, ...])]
"""A value of a column, or several."""

_LEVELS = (str, bool, numbers.Real, np.generic, datetime.date)
"""Types of a level; a time is a date, too."""

WORDS = (
    ("true", "false"),
    ("yes", "no"),
    ("y", "n"),
    ("t", "f"),
    ("ja", "nein"),
    ("j", "n"),
    ("wahr", "falsch"),
    ("oui", "non"),
    ("vrai", "faux"),
    ("sí", "no"),
    ("si", "no"),
    ("sì", "no"),
    ("verdadero", "falso"),
    ("vero", "falso"),
    ("ja", "nee"),
    ("sim", "não"),
)
"""Words for true and false, in pairs: of English, German, French, Spanish, Italian and others."""

TRUTHS = {word: float(truth) for pair in WORDS for word, truth in zip(pair, (1, 0), strict=True)}
"""The number for each word."""

_DECIMAL = re.compile(r"\s*([-+]?)(\d+)(?:\.(\d*))?\s*", re.ASCII)

MANY_MOVED = 0.05
"""Share of the records from which values beyond the bounds of a column are told."""


def level_key(value: object) -> str:
    """Text by which values are compared, the same however their column was read.

    Numbers compare by value, even when written as text: 1, 1.0, "1" and "01.0" are one level. So
    are True, "True" and "TRUE"; all other texts are compared unchanged.
    """
    if isinstance(value, float | np.floating) and np.isfinite(value):
        value = np.format_float_positional(value, trim="-")
    text = str(value)
    number = _DECIMAL.fullmatch(text)
    if number is None:
        return {"true": "True", "false": "False"}.get(text.strip().lower(), text)
    sign, whole, fraction = number[1], number[2].lstrip("0") or "0", (number[3] or "").rstrip("0")
    plain = f"{whole}.{fraction}" if fraction else whole
    return f"-{plain}" if sign == "-" and plain != "0" else plain


def as_levels(value: Any) -> tuple[Any, ...]:
    """One value or several as a tuple."""
    several = isinstance(value, Iterable) and not isinstance(value, str)
    return tuple(value) if several else (value,)


def check_levels(levels: Iterable[Any], name: str = "levels") -> tuple[Any, ...]:
    """The levels as a tuple; refuses an empty list, a missing value, and a repeated level."""
    levels = tuple(levels)
    if not levels:
        raise ProblemError(f"{name} is empty: declare at least one value")
    seen: set[str] = set()
    for level in levels:
        if not (level is None or isinstance(level, _LEVELS)):
            raise ProblemError(
                f"{name} holds {checks.shown(level)}: values of a column are text, numbers, truth "
                "values or dates"
            )
        if level is None or level != level:
            raise ProblemError(f"{name} holds {level!r}: missing values have their own rule")
        if level_key(level) in seen:
            raise ProblemError(f"{name}={levels!r} holds {level!r} twice; name each once")
        seen.add(level_key(level))
    return levels


def check_recoding(recoding: Mapping[Any, Any] | None, levels: Iterable[Any] | None) -> None:
    """Refuse to recode a value to one that is not declared; the empty text means missing."""
    if recoding is None:
        return
    if not recoding:
        raise ProblemError("map is empty: give values and what they are rewritten to, or leave it")
    check_levels(recoding, "map")
    known = None if levels is None else {level_key(level) for level in levels}
    for value, level in recoding.items():
        if not isinstance(level, _LEVELS):
            raise ProblemError(
                f"map: {checks.shown(value)} becomes {checks.shown(level)}; values of a column are "
                "text, numbers, truth values or dates, and '' means a missing one"
            )
        if known is not None and level != "" and level_key(level) not in known:
            raise ProblemError(
                f"map: {checks.shown(value)} becomes {checks.shown(level)}, which is not among the "
                "declared values; declare it"
            )


def check_codes(codes: Any, levels: Iterable[Any] | None = None) -> tuple[Any, ...]:
    """The values that stand for a missing one, as a tuple; refuses one that is a level, too."""
    if isinstance(codes, str):
        raise ProblemError(f"missing_values={codes!r} must be a list, as in [{codes!r}]")
    if not (codes := tuple(codes)):
        return codes
    check_levels(codes, "missing_values")
    known = {level_key(level) for level in levels or ()}
    for code in codes:
        if level_key(code) in known:
            raise ProblemError(f"missing_values holds {code!r}, which is a declared value, too")
    return codes


def check_missing(rule: Any) -> None:
    """Refuse a rule for missing values that does not exist."""
    if rule is None or rule in ("error", "drop", "middle", "indicator"):
        return
    number = isinstance(rule, int | float) and not isinstance(rule, bool)
    if not (number and math.isfinite(rule)):
        raise ProblemError(
            f"missing={rule!r} must be 'error', 'drop', 'middle', 'indicator' or a finite number"
        )


def is_public(value: str) -> bool:
    """Whether the data's own statistics are declared public."""
    if value not in ("declared", "public"):
        raise ProblemError(f"statistics={value!r} must be 'declared' or 'public'")
    return value == "public"


def check_finite(name: str, value: Any) -> None:
    """Refuse an infinite number or NaN; `None` passes."""
    if value is not None and not math.isfinite(value):
        raise ProblemError(f"{name}={value!r} must be a finite number")


def check_order(low_name: str, low: Number | None, high_name: str, high: Number | None) -> None:
    """Refuse two numbers that are not in order; `None` passes."""
    if low is not None and high is not None and not low < high:
        raise ProblemError(f"{low_name}={low!r} must be below {high_name}={high!r}")
