"""A smaller problem that stands for a large one, and how its noise is scaled to match."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tacit.advise.setting import Setting
from tacit.network.base import AbstractNetwork
from tacit.network.star import Coordinator
from tacit.network.topologies import TOPOLOGIES, random_regular

MOST_AGENTS = 32
"""More sites than that are not simulated."""

_ENTRIES = 2e4
_FEW = 3
_TRIALS = ((5e3, 16), (5e5, 8), (math.inf, _FEW))
"""Largest number of features in all records, and the trials that it allows."""


@dataclass(frozen=True, eq=False)
class Shape:
    """What is simulated.

    Attributes:
        records: of one site.
        network: of at most `MOST_AGENTS` sites.
        trials: repetitions with other noise.
        work: multiplications of one round in all trials.
        notes: how it differs from what was asked about, in words.
        asked: sites that were asked about.
    """

    records: int
    network: AbstractNetwork
    trials: int
    work: float
    notes: tuple[str, ...]
    asked: int

    @property
    def repeated(self) -> bool:
        """Whether there is time for a second set of records of each kind."""
        return self.trials > _FEW

    @property
    def agents(self) -> int:
        """Sites that are simulated."""
        return self.network.agents

    def noise(self, setting: Setting) -> float:
        """By how much a noise multiplier is scaled, so that the noise is that of `setting`.

        The noise on a site's mean gradient falls as one over its records. A coordinator averages
        the noise of all its clients, which fewer clients with less noise reproduce exactly.
        """
        scale = self.records / setting.records
        if setting.network.coordinated:
            scale *= math.sqrt(self.agents / self.asked)
        return scale


def shape(setting: Setting) -> Shape:
    """The problem to simulate: as asked about where that is small, else with fewer records."""
    notes: list[str] = []
    network = setting.network
    if network.agents > MOST_AGENTS:
        network = _fewer(network)
        how = (
            "with the noise that the mean over all of them has"
            if network.coordinated
            else "which is pessimistic where all of them mix well"
        )
        notes.append(f"{network.agents} sites stand for {setting.agents:,} ({network.kind}), {how}")
    enough = max(20, math.ceil(2 * setting.features / network.agents))
    affordable = int(_ENTRIES / (network.agents * setting.parameters))
    records = min(setting.records, max(enough, affordable))
    if records < setting.records:
        notes.append(
            f"{records:,} records a site stand for {setting.records:,}, with the noise of the "
            "latter; it is a little pessimistic, for small sites are less alike"
        )
    entries = float(records * network.agents * setting.parameters)
    trials = next(number for most, number in _TRIALS if entries <= most)
    return Shape(records, network, trials, entries * trials, tuple(notes), setting.agents)


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
