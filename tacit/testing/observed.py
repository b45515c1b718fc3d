"""Exact runs of a method that keep every message, with the state it was sent from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from tacit._engine import compiled
from tacit._engine.agent_step import AgentStep, At, Payload
from tacit._engine.contract import Contract, contract
from tacit._engine.exact import ExactEngine, Transcript
from tacit._engine.plan import Plan
from tacit.method.phase import AbstractMethod
from tacit.network.base import AbstractNetwork
from tacit.problem.task import Task
from tacit.types import State


@dataclass(frozen=True, eq=False)
class Sent:
    """One message.

    Attributes:
        at: position in the run.
        agent: number of the sender.
        before: state of the sender.
        message: message, leaf by leaf as bytes.
        released: released values from which it was made; `None` if nothing was queried.
    """

    at: At
    agent: int
    before: State
    message: Payload
    released: Any


@dataclass(frozen=True, eq=False)
class Observed:
    """One exact run.

    Attributes:
        released: all releases, by position.
        sent: all messages, in the order of sending.
        states: all final states, in one vector.
    """

    released: Transcript
    sent: list[Sent]
    states: Float[np.ndarray, " numbers"]


class _Watched(AgentStep):
    """A desk that keeps every message."""

    def __init__(self, desk: AgentStep, sent: list[Sent]) -> None:
        self.__dict__.update(vars(desk))
        self.sent = sent

    def send(
        self, at: At, state: Any, objective: Any = None, replay: Any = None
    ) -> tuple[Any, Payload, Any]:
        after, message, released = super().send(at, state, objective, replay)
        self.sent.append(Sent(at, self.agent, state, message, released))
        return after, message, released


@dataclass(frozen=True, eq=False)
class Subject:
    """The run under test: a method in its setting, and different data for the same run.

    Attributes:
        problem: problem with the data of the run.
        other: problem with different data; its declarations are the same.
        network: network between the agents.
        method: method under test.
        rounds: number of rounds per run.
        seed: seed of all randomness.
    """

    problem: Task
    other: Task
    network: AbstractNetwork
    method: AbstractMethod
    rounds: int
    seed: int = 1

    @cached_property
    def agreed(self) -> Contract:
        """The contract of a run on the data."""
        return self._agreed_on(self.problem)

    @cached_property
    def agreed_elsewhere(self) -> Contract:
        """The contract of a run on the other data."""
        return self._agreed_on(self.other)

    def laid_out(self, *, elsewhere: bool = False) -> tuple[Plan, Any]:
        """A run as arrays, and its keys; in the current precision."""
        if elsewhere:
            return compiled.lay_out(self.agreed_elsewhere, self.other)
        return compiled.lay_out(self.agreed, self.problem)

    @cached_property
    def observed(self) -> Observed:
        """A run on the data."""
        return self.observe()

    def observe(
        self,
        *,
        elsewhere: bool = False,
        replay: Transcript | None = None,
        order: Sequence[int] | None = None,
    ) -> Observed:
        """Run once more.

        Args:
            elsewhere: whether to use the other data.
            replay: releases of an earlier run, used instead of querying the data.
            order: order in which agents act within a phase.
        """
        released, sent = Transcript(), list[Sent]()
        with jax.enable_x64(True):
            plan, roots = self.laid_out(elsewhere=elsewhere)
            engine = ExactEngine(
                plan,
                roots,
                transcript=released,
                replay=replay,
                order=None if order is None else list(order),
            )
            (desks,) = engine.desks  # of the one trial
            engine.desks = [list[AgentStep](_Watched(desk, sent) for desk in desks)]
            states, _ = engine.advance(engine.start(), np.array([[0, self.rounds]]))
        vector = np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(states)])
        return Observed(released, sent, vector)

    def desks(self) -> Sequence[AgentStep]:
        """The desks of a run on the data; make and use them in double precision."""
        plan, roots = self.laid_out()
        return ExactEngine(plan, roots).desks[0]

    def _agreed_on(self, problem: Task) -> Contract:
        agreed = contract(problem, self.network, self.method, rounds=self.rounds, seed=self.seed)
        assert agreed.scales  # before another contract: code that keeps data would see the later
        return agreed
