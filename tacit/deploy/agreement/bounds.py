"""Bounds on the numbers in a message, from declared constants alone.

Every member of a run computes the same bounds. A message beyond them is refused, and no member
sends one: it stops, as a diverged run does, or truncates the message where noise alone could exceed
the bounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from tacit._engine.contract import Contract
from tacit._engine.plan import Plan
from tacit.errors import PrivacyError
from tacit.method._oracle import send_released

_REACH = 100.0
"""Noise scales beyond which no draw is: e^-100 for Laplace noise, far less for Gaussian noise."""

_SLACK = 2.0
"""Noise on a grid is a little larger than the law that it stands for; never by half."""


@dataclass(frozen=True, eq=False)
class Bounds:
    """Bounds on the numbers in messages, by number of the phase; other phases have none.

    Attributes:
        start: starting point of the run, shape `(p,)`.
        divergence: largest distance of a point's coordinate from the starting point.
        points: numbers of the phases that send points.
        reach: largest absolute value of a number, by agent, for phases that send releases.
    """

    start: np.ndarray
    divergence: float
    points: frozenset[int]
    reach: Mapping[int, np.ndarray]

    def excess(self, phase: int, sender: int, arrays: Iterable[np.ndarray]) -> str:
        """What is beyond the bounds in a message, in words; empty if nothing is.

        Args:
            phase: number of the phase.
            sender: number of the agent; a coordinator's is the number of agents.
            arrays: arrays of the message; only floating-point numbers are checked.
        """
        for array in arrays:
            if array.dtype.kind != "f" or not array.size:
                continue
            if phase in self.points:
                point = array.shape == self.start.shape
                moved = np.abs(array - self.start) if point else np.abs(array)
                origin = "where the run began" if point else "0"
                if not (largest := float(moved.max())) <= self.divergence:
                    value = float(array.reshape(-1)[int(moved.argmax())])
                    return (
                        f"{value:.3g}, which is {largest:.3g} from {origin}; "
                        f"divergence in [run] allows {self.divergence:.3g}"
                    )
            elif phase in self.reach:
                bound = float(self.reach[phase][sender])
                if not (largest := float(np.abs(array).max())) <= bound:
                    return f"{largest:.3g}; its clip and noise reach {bound:.3g} at most"
        return ""

    def cut(self, phase: int, agent: int, released: np.ndarray) -> np.ndarray:
        """A release clipped at the bound, which costs no privacy; larger draws are never seen."""
        if phase not in self.reach:
            return released
        bound = self.reach[phase][agent]
        return np.clip(released, -bound, bound)


def bounds_of(plan: Plan, agreed: Contract) -> Bounds:
    """The bounds of a run.

    Args:
        plan: plan of the run.
        agreed: contract of the run.
    """
    points, reach = set[int](), dict[int, np.ndarray]()
    for index, phase in enumerate(agreed.phases):
        if phase.point:
            points.add(index)
        released = phase.query is not None and phase.release is not None and not phase.hides.summed
        if not released or phase.message is not send_released:
            continue
        assert phase.query is not None and phase.release is not None
        relation = phase.release.relation
        scale = np.asarray(agreed.scales[index]).reshape(-1, plan.agents).max(axis=0)
        with suppress(PrivacyError):  # no bound: such a run is refused wherever values leave
            answers = [
                phase.query.computed(public, relation, most).largest
                for public, most in zip(agreed.owners.contexts, agreed.records, strict=True)
            ]
            reach[index] = _SLACK * (np.array(answers) + _REACH * scale)
    return Bounds(np.asarray(plan.x0), float(plan.divergence), frozenset(points), reach)
