"""A third accountant for tests: delta as an integral in the complex plane, no grid of losses.

`E max(0, 1 - e^(eps - L)) = 1/(2 pi) int exp(K(s) - s eps) / (s (s + 1)) du` along `s = t + iu`,
for any `t > 0`, where `K(s) = log E e^(sL)` adds up over releases. `K` is a closed form or an
integral over what is released; through the saddle point of the integrand the result is right to
ten digits at any delta. The integral goes on until its integrand has died away.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import fminbound

Cumulant = Callable[[np.ndarray], np.ndarray]
"""`log E e^(sL)` at complex `s` of one real part; the imaginary parts ascend from 0."""

REACH, STEPS = 60.0, 400
"""How far the integral goes at a time, over the deviation of the tilted loss, in how many steps."""

DIED, LONGEST = 1e-11, 20
"""Size of the integrand, over its largest, at which it ends, and after how many times at most.

Where a single release may decide all, what is left out oscillates and is some 1e-9."""


@dataclass(frozen=True)
class Release:
    """The cumulants of one release's loss, in either direction."""

    forth: Cumulant
    back: Cumulant


def gaussian(z: float) -> Release:
    """The loss is N(mu^2/2, mu^2) with mu = 1/z."""

    def one(s: np.ndarray) -> np.ndarray:
        return (s + s**2) / (2.0 * z**2)

    return Release(one, one)


def laplace(z: float) -> Release:
    """Atoms at both ends `1/z` and `-1/z`, an exponential density between."""
    end = 1.0 / z

    def one(s: np.ndarray) -> np.ndarray:
        between = np.exp(-end / 2.0) * np.sinh((s + 0.5) * end) / (2.0 * s + 1.0)
        return np.log(0.5 * np.exp(s * end) + 0.5 * np.exp(-(s + 1.0) * end) + between)

    return Release(one, one)


def sampled_gaussian(rate: float, z: float) -> Release:
    """The loss log(1 - q + q exp((2x - 1) / (2 z^2))) of `x`, by the trapezoidal rule over `x`."""

    def expected(s: np.ndarray, sign: float, furthest: float) -> np.ndarray:
        x = np.arange(-11.0 * z, furthest + 11.0 * z, z / 60.0)
        loss = np.logaddexp(math.log1p(-rate), math.log(rate) + (2.0 * x - 1.0) / (2.0 * z**2))
        # times e^L where the record takes part, because P = e^L Q
        real = sign * s[0].real + (1.0 if sign > 0.0 else 0.0)
        log_density = -(x**2) / (2.0 * z**2) + real * loss
        largest = log_density.max()
        density = np.exp(log_density - largest)
        kept = density > 1e-18
        turned = np.exp(1j * sign * np.outer(np.imag(s), loss[kept])) @ density[kept]
        return np.log(turned) + largest + math.log(1.0 / 60.0 / math.sqrt(2.0 * math.pi))

    return Release(
        lambda s: expected(s, 1.0, float(s[0].real) + 1.0), lambda s: expected(s, -1.0, 0.0)
    )


def delta(parts: Sequence[tuple[Release, int]], epsilon: float) -> float:
    """Delta at one epsilon of releases with their counts: the worse direction."""
    ways = [[(part.forth, n) for part, n in parts], [(part.back, n) for part, n in parts]]
    return max(_one_way(way, epsilon) for way in ways)


def _one_way(parts: Sequence[tuple[Cumulant, int]], epsilon: float) -> float:
    def total(s: np.ndarray) -> np.ndarray:
        return np.sum([count * one(s) for one, count in parts], axis=0)

    def exponent(log_t: float) -> float:
        t = math.exp(log_t)
        return float(total(np.array([t + 0j]))[0].real) - t * epsilon - log_t - math.log1p(t)

    t = math.exp(float(np.asarray(fminbound(exponent, -7.0, 9.0))))
    nudge = t / 50.0
    k = [float(total(np.array([s + 0j]))[0].real) for s in (t - nudge, t, t + nudge)]
    deviation = math.sqrt(k[0] - 2.0 * k[1] + k[2]) / nudge
    width = REACH / deviation / STEPS
    found = largest = 0.0
    for stretch in range(LONGEST):
        u = width * (np.arange(STEPS) + stretch * STEPS)
        s = t + 1j * u
        values = (np.exp(total(s) - s * epsilon) / (s * (s + 1.0))).real
        if stretch == 0:
            largest = float(values[0])
            values[0] /= 2.0
        found += float(values.sum()) * width / math.pi
        if abs(values[-50:]).max() < DIED * largest:
            break
    return found
