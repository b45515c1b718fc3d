"""What became of evaluations of black boxes since a run began: private, for owners alone."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float, Int


@dataclass(frozen=True, eq=False)
class Tally:
    """Numbers of points or losses by agent, and the first of each kind in words. Private.

    Attributes:
        valued: points that have a value, stored ones among them, shape `(K,)`.
        skipped: points that were skipped because their evaluation failed, shape `(K,)`.
        lost: losses of records that were not finite, shape `(K,)`.
        failure: what the first skipped point of an agent failed with.
        first_lost: where the first of an agent's losses was that was not finite.
        begun: first point of an agent, and the values there.
        moved: agents that have values at another point than their first.
        varied: agents that had two values.
        changed: how an agent's value at one point differed from that of a look at it before.
    """

    valued: Int[np.ndarray, " agents"]
    skipped: Int[np.ndarray, " agents"]
    lost: Int[np.ndarray, " agents"]
    failure: dict[int, str] = field(default_factory=dict)
    first_lost: dict[int, str] = field(default_factory=dict)
    begun: dict[int, tuple[Float[np.ndarray, " p"], Float[np.ndarray, " n"]]] = field(
        default_factory=dict
    )
    moved: set[int] = field(default_factory=set)
    varied: set[int] = field(default_factory=set)
    changed: dict[int, str] = field(default_factory=dict)

    @classmethod
    def of(cls, agents: int) -> Tally:
        """Nothing yet, of this number of agents."""
        valued, skipped, lost = np.zeros((3, agents), dtype=np.int64)
        return cls(valued, skipped, lost)

    def see(
        self, agent: int, points: Float[np.ndarray, "m p"], values: Float[np.ndarray, "m n"]
    ) -> None:
        """Take note of whether an agent's values change with the point.

        Args:
            agent: whose values they are.
            points: where, one a row.
            values: what was answered there.
        """
        if agent in self.varied:
            return
        point, value = self.begun.setdefault(agent, (points[0].copy(), values[0].copy()))
        if np.any(points != point):
            self.moved.add(agent)
        if not np.array_equal(values, np.broadcast_to(value, values.shape), equal_nan=True):
            self.varied.add(agent)

    @property
    def constant(self) -> list[int]:
        """Agents that answered several points, all with the same values."""
        return sorted(self.moved - self.varied)

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
