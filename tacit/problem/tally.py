"""What became of evaluations of black boxes since a run began: private, for owners alone."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Int


@dataclass(frozen=True, eq=False)
class Tally:
    """Numbers of points or losses by agent, and the first of each kind in words. Private.

    Attributes:
        valued: points that have a value, stored ones among them, shape `(K,)`.
        skipped: points that were skipped because their evaluation failed, shape `(K,)`.
        lost: losses of records that were not finite, shape `(K,)`.
        failure: what the first skipped point of an agent failed with.
        first_lost: where the first of an agent's losses was that was not finite.
    """

    valued: Int[np.ndarray, " agents"]
    skipped: Int[np.ndarray, " agents"]
    lost: Int[np.ndarray, " agents"]
    failure: dict[int, str] = field(default_factory=dict)
    first_lost: dict[int, str] = field(default_factory=dict)

    @classmethod
    def of(cls, agents: int) -> Tally:
        """Nothing yet, of this number of agents."""
        valued, skipped, lost = np.zeros((3, agents), dtype=np.int64)
        return cls(valued, skipped, lost)

    @property
    def silent(self) -> dict[int, str]:
        """Agents of which no point had a value and some were skipped, with the first failure."""
        return {agent: told for agent, told in self.failure.items() if not self.valued[agent]}

    @property
    def losses(self) -> dict[int, str]:
        """How many losses of an agent were not finite, and where the first was."""
        return {
            agent: f"{self.lost[agent]:,} of agent {agent}, the first {where}"
            for agent, where in self.first_lost.items()
        }
