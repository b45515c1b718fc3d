"""How the column that is to be predicted is declared."""

from __future__ import annotations

import abc
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from tacit.arguments import checked
from tacit.arguments.fields import Fields
from tacit.data.rules import (
    Levels,
    Number,
    OneOrMore,
    Recoding,
    as_levels,
    check_codes,
    check_finite,
    check_levels,
    check_order,
    check_recoding,
)
from tacit.errors import ProblemError

COMPARISONS: Mapping[str, Callable[[Any, float], Any]] = {
    ">": np.greater,
    ">=": np.greater_equal,
    "<": np.less,
    "<=": np.less_equal,
}

_THRESHOLD = re.compile(r"\s*(>=|<=|>|<)\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*")


@checked(ProblemError)
@dataclass(frozen=True)
class BinaryTarget:
    """A target that is 0 or 1.

    Args:
        name: name of the target column.
        positive: value or values that count as 1, or a threshold such as `"> 0"`. `True` stands
            for all words that `Boolean` reads as true, `False` for those of false.
        negative: value or values that count as 0; when given, any other value is an error.
        missing: rule for missing values, `"error"` or `"drop"`.
        map: values that are rewritten before they are compared, such as `{"Ja": "yes"}`; to `""`
            for a missing one.

    Raises:
        ProblemError: no positive value, or a rule that does not exist.
    """

    name: str
    positive: OneOrMore
    negative: OneOrMore | None = None
    missing: Literal["error", "drop"] = "error"
    map: Recoding = None

    def __post_init__(self) -> None:
        _target_missing(self.missing)
        check_recoding(self.map, None)
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
        match = _THRESHOLD.fullmatch(self.positive) if isinstance(self.positive, str) else None
        return (match[1], float(match[2])) if match else None


@checked(ProblemError)
@dataclass(frozen=True)
class NumericTarget:
    """A target that is a number, clipped to declared bounds.

    Args:
        name: name of the target column.
        lower: declared lower bound, finite.
        upper: declared upper bound, finite and above `lower`.
        to: image of `(lower, upper)`, as a pair; `None` leaves the clipped value as it is.
        missing: rule for missing values, `"error"` or `"drop"`.
        missing_values: values that mean a missing one, besides an empty cell: `["999", "n/a"]`.

    Raises:
        ProblemError: bounds that are not finite or not in order.
    """

    name: str
    lower: Number
    upper: Number
    to: tuple[Number, Number] | None = None
    missing: Literal["error", "drop"] = "error"
    missing_values: Levels = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "missing_values", check_codes(self.missing_values))
        _target_missing(self.missing)
        check_finite("lower", self.lower)
        check_finite("upper", self.upper)
        check_order("lower", self.lower, "upper", self.upper)
        if self.to is not None:
            check_order("to[0]", self.to[0], "to[1]", self.to[1])


@checked(ProblemError)
@dataclass(frozen=True)
class ClassTarget:
    """A target that is one of several classes, as 0, 1, ... in the order of `levels`.

    Args:
        name: name of the target column.
        levels: names of the classes, at least two.
        missing: rule for missing values, `"error"` or `"drop"`.
        map: values that are rewritten before they are compared, such as `{"Ja": "yes"}`; to `""`
            for a missing one.

    Raises:
        ProblemError: fewer than two classes, or a repeated class.
    """

    name: str
    levels: Levels
    missing: Literal["error", "drop"] = "error"
    map: Recoding = None

    def __post_init__(self) -> None:
        _target_missing(self.missing)
        object.__setattr__(self, "levels", check_levels(self.levels))
        check_recoding(self.map, self.levels)
        if len(self.levels) < 2:
            raise ProblemError(f"levels={self.levels!r}: a class target needs at least two levels")


class AbstractTarget(metaclass=Fields):
    """A target of your own kind. A package can add one to studies: docs/extend.md.

    It receives one value at a time, so that the number of a record depends on that record only.

    Attributes:
        name: name of the target column; the first argument, which studies call `column`.
        missing: rule for missing values, `"error"` or `"drop"`.
        binary: whether the number is always 0 or 1, as some losses need.
    """

    name: str
    missing: Literal["error", "drop"] = "error"
    binary: ClassVar[bool] = False

    @abc.abstractmethod
    def number(self, value: str) -> float:
        """The number that a value becomes, finite; 0 or 1 if `binary`.

        Args:
            value: value as text, the same however the column was read: `1`, `1.0` and `"1"` are
                `"1"`.

        Raises:
            Exception: any exception, if the value is not of this kind, as for
                `AbstractFeature.numbers`.
        """


Target: TypeAlias = BinaryTarget | NumericTarget | ClassTarget | AbstractTarget

TARGETS: Mapping[str, type[BinaryTarget | NumericTarget | ClassTarget]] = {
    "binary": BinaryTarget,
    "class": ClassTarget,
    "numeric": NumericTarget,
}
"""The kinds of targets that a study file can name."""


def _target_missing(value: str) -> None:
    if value not in ("error", "drop"):
        raise ProblemError(
            f"missing={value!r} does not fit a target, which is never made up: "
            "use 'error' or 'drop'"
        )
