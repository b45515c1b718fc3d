"""The interface of a method: a table of phases.

A phase is one line of a paper's algorithm box: who computes, what leaves, who receives. Only its
`query` receives the private objective, and the runtime, not the method, applies the release's
mechanism to the answer. `message` and `update` are therefore post-processing by their signatures.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import equinox as eqx
import numpy as np
from jaxtyping import Float

from tacit import checks
from tacit.arguments import checked
from tacit.errors import ConfigError, PrivacyError
from tacit.method.answer import Answer, Minimiser
from tacit.method.rounds import EVERY, Rounds
from tacit.method.worst_case import Neighbours, gradient_bounds, linear_neighbours
from tacit.network.base import AbstractNetwork
from tacit.privacy.budget import Privacy
from tacit.privacy.caution import DELTA
from tacit.privacy.hiding import ALONE, AbstractHiding
from tacit.privacy.mechanism import Release
from tacit.privacy.query import AbstractQuery, own_public
from tacit.problem.task import Task
from tacit.types import Combine, Context, Inbox, Index, Oracle, Role, Unit, Vector


@checked(ConfigError)
@dataclass(frozen=True)
class Phase:
    """One step of a round.

    Attributes:
        name: shown in tables and stored with each release.
        sender: role that computes and sends.
        message: `(state, released, context) -> (state, payload)`; `released` is `None` without a
            query.
        receiver: role that receives, or `None` when nothing is sent (a local step).
        update: `(state, inbox, context) -> state` at the receiver.
        query: what is asked of the sender's private objective.
        release: how the answer is protected; given if and only if `query` is.
        repeat: how many times in a row (local steps); `Context.step` counts them.
        combine: whether the receiver sees each message or only their sum.
        rounds: in which rounds it is run, and so how often it releases something.
        point: whether the message is a point where the answer may be, shape `(p,)`: one that is
            further from the start than `divergence` allows is refused wherever messages are real.

    Raises:
        ConfigError: a value that an attribute cannot have.
        TypeError: a query without a release or the reverse, or a receiver without an update.
        PrivacyError: a masked release that is no sum at a public iterate.
    """

    name: str
    sender: Role
    message: Callable[[Any, Any, Context], tuple[Any, Any]]
    receiver: Role | None = None
    update: Callable[[Any, Inbox, Context], Any] | None = None
    query: AbstractQuery | None = None
    release: Release | None = None
    repeat: int = 1
    combine: Combine = Combine.EACH
    rounds: Rounds = EVERY
    point: bool = False

    def __post_init__(self) -> None:
        if (self.query is None) != (self.release is None):
            raise TypeError(f"phase {self.name!r}: give query and release together or neither")
        if (self.receiver is None) != (self.update is None):
            raise TypeError(f"phase {self.name!r}: give receiver and update together or neither")
        if self.repeat < 1:
            raise TypeError(f"phase {self.name!r}: repeat={self.repeat} must be at least 1")
        self.hides.check(self)

    @property
    def hides(self) -> AbstractHiding:
        """What hides an agent in this phase besides its own noise."""
        return ALONE if self.release is None else self.release.mechanism.hides


@checked(ConfigError)
class AbstractMethod(eqx.Module):
    """A distributed optimisation method.

    Attributes:
        name: in study files; a method without one can be run from Python only.
        when: to choose it, as the end of the sentence "choose it when ...".
        example: arguments without a default, for describing it.
        variants: modes with a guarantee or a release of their own, for describing them: arguments
            by the words that follow "proved" or "model", such as "with claim".
        as_published: whether it has the noise that a paper prints, for comparison only: it is named
            in studies, and in no list of methods to choose from.
        per_agent: arguments that may differ from agent to agent.
        oracle: what it asks of each private objective.
        only_rounds: how many rounds it takes, where it takes a fixed number of them.
        absences: whether a round may go on without some senders, who sleep in it: peers then put
            themselves in the place of who is silent, and a coordinator weighs the others more. A
            method whose states must match between senders and receivers, such as duals, has none.
        privacy: the protection asked for, or `None` for a method that releases private values.
    """

    name: ClassVar[str] = ""
    when: ClassVar[str] = ""
    example: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType({})
    as_published: ClassVar[bool] = False
    per_agent: ClassVar[tuple[str, ...]] = ()
    oracle: ClassVar[Oracle]
    only_rounds: ClassVar[int | None] = None
    absences: ClassVar[bool] = False
    privacy: eqx.AbstractVar[Privacy | None]

    def __check_init__(self) -> None:
        self.check_budget()

    def check_budget(self) -> None:
        """Refuse a budget that is none; called first by what reads it while it is made.

        Raises:
            PrivacyError: with what to write instead.
        """
        if self.privacy is not None:
            remedy = "write privacy=Privacy(clip=1.0, epsilon=1.0, delta=1e-6)"
            checks.instance("privacy", self.privacy, Privacy, remedy, PrivacyError)

    @abc.abstractmethod
    def init(self, role: Role, x0: Vector, degree: Index) -> Any:
        """State before round 0: depends on no data."""

    @abc.abstractmethod
    def phases(self) -> tuple[Phase, ...]:
        """The algorithm box, in order."""

    @abc.abstractmethod
    def solution(self, state: Any) -> Vector:
        """This agent's answer: a function of released values only."""

    def start(self, task: Task) -> np.ndarray:
        """Where answers begin, shape `(p,)`: by default at the task's own starting point.

        Args:
            task: only what is declared of it is read.
        """
        return task.start()

    def numbers(self, task: Task) -> tuple[str, ...]:
        """Names of the numbers of `solution`: by default those of the task's parameters.

        Args:
            task: only what is declared of it is read.
        """
        return tuple(task.parameter_names)

    def answer(self, numbers: Float[np.ndarray, " p"], contract: Any) -> Answer:
        """What the numbers of a `solution` say: on the host, from them and public constants alone.

        What cannot be said is a `Refused`, never an exception: the budget is spent by then.

        Args:
            numbers: shape `(p,)`.
            contract: of the run (`tacit._engine.contract.Contract`).
        """
        return Minimiser(contract.numbers, tuple(np.asarray(numbers, dtype=float).tolist()))

    @property
    def hides(self) -> AbstractHiding:
        """What hides an agent besides its own noise, by the budget."""
        return ALONE if self.privacy is None else self.privacy.hides

    def on(self, network: AbstractNetwork) -> AbstractMethod:
        """The method with the numbers of the network that it needs; by default as it is.

        It sees no problem, so that a private method may depend on it.
        """
        return self

    def check(self, problem: Task, network: AbstractNetwork) -> None:
        """Refuse a problem or network that breaks an assumption, in plain words."""
        return None

    def delta(self, agent: int) -> float:
        """The delta at which an owner's epsilon is stated; `DELTA` where no budget is given."""
        return DELTA if self.privacy is None else own_public(self.privacy.delta, agent)

    def protects(self, problem: Any) -> Unit:
        """What one guarantee protects: by default what one summand of the objectives is.

        A method that bounds what all data of an agent do together answers `Unit.AGENT`.
        """
        return problem.unit

    def worst_case(self, problem: Task, owner: int) -> Neighbours:
        """Neighbouring data for an audit: by default those that move a clipped query the most.

        A method whose releases are no clipped queries declares its own.

        Args:
            problem: whose declared numbers (normalisers, dimension) are used, and no data.
            owner: the agent whose data are audited.

        Raises:
            PrivacyError: the method bounds nothing.
        """
        bounds = gradient_bounds(problem)[owner]
        return linear_neighbours(self.privacy, problem.normaliser, problem.dimension, owner, bounds)

    def prepare(self, problem: Task, network: AbstractNetwork) -> AbstractMethod:
        """The method with whatever it chooses itself filled in; by default as it is."""
        return self
