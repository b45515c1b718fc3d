"""How the column that is to be predicted is declared."""

from __future__ import annotations

import abc
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from tacit.arguments import checked
from tacit.data.rules import (
    Levels,
    Number,
    OneOrMore,
    as_levels,
    check_finite,
    check_levels,
    check_order,
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
    positive: OneOrMore
    negative: OneOrMore | None = None
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
        match = _THRESHOLD.fullmatch(self.positive) if isinstance(self.positive, str) else None
        return (match[1], float(match[2])) if match else None


@checked(ProblemError)
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
    lower: Number
    upper: Number
    to: tuple[Number, Number] | None = None
    missing: Literal["error", "drop"] = "error"

    def __post_init__(self) -> None:
        _target_missing(self.missing)
        check_finite("lower", self.lower)
        check_finite("upper", self.upper)
        check_order("lower", self.lower, "upper", self.upper)
        if self.to is not None:
            check_order("to[0]", self.to[0], "to[1]", self.to[1])


@checked(ProblemError)
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
    levels: Levels
    missing: Literal["error", "drop"] = "error"

    def __post_init__(self) -> None:
        _target_missing(self.missing)
        object.__setattr__(self, "levels", check_levels(self.levels))
        if len(self.levels) < 2:
            raise ProblemError(f"levels={self.levels!r}: a class target needs at least two levels")


class AbstractTarget(abc.ABC):
    """A target of one's own kind. A package can add one to studies: docs/add_a_method.md.

    It is given one value at a time, so that what a record becomes depends on that record only.

    Attributes:
        name: of the column; the first argument, which studies call `column`.
        missing: `"error"` or `"drop"`.
        binary: whether the number is always 0 or 1, as some losses need.
    """

    name: str
    missing: Literal["error", "drop"] = "error"
    binary: ClassVar[bool] = False

    @abc.abstractmethod
    def number(self, value: str) -> float:
        """The number that a value becomes, finite; 0 or 1 where `binary` says so.

        Args:
            value: as text, the same however the column was read: `1`, `1.0` and `"1"` are `"1"`.

        Raises:
            Exception: any, if the value is none of this kind, as for `AbstractFeature.numbers`.
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
