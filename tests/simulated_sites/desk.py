"""Compiled halves of the phases: the same code as a member's, called with less around it."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tacit._engine import agent_step
from tacit._engine.agent_step import AgentStep, At, Payload, from_bytes, sum_inbox, to_bytes
from tacit._engine.mixing import client_inbox, server_inbox
from tacit.method.phase import Phase
from tacit.network.base import Mixing
from tacit.privacy.noise.sums import value_of
from tacit.types import Role

_send = agent_step._send.__wrapped__
_ask = agent_step._ask.__wrapped__
_receive = agent_step._receive.__wrapped__
_stack = agent_step._stack
_peer_inbox = agent_step._peer_inbox.__wrapped__


def _sent(common: Any, state: Any, scale: Any, replay: Any, objective: Any = None) -> Any:
    return _send(common, state, objective, scale, replay)


def _asked(common: Any, state: Any, scale: Any, objective: Any = None) -> Any:
    return _ask(common, state, objective, scale)


class _Shared:
    """What the desks of one plan share."""

    def __init__(self, plan: Any) -> None:
        self.plan = plan
        self.compiled: dict[Any, Any] = {}
        self.scales: dict[Any, Any] = {}
        self.initial: dict[Any, Any] = {}
        self.places: dict[Any, Any] = {}
        self._flat: dict[int, tuple[Any, Any, int]] = {}
        self.structures: list[Any] = []
        """Of objectives, without their numbers."""
        self.answer = jax.jit(lambda state: plan.method.solution(state))

    def flat(self, objective: Any) -> tuple[Any, int]:
        """The numbers of an objective, and the place of its structure; taken apart once."""
        found = self._flat.get(id(objective))
        if found is None:
            leaves, structure = jax.tree.flatten(objective)
            if structure not in self.structures:
                self.structures.append(structure)
            # kept with the objective, so that no id is used again
            found = objective, leaves, self.structures.index(structure)
            self._flat[id(objective)] = found
        return found[1:]


class Desk(AgentStep):
    """A desk of one member; use `desk` to make one."""

    shared: _Shared

    def _call(self, name: str, at: At, function: Any, *given: Any, objective: Any = None) -> Any:
        leaves, place = self.shared.flat(objective)
        key = name, at.phase, self.server, place
        found = self.shared.compiled.get(key)
        if found is None:
            structure = self.shared.structures[place]

            def whole(where: Any, secret: Any, leaves: Any, given: Any) -> Any:
                round, step, agent, degree = where
                common = agent_step._Common(self.plan, round, step, agent, degree, secret, at.phase)
                named = {} if objective is None else {"objective": structure.unflatten(leaves)}
                return function(common, *given, **named)

            found = self.shared.compiled[key] = jax.jit(whole)
        return found(self._where(at), self.secret, leaves, given)

    def _where(self, at: At) -> Any:
        where = at.round, at.step, self.agent, self.degree
        if where not in self.shared.places:
            self.shared.places[where] = tuple(map(jnp.asarray, where))
        return self.shared.places[where]

    def scale(self, at: At) -> Any:
        key = at.phase, max(at.round, 0), self.agent
        if key not in self.shared.scales:
            self.shared.scales[key] = jnp.asarray(super().scale(at))
        return self.shared.scales[key]

    def send(self, at: At, state: Any, objective: Any = None, replay: Any = None) -> Any:
        name = "send" if replay is None else "send again"
        found = self._call(name, at, _sent, state, self.scale(at), replay, objective=objective)
        return found[0], to_bytes(found[1]), found[2]

    def ask(self, at: At, state: Any, objective: Any) -> Any:
        return self._call("ask", at, _asked, state, self.scale(at), objective=objective)

    def initial(self) -> Any:
        if self.agent not in self.shared.initial:
            self.shared.initial[self.agent] = super().initial()
        return self.shared.initial[self.agent]

    def prepare(self, objective: Any) -> None:
        pass  # others wait in virtual time only

    def receive(
        self,
        at: At,
        phase: Phase,
        state: Any,
        wire: Mapping[int, Payload],
        mixing: Mixing,
        like: Payload | None = None,
    ) -> Any:
        if phase.sender is Role.SERVER:
            payload = from_bytes(wire[self.plan.agents])
            dtype = self.plan.x0.dtype
            return self._call(
                "hear",
                at,
                lambda common, state, payload: _receive(
                    common, state, client_inbox(payload, dtype)
                ),
                state,
                payload,
            )
        if self.server:
            like = next(iter(wire.values()), like)
            payload, present = _stack([wire.get(i) for i in range(self.plan.agents)], like)
            weight = np.asarray(self.plan.network.client_weight, self.plan.x0.dtype)
            return self._call(
                "gather",
                at,
                lambda common, state, weight, *sent: _receive(
                    common, state, server_inbox(weight, *sent, phase.combine)
                ),
                state,
                weight,
                present,
                payload,
            )
        return self._call(
            "receive",
            at,
            lambda common, state, *inbox: _receive(
                common, state, _peer_inbox(*inbox, phase.combine)
            ),
            state,
            *self._slots(wire, mixing, like),
        )

    def receive_sum(self, at: At, state: Any, total: Any, count: int) -> Any:
        value = value_of(total, self.plan.exponents[at.phase])
        return self._call("sum", at, self._heard_sum, state, value, np.asarray(count))

    def _heard_sum(self, common: Any, state: Any, value: Any, count: Any) -> Any:
        return _receive(common, state, sum_inbox(value, count, self.plan.x0.dtype))


_shared: dict[int, _Shared] = {}
_made: dict[tuple[int, int], Desk] = {}


def desk(plan: Any, agent: int, secret: Any, pairs: Any = None) -> Desk:
    """In the place of `AgentStep`."""
    key = id(plan), agent
    if key not in _made:
        shared = _shared.setdefault(id(plan), _Shared(plan))
        _made[key] = made = Desk(plan, agent, secret, pairs)
        made.shared = shared
    found = copy.copy(_made[key])
    found.secret = secret
    return found


def answer(desk: Desk, state: Any) -> np.ndarray:
    """In the place of `divergence.answer`."""
    return np.asarray(desk.shared.answer(state))
