"""A smaller problem that stands for a large one, and how its noise is scaled to match."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from tacit.advise.setting import Setting
from tacit.network.base import AbstractNetwork
from tacit.network.star import Coordinator
from tacit.network.topologies import TOPOLOGIES, random_regular

MOST_AGENTS = 32
"""Maximum number of simulated sites."""

_ENTRIES = 4e4
_TRIALS = ((2e5, 8), (math.inf, 4))
"""Largest number of features in all records, and the number of trials that it allows."""


@dataclass(frozen=True, eq=False)
class Shape:
    """The shape of a simulation.

    Attributes:
        counts: number of records of every simulated site.
        divisors: divisor of each site's sum.
        network: network of at most `MOST_AGENTS` sites.
        trials: number of repetitions with different noise.
        work: multiplications of one round in all trials.
        notes: differences from the study, in words.
        asked: number of sites of the study.
        ratio: ratio of simulated records to those of the study.
    """

    counts: Int[np.ndarray, " sites"]
    divisors: Float[np.ndarray, " sites"]
    network: AbstractNetwork
    trials: int
    work: float
    notes: tuple[str, ...]
    asked: int
    ratio: float

    @property
    def agents(self) -> int:
        """Number of simulated sites."""
        return self.network.agents

    @property
    def noise(self) -> float:
        """Factor for a noise multiplier, so that the noise corresponds to all records.

        The noise on a site's mean gradient falls as one over its records. A coordinator averages
        the noise of all its clients, which fewer clients with less noise reproduce exactly.
        """
        coordinated = self.network.coordinated
        return self.ratio * (math.sqrt(self.agents / self.asked) if coordinated else 1.0)


def shape(setting: Setting) -> Shape:
    """The problem to simulate: the study itself if small, otherwise with fewer records."""
    notes: list[str] = []
    network, counts, divisors = setting.network, setting.counts, setting.divisors
    if network.agents > MOST_AGENTS:
        network = _fewer(network)
        how = (
            "with the noise that the mean over all of them has"
            if network.coordinated
            else "which is pessimistic where all of them mix well"
        )
        notes.append(f"{network.agents} sites stand for {setting.agents:,} ({network.kind}), {how}")
        # small and large sites in the same proportions
        order = np.argsort(counts, kind="stable")
        kept = order[((np.arange(network.agents) + 0.5) * len(order) / network.agents).astype(int)]
        counts, divisors = counts[kept], divisors[kept]
    enough = max(20 * network.agents, 4 * setting.features)
    affordable = _ENTRIES / setting.parameters
    total = float(counts.sum())
    ratio = min(1.0, max(enough, affordable) / total)
    if ratio < 1.0:
        fewer = np.maximum(1, np.round(counts * ratio)).astype(np.int64)
        ratio = float(fewer.sum()) / total
        counts, divisors = fewer, divisors * ratio
        notes.append(
            f"{int(counts.sum()):,} records stand for {int(total):,}, with the noise of the latter"
        )
    entries = float(counts.sum() * setting.parameters)
    trials = next(number for most, number in _TRIALS if entries <= most)
    return Shape(
        counts, divisors, network, trials, entries * trials, tuple(notes), setting.agents, ratio
    )


def _fewer(network: AbstractNetwork) -> AbstractNetwork:
    """A network of `MOST_AGENTS` sites of the same kind, or else of the same mean degree."""
    if network.coordinated:
        shares = (getattr(network, name, None) for name in ("probability", "dropout"))
        return Coordinator(MOST_AGENTS, *shares)
    known = TOPOLOGIES.get(network.kind)
    if known is not None and set(known.required) == {"agents"}:
        return known.build(MOST_AGENTS)
    degree = round(float(np.mean(network.degrees)))
    return random_regular(MOST_AGENTS, min(max(degree, 3), MOST_AGENTS - 1), seed=0)
