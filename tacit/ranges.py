"""Ranges of numeric arguments, declared in their annotations.

step: Positive
delta: Annotated[float, Range(least=0.0, below=1.0)]
"""

from __future__ import annotations

import math
import numbers
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import numpy as np

LONG = 10**300
"""Larger whole numbers may be too large for a float."""

if TYPE_CHECKING:
    from jax import Array
    from jax.typing import ArrayLike

    Numbers: TypeAlias = float | np.ndarray | Array
    Listed: TypeAlias = ArrayLike | Sequence[float] | Sequence[Sequence[float]]
else:

    class _Numeric(type):
        def __instancecheck__(cls, value):
            return numeric(value)

    class Numbers(metaclass=_Numeric):
        """A number or an array of numbers, known or traced; in a file, a finite number.

        To type checkers it is the union above. At run time JAX may not be loaded yet, and the
        `Range` beside it says which numbers are allowed.
        """

    Listed = Numbers  # arguments as given, which may be lists that are not yet arrays


@dataclass(frozen=True)
class Range:
    """The numbers that an argument may be; for an array or a list, each of its elements.

    Attributes:
        above: exclusive lower bound.
        least: inclusive lower bound.
        below: exclusive upper bound.
        most: inclusive upper bound.
        infinite: whether infinity is allowed, unless another bound forbids it.
        unset: whether nan is allowed, for values that are filled in later.
        whole: whether only whole numbers are allowed.
        optional: whether `None` is allowed, too.
        axes: largest number of axes of an array; 0 for a single number.
    """

    above: float = -math.inf
    least: float = -math.inf
    below: float = math.inf
    most: float = math.inf
    infinite: bool = False
    unset: bool = False
    whole: bool = False
    optional: bool = False
    axes: int = 1

    def wanted(self, value: object) -> str | None:
        """What is asked for, in words, if a value does not fit; `None` if it does."""
        if value is None:
            return None if self.optional else "a number"
        if not isinstance(value, Numbers):
            return "a number"
        if np.size(value) == 0 or np.ndim(value) > self.axes:
            return "a number" if self.axes else "one number"
        if traced(value):
            return None
        given = np.asarray(value, dtype=float)
        good = (given >= self.least) & (given <= self.most) & (self.infinite | ~np.isinf(given))
        good &= (given > self.above) | (self.above == -math.inf)
        good &= np.isinf(given) | (given == np.floor(given)) | (not self.whole)
        good &= (given < self.below) | (self.below == math.inf)
        return None if np.all(good | (self.unset & np.isnan(given))) else self.words

    @property
    def words(self) -> str:
        """What is asked for, in words."""
        high = min(self.below, self.most)
        if high < math.inf:
            left = "[" if self.least > -math.inf else "("
            right = ")" if self.below < math.inf else "]"
            return f"in {left}{max(self.above, self.least):g}, {high:g}{right}"
        if self.whole:
            return f"whole numbers, at least {self.least:g}"
        kind = "number" if self.infinite else "finite number"
        if self.above > -math.inf:
            return f"a positive {kind}" if self.above == 0 else f"a {kind} above {self.above:g}"
        if self.least > -math.inf:
            return f"at least {self.least:g}" + (" and finite" if not self.infinite else "")
        return f"a {kind}"


@dataclass(frozen=True)
class Key:
    """The type that a study file may give for an argument, where it differs from Python's.

    Attributes:
        kind: a type that TOML has.
    """

    kind: object


Number: TypeAlias = Annotated[Numbers, Range(infinite=True, unset=True)]
"""Any number, or several; whatever receives them says which ones."""

Real: TypeAlias = Annotated[int | float, Range(infinite=True, unset=True)]
"""Any number, including infinity and nan."""

Maybe: TypeAlias = Annotated[
    Numbers | None, Range(infinite=True, unset=True, optional=True, axes=8)
]
"""Any number, or several, or none."""

One: TypeAlias = Annotated[Numbers, Range(infinite=True, unset=True, axes=0)]
"""Any single number."""

Finite: TypeAlias = Annotated[Numbers, Range()]
"""A finite number, or several."""

Point: TypeAlias = Annotated[Listed, Range()]
"""A finite number, or a list of them."""

Corner: TypeAlias = Annotated[Listed, Range(infinite=True, unset=True)]
"""Any number, or a list of them; whatever receives them says which ones."""

Values: TypeAlias = Annotated[Listed, Range(infinite=True, axes=8)]
"""Numbers in an array of any shape."""

Table: TypeAlias = Annotated[Listed, Range(axes=2)]
"""A matrix of finite numbers."""

Positive: TypeAlias = Annotated[Numbers, Range(above=0.0)]
"""A positive finite number, or several."""

PositiveOne: TypeAlias = Annotated[Numbers, Range(above=0.0, axes=0)]
"""A single positive finite number."""

NotNegative: TypeAlias = Annotated[Numbers, Range(least=0.0)]
"""A finite number that is at least 0, or several."""

NotNegativeOne: TypeAlias = Annotated[Numbers, Range(least=0.0, axes=0)]
"""A single finite number that is at least 0."""

Unset: TypeAlias = Annotated[Numbers, Range(least=0.0, infinite=True, unset=True)]
"""A number that is at least 0, or several; not a number until it is calibrated."""

Count: TypeAlias = Annotated[int, Range(least=1.0, infinite=True)]
"""A whole number that is at least 1."""

Whole: TypeAlias = Annotated[int, Range(least=0.0, infinite=True)]
"""A whole number that is at least 0."""


def numeric(value: object) -> bool:
    """Whether a value is a number or an array or list of numbers; nan is, a truth value is not."""
    kind = getattr(getattr(value, "dtype", None), "kind", None)
    if kind is not None:
        return kind in "iuf" or kind == "V"  # a low-precision JAX type
    if isinstance(value, list | tuple):
        shapes = {np.shape(each) if numeric(each) else None for each in value}
        return len(shapes) == 1 and None not in shapes
    if isinstance(value, int):
        return not isinstance(value, bool) and abs(value) < LONG
    return isinstance(value, numbers.Real)


def traced(value: object) -> bool:
    """Whether a value is known only while JAX runs."""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(value, jax.core.Tracer)


def per_agent(value: Any) -> Any:
    """A list or tuple of one number per agent as an array; anything else unchanged."""
    return np.asarray(value, dtype=float) if isinstance(value, list | tuple) else value
