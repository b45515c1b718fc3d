"""A survival curve from counts of events and censorings by interval, with the error of the noise.

The estimator is that of life tables: Kaplan and Meier's (1958) on a grid, in which a record that is
censored within an interval is at risk for half of it. Sampling variance: Greenwood (1926). Noise is
carried through by the delta method, as each cell's is known; both are put together interval by
interval by the method of variance estimates recovery (Zou and Donner, 2008), because sampling is
lopsided near 0 and 1 and noise is not.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from tacit.method.answer import NORMAL

Vector = Float[np.ndarray, " intervals"]

SEEN = 5.0
"""Number at risk at which a curve ends, in standard deviations of the noise in it."""

_DRAWS = 5_000

_SEED = 19580621
"""Public seed of the drawn bands: the same release gives the same band."""

_SMALLEST = 1e-9
"""Smallest share of an interval's records that survive it, where none do."""


class Cells(NamedTuple):
    """Counts of one group.

    Attributes:
        events: records with an event in each interval.
        censored: records censored in each interval.
        beyond: records without an event up to the end of the last interval.
        noise: standard deviation of the noise in each count.
    """

    events: Vector
    censored: Vector
    beyond: float
    noise: float

    @property
    def entering(self) -> Vector:
        """Records at risk at the start of each interval."""
        return self.beyond + np.cumsum((self.events + self.censored)[::-1])[::-1]

    @property
    def entering_noise(self) -> Vector:
        """Standard deviation of the noise in these."""
        size = len(self.events)
        return self.noise * np.sqrt(2.0 * np.arange(size, 0, -1) + 1.0)

    @property
    def at_risk(self) -> Vector:
        """Records at risk, of those censored in an interval the half."""
        return self.entering - self.censored / 2.0

    @property
    def known(self) -> int:
        """Number of intervals, from the first one, in which records at risk stand out of noise."""
        entering = self.entering
        seen = (entering > SEEN * self.entering_noise) & (entering > 0.5) & (self.at_risk > 0.0)
        return int(np.argmin([*seen, False]))


class Curve(NamedTuple):
    """A survival curve at the ends of intervals.

    Attributes:
        survival: probability of no event until the end of each interval.
        sampling: covariance of its sampling error.
        noise: covariance of its error due to the noise.
        lower: lower ends of 95 % intervals, point by point.
        upper: upper ends.
        band_lower: lower ends of a band that holds the whole curve with 95 %.
        band_upper: upper ends.
    """

    survival: Vector
    sampling: Float[np.ndarray, "intervals intervals"]
    noise: Float[np.ndarray, "intervals intervals"]
    lower: Vector
    upper: Vector
    band_lower: Vector
    band_upper: Vector

    @property
    def error(self) -> Float[np.ndarray, "intervals intervals"]:
        """Covariance of both errors."""
        return self.sampling + self.noise


def curve(cells: Cells) -> Curve:
    """The survival curve of a group, as far as its records at risk stand out of the noise.

    Args:
        cells: counts of the group.
    """
    from scipy.optimize import isotonic_regression

    size = cells.known
    d, r = cells.events[:size], cells.at_risk[:size]
    kept = np.maximum(1.0 - d / r, _SMALLEST)
    raw = np.cumprod(kept)
    # what a cell does to each interval's hazard d / r, and so to the product
    later = np.triu(np.ones((size, len(cells.events))))
    same = np.eye(size, len(cells.events))
    share = (d / r**2)[:, None]
    moved = np.hstack(
        [same / r[:, None] - share * later, -share * (later - 0.5 * same), -share * later[:, -1:]]
    )
    slopes = np.tril(raw[:, None] / kept[None, :]) @ moved
    noise = cells.noise**2 * slopes @ slopes.T
    # signed, so that noise adds nothing on average
    greenwood = np.maximum.accumulate(np.maximum(np.cumsum(d / (r * r * kept)), 0.0))
    sampling = np.outer(raw, raw) * np.minimum.outer(greenwood, greenwood)
    survival = raw
    if cells.noise > 0.0 and size:
        weights = 1.0 / np.maximum(np.diag(noise + sampling), 1e-300)
        survival = isotonic_regression(raw, weights=weights, increasing=False).x
    survival = np.clip(survival, 0.0, 1.0)
    sampled, noised = np.diag(sampling), np.diag(noise)
    lower, upper = _ends(survival, sampled, noised, NORMAL)
    band = _ends(survival, sampled, noised, _simultaneous(sampling + noise))
    return Curve(survival, sampling, noise, lower, upper, *band)


def _ends(survival: Vector, sampled: Vector, noised: Vector, reach: float) -> tuple[Vector, Vector]:
    """Ends of intervals: by log(-log) for the sampling, and straight for the noise."""
    inside = (survival > 0.0) & (survival < 1.0) & (sampled > 0.0)
    s = np.where(inside, survival, 0.5)
    power = np.exp(np.minimum(reach * np.sqrt(sampled) / (s * -np.log(s)), 700.0))
    below = np.where(inside, s - s**power, 0.0)
    above = np.where(inside, s ** (1.0 / power) - s, 0.0)
    noise = reach**2 * noised
    lower = np.maximum(survival - np.sqrt(below**2 + noise), 0.0)
    upper = np.minimum(survival + np.sqrt(above**2 + noise), 1.0)
    return lower, upper


def _simultaneous(error: Float[np.ndarray, "m m"]) -> float:
    """Largest of the standardised errors that is not exceeded with 95 %."""
    deviations = np.sqrt(np.diag(error))
    there = deviations > 0.0
    if not there.any():
        return NORMAL
    error, deviations = error[np.ix_(there, there)], deviations[there]
    values, vectors = np.linalg.eigh(error / np.outer(deviations, deviations))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    drawn = np.random.default_rng(_SEED).normal(size=(_DRAWS, len(root))) @ root.T
    return float(np.quantile(np.abs(drawn).max(axis=1), 0.95))


class Estimate(NamedTuple):
    """A number with a 95 % interval for sampling and noise.

    Attributes:
        value: the number; not a number where the curve does not reach it.
        lower: lower end.
        upper: upper end.
    """

    value: float
    lower: float
    upper: float


def median(found: Curve, edges: Vector) -> Estimate:
    """The time until half of the records have had an event.

    Between the ends of intervals the curve is taken to be straight. The interval makes no use of
    that: it reaches from the last end before the lower one of the curve is at 1/2 to the first at
    which the upper one is.

    Args:
        found: survival curve.
        edges: ends of all intervals, with the start of the first one.
    """
    survival = np.concatenate([[1.0], found.survival])
    lower, upper = (np.concatenate([[1.0], each]) for each in (found.lower, found.upper))
    at = int(np.argmax(survival <= 0.5))
    value = math.nan
    if at:
        high, low = survival[at - 1], survival[at]
        value = float(edges[at - 1] + (high - 0.5) / (high - low) * (edges[at] - edges[at - 1]))
    first, last = int(np.argmax(lower <= 0.5)), int(np.argmax(upper < 0.5))
    return Estimate(
        value,
        float(edges[first - 1] if first else edges[len(survival) - 1]),
        float(edges[last]) if last else math.inf,
    )


def restricted_mean(found: Curve, edges: Vector, size: int) -> Estimate:
    """The mean time without an event up to the end of an interval.

    Args:
        found: survival curve.
        edges: ends of all intervals, with the start of the first one.
        size: number of intervals up to that end, at most those of the curve.
    """
    widths = np.diff(edges[: size + 1])
    weights = (widths + np.append(widths[1:], 0.0)) / 2.0
    value = float(edges[0] + widths[0] / 2.0 + weights @ found.survival[:size])
    error = math.sqrt(max(float(weights @ found.error[:size, :size] @ weights), 0.0))
    return Estimate(value, value - NORMAL * error, value + NORMAL * error)
