"""Factors of a regression's columns: a number, levels against a reference, or a spline; an offset.

Each follows from a declared column alone, and a factor's columns have a norm of at most 1 together.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from tacit import checks
from tacit.data.cells import Column
from tacit.errors import ProblemError

Record = Float[Array, " m"]


@dataclass(frozen=True)
class Number:
    """A number, moved to [-1, 1] by its bounds.

    Attributes:
        column: declared column with bounds.

    Raises:
        ProblemError: a column with levels.
    """

    column: Column

    def __post_init__(self) -> None:
        if self.column.levels or self.column.scale is None:
            raise ProblemError(
                f"column {self.column.name!r} has levels and is not a number; write "
                f"C({self.column.name})"
            )

    @property
    def names(self) -> tuple[str, ...]:
        """Name of each column."""
        return (self.column.name,)

    @property
    def square(self) -> float:
        """Mean squared norm of the columns if all values were equally frequent."""
        return 1.0 / 3.0

    @property
    def span(self) -> float:
        """Distance between the bounds."""
        low, high = bounds_of(self.column)
        return high - low

    @property
    def moved(self) -> tuple[float, float]:
        """`(c, h)` for columns that are `(value - c) / h`."""
        low, high = bounds_of(self.column)
        return (low + high) / 2.0, (high - low) / 2.0

    def values(self, record: Record) -> Float[Array, " 1"]:
        """The column of one record; not a number without a value."""
        centre, half = self.moved
        return ((number(self.column, record) - centre) / half)[None]


@dataclass(frozen=True)
class Levels:
    """Levels against a reference, each 0 or 1.

    Attributes:
        column: declared column with at least two levels.
        reference: level without a column of its own; the first one by default.

    Raises:
        ProblemError: a column without levels, with one only, or without the reference.
    """

    column: Column
    reference: str | None = None

    def __post_init__(self) -> None:
        name, levels = self.column.name, self.column.levels
        if len(levels) < 2:
            raise ProblemError(
                f"column {name!r} has "
                + (
                    f"one level, {levels[0]!r}, and so tells no two records apart"
                    if levels
                    else "bounds and no levels; cut it into intervals, or write it without C(...)"
                )
            )
        if self.reference is not None and self.reference not in levels:
            raise ProblemError(
                f"reference={checks.shown(self.reference)} is not a level of column {name!r}; "
                f"these are: {', '.join(levels)}"
            )

    @cached_property
    def compared(self) -> tuple[int, ...]:
        """Numbers of the levels that have a column."""
        levels = self.column.levels
        reference = 0 if self.reference is None else levels.index(self.reference)
        return tuple(i for i in range(len(levels)) if i != reference)

    @property
    def names(self) -> tuple[str, ...]:
        """Name of each column."""
        return tuple(f"{self.column.name}[T.{self.column.levels[i]}]" for i in self.compared)

    @property
    def square(self) -> float:
        """Mean squared norm of the columns if all values were equally frequent."""
        return len(self.compared) / len(self.column.levels)

    @property
    def span(self) -> float:
        """1: columns lie between 0 and 1."""
        return 1.0

    @property
    def moved(self) -> tuple[float, float]:
        """`(0, 1)`: columns stay as they are."""
        return 0.0, 1.0

    def values(self, record: Record) -> Float[Array, " width"]:
        """The columns of one record; not numbers without a value."""
        cell = self.column.cell(record)
        hot = (cell == jnp.array(self.compared)).astype(record.dtype)
        return jnp.where(cell < 0, jnp.nan, hot)


@dataclass(frozen=True)
class Spline:
    """B-splines of a number, without the first one, as in `bs(x, df=...)`.

    Knots are spaced equally between the declared bounds unless they are given, because quantiles
    would be taken from the records.

    Attributes:
        column: declared column with bounds.
        knots: inner knots, ascending, in the units of the data.
        degree: degree of the polynomials, from 1 to 5.
        name: name of the columns, in front of their number.

    Raises:
        ProblemError: a column with levels, or knots that are not ascending within the bounds.
    """

    column: Column
    knots: tuple[float, ...]
    degree: int = 3
    name: str = "bs"

    def __post_init__(self) -> None:
        Number(self.column)
        low, high = bounds_of(self.column)
        whole = [low, *self.knots, high]
        if not all(a < b for a, b in itertools.pairwise(whole)):
            raise ProblemError(
                f"knots={list(self.knots)} of column {self.column.name!r} must be ascending and "
                f"between its bounds {low:g} and {high:g}"
            )
        if not 1 <= self.degree <= 5:
            raise ProblemError(f"degree={self.degree!r} of a spline must be from 1 to 5")

    @property
    def names(self) -> tuple[str, ...]:
        """Name of each column."""
        return tuple(f"{self.name}[{i}]" for i in range(len(self.knots) + self.degree))

    @cached_property
    def square(self) -> float:
        """Mean squared norm of the columns if all values were equally frequent."""
        low, high = bounds_of(self.column)
        points = np.linspace(low, high, 201)
        basis = np.asarray(self._basis(jnp.asarray(points)))
        return float(np.mean(np.sum(basis**2, axis=0)))

    @property
    def span(self) -> float:
        """1: columns lie between 0 and 1."""
        return 1.0

    @property
    def moved(self) -> tuple[float, float]:
        """`(0, 1)`: columns stay as they are."""
        return 0.0, 1.0

    def values(self, record: Record) -> Float[Array, " width"]:
        """The columns of one record; not numbers without a value."""
        # rounding takes a number at its bound beyond it, where no spline is
        return self._basis(jnp.clip(number(self.column, record), *bounds_of(self.column)))

    def _basis(self, x: Float[Array, "*n"]) -> Float[Array, "*columns"]:
        """The recursion of de Boor; all splines together are 1 and none is negative."""
        low, high = bounds_of(self.column)
        ends = self.degree + 1
        knots = [low] * ends + list(self.knots) + [high] * ends
        last = len(knots) - ends - 1  # the interval that holds the upper bound
        found = [
            jnp.where((x >= a) & ((x <= b) if i == last else (x < b)), 1.0, 0.0)
            for i, (a, b) in enumerate(itertools.pairwise(knots))
        ]
        for k in range(1, ends):
            found = [
                _part(x - knots[i], knots[i + k] - knots[i], found[i])
                + _part(knots[i + k + 1] - x, knots[i + k + 1] - knots[i + 1], found[i + 1])
                for i in range(len(found) - 1)
            ]
        return jnp.where(jnp.isnan(x), jnp.nan, jnp.stack(found[1:]))


@dataclass(frozen=True)
class Offset:
    """A number, or its logarithm, that is added to the linear predictor with coefficient 1.

    Attributes:
        column: declared column with bounds.
        log: whether its logarithm is added, as for counts over times.

    Raises:
        ProblemError: a column with levels, or the logarithm of one that may be 0.
    """

    column: Column
    log: bool = False

    def __post_init__(self) -> None:
        name = self.column.name
        if self.column.levels or self.column.scale is None:
            raise ProblemError(
                f"column {name!r} has levels, and an offset is a number with bounds: declare them, "
                f"or write C({name}) for coefficients of its levels"
            )
        low, high = bounds_of(self.column)
        if self.log and low <= 0.0:
            raise ProblemError(
                f"offset(log({name})): column {name!r} may be {low:g}, which has no logarithm; "
                f"declare a lower bound above 0, such as {high / 1000.0:g}"
            )

    @property
    def moved(self) -> tuple[float, float]:
        """`(c, h)` such that `(value - c) / h` is in [-1, 1]."""
        low, high = bounds_of(self.column)
        if self.log:
            low, high = math.log(low), math.log(high)
        return (low + high) / 2.0, (high - low) / 2.0

    def value(self, record: Record) -> Float[Array, ""]:
        """What is added for one record; not a number without a value."""
        found = number(self.column, record)
        return jnp.log(found) if self.log else found


Factor: TypeAlias = Number | Levels | Spline
"""All kinds of factors."""


def _part(above: Array, width: float, value: Array) -> Array:
    return jnp.zeros_like(value) if width <= 0.0 else above / width * value


def bounds_of(column: Column) -> tuple[float, float]:
    """Declared bounds of a number."""
    assert column.scale is not None
    return column.scale.lower, column.scale.upper


def number(column: Column, record: Record) -> Float[Array, ""]:
    """A record's number in the units of the data; not a number where it is missing."""
    scale = column.scale
    assert scale is not None
    value = record[column.places[0]] * scale.unit + scale.centre
    if column.missing is None:
        return value
    return jnp.where(record[column.missing] > 0.5, jnp.nan, value)
