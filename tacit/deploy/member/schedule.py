"""The phases of a run in the order in which they come, and where each message stands in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from tacit._engine.agent_step import At, Desk, Payload
from tacit._engine.plan import Plan, phases_of
from tacit.deploy.messages.wire import FINISHED, Address, Leaf, leaf_of
from tacit.errors import PrivacyError
from tacit.method.phase import Phase, Span
from tacit.types import Role

MOST_HANDED = 1 << 20
"""Bytes of a coordinator's state up to which it is handed over with each of its messages."""


class Turn(NamedTuple):
    """One step of one phase.

    Attributes:
        position: in the run, from 0.
        at: round, phase and step.
        phase: the line of the algorithm box.
    """

    position: int
    at: At
    phase: Phase


class Schedule:
    """All turns of a run.

    Args:
        plan: the run.
        rounds: how many; with masks, how many sums may be tried.

    Raises:
        PrivacyError: a method with phases that are not run in every round.
    """

    def __init__(self, plan: Plan, rounds: int) -> None:
        if any(phase.rounds is not Span.EVERY for phase in plan.method.phases()):
            raise PrivacyError(
                f"{type(plan.method).__name__} has phases that are not run in every round, and "
                "between sites only proved methods are run, all of whose phases are; simulate it"
            )
        self.rounds = rounds
        self._before = _steps(plan, once=True)
        self._round = _steps(plan, once=False)
        self._where = {
            once: {(index, step): i for i, (index, step, _) in enumerate(steps)}
            for once, steps in ((True, self._before), (False, self._round))
        }

    @property
    def length(self) -> int:
        """Number of turns."""
        return len(self._before) + self.rounds * len(self._round)

    @property
    def window(self) -> int:
        """Turns by which a neighbour can be ahead: at most a round."""
        return max(len(self._before), len(self._round)) + len(self._round)

    @property
    def start(self) -> int:
        """The first turn of round 0."""
        return len(self._before)

    def round(self, position: int) -> int:
        """The round that a position is in: -1 before round 0, the number of rounds at the end."""
        return (position - self.start) // len(self._round) if position >= self.start else -1

    def next_round(self, position: int) -> int:
        """The first turn of the round after the one that a position is in."""
        return min(self.start + (self.round(position) + 1) * len(self._round), self.length)

    def turns(self, first: int = 0) -> Iterator[Turn]:
        """All turns from a position on."""
        for position in range(first, self.length):
            after = position - len(self._before)
            if after < 0:
                round, (index, step, phase) = -1, self._before[position]
            else:
                round, place = divmod(after, len(self._round))
                index, step, phase = self._round[place]
            yield Turn(position, At(round, index, step), phase)

    def said_by(self, role: Role) -> list[int]:
        """Positions of the messages of a role, in order."""
        return [
            position
            for position, _, phase in self.turns()
            if phase.sender is role and phase.receiver is not None
        ]

    def position(self, address: Address) -> int | None:
        """Where a message stands; `None` if no such message is ever sent."""
        if address.kind == FINISHED:
            return self.length
        if not -1 <= address.round < self.rounds:
            return None
        once = address.round == -1
        place = self._where[once].get((address.phase, address.step))
        if place is None:
            return None
        return place if once else len(self._before) + address.round * len(self._round) + place


def _steps(plan: Plan, *, once: bool) -> list[tuple[int, int, Phase]]:
    return [
        (index, step, phase)
        for index, phase in phases_of(plan.method, once=once)
        for step in range(phase.repeat)
    ]


class Form(NamedTuple):
    """What the messages of a phase look like.

    Attributes:
        leaves: dtype and shape of every array.
        structure: to put the first `sent` arrays back into: what the method sends.
        sent: how many these are.
        after: structure of a coordinator's state after the message, whose arrays are the last ones;
            `None` where it is not handed over.
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
    """What each phase sends, by its number: traced, so that nothing is asked of anybody's data.

    A masked value is integers; and before it the coordinator says whom it sums, and in which round.
    With each of its messages a coordinator hands over its state, so that nobody needs its disk.
    """
    found: dict[int, Form] = {}
    one = jax.eval_shape(lambda all: jax.tree.map(lambda leaf: leaf[0], all), plan.objectives)
    for index, phase in enumerate(plan.method.phases()):
        server = phase.sender is Role.SERVER
        desk = Desk(plan, plan.agents if server else 0, jax.random.key(0))
        state = plan.method.init(desk.role, plan.x0, jnp.asarray(desk.degree))
        after, payload = desk.form(
            At(-1 if phase.once else 0, index), state, None if server else one
        )
        leaves, structure = jax.tree.flatten(payload)
        arrays = [leaf_of(leaf.dtype, leaf.shape) for leaf in leaves]
        if plan.exponent is not None:
            arrays = [*arrays, *announcement(plan.agents)] if server else [("<i8", arrays[0][1])]
        handed, kept = None, []
        if server:
            flat, handed = jax.tree.flatten(after)
            kept = [leaf_of(leaf.dtype, leaf.shape) for leaf in flat]
            if sum(np.zeros(shape, dtype).nbytes for dtype, shape in kept) > MOST_HANDED:
                handed, kept = None, []
        found[index] = Form([*arrays, *kept], structure, len(leaves), handed)
    return found


def announcement(agents: int) -> list[Leaf]:
    """What a coordinator says besides of a masked sum: who is in it, and the round."""
    return [("|b1", (agents,)), ("<i8", ())]
