"""Shares, means, deviations and quantiles from noised cells, with the error due to the noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from tacit.method.answer import NORMAL

Vector = Float[np.ndarray, " cells"]
Matrix = Float[np.ndarray, "cells cells"]


class Estimate(NamedTuple):
    """A number, and what the noise does to it.

    Attributes:
        value: the number; not a number where there is none.
        error: standard error due to the noise.
        lower: lower end of a 95 % interval for the noise.
        upper: upper end.
    """

    value: float
    error: float
    lower: float
    upper: float

    def moved(self, centre: float, unit: float) -> Estimate:
        """The same in other units: `centre + unit * value`, with a positive unit."""
        ends = (centre + unit * each for each in (self.lower, self.upper))
        return Estimate(centre + unit * self.value, unit * self.error, *ends)


NOTHING = Estimate(math.nan, math.nan, math.nan, math.nan)


def normal(value: float, variance: float) -> Estimate:
    """A number with normal noise."""
    error = math.sqrt(max(variance, 0.0))
    return Estimate(value, error, value - NORMAL * error, value + NORMAL * error)


def ratio(cells: Vector, noise: Matrix, above: Vector, below: Vector) -> Estimate:
    """The ratio of two sums of cells, with Fieller's interval, which is exact for normal noise.

    Where the denominator may be 0, as far as the noise tells, there is no interval.

    Args:
        cells: cells, shape `(m,)`.
        noise: covariance of their noise, shape `(m, m)`.
        above: weights of the cells in the numerator.
        below: weights of the cells in the denominator.
    """
    a, b = float(above @ cells), float(below @ cells)
    if not b > 0.0:
        return NOTHING
    reach = NORMAL**2
    va, vb, cov = (
        float(x @ noise @ y) for x, y in ((above, above), (below, below), (above, below))
    )
    value = a / b
    error = math.sqrt(max(va - 2.0 * value * cov + value**2 * vb, 0.0)) / b
    square = b * b - reach * vb
    if square <= 0.0:
        return Estimate(value, error, -math.inf, math.inf)
    middle = (a * b - reach * cov) / square
    half = math.sqrt(max(middle**2 - (a * a - reach * va) / square, 0.0))
    return Estimate(
        value, error, *((value, value) if error == 0.0 else (middle - half, middle + half))
    )


COUNT, FIRST, SECOND = (
    np.array(each) for each in ([1.0, 1.0, 1.0], [-1.0, 0.0, 1.0], [1.0, -1.0, 1.0])
)
"""Weights of the cells of a number in its count, and in the sums of `z` and of `z^2`."""


def variance(cells: Vector, noise: Matrix) -> Estimate:
    """The variance of `z` with `n - 1` in the denominator, from the cells of a number."""
    n, first, second = (float(each @ cells) for each in (COUNT, FIRST, SECOND))
    if n <= 1.0:
        return NOTHING
    mean = first / n
    slope = (SECOND - 2.0 * mean * FIRST + (2.0 * mean**2 - second / n) * COUNT) / n
    more = n / (n - 1.0)
    return normal(more * (second / n - mean**2), more**2 * float(slope @ noise @ slope))


def deviation(found: Estimate) -> Estimate:
    """The standard deviation of a variance; nothing where that is not positive."""
    if not found.value > 0.0:
        return NOTHING
    value = math.sqrt(found.value)
    ends = (math.sqrt(max(each, 0.0)) for each in (found.lower, found.upper))
    return Estimate(value, found.error / (2.0 * value), *ends)


def quantile(cells: Vector, noise: Matrix, edges: Sequence[float], share: float) -> Estimate:
    """A quantile of a number, from counts of it in intervals.

    Between edges the distribution function is taken to be straight. The interval makes no use of
    that: it reaches from the last edge below which there are too few records to the first one with
    too many, as far as the noise tells, so that it holds whatever lies between the edges.

    Args:
        cells: counts of the intervals, shape `(m,)`.
        noise: covariance of their noise.
        edges: ends of the intervals, ascending, `m + 1` of them.
        share: share of the records below the quantile, in (0, 1).
    """
    size = len(cells)
    if not cells.sum() > 0.0:
        return NOTHING
    below = np.tril(np.ones((size + 1, size)), -1) - share
    excess, errors = (
        below @ cells,
        np.sqrt(np.maximum(np.sum((below @ noise) * below, axis=1), 0.0)),
    )
    few, many = excess + NORMAL * errors < 0.0, excess - NORMAL * errors > 0.0
    # the bounds need no test, and a run of edges ends at the first that may be otherwise
    first = int(np.argmin([True, *few[1:], False])) - 1
    last = size - (int(np.argmin([True, *many[-2::-1], False])) - 1)
    # the one rising function halfway between the least above and the greatest below
    rising = 0.5 * (np.maximum.accumulate(excess) + np.minimum.accumulate(excess[::-1])[::-1])
    at = int(np.clip(np.searchsorted(rising, 0.0, side="left"), 1, size))
    low, high = rising[at - 1], rising[at]
    within = 1.0 if high <= low else float(np.clip(-low / (high - low), 0.0, 1.0))
    value = edges[at - 1] + within * (edges[at] - edges[at - 1])
    slope = max(high - low, 1e-12)
    error = float(errors[at]) * (edges[at] - edges[at - 1]) / slope
    return Estimate(
        float(value), error, float(min(edges[first], value)), float(max(edges[last], value))
    )
