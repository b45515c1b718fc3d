"""How a column of a table is declared to become numbers.

Bounds, levels and constants are public: they are declared by people who have not looked at the
data. Setting `statistics="public"` declares that the data's own statistics are public too, and the
prepared table repeats that as an assumption.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tacit import checks
from tacit.arguments import checked
from tacit.arguments.fields import Fields
from tacit.data.dates import check_format, day_of, days_since_1970
from tacit.data.rules import (
    TRUTHS,
    Day,
    Levels,
    Missing,
    Number,
    Recoding,
    Statistics,
    check_codes,
    check_finite,
    check_levels,
    check_missing,
    check_order,
    check_recoding,
    is_public,
    level_key,
)
from tacit.errors import ProblemError


@checked(ProblemError)
@dataclass(frozen=True)
class Numeric:
    """A number, clipped to declared bounds and mapped from them onto the interval `to`.

    With `mean` and `deviation` the clipped value is standardised by these constants instead.

    Args:
        lower: declared lower bound, finite.
        upper: declared upper bound, finite and above `lower`.
        to: image of `(lower, upper)`, as a pair.
        mean: declared centre; give it together with `deviation`.
        deviation: declared standard deviation, positive.
        missing: replacement for a missing value; the schema's rule when `None`. A number must lie
            within the bounds.
        statistics: `"public"` to take undeclared bounds from the data.
        standardise: whether to take mean and deviation from the data, with `statistics="public"`.
        missing_values: values that mean a missing one, besides an empty cell: `["999", "n/a"]`.

    Raises:
        ProblemError: bounds that are missing, not finite or not in order.

    Example:
        >>> from tacit.data.schema import Numeric
        >>> Numeric(lower=0, upper=120).to
        (-1.0, 1.0)
    """

    lower: Number | None = None
    upper: Number | None = None
    to: tuple[Number, Number] = (-1.0, 1.0)
    mean: Number | None = None
    deviation: Number | None = None
    missing: Missing | None = None
    statistics: Statistics = "declared"
    standardise: bool = False
    missing_values: Levels = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "missing_values", check_codes(self.missing_values))
        public = is_public(self.statistics)
        for name in ("lower", "upper", "mean", "deviation"):
            check_finite(name, getattr(self, name))
        if self.deviation is not None and self.deviation <= 0:
            raise ProblemError(f"deviation={self.deviation!r} must be positive")
        if not public and (self.lower is None or self.upper is None):
            raise ProblemError(
                f"a numeric column needs declared bounds, got lower={self.lower!r} and "
                f"upper={self.upper!r}: give both, as public numbers known without looking at the "
                'data, or set statistics = "public" if the data\'s own minimum and maximum are '
                "public"
            )
        check_order("lower", self.lower, "upper", self.upper)
        if self.lower is not None and self.upper is not None:
            check_finite("upper - lower", self.upper - self.lower)
        check_order("to[0]", self.to[0], "to[1]", self.to[1])
        if (self.mean is None) != (self.deviation is None):
            raise ProblemError(
                f"mean={self.mean!r} and deviation={self.deviation!r} belong together: "
                "declare both or neither"
            )
        if self.standardise and not public:
            raise ProblemError(
                "standardise=True takes mean and deviation from the data: declare them as mean= "
                "and deviation=, or set statistics='public'"
            )
        check_missing(self.missing)
        if isinstance(self.missing, int | float):
            low = -math.inf if self.lower is None else self.lower
            high = math.inf if self.upper is None else self.upper
            if not low <= self.missing <= high:
                raise ProblemError(
                    f"missing={self.missing!r} must lie within the bounds [{low:g}, {high:g}]"
                )


@checked(ProblemError)
@dataclass(frozen=True)
class Categorical:
    """One of several declared levels, as 0/1 columns named `column=level`.

    Args:
        levels: values that may occur, without repetition; a number and its text are one level.
        drop_first: whether to leave out the column of the first level (the reference).
        other: rule for other values: `"error"` refuses them, `"zero"` gives 0 in every column.
        missing: `"error"`, `"drop"` or `"indicator"` (an additional column `column=missing`); the
            schema's rule when `None`.
        statistics: `"public"` to take the levels from the data when none are declared.
        map: values that are rewritten before they are compared with the levels, such as
            `{"Ja": "yes", "J": "yes"}`; to `""` for a missing one. Others stay as they are.
        missing_values: values that mean a missing one, besides an empty cell: `["999", "n/a"]`.

    Raises:
        ProblemError: no levels, a repeated level, a rule that does not exist, or a value that is
            rewritten to one that is not declared.
    """

    levels: Levels | None = None
    drop_first: bool = False
    other: Literal["error", "zero"] = "error"
    missing: Missing | None = None
    statistics: Statistics = "declared"
    map: Recoding = None
    missing_values: Levels = ()

    def __post_init__(self) -> None:
        public = is_public(self.statistics)
        if self.levels is not None:
            object.__setattr__(self, "levels", check_levels(self.levels))
        elif not public:
            raise ProblemError(
                "a categorical column needs its levels: declare all values that may occur, as in "
                'levels = ["no", "yes"], or set statistics = "public" if the set of values in the '
                "data is public"
            )
        if self.other not in ("error", "zero"):
            raise ProblemError(f"other={self.other!r} must be 'error' or 'zero'")
        check_recoding(self.map, self.levels)
        object.__setattr__(self, "missing_values", check_codes(self.missing_values, self.levels))
        check_missing(self.missing)
        if self.missing not in (None, "error", "drop", "indicator"):
            raise ProblemError(
                f"missing={self.missing!r} does not fit a categorical column: "
                "use 'error', 'drop' or 'indicator'"
            )


@checked(ProblemError)
@dataclass(frozen=True)
class Boolean:
    """True or false, as the numbers 1 and 0.

    Read are 1 and 0, true and false, yes and no, and these words and their initials in some other
    languages (ja, nein, j, n, wahr, falsch, oui, non, vrai, faux, sí, no, ...), however they are
    capitalised.

    Args:
        missing: replacement for a missing value; the schema's rule when `None`.
        map: other values, and whether they are true: `{"smoker": True, "never": False}`; `""` for
            a missing one.
        missing_values: values that mean a missing one, besides an empty cell: `["999", "n/a"]`.

    Raises:
        ProblemError: a rule that does not exist, or a value that becomes neither true nor false.
    """

    missing: Missing | None = None
    map: Recoding = None
    missing_values: Levels = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "missing_values", check_codes(self.missing_values))
        for value, truth in (self.map or {}).items():
            if level_key(truth).strip().lower() not in (*TRUTHS, "0", "1", ""):
                raise ProblemError(
                    f"map: {checks.shown(value)} becomes {checks.shown(truth)}, which must be true "
                    "or false"
                )
        check_recoding(self.map, None)
        check_missing(self.missing)
        if isinstance(self.missing, int | float) and not 0 <= self.missing <= 1:
            raise ProblemError(f"missing={self.missing!r} must lie within [0, 1]")


@checked(ProblemError)
@dataclass(frozen=True)
class Date:
    """A date, as its number of days since 1970, clipped to declared bounds and mapped onto [-1, 1].

    A time of day counts as a part of the day.

    Args:
        lower: declared first day, as a date or as text such as `"2020-01-01"`.
        upper: declared last day, after `lower`.
        format: how texts write a date, in the codes of `strptime`: `"%d.%m.%Y"` for 31.12.2024,
            `"%m/%d/%Y"` for 12/31/2024. ISO 8601 when `None`: 2024-12-31, with or without a time.
        missing: `"error"`, `"drop"`, `"middle"` or `"indicator"`; the schema's rule when `None`.
        missing_values: values that mean a missing one, besides an empty cell: `["999", "n/a"]`.

    Raises:
        ProblemError: days that are not dates or not in order, or a format that is not one.

    Example:
        >>> Date("2020-01-01", "2024-12-31", format="%d.%m.%Y").number.lower
        18262.0
    """

    lower: Day
    upper: Day
    format: str | None = None
    missing: Missing | None = None
    missing_values: Levels = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "missing_values", check_codes(self.missing_values))
        low, high = (day_of(name, getattr(self, name)) for name in ("lower", "upper"))
        if not low < high:
            raise ProblemError(f"lower={str(low)!r} must be before upper={str(high)!r}")
        object.__setattr__(self, "lower", low.isoformat())
        object.__setattr__(self, "upper", high.isoformat())
        if self.format is not None:
            check_format(self.format)
        check_missing(self.missing)
        if isinstance(self.missing, int | float):
            raise ProblemError(
                f"missing={self.missing!r} does not fit a date: use 'error', 'drop', 'middle' or "
                "'indicator'"
            )

    @property
    def number(self) -> Numeric:
        """The declaration of its number of days."""
        low, high = (days_since_1970(day_of("", day)) for day in (self.lower, self.upper))
        return Numeric(low, high, missing=self.missing)


class AbstractFeature(metaclass=Fields):
    """A column of your own kind. A package can add one to studies: docs/extend.md.

    It receives one value at a time, so that the numbers of a record depend on that record only.

    Attributes:
        missing: rule for a missing value, `"error"` or `"drop"`; the schema's rule when `None`, if
            that is one of the two, else `"error"`.
    """

    missing: Missing | None = None

    @abc.abstractmethod
    def names(self, column: str) -> tuple[str, ...]:
        """Names of the numbers that a value becomes, at least one.

        Args:
            column: name of the column.
        """

    @abc.abstractmethod
    def numbers(self, value: str) -> Sequence[float]:
        """The numbers that a value becomes: finite, one per name.

        Args:
            value: value as text, the same however the column was read: `1`, `1.0` and `"1"` are
                `"1"`.

        Raises:
            Exception: any exception, if the value is not of this kind. `prepare` reports it with
                its row; at a site in a run, the record counts and contributes nothing.
        """


Feature: TypeAlias = Numeric | Categorical | Boolean | Date | AbstractFeature

FEATURES: Mapping[str, type[Numeric | Categorical | Boolean | Date]] = {
    "numeric": Numeric,
    "categorical": Categorical,
    "boolean": Boolean,
    "date": Date,
}
"""The kinds of columns that a study file can name."""
