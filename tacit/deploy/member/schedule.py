"""The phases of a run in order, and the position of each message."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from tacit._engine.agent_step import AgentStep, At, Payload
from tacit._engine.plan import Plan
from tacit.deploy.messages.wire import FINISHED, Address, Leaf, leaf_of
from tacit.method.phase import Phase
from tacit.types import Role

MOST_HANDED = 1 << 20
"""Bytes of a coordinator's state up to which it is handed over with each of its messages."""


class Turn(NamedTuple):
    """One step of one phase.

    Attributes:
        position: position in the run, from 0.
        at: round, phase and step.
        phase: phase of the method, a line of the algorithm box.
    """

    position: int
    at: At
    phase: Phase


class _Stretch(NamedTuple):
    """Consecutive rounds in which the same phases are run.

    Attributes:
        position: position of their first turn.
        first: first round; -1 before round 0.
        rounds: number of rounds.
        steps: steps per round: number of the phase, step, and the phase.
    """

    position: int
    first: int
    rounds: int
    steps: list[tuple[int, int, Phase]]

    @property
    def length(self) -> int:
        """Number of turns."""
        return self.rounds * len(self.steps)


class Schedule:
    """All turns of a run.

    Args:
        plan: plan of the run.
        turns: number of rounds, or of sums that may be tried. A sum that is tried has turns for all
            phases, since nobody knows beforehand which sum it will be.
    """

    def __init__(self, plan: Plan, turns: int) -> None:
        self.rounds, self._agents = turns, plan.agents
        summed = any(exponent is not None for exponent in plan.exponents)
        before = [phase for phase in enumerate(plan.method.phases()) if phase[1].rounds.before]
        later = [phase for phase in enumerate(plan.method.phases()) if not phase[1].rounds.before]
        runs = {index: range(turns) if summed else p.rounds.of(turns) for index, p in later}
        ends = sorted({0, turns, *(end for run in runs.values() for end in (run.start, run.stop))})
        self._stretches = [_Stretch(0, -1, 1, _steps(before))]
        for first, last in pairwise(ends):
            steps = _steps([(index, phase) for index, phase in later if first in runs[index]])
            self._stretches.append(_Stretch(self.length, first, last - first, steps))
        self._positions = [stretch.position for stretch in self._stretches]
        self._firsts = [stretch.first for stretch in self._stretches]
        self._places = [
            {(index, step): place for place, (index, step, _) in enumerate(stretch.steps)}
            for stretch in self._stretches
        ]

    @property
    def length(self) -> int:
        """Number of turns."""
        return self._stretches[-1].position + self._stretches[-1].length

    @property
    def window(self) -> int:
        """The number of turns by which a neighbour can be ahead: at most a round."""
        before, *later = (len(stretch.steps) for stretch in self._stretches)
        return max(before, *later) + max(later)

    @property
    def start(self) -> int:
        """The first turn of round 0."""
        return self._stretches[0].length

    def round(self, position: int) -> int:
        """The round of a position: -1 before round 0, the number of rounds at the end."""
        if position >= self.length:
            return self.rounds
        stretch = self._stretches[bisect_right(self._positions, position) - 1]
        return stretch.first + (position - stretch.position) // len(stretch.steps)

    def next_round(self, position: int) -> int:
        """The first turn of the round after that of a position."""
        after = self.round(position) + 1
        if after >= self.rounds:
            return self.length
        stretch = self._stretches[bisect_right(self._firsts, after) - 1]
        return stretch.position + (after - stretch.first) * len(stretch.steps)

    def turns(self, first: int = 0) -> Iterator[Turn]:
        """All turns from a position on."""
        for stretch in self._stretches:
            for position in range(max(first, stretch.position), stretch.position + stretch.length):
                round, place = divmod(position - stretch.position, len(stretch.steps))
                index, step, phase = stretch.steps[place]
                yield Turn(position, At(stretch.first + round, index, step), phase)

    def said_by(self, role: Role) -> list[int]:
        """Positions of the messages of a role, in order."""
        return [
            position
            for position, _, phase in self.turns()
            if phase.sender is role and phase.receiver is not None
        ]

    def due(self, *, server: bool, after: int, before: int) -> int | None:
        """The first turn in which a member has to send something; `None` if there is none.

        Args:
            server: whether the member is the coordinator.
            after: position whose whole round, and all before it, are excluded.
            before: round that is excluded, with all after it.
        """
        for position, at, phase in self.turns(self.next_round(after)):
            if at.round >= before:
                break
            if phase.receiver is not None and (phase.sender is Role.SERVER) is server:
                return position
        return None

    def position(self, address: Address) -> int | None:
        """The position of a message; `None` if its sender never sends such a message."""
        if address.kind == FINISHED:
            return self.length
        if not -1 <= address.round < self.rounds:
            return None
        number = bisect_right(self._firsts, address.round) - 1
        stretch = self._stretches[number]
        place = self._places[number].get((address.phase, address.step))
        if place is None:
            return None
        if (stretch.steps[place][2].sender is Role.SERVER) is not (address.sender == self._agents):
            return None  # a phase of another role
        return stretch.position + (address.round - stretch.first) * len(stretch.steps) + place


def _steps(phases: Sequence[tuple[int, Phase]]) -> list[tuple[int, int, Phase]]:
    return [(index, step, phase) for index, phase in phases for step in range(phase.repeat)]


class Form(NamedTuple):
    """The form of the messages of a phase.

    Attributes:
        leaves: dtype and shape of every array.
        structure: structure of what the method sends, made of the first `sent` arrays.
        sent: number of these arrays.
        after: structure of a coordinator's state after the message, made of the last arrays;
            `None` where the state is not included.
    """

    leaves: list[Leaf]
    structure: Any
    sent: int
    after: Any = None

    def handed(self, leaves: Sequence[tuple[bytes, Any, tuple[int, ...]]]) -> tuple[Any, list[Any]]:
        """The coordinator's state in a message, and the arrays between it and what is sent."""
        arrays = [np.frombuffer(data, dtype).reshape(shape) for data, dtype, shape in leaves]
        kept = len(arrays) - self.after.num_leaves
        state = jax.tree.unflatten(self.after, map(jnp.asarray, arrays[kept:]))
        return state, arrays[self.sent : kept]

    def blank(self) -> Payload:
        """A message of zeros."""
        zeros = [np.zeros(shape, dtype) for dtype, shape in self.leaves[: self.sent]]
        return self.structure, [(each.tobytes(), each.dtype, each.shape) for each in zeros]


def forms(plan: Plan) -> dict[int, Form]:
    """What each phase sends, by its number: traced, so that no data are queried.

    A masked value consists of integers; before it the coordinator announces the cohort and the
    number of the sum. A coordinator includes its state in each message, so nobody needs its disk.
    """
    found: dict[int, Form] = {}
    summed = any(exponent is not None for exponent in plan.exponents)
    one = jax.eval_shape(lambda all: jax.tree.map(lambda leaf: leaf[0], all), plan.objectives)
    for index, phase in enumerate(plan.method.phases()):
        server = phase.sender is Role.SERVER
        desk = AgentStep(plan, plan.agents if server else 0, jax.random.key(0))
        after, payload = desk.form(
            At(-1 if phase.rounds.before else 0, index), desk.initial(), None if server else one
        )
        leaves, structure = jax.tree.flatten(payload)
        arrays = [leaf_of(leaf.dtype, leaf.shape) for leaf in leaves]
        if plan.exponents[index] is not None:
            arrays = [("<i8", arrays[0][1])]
        elif server and summed:
            arrays = [*arrays, *announcement(plan.agents)]
        handed, kept = None, []
        if server:
            flat, handed = jax.tree.flatten(after)
            kept = [leaf_of(leaf.dtype, leaf.shape) for leaf in flat]
            if sum(np.zeros(shape, dtype).nbytes for dtype, shape in kept) > MOST_HANDED:
                handed, kept = None, []
        found[index] = Form([*arrays, *kept], structure, len(leaves), handed)
    return found


def announcement(agents: int) -> list[Leaf]:
    """What a coordinator also announces about a sum: its cohort, and the sums that succeeded."""
    return [("|b1", (agents,)), ("<i8", ())]
