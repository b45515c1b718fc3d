"""One agent's desk: what it sends in a phase, and how it processes what others sent.

Both halves are compiled once per phase and called by every runtime that works agent by agent: by
the reference simulation, and by a real agent at its owner's site. So their numbers agree bit for
bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike, DTypeLike
from jaxtyping import Array, Int, Int64, PRNGKeyArray

from tacit._engine.mistakes import nothing_kept, started
from tacit._engine.mixing import client_inbox, server_inbox
from tacit._engine.plan import Plan
from tacit._engine.shared_noise import PairSecrets
from tacit._engine.step import ask, context_of, receive, send
from tacit.method.phase import Phase
from tacit.network.base import Mixing
from tacit.privacy.noise.sums import value_of
from tacit.ranges import Numbers
from tacit.types import AbstractPrivate, Combine, Inbox, Index, Role, State

Payload = tuple[Any, list[tuple[bytes, Any, tuple[int, ...]]]]
"""A message as structure and leaves, each leaf as bytes, dtype and shape."""


class At(NamedTuple):
    """A position in a run: round (-1 before round 0), number of the phase in the table, step."""

    round: int
    phase: int
    step: int = 0


class _Common(eqx.Module):
    """What both compiled halves of a phase need in addition to the state."""

    plan: Plan
    round: Int[Array, ""]
    step: Int[Array, ""]
    agent: Int[Array, ""]
    degree: Int[Array, ""]
    secret: PRNGKeyArray
    phase: int = eqx.field(static=True)
    pairs: PairSecrets | None = None

    def mask(self) -> Any:
        """What this agent's masks add to its release; `None` if it shares none."""
        phase = self.plan.method.phases()[self.phase]
        if self.pairs is None or phase.hides.pairs(self.plan.agents) is None:
            return None
        like = self.plan.answer(phase)
        return self.pairs.mask(like, (self.round, self.phase, self.step))

    def context(self) -> Any:
        return context_of(
            self.plan.public,
            round=self.round,
            rounds=self.plan.rounds,
            step=self.step,
            agent=self.agent,
            agents=self.plan.agents,
            degree=self.degree,
            records=self.plan.records[self.agent],
            secret=self.secret,
            phase=self.phase,
            dimension=self.plan.dimension,
        )


@eqx.filter_jit
def _send(
    common: _Common,
    state: State,
    objective: AbstractPrivate | None,
    scale: Numbers,
    replay: State,
) -> Any:
    context, keys = common.context()
    phase = common.plan.method.phases()[common.phase]
    mask = None if replay is not None else common.mask()
    return send(phase, state, objective, context, keys, scale, replay, mask)


@eqx.filter_jit
def _ask(common: _Common, state: State, objective: AbstractPrivate | None, scale: Numbers) -> Any:
    context, keys = common.context()
    return ask(common.plan.method.phases()[common.phase], state, objective, context, keys, scale)


@eqx.filter_jit
def _receive(common: _Common, state: State, inbox: Inbox) -> Any:
    context, _ = common.context()
    return receive(common.plan.method.phases()[common.phase], state, inbox, context)


def _compile(function: Any, *given: Any) -> None:
    """Compile one of these for its arguments, without a call."""
    function.lower(*given).compile()


class AgentStep:
    """The halves of every phase for one agent, or for the coordinator.

    Args:
        plan: plan of the run; its objectives are not used.
        agent: number of the agent; that of the coordinator is the number of agents.
        secret: the agent's own randomness.
        pairs: secrets that it shares with others for masks, if noise is correlated.
    """

    def __init__(
        self, plan: Plan, agent: int, secret: PRNGKeyArray, pairs: PairSecrets | None = None
    ) -> None:
        self.plan = eqx.tree_at(lambda p: p.objectives, plan, None)
        self.agent, self.secret, self.pairs = agent, secret, pairs
        self.server = agent == plan.agents
        self.role = Role.SERVER if self.server else plan.sender_role
        self.degree = plan.agents if self.server else int(plan.degrees[agent])
        mine = np.asarray(plan.network.receivers) == agent
        self._links = np.flatnonzero(mine)
        self._senders = np.asarray(plan.network.senders)[mine]
        self._width = plan.network.neighbours().shape[1]

    def scale(self, at: At) -> Any:
        """The noise scale of a phase, from public constants."""
        return (
            jnp.zeros(())
            if self.server
            else self.plan.scale(at.phase, max(at.round, 0))[self.agent]
        )

    def send(
        self,
        at: At,
        state: State,
        objective: AbstractPrivate | None = None,
        replay: State | None = None,
    ) -> tuple[Any, Payload, Any]:
        """The state after sending, the message, and what was released (`None` without a query).

        Args:
            at: position in the run.
            state: state before the phase.
            objective: objective of the agent; `None` for the coordinator.
            replay: value released earlier, used instead of asking the objective.
        """
        common, scale = self._common(at), self.scale(at)
        state, payload, released = self._call(_send, common, state, objective, scale, replay)
        return state, to_bytes(payload), released

    def form(self, at: At, state: State, objective: AbstractPrivate | None) -> Any:
        """Shapes and types of the state after sending and of the message; computes no numbers."""
        common, scale = self._common(at), self.scale(at)
        phase = self.plan.method.phases()[at.phase]
        # a desk may know no secrets of pairs, and a release has the form of its answer
        released = self.plan.answer(phase) if phase.hides.shares else None
        with nothing_kept(self.plan.method):
            return eqx.filter_eval_shape(_send, common, state, objective, scale, released)[:2]

    def ask(self, at: At, state: State, objective: AbstractPrivate | None) -> Any:
        """The private answer of a phase's query, for a mechanism that is applied elsewhere."""
        return self._call(_ask, self._common(at), state, objective, self.scale(at))

    def initial(self) -> State:
        """The state before the run."""
        return started(self.plan.method, self.role, self.plan.x0, jnp.asarray(self.degree))

    def prepare(self, objective: AbstractPrivate | None) -> None:
        """Compile what others would wait for in the first rounds; asks the objective nothing.

        Args:
            objective: objective of the agent; `None` for the coordinator, and for an agent whose
                noise is drawn with its answers.
        """
        state = self.initial()
        for index, phase in enumerate(self.plan.method.phases()):
            common = self._common(At(0, index))
            if objective is not None and phase.query is not None and phase.sender is self.role:
                _compile(_ask, common, state, objective, self.scale(At(0, index)))
            if self.server and self.plan.exponents[index] is not None:
                none = np.zeros(self.plan.answer(phase).shape, np.int64)
                _compile(_receive, common, state, self._sum_inbox(index, none, 1))

    def awaited(self, phase: Phase, mixing: Mixing) -> tuple[int, ...]:
        """Numbers of the agents whose messages a receiver of this phase waits for."""
        if phase.sender is Role.SERVER:
            return (self.plan.agents,)
        if self.server:
            return tuple(int(i) for i in np.flatnonzero(np.asarray(mixing.participates)))
        active = np.asarray(mixing.active)[self._links]
        return tuple(int(sender) for sender in self._senders[active])

    def receive(
        self,
        at: At,
        phase: Phase,
        state: State,
        wire: Mapping[int, Payload],
        mixing: Mixing,
        like: Payload | None = None,
    ) -> Any:
        """The state after processing the messages of a phase, by sender.

        Args:
            at: position in the run.
            phase: phase of the method.
            state: state before the phase.
            wire: messages, by the number of their sender.
            mixing: links and weights of this round.
            like: any message of this phase, needed if `wire` is empty.
        """
        inbox = self._inbox(phase, wire, mixing, like)
        return self._call(_receive, self._common(at), state, inbox)

    def receive_sum(self, at: At, state: State, total: Int64[np.ndarray, " n"], count: int) -> Any:
        """The coordinator's state after a masked sum.

        Args:
            at: position in the run.
            state: state before the phase.
            total: sum in steps of `2^plan.exponents[at.phase]`, shape `(n,)`.
            count: number of agents in the sum.
        """
        inbox = self._sum_inbox(at.phase, total, count)
        return self._call(_receive, self._common(at), state, inbox)

    def _call(self, function: Callable[..., Any], *given: Any) -> Any:
        with nothing_kept(self.plan.method):
            return function(*given)

    def _sum_inbox(self, phase: int, total: Int64[np.ndarray, " n"], count: int) -> Inbox:
        exponent = self.plan.exponents[phase]
        assert exponent is not None
        return sum_inbox(value_of(total, exponent), count, self.plan.x0.dtype)

    def _inbox(
        self, phase: Phase, wire: Mapping[int, Payload], mixing: Mixing, like: Payload | None
    ) -> Inbox:
        dtype = self.plan.x0.dtype
        if phase.sender is Role.SERVER:
            payload = jax.tree.map(jnp.asarray, from_bytes(wire[self.plan.agents]))
            return client_inbox(payload, dtype)
        like = next(iter(wire.values()), like)
        if self.server:
            stacked = _stack([wire.get(i) for i in range(self.plan.agents)], like)
            payload, present = jax.tree.map(jnp.asarray, stacked)
            weight = jnp.asarray(self.plan.network.client_weight, dtype)
            return server_inbox(weight, present, payload, phase.combine)
        return _peer_inbox(*self._slots(wire, mixing, like), phase.combine)

    def _slots(
        self, wire: Mapping[int, Payload], mixing: Mixing, like: Payload | None
    ) -> tuple[State, np.ndarray, np.ndarray, np.ndarray]:
        """What neighbours sent in slots, which are present, their weights and the own one."""
        active = np.asarray(mixing.active)[self._links]
        weights = np.asarray(mixing.weight)[self._links]
        received = [
            wire.get(int(sender)) if here else None
            for sender, here in zip(self._senders, active, strict=True)
        ]
        absent = self._width - len(received)
        payload, present = _stack(received + [None] * absent, like)
        dtype = self.plan.x0.dtype
        own = np.asarray(np.asarray(mixing.self_weight)[self.agent], dtype)
        return payload, present, np.append(weights, np.zeros(absent)).astype(dtype), own

    def _common(self, at: At) -> _Common:
        return _Common(
            plan=self.plan,
            round=jnp.asarray(at.round),
            step=jnp.asarray(at.step),
            agent=jnp.asarray(self.agent),
            degree=jnp.asarray(self.degree),
            secret=self.secret,
            phase=at.phase,
            pairs=self.pairs,
        )


def sum_inbox(total: ArrayLike, count: ArrayLike, dtype: DTypeLike) -> Inbox:
    """The coordinator's inbox after a masked sum of `count` agents."""
    value = jnp.asarray(total).astype(dtype)
    return Inbox(
        payload=None,
        mask=None,
        weight=None,
        self_weight=jnp.zeros((), value.dtype),
        degree=jnp.asarray(count),
        mixed=value / count,
        total=value,
    )


@eqx.filter_jit
def _peer_inbox(payload: State, present: Any, weight: Any, own: Any, combine: Combine) -> Inbox:
    """One peer's inbox, summed in slot order as every real agent does."""
    # a silent neighbour is replaced by the agent itself, so that weights still sum to 1
    own = own + jnp.sum(jnp.where(present, 0.0, weight))
    weight = jnp.where(present, weight, 0.0)

    def total(values: Any) -> Any:
        return jax.tree.map(lambda leaf: jnp.tensordot(values, leaf, 1), payload)

    each = combine is Combine.EACH
    return Inbox(
        payload=payload if each else None,
        mask=present if each else None,
        weight=weight if each else None,
        self_weight=own,
        degree=jnp.sum(present.astype(int)),
        mixed=total(weight),
        total=total(present.astype(weight.dtype)),
    )


def _stack(messages: list[Any], like: Any) -> tuple[Any, np.ndarray]:
    """Received messages in slots, absent ones 0, and which are present, as NumPy arrays."""
    present = np.array([message is not None for message in messages])
    absent = None if present.all() else jax.tree.map(np.zeros_like, from_bytes(like))
    payloads = [absent if message is None else from_bytes(message) for message in messages]
    stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *payloads)
    return stacked, present


def mixing_of(plan: Plan, round: int) -> Mixing:
    """The links and weights of a round, as NumPy arrays; those before round 0 for -1."""
    found = _mixing_before(plan) if round < 0 else _mixing(plan, jnp.asarray(round))
    return jax.tree.map(np.asarray, found)


@eqx.filter_jit
def _mixing(plan: Plan, round: Index) -> Mixing:
    return plan.mixing(round)


@eqx.filter_jit
def _mixing_before(plan: Plan) -> Mixing:
    return plan.mixing_before()


def to_bytes(payload: State) -> Payload:
    """A message as bytes, leaf by leaf."""
    leaves, structure = jax.tree.flatten(payload)
    arrays = [np.asarray(leaf) for leaf in leaves]
    return structure, [(array.tobytes(), array.dtype, array.shape) for array in arrays]


def from_bytes(message: Payload) -> Any:
    """The message restored from bytes."""
    structure, leaves = message
    arrays = [np.frombuffer(data, dtype).reshape(shape) for data, dtype, shape in leaves]
    return jax.tree.unflatten(structure, arrays)
