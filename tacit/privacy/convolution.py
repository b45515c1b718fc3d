"""Composition of many privacy losses: their laws convolved, with every error charged.

A Fourier transform computes each mass of a sum to a few last bits of the *largest* mass, which is
no bound where delta is small. So every law is tilted first: a loss `l` has its mass weighted by
`e^(t l)`, which moves the mean of the sum to where delta is wanted, and the sum of tilted losses
is tilted by the same order. There the masses are large, and their error is relative to delta.

These errors are charged, so that the result is an upper bound:

* rounding of the transforms, as mass at every loss: a transform of length `N` is wrong by at most
  `7 log2(N)` last bits of the total mass at each frequency (Higham 2002, theorem 24.2, entry by
  entry), and a product of powers by the sum of its factors' errors;
* rounding of weights and sums, as a factor;
* losses beyond the window, as an infinite loss, by Chernoff's bound. A transform is cyclic: mass
  from beyond comes back within the window, where it can only add to delta.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from tacit.privacy.loss_distribution import OnGrid, Parts, on_grid
from tacit.privacy.tally import Tally

_LAST_BIT = 2.0**-53

_RATIO = 1.25
"""Orders of tilts are powers of this, so that nearby deltas share one."""

_FURTHEST = 100.0
"""Largest power; its negative is the smallest."""

_FINEST = 1e-4
"""Least distance between two powers."""

_NEAR = 8.0
"""A tilt may overshoot by this much, in logarithms of delta."""

_BEYOND = 4.0
"""A tilt whose mean lies further beyond epsilon, over its order, is retried with less tilt."""

_PLAIN = 0.25
"""A tilt of fewer deviations than this is omitted."""

_TINY = 1e-300
"""Masses below this may have been lost."""

_OUTSIDE = 32.0
"""The window leaves out e^-32 of the tilted mass on either side."""

_ORDERS = np.array([0.25, 0.5, 1.0, 2.0, 4.0, 6.0, 8.0, 12.0, 16.0])
"""Orders of Chernoff's bound, over the deviation."""

_LONGEST = 2**23
"""Largest number of points in a window: any beyond are cut off and charged."""


@dataclass(frozen=True)
class _Tilt:
    """Sums weighted by `e^(t l)`: their weight, mean and deviation."""

    order: float
    log_weight: float
    mean: float
    deviation: float


@dataclass(frozen=True)
class _Curve:
    """Delta on a stretch of the grid, starting at `first`; never too small.

    `mean` is the mean of the sum that was tilted by `order`.
    """

    order: float
    first: int
    deltas: Float[np.ndarray, " points"]
    mean: float


@dataclass(frozen=True, eq=False)
class Sum:
    """A sum of independent privacy losses on one grid.

    Attributes:
        parts: laws of the losses, each with the number of times that it is drawn.
        width: width of the grid.
    """

    parts: Parts
    width: float
    _tilts: dict[float, _Tilt] = field(default_factory=dict)
    _curves: dict[float, _Curve] = field(default_factory=dict)

    def epsilon(self, delta: float) -> float:
        """An upper bound on the smallest epsilon at `delta`, in (0, 1); may be infinite."""
        # where Chernoff's bound on epsilon is least
        wanted = -math.log(delta)
        curve = self._curve(lambda tilt: tilt.order * tilt.mean - tilt.log_weight - wanted)
        found = self._read(curve, delta)
        # near a largest loss, Chernoff's bound can lie far beyond it, and so can the window
        while curve.order * (curve.mean - found) > _BEYOND:
            curve = self._tilted_by(self._tilted(curve.order / 4.0))
            found, before = min(found, self._read(curve, delta)), found
            if found > before * (1.0 - 1e-6):
                break
        return found

    def _read(self, curve: _Curve, delta: float) -> float:
        """The smallest epsilon that this stretch of delta shows."""
        above = np.flatnonzero(curve.deltas > delta)
        if above.size == 0:
            return max(0.0, curve.first * self.width)
        last = int(above[-1])
        if last + 1 == curve.deltas.size:
            return math.inf
        # between two points delta is linear in e^epsilon
        here, there = curve.deltas[last : last + 2]
        share = (here - delta) / (here - there)
        within = math.log1p(share * math.expm1(self.width))
        return max(0.0, (curve.first + last) * self.width + within) * (1.0 + 4.0 * _LAST_BIT)

    def delta(self, epsilon: float) -> float:
        """An upper bound on the smallest delta at `epsilon`, at least 0."""
        curve = self._curve(lambda tilt: tilt.order * (tilt.mean - epsilon))
        place = epsilon / self.width - curve.first
        if place < 0.0:
            return 1.0
        if place >= curve.deltas.size - 1:
            return float(curve.deltas[-1])
        below = math.floor(place)
        share = math.expm1((place - below) * self.width) / math.expm1(self.width)
        here, there = curve.deltas[below : below + 2]
        return float(min(1.0, (here + share * (there - here)) * (1.0 + 8.0 * _LAST_BIT)))

    def _curve(self, beyond: Callable[[_Tilt], float]) -> _Curve:
        """Delta around the mean of a tilted sum that reaches far enough, and not much further."""
        low, high = -_FURTHEST, _FURTHEST
        # whole powers first; where heavy tails take over, the mean leaps between two of them
        while high - low > (1.0 if beyond(self._tilt(high)) <= _NEAR else _FINEST):
            middle = (low + high) / 2.0 if high - low <= 1.0 else (low + high) // 2.0
            low, high = (low, middle) if beyond(self._tilt(middle)) >= 0.0 else (middle, high)
        return self._tilted_by(self._tilt(high))

    def _tilted_by(self, tilt: _Tilt) -> _Curve:
        if tilt.order * tilt.deviation < _PLAIN:
            tilt = self._tilted(0.0)
        if tilt.order not in self._curves:
            self._curves[tilt.order] = self._convolved(tilt)
        return self._curves[tilt.order]

    def _tilt(self, power: float) -> _Tilt:
        if power not in self._tilts:
            self._tilts[power] = self._tilted(_RATIO**power)
        return self._tilts[power]

    def _tilted(self, order: float) -> _Tilt:
        log_weight = mean = variance = 0.0
        for law, count in self.parts:
            losses = _losses(law, self.width)
            weight, masses = _weighted(law, losses, order)
            middle = float(masses @ losses)
            log_weight += count * weight
            mean += count * middle
            variance += count * float(masses @ (losses - middle) ** 2)
        return _Tilt(order, log_weight, mean, math.sqrt(variance))

    def _log_moment(self, order: float) -> float:
        return math.fsum(
            count * _log_sum(order * _losses(law, self.width) + law.log_masses)
            for law, count in self.parts
        )

    def _convolved(self, tilt: _Tilt) -> _Curve:
        bottom, top, beyond = self._window(tilt)
        points = 1 << max(6, (top - bottom).bit_length())
        masses, error = self._masses(tilt, bottom, points)
        losses = (bottom + np.arange(points)) * self.width
        # with its errors, what each loss weighs without the tilt; everything above `top` is charged
        # as infinite, so the transform's values there may be omitted
        charged = np.maximum(masses, 0.0) + error
        exponents = tilt.log_weight - tilt.order * losses
        rounded = 1.0 + 8.0 * _LAST_BIT * (points + float(np.abs(exponents).max()))
        rounded += (
            8.0 * _LAST_BIT * (abs(tilt.log_weight) + tilt.order * float(np.abs(losses).max()))
        )
        with np.errstate(over="ignore", under="ignore"):
            law = (np.exp(exponents) * charged * rounded)[: top - bottom + 1]
        least = np.cumsum(law[::-1])
        with np.errstate(divide="ignore"):  # a loss that is always infinite
            lost = sum(count * float(np.log1p(-law.infinite)) for law, count in self.parts)
        return _Curve(
            tilt.order,
            bottom,
            _deltas(least, self.width)[::-1] + (beyond - math.expm1(lost) + _TINY),
            tilt.mean,
        )

    @property
    def _largest(self) -> int:
        """The largest loss, in widths of the grid."""
        return sum(count * (law.first + law.log_masses.size - 1) for law, count in self.parts)

    def _window(self, tilt: _Tilt) -> tuple[int, int, float]:
        """First and last loss of the window, and an upper bound on the mass of the sum above it."""
        low = sum(count * law.first for law, count in self.parts)
        high = self._largest
        if high - low < 64 or (not tilt.deviation > 0.0 and high - low < _LONGEST):
            return low, high, 0.0
        if not tilt.deviation > 0.0:  # masses too small for a float, in a range too long to hold
            return low, low + 64, 1.0
        above = below = tilt.mean
        orders = _ORDERS / tilt.deviation
        up = [self._log_moment(tilt.order + order) - tilt.log_weight for order in orders]
        down = [self._log_moment(tilt.order - order) - tilt.log_weight for order in orders]
        above = float(np.min((np.array(up) + _OUTSIDE) / orders))
        below = float(np.max(-(np.array(down) + _OUTSIDE) / orders))
        bottom, top = max(low, math.floor(below / self.width)), math.ceil(above / self.width)
        if top >= high and high - bottom < _LONGEST:
            return bottom, high, 0.0
        top = min(top, bottom + _LONGEST - 1)
        place = top * self.width
        beyond = np.min(np.array(up) - orders * place) + tilt.log_weight - tilt.order * place
        return bottom, top, math.exp(min(0.0, float(beyond) + 1e-9 * (1.0 + abs(tilt.log_weight))))

    def _masses(
        self, tilt: _Tilt, bottom: int, points: int
    ) -> tuple[Float[np.ndarray, " points"], float]:
        """Masses of the tilted sum from `bottom` on, and the largest error of each."""
        size, phase = np.zeros(points // 2 + 1), np.zeros(points // 2 + 1)
        largest, relative = np.zeros_like(size), np.zeros_like(size)
        last_bits = _LAST_BIT * (7.0 * math.log2(points) + 8.0 * (1 + len(self.parts)))
        weights, offset = 0.0, 0
        for law, count in self.parts:
            losses = _losses(law, self.width)
            weight, masses = _weighted(law, losses, tilt.order)
            weights += count * _weight_error(law, losses, tilt.order, weight)
            folded = np.bincount(np.arange(masses.size) % points, masses, points)
            if len(self.parts) == count == 1:  # nothing to convolve
                return np.roll(folded, law.first - bottom) * math.exp(weights), 0.0
            transform = np.fft.rfft(folded)
            absolute = np.abs(transform)
            with np.errstate(divide="ignore"):
                size += count * np.log(absolute)
            phase += count * np.angle(transform)
            largest += count * np.log(absolute + last_bits)
            relative += count * last_bits / (absolute + last_bits)
            offset += count * law.first
        found = np.fft.irfft(np.exp(size) * np.exp(1j * phase), points)
        bound = np.exp(largest) * (relative + last_bits)
        error = float(bound[0] + 2.0 * bound[1:].sum()) / points
        factor = math.exp(weights)
        return np.roll(found, -((bottom - offset) % points)) * factor, error * factor


def composed(tally: Tally) -> tuple[Sum, ...]:
    """The loss of all releases of a tally together, in each distinct direction.

    Args:
        tally: counts of the releases, without any discrete Gaussian release.
    """
    width, ways = on_grid(tally)
    return tuple(Sum(parts, width) for parts in ways)


def _deltas(least: Float[np.ndarray, " points"], width: float) -> Float[np.ndarray, " points"]:
    """Delta at each loss from the mass at or above it, both from the largest loss down.

    `delta(e_(i-1)) = e^-h delta(e_i) + (1 - e^-h) P(loss >= e_i)` takes no difference.
    """
    from scipy.signal import lfilter

    keep = math.exp(-width)
    before = np.append(0.0, least[:-1])
    return np.asarray(lfilter([-math.expm1(-width)], [1.0, -keep], before))


def _losses(law: OnGrid, width: float) -> Float[np.ndarray, " points"]:
    return (law.first + np.arange(law.log_masses.size)) * width


def _weighted(
    law: OnGrid, losses: Float[np.ndarray, " points"], order: float
) -> tuple[float, Float[np.ndarray, " points"]]:
    """Logarithm of the weight of a tilted law, and its masses over that weight."""
    exponents = order * losses + law.log_masses
    weight = _log_sum(exponents)
    return weight, np.exp(exponents - weight)


def _weight_error(
    law: OnGrid, losses: Float[np.ndarray, " points"], order: float, weight: float
) -> float:
    """Relative error of a tilted mass: last bits of its exponent."""
    kept = np.isfinite(law.log_masses)
    largest = np.abs(order * losses[kept]).max() + np.abs(law.log_masses[kept]).max()
    return 4.0 * _LAST_BIT * (4.0 + float(largest) + abs(weight))


def _log_sum(exponents: Float[np.ndarray, " points"]) -> float:
    largest = float(exponents.max())
    return largest + math.log(float(np.exp(exponents - largest).sum()))
