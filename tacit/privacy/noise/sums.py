"""Releases on one grid for all agents; only their sum, exact in integers, can be read.

Every agent rounds its answer to multiples of the same `2^k`, adds discrete Gaussian noise of the
same scale, and hides the integers under masks modulo 2^64. A sum of discrete Gaussians is not a
discrete Gaussian, but from `SMALLEST_SCALE` steps on nothing tells them apart: the logarithm of the
ratio of their probabilities is below 1e-300 (Kairouz, Liu, Steinke 2021, theorem 9).

Proof: docs/proofs/masks.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from jaxtyping import Float64, Int64

from tacit.errors import PrivacyError
from tacit.privacy.laws import NoiseKind
from tacit.privacy.masking import largest_cohort
from tacit.privacy.mechanism import Mechanism
from tacit.privacy.noise.grid import Grid
from tacit.privacy.noise.source import AbstractNoise
from tacit.privacy.query import AbstractQuery
from tacit.privacy.rounding import DOUBLE
from tacit.ranges import Listed
from tacit.types import PublicContext, Relation

SMALLEST_SCALE = 16.0
"""Steps from which on the laws' difference, `10 K exp(-pi^2 s^2)`, is below 1e-300."""

LARGEST = 2**53
"""Bound on an agent's noisy value, in steps."""


@dataclass(frozen=True)
class SumRelease:
    """One agent's part of a sum, fixed by public constants before any data are seen.

    Attributes:
        grid: grid to which values are rounded; all agents have the same step.
        scale: scale of the noise in steps; the same for all agents.
    """

    grid: Grid
    scale: float

    def noised(self, value: Listed, noise: AbstractNoise) -> Int64[np.ndarray, " n"]:
        """The answer in steps, with noise: the value that a mask hides before it is sent.

        Args:
            value: the private answer, with the grid's number of entries.
            noise: source of the noise.

        Raises:
            PrivacyError: a value that the grid was not made for.
        """
        kind = np.asarray(value).dtype
        if kind.kind not in "fiu" or (kind.kind == "f" and np.finfo(kind).eps > 2.0 * DOUBLE):
            raise PrivacyError(
                f"a value of type {kind} has larger rounding errors than the grid's sensitivity "
                "allows for; compute it in float64"
            )
        return noise.added(self.grid.rounded(value), NoiseKind.GAUSSIAN, self.scale)


def sum_releases(
    mechanism: Mechanism,
    query: AbstractQuery,
    contexts: Sequence[PublicContext],
    relation: Relation,
    most_records: Sequence[int] | None = None,
) -> tuple[SumRelease, ...]:
    """The releases of all agents on the coarsest grid that any of them needs.

    Args:
        mechanism: mechanism with noise of one scale for all agents.
        query: query whose computed answers have a bound.
        contexts: declared constants, one context per agent.
        relation: adjacency of the data sets.
        most_records: public bound on the number of records of every agent, as for `on_grid`.

    Raises:
        PrivacyError: no noise, more agents than a sum holds, or as for `on_grid`.
    """
    if len(contexts) > largest_cohort(LARGEST):
        raise PrivacyError(
            f"{len(contexts):,} agents are more than the {largest_cohort(LARGEST):,} whose sum is "
            "exact modulo 2^64; divide them among several runs"
        )
    grids, scale = level_grids(mechanism, query, contexts, relation, most_records)
    if scale < SMALLEST_SCALE:
        raise PrivacyError(
            f"noise of {scale:.3g} steps is too little for a sum on a grid: {SMALLEST_SCALE:g} are "
            "needed, which take a smaller bound on the values or more noise"
        )
    return tuple(SumRelease(grid, scale) for grid in grids)


def level_grids(
    mechanism: Mechanism,
    query: AbstractQuery,
    contexts: Sequence[PublicContext],
    relation: Relation,
    most_records: Sequence[int] | None = None,
    reach: float = 1.0,
) -> tuple[list[Grid], float]:
    """The agents' grids, all of one step, and the scale of the noise of each, in steps.

    Args:
        mechanism: mechanism with noise of one scale for all agents.
        query: query whose computed answers have a bound.
        contexts: declared constants, one context per agent.
        relation: adjacency of the data sets.
        most_records: public bound on the number of records of every agent, as for `on_grid`.
        reach: scales of all noise in a release together, over that of the agent's own, at least 1.

    Raises:
        PrivacyError: no noise, or as for `on_grid`.
    """
    dimension = contexts[0].dimension
    if dimension is None:
        raise PrivacyError("a release needs PublicContext.dimension, the number of coordinates")
    size, dose = query.size(dimension), mechanism.dose
    if dose is None:
        raise PrivacyError("without noise a release protects nobody")

    def stated(public: PublicContext) -> float:
        return dose.multiplier(query, public, relation)

    counts = most_records or [public.count for public in contexts]
    grids: list[Grid] = []
    moved: list[Fraction] = []
    for public, count in zip(contexts, counts, strict=True):
        multiplier = stated(public)
        if not 0.0 < multiplier < math.inf:
            raise PrivacyError(
                f"noise_multiplier={multiplier!r} of agent {public.agent} must be positive and "
                "finite: without noise a release protects nobody"
            )
        moves, largest = query.computed(public, relation, count)
        noise = reach * multiplier * moves
        grids.append(Grid.for_release(moves, 2, size, noise, largest))
        moved.append(Fraction(moves))
    exponent = max(grid.exponent for grid in grids)
    step = Fraction(2) ** exponent
    # rounding may move two neighbours apart by the root of the number of coordinates, in steps
    spread = Fraction(math.isqrt(size << 40) + 1, 1 << 20)
    level = [
        replace(grid, exponent=exponent, sensitivity=math.ceil(most / step + spread))
        for grid, most in zip(grids, moved, strict=True)
    ]
    scale = max(
        grid.scale_for(stated(public)) for grid, public in zip(level, contexts, strict=True)
    )
    return level, scale


def value_of(total: Int64[np.ndarray, " n"], exponent: int) -> Float64[np.ndarray, " n"]:
    """A sum of steps in the unit of the values, rounded to the nearest float64."""
    return np.ldexp(total.astype(np.float64), exponent)


def in_steps(value: Listed, exponent: int) -> Int64[np.ndarray, " n"]:
    """A simulated release in steps of `2^exponent`, shape `(n,)`."""
    steps = np.rint(np.ldexp(np.asarray(value, np.float64), -exponent))
    return np.clip(steps, -(2.0**53), 2.0**53).astype(np.int64)
