"""The reference runtime: agent by agent, exchanging nothing but bytes.

It calls the same two compiled functions that a real agent calls, once for each agent, so its
numbers are a deployment's to the bit on the same machine, and do not depend on how many trials
there are.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Key, PRNGKeyArray

from tacit.method.phase import Phase
from tacit.metrics import measure
from tacit.runtime.agent import context_of, receive, send
from tacit.runtime.keys import agent_secret
from tacit.runtime.mixing import client_inbox, server_inbox
from tacit.runtime.plan import Plan, phases_of
from tacit.types import Combine, Inbox, Role

Transcript = dict[tuple[int, int, int, int, int], Any]
"""What was released, by (trial, round, phase, step, agent)."""


class _Common(eqx.Module):
    """What both compiled halves of a phase need besides the state."""

    plan: Plan
    round: Any
    step: Any
    agent: Any
    degree: Any
    secret: PRNGKeyArray
    phase: int = eqx.field(static=True)

    def context(self) -> Any:
        return context_of(
            self.plan.public,
            round=self.round,
            rounds=self.plan.rounds,
            step=self.step,
            agent=self.agent,
            agents=self.plan.agents,
            degree=self.degree,
            secret=self.secret,
            phase=self.phase,
        )


@eqx.filter_jit
def _send(common: _Common, state: Any, objective: Any, scale: Any, replay: Any) -> Any:
    context, keys = common.context()
    phase = common.plan.method.phases()[common.phase]
    return send(phase, state, objective, context, keys, scale, replay)


@eqx.filter_jit
def _receive(common: _Common, state: Any, inbox: Inbox) -> Any:
    context, _ = common.context()
    return receive(common.plan.method.phases()[common.phase], state, inbox, context)


class ExactEngine:
    """Runs trials one after the other and agents one after the other.

    Args:
        plan: the run.
        roots: one key a trial.
        transcript: filled with everything that is released, if given.
        replay: releases of an earlier run, used instead of asking the objectives.
        order: in which order agents act within a phase; the numbers do not depend on it.
    """

    def __init__(
        self,
        plan: Plan,
        roots: Key[Array, " trials"],
        transcript: Transcript | None = None,
        replay: Transcript | None = None,
        order: list[int] | None = None,
    ) -> None:
        self.plan = eqx.tree_at(
            lambda p: p.objectives, plan, None
        )  # the compiled halves see one agent's objective only
        self.whole = plan
        self.roots = roots
        self.transcript = transcript
        self.replay = replay
        self.order = list(range(plan.agents)) if order is None else order
        self.objectives = [
            jax.tree.map(lambda leaf, i=i: leaf[i], plan.objectives) for i in range(plan.agents)
        ]
        self.links = np.asarray(plan.network.receivers), np.asarray(plan.network.senders)
        self.width = plan.network.neighbours().shape[1]

    def start(self) -> Any:
        """States of all trials before round 0."""
        return jax.tree.map(
            lambda *leaves: jnp.stack(leaves), *[self._start(t) for t in range(len(self.roots))]
        )

    def advance(
        self, states: Any, bounds: Int[np.ndarray, "stops 2"]
    ) -> tuple[Any, dict[str, np.ndarray]]:
        """Run every trial through the intervals; measure after each."""
        ended: list[Any] = []
        measured: list[Any] = []
        for trial in range(len(self.roots)):
            current = self._split(jax.tree.map(lambda leaf, t=trial: leaf[t], states))
            rows: list[Any] = []
            for first, last in np.asarray(bounds).tolist():
                for round in range(first, last):
                    current = self._round(current, trial, round, once=False)
                repeated = rows and first == last
                rows.append(rows[-1] if repeated else _measure(self.whole, self._join(current)))
            ended.append(self._join(current))
            measured.append({name: [row[name] for row in rows] for name in rows[0]})
        stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *ended)
        return stacked, {
            name: np.stack([np.asarray(m[name]) for m in measured], axis=1) for name in measured[0]
        }

    def _start(self, trial: int) -> Any:
        current = self._split(_initial(self.whole))
        return self._join(self._round(current, trial, -1, once=True))

    def _split(self, states: dict[Role, Any]) -> dict[Any, Any]:
        role = self.whole.sender_role
        apart = {
            i: jax.tree.map(lambda leaf, i=i: leaf[i], states[role])
            for i in range(self.whole.agents)
        }
        return apart | ({Role.SERVER: states[Role.SERVER]} if Role.SERVER in states else {})

    def _join(self, current: dict[Any, Any]) -> dict[Role, Any]:
        owners = [current[i] for i in range(self.whole.agents)]
        stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *owners)
        joined = {self.whole.sender_role: stacked}
        return joined | ({Role.SERVER: current[Role.SERVER]} if Role.SERVER in current else {})

    def _round(
        self, current: dict[Any, Any], trial: int, round: int, *, once: bool
    ) -> dict[Any, Any]:
        phases = phases_of(self.whole.method, once=once)
        if not phases:
            return current
        mixing = _mixing_before(self.whole) if once else _mixing(self.whole, jnp.asarray(round))
        mixing = jax.tree.map(np.asarray, mixing)
        if not np.any(mixing.participates):
            return current
        current = dict(current)
        for index, phase in phases:
            for step in range(phase.repeat):
                self._phase(current, index, phase, (trial, round, step), mixing)
        return current

    def _phase(
        self,
        current: dict[Any, Any],
        index: int,
        phase: Phase,
        at: tuple[int, int, int],
        mixing: Any,
    ) -> None:
        trial, round, step = at
        awake = [agent for agent in self.order if mixing.participates[agent]]
        wire: dict[Any, Any] = {}
        senders: list[Any] = [Role.SERVER] if phase.sender is Role.SERVER else list(awake)
        for agent in senders:
            common = self._common(index, at, agent)
            objective = None if agent is Role.SERVER else self.objectives[agent]
            scale = jnp.zeros(()) if agent is Role.SERVER else self._scale(index, round, agent)
            number = self.whole.agents if agent is Role.SERVER else agent
            replay = (
                None
                if self.replay is None
                else self.replay.get((trial, round, index, step, number))
            )
            current[agent], payload, released = _send(
                common, current[agent], objective, scale, replay
            )
            if released is not None and self.transcript is not None:
                self.transcript[trial, round, index, step, number] = jax.tree.map(
                    np.asarray, released
                )
            wire[agent] = _to_bytes(payload)
        receivers: list[Any] = [Role.SERVER] if phase.receiver is Role.SERVER else list(awake)
        for agent in receivers if phase.receiver is not None else []:
            inbox = self._inbox(phase, agent, wire, mixing)
            current[agent] = _receive(self._common(index, at, agent), current[agent], inbox)

    def _inbox(self, phase: Phase, agent: Any, wire: dict[Any, Any], mixing: Any) -> Inbox:
        dtype = self.whole.x0.dtype
        if phase.sender is Role.SERVER:
            return client_inbox(_arrays(_from_bytes(wire[Role.SERVER])), dtype)
        like = next(iter(wire.values()))
        if agent is Role.SERVER:
            payload, present = _stack([wire.get(i) for i in range(self.whole.agents)], like)
            weight = jnp.asarray(self.whole.network.client_weight, dtype)
            return server_inbox(weight, present, payload, phase.combine)
        mine = self.links[0] == agent
        senders, active, weights = self.links[1][mine], mixing.active[mine], mixing.weight[mine]
        received = [
            wire.get(sender) if here else None for sender, here in zip(senders, active, strict=True)
        ]
        absent = self.width - len(received)
        payload, present = _stack(received + [None] * absent, like)
        weight = jnp.asarray(np.append(weights, np.zeros(absent)), dtype)
        own = jnp.asarray(mixing.self_weight[agent], dtype)
        return _peer_inbox(payload, present, weight, own, phase.combine)

    def _scale(self, index: int, round: int, agent: int) -> Any:
        return self.whole.scale(index, max(round, 0))[agent]

    def _common(self, index: int, at: tuple[int, int, int], agent: Any) -> _Common:
        trial, round, step = at
        server = agent is Role.SERVER
        number = self.whole.agents if server else agent
        degree = self.whole.agents if server else self.whole.degrees[agent]
        return _Common(
            plan=self.plan,
            round=jnp.asarray(round),
            step=jnp.asarray(step),
            agent=jnp.asarray(number),
            degree=jnp.asarray(degree),
            secret=agent_secret(self.roots[trial], number),
            phase=index,
        )


@eqx.filter_jit
def _peer_inbox(payload: Any, present: Any, weight: Any, own: Any, combine: Combine) -> Inbox:
    """One peer's inbox, summed in slot order as every real agent does."""
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


def _stack(messages: list[Any], like: Any) -> tuple[Any, Any]:
    """Received messages in slots, absent ones 0, and which are present."""
    absent = jax.tree.map(np.zeros_like, _from_bytes(like))
    payloads = [absent if message is None else _from_bytes(message) for message in messages]
    stacked = jax.tree.map(lambda *leaves: jnp.asarray(np.stack(leaves)), *payloads)
    return stacked, jnp.asarray([message is not None for message in messages])


def _arrays(payload: Any) -> Any:
    return jax.tree.map(jnp.asarray, payload)


@eqx.filter_jit
def _measure(plan: Plan, states: Any) -> Any:
    return measure(plan, states)


@eqx.filter_jit
def _initial(plan: Plan) -> Any:
    return plan.initial()


@eqx.filter_jit
def _mixing(plan: Plan, round: Any) -> Any:
    return plan.mixing(round)


@eqx.filter_jit
def _mixing_before(plan: Plan) -> Any:
    return plan.mixing_before()


def _to_bytes(payload: Any) -> Any:
    leaves, structure = jax.tree.flatten(payload)
    arrays = [np.asarray(leaf) for leaf in leaves]
    return structure, [(array.tobytes(), array.dtype, array.shape) for array in arrays]


def _from_bytes(message: Any) -> Any:
    structure, leaves = message
    arrays = [np.frombuffer(data, dtype).reshape(shape) for data, dtype, shape in leaves]
    return jax.tree.unflatten(structure, arrays)
