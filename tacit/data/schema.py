"""The declaration of a whole table, and the numbers that result."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float, Shaped

from tacit import checks
from tacit.arguments import checked
from tacit.data.feature import Boolean, Categorical, Date, Feature, Numeric
from tacit.data.maps import AbstractMap
from tacit.data.rules import Missing, Number, check_missing
from tacit.data.target import BinaryTarget, ClassTarget, NumericTarget, Target
from tacit.errors import ProblemError
from tacit.types import Division

__all__ = [
    "BinaryTarget",
    "Boolean",
    "Categorical",
    "ClassTarget",
    "Date",
    "Numeric",
    "NumericTarget",
    "Prepared",
    "Schema",
]


@checked(ProblemError)
@dataclass(frozen=True)
class Schema:
    """Which columns become which numbers.

    Args:
        features: declaration of every column used, in the order of the parameters.
        target: declaration of the column to be predicted; `None` if there is none, as for counts.
        site: name of the column that holds each record's site, or `None`.
        intercept: whether to add a column `intercept` of ones at the end.
        missing: rule for features that declare none of their own.
        row_norm: largest l2 norm of a row of features (intercept included); longer rows are
            scaled down. `None` for no bound.
        map: public map of the numbers that the columns become to the features of the model; the
            intercept is added behind it. `None` to use the numbers themselves.
        decimal: decimal mark of numbers that a table holds as text, `"."` or `","`.
        assumptions: what must be public for a guarantee to hold, besides what follows from the
            declarations, in sentences: bounds that were read off the data, for example.

    Raises:
        ProblemError: no features, one that is not named by text, the target among them, or a value
            out of its range.

    Example:
        >>> from tacit.data.schema import BinaryTarget, Numeric, Schema
        >>> schema = Schema({"age": Numeric(0, 120)}, BinaryTarget("ill", positive="yes"))
        >>> schema.intercept
        True
    """

    features: Mapping[str, Feature]
    target: Target | None
    site: str | None = None
    intercept: bool = True
    missing: Missing = "error"
    row_norm: Number | None = None
    decimal: str = "."
    assumptions: tuple[str, ...] = ()
    map: AbstractMap | None = None

    def __post_init__(self) -> None:
        if not self.features:
            raise ProblemError("features is empty: declare at least one column")
        for name in self.features:
            if not isinstance(name, str):
                raise ProblemError(
                    f"features has the key {checks.shown(name)}; name each column by its text, "
                    "as in {'age': data.Numeric(20, 80)}; frame.rename(columns=str) makes the "
                    "names of a table's columns text"
                )
        if self.target is not None and self.target.name in self.features:
            raise ProblemError(
                f"column {self.target.name!r} is the target and a feature at once: "
                "leave it out of the features"
            )
        if self.target is not None and self.site == self.target.name:
            raise ProblemError(f"column {self.site!r} is the target and the site at once")
        check_missing(self.missing)
        if self.row_norm is not None and not (math.isfinite(self.row_norm) and self.row_norm > 0):
            raise ProblemError(f"row_norm={self.row_norm!r} must be positive and finite")
        if self.decimal not in (".", ","):
            raise ProblemError(f"decimal={self.decimal!r} must be '.' or ','")


_NEARLY_ALL = 0.95
"""Share of the records from which times beyond the last one are told: some are in most studies."""


@dataclass(frozen=True)
class Altered:
    """What preparation changed in the records. Private: for their owner's eyes only.

    Attributes:
        records: number of records that are left.
        dropped: number of records left out because they lack a value.
        moved: number of values that were beyond a declared bound and moved to it, by column.
        raised: how many of these were below the lower one, by column of features.
    """

    records: int
    dropped: int
    moved: Mapping[str, int]
    raised: Mapping[str, int] = field(default_factory=dict[str, int])

    def amiss(self, time: str | None) -> dict[str, int]:
        """Number of values that were moved though they should not lie where they do, by column.

        Args:
            time: column of times to an event, if there is one: a record that is followed beyond the
                last time counts up to it, but none is followed for less than the first.
        """
        found = {name: count for name, count in self.moved.items() if name != time}
        if self.early(time):
            found[str(time)] = self.early(time)
        return found

    def early(self, time: str | None) -> int:
        """Number of times that are below the first, so that they end before they begin.

        Args:
            time: as for `amiss`.
        """
        return 0 if time is None else self.raised.get(time, 0)

    def late(self, time: str | None) -> int:
        """Number of records that are followed beyond the last time, if nearly all are; else 0.

        Args:
            time: as for `amiss`.
        """
        late = 0 if time is None else self.moved.get(time, 0) - self.early(time)
        return late if late >= _NEARLY_ALL * self.records else 0

    def outside(self, time: str | None) -> list[str]:
        """Columns of which every value was moved, so that nothing of them is left.

        Args:
            time: as for `amiss`.
        """
        return [name for name, count in self.amiss(time).items() if 0 < self.records <= count]


@dataclass(frozen=True, eq=False)
class Prepared:
    """Numbers ready for a loss.

    Attributes:
        features: feature table, shape `(n, d)`, float64.
        targets: shape `(n,)`; float64, or int64 for classes. Zeros without a declared target.
        feature_names: names of the columns, `d` distinct ones.
        sites: site of each record, shape `(n,)`, or `None`.
        assumptions: what must be public for a guarantee to hold, in sentences.
        notes: other changes made to the data, in sentences.
        levels: names of the classes when the target is one of several.
        divided: what decided which records these are, if others were held out.
        altered: what was changed in the whole table, if that is known. Private.
        taken: declarations of the columns whose bounds, levels, mean or deviation were taken from
            the records, with these filled in; assumed public.
        labelled: whether the targets are those of a declared column.
    """

    features: Float[np.ndarray, "n d"]
    targets: Shaped[np.ndarray, " n"]
    feature_names: tuple[str, ...]
    sites: Shaped[np.ndarray, " n"] | None = None
    assumptions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    divided: frozenset[Division] = frozenset()
    altered: Altered | None = None
    taken: Mapping[str, Feature] = field(default_factory=dict[str, Feature])
    labelled: bool = True
