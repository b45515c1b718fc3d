"""Declarations of columns that nobody has declared, read off the records.

They hold what private records hold, so whoever uses them says so: by a warning, and by an
assumption of the guarantee.
"""

from __future__ import annotations

import datetime
import math
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit import checks
from tacit.data.columns import (
    column_of,
    infinite,
    others,
    read_numbers,
    show,
    where,
    with_comma,
)
from tacit.data.dates import FORMATS, formats_of, read_dates
from tacit.data.feature import Boolean, Categorical, Date, Feature, Numeric
from tacit.data.guessing import MANY, columns_there, guess_kinds, kind_of
from tacit.data.rules import level_key
from tacit.data.table import check_any
from tacit.errors import ConfigError, ProblemError

if TYPE_CHECKING:
    import pandas as pd

_POSITIVE = ("poisson", "negative_binomial", "gamma")
"""Families whose targets are known to be at least 0."""


_A_WEIGHT, _A_COUNT = "a weight", "a target of this family"

_THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:([.,' ])\d{3})(?:\1\d{3})*(?:[.,]\d+)?")
"""Numbers whose digits are in groups of three."""

_UNIT = re.compile(r"[+-]?\d[\d.,]*\s*[^\W\d_][^\d]*|[<>~≤≥]\s*\d[\d.,]*")
"""Numbers with a unit behind them, or a sign before."""

_DAY = re.compile(r"[2-6]\d{4}(?:[.,]\d+)?")
"""Days since 1900, as Excel counts them in our time: 1954 to 2091."""

_EPOCH = datetime.date(1970, 1, 1)

_SHOWN = 5
"""Columns that a warning names."""


class PrivacyLeakWarning(UserWarning):
    """Something was read off the private records and is assumed to be public."""


@dataclass(frozen=True)
class Filled:
    """Declarations of all columns of a model.

    Attributes:
        features: declaration of each column.
        taken: what was read off the records, in words, by column: "bounds 20 to 80".
        told: what else was read off them, in words.
    """

    features: Mapping[str, Feature]
    taken: Mapping[str, str]
    told: tuple[str, ...] = ()

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What must be public for a guarantee to hold, in sentences."""
        others = (f"the {what} of column {name} {_were(what)}" for name, what in self.taken.items())
        each = (*(f"{told} was" for told in self.told), *others)
        return tuple(f"{what} read off the records: assumed public" for what in each)

    def warn(self, remedy: str, stacklevel: int) -> None:
        """Name what was read off the records, if anything was.

        Args:
            remedy: what declares it, such as "columns={'age': data.Numeric(18, 90)}".
            stacklevel: as for `warnings.warn`, counted from the caller.
        """
        shown = [*self.told, *(f"{what} of column {name}" for name, what in self.taken.items())]
        if not shown:
            return
        more = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
        warnings.warn(
            f"read off the records and assumed public: {'; '.join(shown[:_SHOWN])}{more}. Anybody "
            "who sees the result learns them; declare what is known without the records, as in "
            f"{remedy}",
            PrivacyLeakWarning,
            stacklevel=stacklevel + 1,
        )


def _plain_truths(column: pd.Series) -> bool:
    """Whether a column holds truth values, or the texts true and false, in which CSV has them."""
    return all(str(value).strip().lower() in ("true", "false") for value in column.dropna())


def _were(what: str) -> str:
    return "was" if what.startswith(("format", "kind")) else "were"


def filled(
    frame: pd.DataFrame,
    declared: Mapping[str, Feature],
    named: Mapping[str, bool],
    family: str,
    decimal: str = ".",
    weights: str | None = None,
) -> Filled:
    """The declarations of the columns that a formula names, with the missing ones read off.

    Args:
        frame: table of all records.
        declared: columns that are declared.
        named: columns of the formula, the target first, and whether it takes each by its levels.
        family: distribution of the target.
        decimal: decimal mark of numbers that the table holds as text.
        weights: column of weights, beside those of the formula.

    Raises:
        ProblemError: no records, or a column that the table does not have, that has no value or too
            many levels, or that mixes numbers with text.

    Example:
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"ill": [True, False], "age": [30, 50]})
        >>> filled(frame, {}, {"ill": False, "age": False}, "binomial").taken
        {'ill': 'kind (true or false)', 'age': 'bounds 30 to 50'}
    """
    import pandas as pd

    check_any(frame)
    features: dict[str, Feature] = {}
    taken: dict[str, str] = {}
    if not named:
        raise ProblemError(
            "the formula names no column, since a bare number is a constant in it; rename a column "
            "that is called by a number, such as 5 to x5"
        )
    target = next(iter(named))
    weighted = {} if weights is None else {weights: named.get(weights, False)}
    for name, by_levels in (dict(named) | weighted).items():
        if name in declared:
            features[name] = declared[name]
            continue
        given = column_named(frame, name)
        column = pd.Series(guess_kinds(given.to_frame(), decimal)[name]).dropna().infer_objects()
        if column.empty:
            raise ProblemError(f"column {name!r} has no value at all; leave it out")
        yes = name == target and family in ("binomial", "multinomial")
        positive = name == weights or (name == target and family in _POSITIVE)
        if not (by_levels or yes):
            _check_mixed(column, decimal, few=positive)
            _check_days(column)
            _check_range(column, (_A_WEIGHT if name == weights else _A_COUNT) if positive else "")
        least = 0.0 if positive else None
        if yes and kind_of(column) == "numeric" and column.nunique() > MANY:
            raise ProblemError(
                f"column {name!r} holds numbers, {column.nunique()} different ones, and "
                f"{family!r} is for levels: take another family, such as 'gaussian', or declare "
                "the levels"
            )
        features[name], what = _read_off(name, column, by_levels or yes, least)
        if isinstance(features[name], Boolean) and not what:
            plain = _plain_truths(given)
            what = "kind (true or false)" if plain else "words for true and false"
        if what:
            taken[name] = what
    return Filled(features, taken)


def check_declared(columns: object) -> None:
    """Refuse what declares no columns by name.

    Raises:
        ConfigError: with an example.
    """
    example = "such as {'age': data.Numeric(20, 80), 'ill': data.Boolean()}"
    if not isinstance(columns, Mapping | None):
        raise ConfigError(
            f"columns={checks.shown(columns)} must declare columns by name, {example}"
        )
    for name, column in (columns or {}).items():
        if not isinstance(name, str):
            raise ConfigError(
                f"columns has the key {checks.shown(name)}; name each column by its text, "
                f"{example}; frame.rename(columns=str) makes the names of a table's columns text"
            )
        if not isinstance(column, Feature):
            raise ConfigError(
                f"columns[{name!r}] is {checks.shown(column)}; declare each column, {example}"
            )


def column_named(frame: pd.DataFrame, name: str, who: str = "the model names") -> pd.Series:
    """A column that a model names.

    Args:
        frame: table of all records.
        name: name of the column.
        who: what names it, for the message.

    Raises:
        ProblemError: a column that the table does not have; the message names one that is close.
    """
    if name not in frame.columns:
        present = [str(each) for each in frame.columns]
        close = checks.close(name, present, 0.5)
        hint = columns_there(frame)
        if close:
            hint = f"did you mean {close[0]!r}?"
            hint += "" if close[0].isidentifier() else f" In a formula: `{close[0]}`, in backticks"
        raise ProblemError(f"{who} {name!r}, which is not a column of the data; {hint}")
    return column_of(frame, name)


def _ordered(values: list[Any]) -> list[Any]:
    """Numbers by size, and anything else by its level."""
    if all(isinstance(value, int | float) for value in values):
        return sorted(values)
    return sorted(values, key=level_key)


def _read_off(
    name: str, column: pd.Series, by_levels: bool, least: float | None
) -> tuple[Feature, str]:
    """A column as its values suggest it, and what of them was used, besides their kind."""
    kind = kind_of(column)
    if kind == "boolean":
        return Boolean(), ""
    if kind == "date" and not by_levels:
        return _dates(name, column)
    if kind == "numeric" and not by_levels:
        low, high = float(column.min()) if least is None else least, float(column.max())
        if low == high:
            only = "one value only" if len(column) > 1 else "a value in one record only"
            remedy = "declare its bounds"
            if low in (0.0, 1.0):
                remedy = f"declare its levels ({name}=0,1) if it is a yes or no, else its bounds"
            raise ProblemError(f"column {name!r} has {only}, {low:g}; {remedy}, or leave it out")
        return Numeric(low, high), f"bounds {low:g} to {high:g}"
    if set(column.unique()) == {0, 1}:
        return Boolean(), "levels 0 and 1"
    # whole numbers in their order, which that of their texts is not
    levels = list(dict.fromkeys(level_key(value) for value in _ordered(column.unique().tolist())))
    if len(levels) > MANY:
        remedy = "declare them, or leave it out"
        if marked := [each for each in levels if _THOUSANDS.fullmatch(each.strip())]:
            remedy = (
                f"values such as {marked[0]!r} look like numbers with thousands marks, which are "
                "not read; write them without"
            )
        elif 2 * len(united := _with_unit(levels)) > len(levels):
            remedy = (
                f"values such as {united[0]!r} are no numbers; write them without the unit, or "
                "declare the levels if they are meant"
            )
        if kind == "numeric":
            remedy = (
                "it holds numbers, and is asked for by its levels. Cut them into intervals in the "
                f"table, in a column such as {name}_group, and name that one; or declare the levels"
            )
        raise ProblemError(
            f"column {name!r} has {len(levels)} levels, which are too many to be meant: {remedy}"
        )
    # a blank at an end, which makes another level, has to be seen
    shown = (each if each == each.strip() else repr(each) for each in levels)
    return Categorical(levels), f"levels {', '.join(shown)}"


def _with_unit(levels: Sequence[str]) -> list[str]:
    """Levels that are numbers with a unit."""
    return [each for each in levels if _UNIT.fullmatch(each.strip())]


def _check_mixed(column: pd.Series, decimal: str, few: bool) -> None:
    """Refuse a text among numbers, if the column cannot be one of levels.

    Args:
        column: values that are not missing.
        decimal: decimal mark of numbers.
        few: whether a column of few values has to hold numbers, too.
    """
    if kind_of(column) != "categorical" or (column.nunique() <= MANY and not few):
        return
    wrong = read_numbers(column, decimal=decimal)[1]
    if 2 * wrong.sum() < len(column):
        row = int(wrong.argmax())
        value = column.iloc[row]
        comma = ""
        if decimal == "." and with_comma(value) and not _THOUSANDS.fullmatch(value.strip()):
            comma = (
                "if it is a number with a decimal comma, write all records, and all files that "
                "are read together, with one decimal mark; else "
            )
        raise ProblemError(
            f"column {column.name!r}: {where(column, row)} holds {show(value)}, and "
            f"{len(column) - wrong.sum():,} of {len(column):,} values are numbers; {comma}correct "
            "it, leave it empty, or declare it as a code of missing values (missing_values)"
        )


def _check_days(column: pd.Series) -> None:
    """Refuse dates as texts among days of Excel, which are no dates once they are texts."""
    if kind_of(column) != "categorical":
        return
    days = np.array([_DAY.fullmatch(str(each)) is not None for each in column], dtype=bool)
    if days.any() and not days.all() and formats_of(column.loc[~days]):
        row = int(days.argmax())
        raise ProblemError(
            f"column {column.name!r}: {where(column, row)} holds {show(column.iloc[row])}, a day "
            "as Excel counts them, among dates as text; give the whole column "
            "the format YYYY-MM-DD in the workbook, and export it again"
        )


def _check_range(column: pd.Series, positive: str) -> None:
    """Refuse numbers from which no bounds can be taken: infinite, or negative where none may be."""
    if kind_of(column) != "numeric":
        return
    values = column.to_numpy(dtype=float)
    if np.isinf(values).any():
        raise infinite(column, str(column.name), int(np.isinf(values).argmax()))
    if positive and (values < 0.0).any():
        row = int((values < 0.0).argmax())
        raise ProblemError(
            f"column {column.name!r}: {where(column, row)} holds {show(column.iloc[row])}, and "
            f"{positive} must not be negative; correct it, or leave it empty"
        )


def _dates(name: str, column: pd.Series) -> tuple[Feature, str]:
    written = format_of(name, column)
    days = sorted(read_dates(column, written)[0])
    low, high = (_EPOCH + datetime.timedelta(math.floor(day)) for day in (days[0], days[-1]))
    high += datetime.timedelta(bool(days[-1] % 1))
    how = "" if written is None else f" and format {written}"
    return Date(low, high, written), f"bounds {low} to {high}{how}"


def _no_dates(column: pd.Series) -> str:
    """Which values are no dates, in the format that most of them have."""
    wrong = min((read_dates(column, each)[1] for each in (None, *FORMATS)), key=np.count_nonzero)
    if 2 * np.count_nonzero(wrong) >= column.notna().sum():
        return "holds values that are no dates"
    row = int(np.argmax(wrong))
    return (
        f"holds dates but for {where(column, row)}, {show(column.iloc[row])}{others(column, wrong)}"
    )


def format_of(name: str, column: pd.Series) -> str | None:
    """How the texts of a column write dates, read off the records; `None` for ISO 8601.

    Args:
        name: name of the column.
        column: its values.

    Raises:
        ProblemError: values that are no dates, or that several formats read differently.
    """
    found = formats_of(column)
    if not found:
        raise ProblemError(
            f"column {name!r} {_no_dates(column)}; correct it, or declare what it holds"
        )
    if len(found) > 1:
        raise ProblemError(
            f"column {name!r} holds dates that may be written as {' or '.join(map(str, found))}; "
            "declare it with its format, as data.Date or in a study"
        )
    return found[0]
