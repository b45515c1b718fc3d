"""What became of evaluations of black boxes since a run began: private, for owners alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float, Int

from tacit.problem.answers import difference, place

Seen = tuple[Float[np.ndarray, " p"], Float[np.ndarray, " n"]]
"""A point, and an agent's values there."""


@dataclass(frozen=True, eq=False)
class Tally:
    """Numbers of points or losses by agent, and the first of each kind in words. Private.

    Attributes:
        valued: points that have a value, stored ones among them, shape `(K,)`.
        skipped: points that were skipped because their evaluation failed, shape `(K,)`.
        lost: losses of records that were not finite, shape `(K,)`.
        failure: what the first skipped point of an agent failed with.
        first_lost: where the first of an agent's losses was that was not finite.
        looked: where a look before the run was at an agent's values, and the values there.
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
    looked: Mapping[int, Seen] = field(default_factory=dict)
    begun: dict[int, Seen] = field(default_factory=dict)
    moved: set[int] = field(default_factory=set)
    varied: set[int] = field(default_factory=set)
    changed: dict[int, str] = field(default_factory=dict)

    @classmethod
    def of(cls, agents: int, looked: Mapping[int, Seen] | None = None) -> Tally:
        """Nothing yet, of this number of agents."""
        valued, skipped, lost = np.zeros((3, agents), dtype=np.int64)
        return cls(valued, skipped, lost, looked=looked or {})

    def take(
        self,
        agent: int,
        points: Float[np.ndarray, "m p"],
        values: Float[np.ndarray, "m n"],
        names: Sequence[str] | None = None,
    ) -> None:
        """Take note of an agent's values: which are missing, and whether they change.

        Args:
            agent: whose values they are.
            points: where, one a row.
            values: what was answered there; NaN where a loss was not finite.
            names: names of the parameters.
        """
        self.valued[agent] += len(points)
        none = np.argwhere(np.isnan(values))
        if none.size:
            self.lost[agent] += len(none)
            told = f"that of its record {none[0, 1]} at {place(points[none[0, 0]], names)}"
            self.first_lost.setdefault(agent, told)
        if agent in self.looked and agent not in self.changed:
            point, before = self.looked[agent]
            for row in np.flatnonzero((points == point).all(axis=1)):
                if told := difference(before, values[row]):
                    self.changed[agent] = told
        if agent not in self.varied:
            point, before = self.begun.setdefault(agent, (points[0].copy(), values[0].copy()))
            if np.any(points != point):
                self.moved.add(agent)
            if not np.array_equal(values, np.broadcast_to(before, values.shape), equal_nan=True):
                self.varied.add(agent)

    def skip(self, agent: int, points: int, told: str) -> None:
        """Take note of points that were skipped.

        Args:
            agent: whose points they are.
            points: their number.
            told: what their evaluation failed with.
        """
        self.skipped[agent] += points
        self.failure.setdefault(agent, told)

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
            agent: f"{self.lost[agent]:,}, the first {where}"
            for agent, where in self.first_lost.items()
        }
