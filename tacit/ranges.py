"""Which numbers an argument may be, said where it is annotated.

step: Positive
delta: Annotated[float, Range(least=0.0, below=1.0)]
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, TypeAlias

import numpy as np

from tacit.checks import numeric

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

        To type checkers it is the union above. At run time JAX may not be loaded yet, and which
        numbers are meant is for the `Range` beside it to say.
        """

    Listed = Numbers  # what is handed over, and may be lists that are no array yet


@dataclass(frozen=True)
class Range:
    """Which numbers an argument may be, each of them where it is an array or a list.

    Attributes:
        above: they are larger than that.
        least: they are at least that.
        below: they are smaller than that.
        most: they are at most that.
        infinite: whether infinity is one of them, where nothing else forbids it.
        unset: whether nan is one of them, for what is filled in later.
        whole: whether they are whole numbers.
        optional: whether `None` will do, too.
        axes: how many axes an array may have; 0 for a single number.
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
        """What is asked for, where a value is none of it."""
        if value is None:
            return None if self.optional else "a number"
        if not isinstance(value, Numbers) or np.size(value) == 0 or np.ndim(value) > self.axes:
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
        """What is asked for."""
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
    """What a study file may give for an argument, where Python takes more or says less.

    Attributes:
        kind: a type of what TOML has.
    """

    kind: object


Number: TypeAlias = Annotated[Numbers, Range(infinite=True, unset=True)]
"""Any number, or several: which ones, says who is given them."""

Real: TypeAlias = Annotated[int | float, Range(infinite=True, unset=True)]
"""Any number, infinity and nan, too."""

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
"""Any number, or a list of them: which ones, says who is given them."""

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

Unset: TypeAlias = Annotated[Numbers, Range(least=0.0, infinite=True, unset=True)]
"""A number that is at least 0, or several; not a number until it is calibrated."""

Count: TypeAlias = Annotated[int, Range(least=1.0, infinite=True)]
"""A whole number that is at least 1."""

Whole: TypeAlias = Annotated[int, Range(least=0.0, infinite=True)]
"""A whole number that is at least 0."""


def traced(value: object) -> bool:
    """Whether a value is known only while JAX runs."""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(value, jax.core.Tracer)
