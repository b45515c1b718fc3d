"""How PDOP divides one budget over the rounds: noise that follows a shrinking step.

The step of round `t` is `gamma_t = c q^t` (rounds from 0), so the sensitivity of the released value
decreases, and noise of the same size in every round would waste the budget. A split
gives the size of the noise *relative to that sensitivity*; one common factor, the noise multiplier
of the budget, is then calibrated over the whole run.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Literal

import equinox as eqx
import numpy as np

from tacit.privacy.query import own_public
from tacit.ranges import Numbers

Schedule = Literal["corrected", "optimised"]
"""Noise that shrinks like `p^t`, or the split with the least variance in the answer."""

_LARGEST = math.log(1e150)
"""Logarithm of the largest relative noise: beyond, a release costs nothing measurable, and the
number must stay finite."""

_FORGOTTEN = 1e-8
"""Least weight of a round's noise: where a later step forgets it altogether (`h gamma = 1`) the
best noise would be infinite, and rests on the curvature being exactly the stated one."""


class Split(eqx.Module):
    """Noise of every round relative to its sensitivity, up to the common multiplier.

    Attributes:
        schedule: rule of the split.
        ratio: factor `q` by which the step shrinks from round to round.
        noise_ratio: factor `p` by which the noise shrinks ("corrected"); `(1 + q) / 2` if `None`.
        step: first step size, `c`.
        curvature: curvature of the costs, `h` ("optimised").
        delta: delta of the budget; with 0, pure epsilons add up.
        laplace: whether the noise is Laplace rather than Gaussian.

    Example:
        >>> split = Split("corrected", 0.5, 0.8, 0.1, curvature=0.0, delta=0.0, laplace=True)
        >>> [round(split(t, rounds=3), 2) for t in range(3)]
        [1.0, 1.6, 2.56]
    """

    schedule: Schedule = eqx.field(static=True)
    ratio: Numbers
    noise_ratio: Numbers | None
    step: Numbers
    curvature: Numbers
    delta: Numbers
    laplace: bool = eqx.field(static=True)

    def __call__(self, round: int, rounds: int) -> float:
        """The relative noise of one round; in plain Python, from public numbers only."""
        q = own_public(self.ratio, 0)
        if self.schedule == "corrected":
            p = (1.0 + q) / 2.0 if self.noise_ratio is None else own_public(self.noise_ratio, 0)
            return grown(p / q, round)
        pure = self.laplace and not np.any(np.asarray(self.delta, dtype=float))
        bend = own_public(self.curvature, 0) * own_public(self.step, 0)
        return optimised_split(q, bend, rounds, pure=pure)[round]


def grown(factor: float, times: int) -> float:
    """`factor^times`, capped where a release with that much noise has no measurable cost."""
    return math.exp(min(times * math.log(factor), _LARGEST))


@lru_cache(maxsize=64)
def optimised_split(
    ratio: float, curvature: float, rounds: int, *, pure: bool = True
) -> tuple[float, ...]:
    """Relative noise of every round that minimises the variance of the answer for its budget.

    With sensitivities `gamma_t = q^t` and `a_t = prod_{l > t} (1 - h gamma_l)^2`, the part of a
    round's noise that later steps leave, the answer has the variance `sum_t a_t M_t^2` up to a
    factor. Where pure epsilons add up, its least value for a given `sum_t gamma_t / M_t` has
    `M_t` in proportion to `(gamma_t / a_t)^(1/3)`. Gaussian releases (and many Laplace releases at
    a positive delta) add up as squares, and `M_t` goes with `(gamma_t^2 / a_t)^(1/4)`.

    Args:
        ratio: factor `q`, in (0, 1].
        curvature: curvature `h`, at least 0, in units of one over the first step.
        rounds: number of rounds, at least 1.
        pure: whether epsilons add up, rather than their squares.

    Returns:
        `M_t / gamma_t`, scaled so that the smallest is 1.

    By Lagrange multipliers: docs/methods/pdop.md.

    Example:
        >>> [round(noise, 3) for noise in optimised_split(0.5, 0.0, 3)]
        [1.0, 1.587, 2.52]
    """
    steps = np.arange(rounds) * math.log(ratio)
    left = np.log(np.maximum(_remaining(ratio, curvature, rounds), _FORGOTTEN))
    logarithms = -(2.0 * steps + left) / 3.0 if pure else -(2.0 * steps + left) / 4.0
    logarithms -= logarithms.min()
    return tuple(np.exp(np.minimum(logarithms, _LARGEST)).tolist())


def _remaining(ratio: float, curvature: float, rounds: int) -> np.ndarray:
    """`a_t`: the share of the variance of a round's noise that remains after the later steps."""
    factors = np.square(1.0 - curvature * ratio ** np.arange(1, rounds))
    with np.errstate(over="ignore"):
        return np.append(np.cumprod(factors[::-1])[::-1], 1.0)
