"""How the columns of a table are declared to become numbers, and the table that comes out.

Bounds, levels and constants are public: they are declared by people who have not looked at the
data. Whoever sets `statistics="public"` says that the data's own statistics are public too, and the
prepared table repeats that as an assumption.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from jaxtyping import Float, Shaped

from tacit.errors import ProblemError

Missing: TypeAlias = Literal["error", "drop", "middle", "indicator"] | float
"""What a missing value becomes.

`"error"`: the table is refused; `"drop"`: the record is left out; `"middle"`: the middle of the
declared bounds; `"indicator"`: the middle, and a further 0/1 column; a number: that number.
"""

Statistics: TypeAlias = Literal["declared", "public"]
"""Where constants come from: declarations only, or the data's own statistics, said to be public."""

THRESHOLD = re.compile(r"\s*(>=|<=|>|<)\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*")


@dataclass(frozen=True)
class Numeric:
    """A number, clipped to declared bounds and mapped from them onto the interval `to`.

    With `mean` and `deviation` the clipped value is standardised by these constants instead.

    Args:
        lower: declared lower bound, finite.
        upper: declared upper bound, finite and above `lower`.
        to: image of `(lower, upper)`.
        mean: declared centre; give it together with `deviation`.
        deviation: declared standard deviation, positive.
        missing: what a missing value becomes; the schema's rule when `None`. A number must lie
            within the bounds.
        statistics: `"public"` takes bounds that are not declared from the data.
        standardise: with `statistics="public"`, take mean and deviation from the data.

    Raises:
        ProblemError: bounds that are missing, not finite or not in order.

    Example:
        >>> from tacit.problem.schema import Numeric
        >>> Numeric(lower=0, upper=120).to
        (-1.0, 1.0)
    """

    lower: float | None = None
    upper: float | None = None
    to: tuple[float, float] = (-1.0, 1.0)
    mean: float | None = None
    deviation: float | None = None
    missing: Missing | None = None
    statistics: Statistics = "declared"
    standardise: bool = False

    def __post_init__(self) -> None:
        public = _statistics(self.statistics)
        for name in ("lower", "upper", "mean", "deviation"):
            _finite(name, getattr(self, name))
        if not public and (self.lower is None or self.upper is None):
            raise ProblemError(
                f"a numeric column needs declared bounds, got lower={self.lower!r} and "
                f"upper={self.upper!r}: give both, as public numbers known without looking at the "
                "data, or set statistics='public' if the data's own minimum and maximum are public"
            )
        _ordered("lower", self.lower, "upper", self.upper)
        _ordered("to[0]", self.to[0], "to[1]", self.to[1])
        if (self.mean is None) != (self.deviation is None):
            raise ProblemError(
                f"mean={self.mean!r} and deviation={self.deviation!r} belong together: "
                "declare both or neither"
            )
        if self.deviation is not None and self.deviation <= 0:
            raise ProblemError(f"deviation={self.deviation!r} must be positive")
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


@dataclass(frozen=True)
class Categorical:
    """One of several declared levels, as 0/1 columns named `column=level`.

    Args:
        levels: the values that may occur, without repetition; a number and its text are one level.
        drop_first: leave out the column of the first level (the reference).
        other: `"error"` refuses another value, `"zero"` gives it 0 in every column.
        missing: `"error"`, `"drop"` or `"indicator"` (a further column `column=missing`); the
            schema's rule when `None`.
        statistics: `"public"` takes the levels from the data when none are declared.

    Raises:
        ProblemError: no levels, a level twice, or a rule that does not exist.
    """

    levels: tuple[Any, ...] | None = None
    drop_first: bool = False
    other: Literal["error", "zero"] = "error"
    missing: Missing | None = None
    statistics: Statistics = "declared"

    def __post_init__(self) -> None:
        public = _statistics(self.statistics)
        if self.levels is not None:
            object.__setattr__(self, "levels", check_levels(self.levels))
        elif not public:
            raise ProblemError(
                "a categorical column needs its levels: declare levels=(...), or set "
                "statistics='public' if the set of values in the data is public"
            )
        if self.other not in ("error", "zero"):
            raise ProblemError(f"other={self.other!r} must be 'error' or 'zero'")
        check_missing(self.missing)
        if self.missing not in (None, "error", "drop", "indicator"):
            raise ProblemError(
                f"missing={self.missing!r} does not fit a categorical column: "
                "use 'error', 'drop' or 'indicator'"
            )


@dataclass(frozen=True)
class Boolean:
    """True or false (or 1 and 0), as the numbers 1 and 0.

    Args:
        missing: what a missing value becomes; the schema's rule when `None`.
    """

    missing: Missing | None = None

    def __post_init__(self) -> None:
        check_missing(self.missing)
        if isinstance(self.missing, int | float) and not 0 <= self.missing <= 1:
            raise ProblemError(f"missing={self.missing!r} must lie within [0, 1]")


@dataclass(frozen=True)
class BinaryTarget:
    """What is to be predicted, as 0 or 1.

    Args:
        name: column.
        positive: the value or values that count as 1, or a threshold such as `"> 0"`.
        negative: the value or values that count as 0; when given, any other value is an error.
        missing: `"error"` or `"drop"`.

    Raises:
        ProblemError: nothing positive, or a rule that does not exist.
    """

    name: str
    positive: Any
    negative: Any = None
    missing: Literal["error", "drop"] = "error"

    def __post_init__(self) -> None:
        _target_missing(self.missing)
        check_levels(as_levels(self.positive), "positive")
        if self.negative is not None:
            if self.threshold is not None:
                raise ProblemError(
                    f"negative={self.negative!r} has no meaning beside the threshold "
                    f"positive={self.positive!r}: leave it out"
                )
            both = (*as_levels(self.positive), *as_levels(self.negative))
            check_levels(both, "positive and negative together")

    @property
    def threshold(self) -> tuple[str, float] | None:
        """Comparison and number when `positive` is a threshold."""
        match = THRESHOLD.fullmatch(self.positive) if isinstance(self.positive, str) else None
        return (match[1], float(match[2])) if match else None


@dataclass(frozen=True)
class NumericTarget:
    """What is to be predicted: a number, clipped to declared bounds.

    Args:
        name: column.
        lower: declared lower bound, finite.
        upper: declared upper bound, finite and above `lower`.
        to: image of `(lower, upper)`; `None` leaves the clipped value as it is.
        missing: `"error"` or `"drop"`.

    Raises:
        ProblemError: bounds that are not finite or not in order.
    """

    name: str
    lower: float
    upper: float
    to: tuple[float, float] | None = None
    missing: Literal["error", "drop"] = "error"

    def __post_init__(self) -> None:
        _target_missing(self.missing)
        _finite("lower", self.lower)
        _finite("upper", self.upper)
        _ordered("lower", self.lower, "upper", self.upper)
        if self.to is not None:
            _ordered("to[0]", self.to[0], "to[1]", self.to[1])


@dataclass(frozen=True)
class ClassTarget:
    """What is to be predicted: one of several classes, as 0, 1, ... in the order of `levels`.

    Args:
        name: column.
        levels: the classes, at least two.
        missing: `"error"` or `"drop"`.

    Raises:
        ProblemError: fewer than two classes, or one twice.
    """

    name: str
    levels: tuple[Any, ...]
    missing: Literal["error", "drop"] = "error"

    def __post_init__(self) -> None:
        _target_missing(self.missing)
        object.__setattr__(self, "levels", check_levels(self.levels))
        if len(self.levels) < 2:
            raise ProblemError(f"levels={self.levels!r}: a class target needs at least two levels")


Feature: TypeAlias = Numeric | Categorical | Boolean
Target: TypeAlias = BinaryTarget | NumericTarget | ClassTarget


@dataclass(frozen=True)
class Schema:
    """Which columns become which numbers.

    Args:
        features: declaration of every column used, in the order of the parameters.
        target: what is to be predicted.
        site: column that says where a record stands, or `None`.
        intercept: add a column `intercept` of ones at the end.
        missing: rule for features that declare none of their own.
        row_norm: largest l2 norm of a row of features (intercept included); longer rows are
            scaled down. `None` for no such bound.

    Raises:
        ProblemError: no features, the target among them, or a value out of its range.

    Example:
        >>> from tacit.problem.schema import BinaryTarget, Numeric, Schema
        >>> schema = Schema({"age": Numeric(0, 120)}, BinaryTarget("ill", positive="yes"))
        >>> schema.intercept
        True
    """

    features: Mapping[str, Feature]
    target: Target
    site: str | None = None
    intercept: bool = True
    missing: Missing = "error"
    row_norm: float | None = None

    def __post_init__(self) -> None:
        if not self.features:
            raise ProblemError("features is empty: declare at least one column")
        if self.target.name in self.features:
            raise ProblemError(
                f"column {self.target.name!r} is the target and a feature at once: "
                "leave it out of the features"
            )
        if self.site == self.target.name:
            raise ProblemError(f"column {self.site!r} is the target and the site at once")
        check_missing(self.missing)
        if self.row_norm is not None and not (math.isfinite(self.row_norm) and self.row_norm > 0):
            raise ProblemError(f"row_norm={self.row_norm!r} must be positive and finite")


@dataclass(frozen=True, eq=False)
class Prepared:
    """Numbers ready for a loss.

    Attributes:
        features: shape `(n, d)`, float64.
        targets: shape `(n,)`; float64, or int64 for classes.
        feature_names: `d` distinct names.
        sites: where each record stands, shape `(n,)`, or `None`.
        assumptions: what has to be public for a guarantee to hold, in sentences.
        notes: what else was done to the data, in sentences.
        levels: names of the classes when the target is one of several.
    """

    features: Float[np.ndarray, "n d"]
    targets: Shaped[np.ndarray, " n"]
    feature_names: tuple[str, ...]
    sites: Shaped[np.ndarray, " n"] | None = None
    assumptions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()


def level_key(value: Any) -> str:
    """Text by which values are compared: 1, 1.0 and "1" are one level, True and "True" another."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def as_levels(value: Any) -> tuple[Any, ...]:
    """One value or several as a tuple."""
    several = isinstance(value, Iterable) and not isinstance(value, str)
    return tuple(value) if several else (value,)


def check_levels(levels: Iterable[Any], name: str = "levels") -> tuple[Any, ...]:
    """The levels as a tuple; refuses none, a missing value, and a level twice."""
    levels = tuple(levels)
    if not levels:
        raise ProblemError(f"{name} is empty: declare at least one value")
    seen: set[str] = set()
    for level in levels:
        if level is None or level != level:
            raise ProblemError(f"{name} holds {level!r}: missing values have their own rule")
        if level_key(level) in seen:
            raise ProblemError(f"{name}={levels!r} holds {level!r} twice")
        seen.add(level_key(level))
    return levels


def check_missing(rule: Any) -> None:
    """Refuse a rule for missing values that does not exist."""
    if rule is None or rule in ("error", "drop", "middle", "indicator"):
        return
    number = isinstance(rule, int | float) and not isinstance(rule, bool)
    if not (number and math.isfinite(rule)):
        raise ProblemError(
            f"missing={rule!r} must be 'error', 'drop', 'middle', 'indicator' or a finite number"
        )


COMPARISONS: Mapping[str, Callable[[Any, float], Any]] = {
    ">": np.greater,
    ">=": np.greater_equal,
    "<": np.less,
    "<=": np.less_equal,
}


def _statistics(value: str) -> bool:
    if value not in ("declared", "public"):
        raise ProblemError(f"statistics={value!r} must be 'declared' or 'public'")
    return value == "public"


def _target_missing(value: str) -> None:
    if value not in ("error", "drop"):
        raise ProblemError(
            f"missing={value!r} does not fit a target, which is never made up: "
            "use 'error' or 'drop'"
        )


def _finite(name: str, value: Any) -> None:
    if value is not None and not math.isfinite(value):
        raise ProblemError(f"{name}={value!r} must be a finite number")


def _ordered(low_name: str, low: float | None, high_name: str, high: float | None) -> None:
    if low is not None and high is not None and not low < high:
        raise ProblemError(f"{low_name}={low!r} must be below {high_name}={high!r}")
