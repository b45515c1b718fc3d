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
from tacit.arguments.answers import answer
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

MOST_PHASES = 64
"""Phases of a method for which the keys of a run have room."""

MOST_REPEAT = 2**24
"""Repetitions of a phase for which they have room: one more would draw the noise of the first."""


@checked(ConfigError)
@dataclass(frozen=True)
class Phase:
    """One step of a round.

    Attributes:
        name: name shown in tables and stored with each release.
        sender: role that computes and sends.
        message: `(state, released, context) -> (state, payload)`; `released` is `None` without a
            query.
        receiver: role that receives, or `None` when nothing is sent (a local step).
        update: `(state, inbox, context) -> state` at the receiver.
        query: query to the sender's private objective.
        release: protection of the answer; given if and only if `query` is.
        repeat: number of repetitions in a row (local steps), from 1 to 2^24; `Context.step` counts
            them.
        combine: whether the receiver sees each message or only their sum.
        rounds: rounds in which the phase runs, and so the number of its releases.
        point: whether the message is a candidate for the answer, shape `(p,)`, or has one beside
            other arrays: a point that is further from the start than `divergence` allows, or from 0
            for the others, is refused wherever messages are real.

    Raises:
        ConfigError: a value that an attribute cannot have.
        TypeError: a query without a release or the reverse, or a receiver without an update.
        PrivacyError: a masked release that is not a sum at a public iterate.
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
            raise ConfigError(f"phase {self.name!r}: give query and release together or neither")
        if (self.receiver is None) != (self.update is None):
            raise ConfigError(f"phase {self.name!r}: give receiver and update together or neither")
        if not 1 <= self.repeat <= MOST_REPEAT:
            raise ConfigError(
                f"phase {self.name!r}: repeat={self.repeat} must be at least 1 and at most "
                f"{MOST_REPEAT:,}"
            )
        self.hides.check(self)

    @property
    def hides(self) -> AbstractHiding:
        """Protection of an agent in this phase besides its own noise."""
        return ALONE if self.release is None else self.release.mechanism.hides

    @property
    def varies(self) -> bool:
        """Whether its noise differs between rounds."""
        release = self.release
        return release is not None and release.mechanism.varying and not self.rounds.before


@checked(ConfigError)
class AbstractMethod(eqx.Module):
    """A distributed optimisation method.

    Attributes:
        name: name in study files; a method without one can only be run from Python.
        when: when to choose the method, as the end of the sentence "choose it when ...".
        example: values of arguments without a default, for describing the method.
        variants: modes with a guarantee or a release of their own, for describing them: arguments
            keyed by the words that follow "proved" or "model", such as "with claim".
        as_published: whether the noise is that printed in a paper, for comparison only: the method
            can be named in studies, but no list of methods to choose from has it.
        per_agent: arguments that may differ from agent to agent.
        modelled: arguments that follow from the section [model] of a study and its columns.
        oracle: kind of queries to each private objective.
        absences: whether a round between sites may go on without a message that is awaited, as
            `silent = "skip"` in the manifest asks for: a peer then uses its own value instead, and
            a coordinator gives the others more weight. A method whose states must match between
            senders and receivers, such as duals or trackers, has to wait. Agents that sleep by the
            network's own draw (`RandomActivation`, `probability` of a coordinator) are no such
            absences: all know of them beforehand, so that the weights of the round leave them out.
            Which of these networks a method excludes, its `check` says.
        privacy: privacy budget, or `None` for a method that releases private values.
    """

    name: ClassVar[str] = ""
    when: ClassVar[str] = ""
    example: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType({})
    as_published: ClassVar[bool] = False
    per_agent: ClassVar[tuple[str, ...]] = ()
    modelled: ClassVar[tuple[str, ...]] = ()
    oracle: ClassVar[Oracle]
    absences: ClassVar[bool] = False
    privacy: eqx.AbstractVar[Privacy | None]

    def __check_init__(self) -> None:
        self.check_budget()

    def check_budget(self) -> None:
        """Refuse an invalid budget; called first by constructors that read it.

        Raises:
            PrivacyError: with the correction to make.
        """
        if self.privacy is not None:
            remedy = "write privacy=Privacy(clip=1.0, epsilon=1.0, delta=1e-6)"
            checks.instance("privacy", self.privacy, Privacy, remedy, PrivacyError)

    @abc.abstractmethod
    def init(self, role: Role, x0: Vector, degree: Index) -> Any:
        """State before round 0; does not depend on data."""

    @abc.abstractmethod
    def phases(self) -> tuple[Phase, ...]:
        """The algorithm box, in order: from 1 to 64 phases."""

    @abc.abstractmethod
    def solution(self, state: Any) -> Vector:
        """This agent's answer: a function of released values only."""

    @property
    def coordinated(self) -> bool:
        """Whether it needs a coordinator instead of peers."""
        return any(phase.sender is Role.SERVER for phase in phases_of(self))

    @property
    def only_rounds(self) -> int | None:
        """Number of rounds, if it is fixed."""
        return None

    def start(self, task: Task) -> np.ndarray:
        """Starting point of the answers, shape `(p,)`: by default the task's own.

        Args:
            task: task, of which only declared values are read.
        """
        return task.start()

    def numbers(self, task: Task) -> tuple[str, ...]:
        """Names of the numbers of `solution`: by default those of the task's parameters.

        Args:
            task: task, of which only declared values are read.
        """
        return tuple(task.parameter_names)

    def answer(self, numbers: Float[np.ndarray, " p"], contract: Any) -> Answer:
        """The answer that a `solution` gives: on the host, from it and public constants alone.

        If there is no answer, returns a `Refused`, never an exception: the budget is spent by then.

        Args:
            numbers: numbers of the solution, shape `(p,)`.
            contract: contract of the run (`tacit._engine.contract.Contract`).
        """
        return Minimiser(contract.numbers, tuple(np.asarray(numbers, dtype=float).tolist()))

    @property
    def hides(self) -> AbstractHiding:
        """Protection of an agent besides its own noise, according to the budget."""
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
        """The unit of a guarantee: by default one summand of the objectives.

        A method that bounds the joint effect of all data of an agent returns `Unit.AGENT`. Queries
        that sum clipped records do so only where each sum is divided by at least their number; a
        run in which it is not is refused.
        """
        return problem.unit

    def worst_case(self, problem: Task, owner: int) -> Neighbours:
        """Neighbouring data for an audit: by default those that move a clipped query the most.

        A method whose releases are not clipped queries declares its own.

        Args:
            problem: problem, of which only declared numbers (normalisers, dimension) are used.
            owner: the agent whose data are audited.

        Raises:
            PrivacyError: the method has no bound.
        """
        bounds = gradient_bounds(problem)[owner]
        return linear_neighbours(self.privacy, problem.normaliser, problem.dimension, owner, bounds)

    def prepare(self, problem: Task, network: AbstractNetwork) -> AbstractMethod:
        """The method with the values that it chooses itself filled in; by default as it is."""
        return self


def phases_of(method: AbstractMethod) -> tuple[Phase, ...]:
    """The table of phases.

    Raises:
        ConfigError: something else than 1 to 64 phases.
    """
    named = f"{type(method).__name__}.phases"
    return tuple(answer(method.phases, named=named, takes="", fits=_phases, public=True))


def _phases(value: Any) -> str:
    wanted = f"give a tuple of tacit.method.Phase(...), at least one and at most {MOST_PHASES}"
    if not isinstance(value, tuple | list):
        return wanted
    if not value:
        return f"it is empty; {wanted}"
    if len(value) > MOST_PHASES:
        return f"it has {len(value)} phases, and later ones would repeat noise; {wanted}"
    bad = [each for each in value if not isinstance(each, Phase)]
    return f"{checks.shown(bad[0])} in it is no phase; {wanted}" if bad else ""
