"""A second accountant for tests: exact loss distributions, inverted with one FFT.

Shares no code and no method with the first: the privacy loss of every mechanism is put on a grid
by its cumulative distribution function, rounded to the nearest point, its atoms split so that they
keep their mean. That is neither pessimistic nor optimistic. The discrete characteristic functions
are multiplied and inverted, and delta is a sum over the result. Its range is Hoeffding's, so it is
made for some hundred releases, not for thousands of sampled ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

POINTS = 2**18


@dataclass(frozen=True)
class Loss:
    """One mechanism's privacy loss: a continuous part and atoms.

    Attributes:
        cdf: of the continuous part.
        low: nothing that matters lies below.
        high: nor above.
        atoms: pairs of place and mass.
    """

    cdf: Callable[[np.ndarray], np.ndarray]
    low: float
    high: float
    atoms: tuple[tuple[float, float], ...] = ()


Pair = tuple[Loss, Loss]
"""The loss in either direction."""


def gaussian(z: float) -> Pair:
    """Between N(0, z^2) and N(1, z^2): normal, mean 1/(2 z^2), variance 1/z^2."""
    mean, deviation = 0.5 / z**2, 1.0 / z
    one = Loss(norm(mean, deviation).cdf, mean - 9.0 * deviation, mean + 9.0 * deviation)
    return one, one


def laplace(z: float) -> Pair:
    """(|x - 1| - |x|) / z for x of the Laplace law about 0: between, it is (1 - 2x) / z."""

    def between(loss: np.ndarray) -> np.ndarray:
        at = (1.0 - np.clip(loss * z, -1.0, 1.0)) / 2.0
        return (np.exp(-at / z) - math.exp(-1.0 / z)) / 2.0

    atoms = ((1.0 / z, 0.5), (-1.0 / z, math.exp(-1.0 / z) / 2.0))
    one = Loss(between, -1.0 / z, 1.0 / z, atoms)
    return one, one


def sampled_gaussian(rate: float, z: float) -> Pair:
    """Between (1 - q) N(0, z^2) + q N(1, z^2) and N(0, z^2), both ways.

    The loss log(1 - q + q exp((2x - 1) / (2 z^2))) grows with x.
    """

    def place(loss: np.ndarray) -> np.ndarray:
        inside = (np.expm1(loss) + rate) / rate
        found = np.full_like(inside, -math.inf)
        np.log(inside, out=found, where=inside > 0.0)
        return z**2 * found + 0.5

    def with_record(loss: np.ndarray) -> np.ndarray:
        x = place(loss)
        return (1.0 - rate) * norm.cdf(x / z) + rate * norm.cdf((x - 1.0) / z)

    def without(loss: np.ndarray) -> np.ndarray:
        return norm.sf(place(-loss) / z)

    low = math.log1p(-rate)
    far = math.log1p(rate * math.expm1((1.0 + 18.0 * z) / (2.0 * z**2)))
    return Loss(with_record, low, far), Loss(without, -far, -low)


def deltas(parts: Sequence[tuple[Pair, int]], epsilons: np.ndarray) -> np.ndarray:
    """Delta at every epsilon of a sequence of mechanisms with their counts: the worse direction."""
    forth = _one_way([(pair[0], count) for pair, count in parts], epsilons)
    if all(pair[0] is pair[1] for pair, _ in parts):
        return forth
    return np.maximum(forth, _one_way([(pair[1], count) for pair, count in parts], epsilons))


def _one_way(parts: Sequence[tuple[Loss, int]], epsilons: np.ndarray) -> np.ndarray:
    reach = [(loss.high - loss.low, count) for loss, count in parts]
    # Hoeffding: further from its mean than half of this lies less than 2 exp(-40.5)
    spread = 9.0 * math.sqrt(sum(count * one**2 for one, count in reach))
    width = 1.02 * min(spread, 2.0 * sum(count * one for one, count in reach)) / POINTS
    transform = np.ones(POINTS // 2 + 1, dtype=complex)
    mean = 0
    for loss, count in parts:
        grid, mass = _on_grid(loss, width)
        centre = round(float(mass @ grid) / float(mass.sum()))
        mean += count * centre
        rolled = np.zeros(POINTS)
        np.add.at(rolled, (grid - centre) % POINTS, mass)
        transform *= np.fft.rfft(rolled) ** count
    law = np.fft.fftshift(np.fft.irfft(transform, POINTS))
    losses = (mean + np.arange(POINTS) - POINTS // 2) * width
    return np.array([law[losses > e] @ -np.expm1(e - losses[losses > e]) for e in epsilons])


def _on_grid(loss: Loss, width: float) -> tuple[np.ndarray, np.ndarray]:
    grid = np.arange(math.floor(loss.low / width) - 1, math.ceil(loss.high / width) + 3)
    mass = np.diff(loss.cdf((np.append(grid, grid[-1] + 1) - 0.5) * width))
    for place, weight in loss.atoms:
        below = math.floor(place / width)
        share = place / width - below
        mass[below - grid[0]] += weight * (1.0 - share)
        mass[below + 1 - grid[0]] += weight * share
    return grid, mass
