"""Which declared bounds hide a regression's information, from its released sums alone.

A column is moved to [-1, 1] by its bounds, and the noise is of that size whatever the records are.
Where its values fill a small part of them, the information on it is small, and narrower bounds make
it larger at the same noise.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Float

from tacit.data.factors import Number, bounds_of

if TYPE_CHECKING:
    from tacit.method.glm import PrivateGLM

_ROUNDING = 1e-12
"""Below which a variance, in units of the bounds, is none."""

_WIDE = 0.25
"""Standard deviation over half of the bounds below which these are called wide: a uniform column
has 0.58, and bounds at three standard deviations have 0.33."""

_REACH = 3.0
"""Standard deviations that narrower bounds reach from the mean."""

_SURE = 2.0
"""Standard errors by which a variance is taken for larger than it was released."""


class Narrower(NamedTuple):
    """The column whose bounds cost most, and what released sums say of it.

    Attributes:
        name: name of the column.
        declared: its declared bounds.
        mean: mean of its values.
        deviation: standard deviation of its values; the largest that it may be, if `hidden`.
        hidden: whether the noise hides the deviation.
        bounds: bounds that hold the values.
        gain: factor on the information about the column at the same noise.
        curvature: noise of the information over its smallest eigenvalue with these bounds, for a
            variance a standard error below the released one; infinite if that cannot be said.
    """

    name: str
    declared: tuple[float, float]
    mean: float
    deviation: float
    hidden: bool
    bounds: tuple[float, float]
    gain: float
    curvature: float

    def sentence(self, most: float) -> str:
        """What to declare, as part of a sentence.

        Args:
            most: curvature up to which intervals are printed.
        """
        about = "at most about" if self.hidden else "about"
        promise = f"make what is known of it {self.gain:.2g} times as large at the same noise"
        if self.curvature <= most:
            promise = "would do"
        return (
            f"bounds of {self.name!r} cost most: {_shown(self.declared[0])} to "
            f"{_shown(self.declared[1])} are declared, and by the released sums its values are "
            f"about {_shown(self.mean, 3)} with a standard deviation of {about} "
            f"{_shown(self.deviation, 2)}; bounds of {_shown(self.bounds[0])} to "
            f"{_shown(self.bounds[1])} {promise}"
        )


def _shown(value: float, digits: int = 10) -> str:
    """A number in plain digits, which may be declared as it stands but for commas."""
    return f"{float(f'{value:.{digits}g}'):,.10g}"


def narrower(
    method: PrivateGLM, information: Float[np.ndarray, "d d"], noise: float
) -> Narrower | None:
    """The number whose values fill the least of its bounds; `None` if all fill enough of them.

    Mean and variance are those that the information has, in which records weigh by the model and by
    Mallows' factor.

    Args:
        method: method of the run.
        information: released information, the intercept last; with several classes contrasts of a
            column stand together.
        noise: standard deviation of the noise on its diagonal, `1/sqrt(2)` of that beside it.
    """
    width, m = method.design.width, method.outputs
    each = information.reshape(width, m, width, m)
    mean_of = np.einsum("iaja->ij", each) / m  # over contrasts
    error, total = noise / math.sqrt(m), mean_of[-1, -1]
    if total <= _SURE * error:
        return None
    found: list[tuple[float, int, Number]] = []
    place = 0
    for term in method.design.terms:
        factor = term.factors[0]
        if len(term.factors) == 1 and isinstance(factor, Number):
            mean = mean_of[place, -1] / total
            found.append((mean_of[place, place] / total - mean**2, place, factor))
        place += len(term.names)
    # a product or spline of a column would change with its bounds as well
    alone = [each for each in found if _alone(method, each[2])]
    if not alone:
        return None
    variance, place, factor = min(alone, key=lambda each: each[0])
    mean = float(np.clip(mean_of[place, -1] / total, -1.0, 1.0))
    unsure = _SURE * error * (1.0 + mean**2) / total
    hidden = variance < unsure
    spread = variance + unsure if hidden else variance
    if not _ROUNDING < spread < _WIDE**2:  # a constant says nothing, whatever its bounds
        return None
    deviation = math.sqrt(spread)
    least = information.copy()
    own = slice(place * m, (place + 1) * m)
    least[own, own] -= unsure / _SURE * total * np.eye(m)
    return _described(factor, mean, deviation, hidden, least, noise, place, m)


def _alone(method: PrivateGLM, number: Number) -> bool:
    """Whether a column stands in no other term."""
    terms = method.design.terms
    return sum(each.column == number.column for term in terms for each in term.factors) == 1


def _described(
    factor: Number,
    mean: float,
    deviation: float,
    hidden: bool,
    information: Float[np.ndarray, "d d"],
    noise: float,
    place: int,
    m: int,
) -> Narrower:
    centre, half = factor.moved
    low, high = bounds_of(factor.column)
    step = 10.0 ** math.floor(math.log10(_REACH * deviation * half) - 1.0)
    ends = (mean - _REACH * deviation, mean + _REACH * deviation)
    lower = max(low, math.floor((centre + half * ends[0]) / step) * step)
    upper = min(high, math.ceil((centre + half * ends[1]) / step) * step)
    new_centre, new_half = ((lower + upper) / 2.0 - centre) / half, (upper - lower) / 2.0 / half
    curvature = math.inf
    if not hidden:
        width = len(information) // m
        change = np.eye(width)
        change[place, place], change[place, -1] = 1.0 / new_half, -new_centre / new_half
        moved = np.kron(change, np.eye(m))
        least = float(np.linalg.eigvalsh(moved @ information @ moved.T)[0])
        size = noise * math.sqrt(2.0 * len(information))
        curvature = size / least if least > 0.0 else math.inf
    return Narrower(
        factor.column.name,
        (low, high),
        centre + half * mean,
        half * deviation,
        hidden,
        (float(f"{lower:.12g}"), float(f"{upper:.12g}")),
        1.0 / new_half**2,
        curvature,
    )
