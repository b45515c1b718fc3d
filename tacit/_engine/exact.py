"""The reference runtime: agent by agent, exchanging only bytes.

It calls the same compiled functions that a real agent calls, once for each agent, so its numbers
equal a deployment's to the bit on the same machine, and do not depend on the number of trials.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Key

from tacit._engine.agent_step import AgentStep, At, Payload, from_bytes, mixing_of
from tacit._engine.keys import agent_secret
from tacit._engine.measures import measure
from tacit._engine.plan import Plan, numbered_phases
from tacit._engine.shared_noise import pair_secrets
from tacit.method.phase import Phase
from tacit.privacy.noise.sums import in_steps
from tacit.types import Role, State

Transcript = dict[tuple[int, int, int, int, int], Any]
"""Releases, by (trial, round, phase, step, agent)."""


class ExactEngine:
    """Runs trials one after the other and agents one after the other.

    Args:
        plan: plan of the run.
        roots: root keys, one per trial.
        transcript: dictionary to fill with everything that is released, if given.
        replay: releases of an earlier run, used instead of asking the objectives.
        order: order in which agents act within a phase; the numbers do not depend on it.
    """

    def __init__(
        self,
        plan: Plan,
        roots: Key[Array, " trials"],
        transcript: Transcript | None = None,
        replay: Transcript | None = None,
        order: list[int] | None = None,
    ) -> None:
        self.whole = plan
        self.roots = roots
        self.transcript = transcript
        self.replay = replay
        self.order = list(range(plan.agents)) if order is None else order
        self.objectives = [
            jax.tree.map(lambda leaf, i=i: leaf[i], plan.objectives) for i in range(plan.agents)
        ]
        numbers = range(plan.agents + plan.network.coordinated)
        self.desks = [
            [
                AgentStep(
                    plan, number, agent_secret(root, number), pair_secrets(plan, root, number)
                )
                for number in numbers
            ]
            for root in roots
        ]

    def start(self) -> Any:
        """States of all trials before round 0."""
        return jax.tree.map(
            lambda *leaves: jnp.stack(leaves), *[self._start(t) for t in range(len(self.roots))]
        )

    def advance(
        self, states: State, bounds: Int[np.ndarray, "stops 2"]
    ) -> tuple[Any, dict[str, np.ndarray]]:
        """Run every trial through the intervals and measure after each."""
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
        phases = numbered_phases(self.whole.method, once=once)
        if not phases:
            return current
        mixing = mixing_of(self.whole, round)
        if not np.any(mixing.participates):
            return current
        current = dict(current)
        for index, phase in phases:
            if not (once or self.whole.runs(phase, round)):
                continue
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
        server = self.whole.agents
        awake = [agent for agent in self.order if mixing.participates[agent]]
        where, wire = At(round, index, step), dict[int, Payload]()
        for number in [server] if phase.sender is Role.SERVER else awake:
            agent: Any = Role.SERVER if number == server else number
            objective = None if number == server else self.objectives[number]
            place = (trial, round, index, step, number)
            current[agent], wire[number], released = self.desks[trial][number].send(
                where,
                current[agent],
                objective,
                None if self.replay is None else self.replay.get(place),
            )
            if released is not None and self.transcript is not None:
                self.transcript[place] = jax.tree.map(np.asarray, released)
        if phase.receiver is None:
            return
        exponent = self.whole.exponents[index]
        if exponent is not None:
            steps = [in_steps(from_bytes(each), exponent) for each in wire.values()]
            # masks would be added and removed again, modulo 2^64
            total = np.add.reduce(steps, axis=0)
            current[Role.SERVER] = self.desks[trial][server].receive_sum(
                where, current[Role.SERVER], total, len(steps)
            )
            return
        for number in [server] if phase.receiver is Role.SERVER else awake:
            agent = Role.SERVER if number == server else number
            current[agent] = self.desks[trial][number].receive(
                where, phase, current[agent], wire, mixing
            )


@eqx.filter_jit
def _measure(plan: Plan, states: State) -> Any:
    return measure(plan, states)


@eqx.filter_jit
def _initial(plan: Plan) -> Any:
    return plan.initial()
