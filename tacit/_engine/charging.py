"""The releases of a run of a method.

Everything here is plain Python over declared constants: the table of phases, record counts, degrees
and the public record of who takes part. No function of this file can see data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float, Int

from tacit.arguments.own import is_own
from tacit.errors import PrivacyError, UnsupportedEvent
from tacit.method.phase import AbstractMethod, Phase, phases_of
from tacit.method.worst_case import UNBOUNDED, gradient_bounds
from tacit.network.base import AbstractNetwork
from tacit.privacy import facts, masked
from tacit.privacy.adjacency import at_distance
from tacit.privacy.event import Event, Repeated, on_grid
from tacit.privacy.facts import Fact
from tacit.privacy.query import sensitivity_of
from tacit.problem.convex_cost import ConvexCost
from tacit.problem.task import Task
from tacit.types import Division, PublicContext, Relation, Unit


class Kinds(NamedTuple):
    """Owners with equal numbers, grouped: they release the same.

    Attributes:
        contexts: declared constants of the first owner of each kind.
        of: kind of every owner.
    """

    contexts: tuple[PublicContext, ...]
    of: Int[np.ndarray, " agents"]


@dataclass(frozen=True)
class Owners:
    """The declared constants of every owner of a run.

    Attributes:
        contexts: declared constants, one context per owner.
        names: names of the owners.
        assumptions: assumptions of their objectives, in addition to what is public (`facts`).
        declared: whether sums are divided by declared numbers rather than by record counts.
        divided: what decided which site holds which record.
    """

    contexts: tuple[PublicContext, ...]
    names: tuple[str, ...]
    assumptions: tuple[str, ...] = ()
    declared: bool = True
    divided: frozenset[Division] = frozenset()

    @classmethod
    def of(
        cls,
        problem: Task,
        network: AbstractNetwork,
        rounds: int,
        participations: Any,
        trials: int = 1,
        unit: Unit | None = None,
        relation: Relation = Relation.ADD_REMOVE,
    ) -> Owners:
        """Gather these from a problem (counts, normalisers) and a network (degrees, activity).

        `unit` is what one guarantee protects, if that is not the unit of the problem. Unit and
        `relation` decide whether numbers of records are public (`facts`).

        Raises:
            PrivacyError: whole agents are protected, and the releases of others depend on the
                number of records of an agent; or distances are asked for between data that are no
                whole costs, or costs whose gradients a solver approximates.
        """
        if relation is Relation.METRIC and isinstance(problem.objectives, ConvexCost):
            raise PrivacyError(
                "relation='metric' needs exact gradients: its noise is for the distance between "
                "the gradients of two costs, and the error of the solver that finds those of a "
                "cost in cvxpy does not shrink with that distance. Use relation='replace_one', "
                "whose clip bounds whatever the solver returns, or write the costs in JAX and "
                "give them to tacit.problem.costs"
            )
        if relation is Relation.METRIC and problem.unit is not Unit.AGENT:
            raise PrivacyError(
                "relation='metric' measures the distance between whole costs, and the data of an "
                f"agent are {problem.unit.value}s here; use relation='replace_one'"
            )
        declared, agents = problem.declared, problem.agents
        protected: Unit = problem.unit if unit is None else unit
        public = Fact.RECORDS in facts.public(protected, relation)
        # private numbers are as declared; a divisor may be far from the actual numbers
        hidden = declared and not public
        counts = problem.told if hidden else problem.counts
        normaliser, bounds = problem.normaliser, gradient_bounds(problem)
        if protected is Unit.AGENT and problem.unit is not Unit.AGENT:
            if not public and not declared and np.any(normaliser > problem.counts):
                raise PrivacyError(
                    "where the data of a whole agent are protected, the number of its records is "
                    "private, and here every agent's sum is divided by the number of all records, "
                    "so that the others' releases would tell it; use weighting='agent', or give "
                    "the problem normaliser=..., a declared number that no agent exceeds"
                )
            # all data of an agent are one unit; the number of its records is private, too
            declared, bounds = True, [UNBOUNDED] * agents
            counts, normaliser = np.ones(agents, dtype=int), np.ones(agents)
        columns = (counts, normaliser, network.degrees, participations)
        contexts = tuple(
            PublicContext(
                agent,
                agents,
                0,
                rounds,
                count,
                normaliser,
                protected,
                degree,
                taken,
                problem.dimension,
                bounds[agent],
            )
            for agent, (count, normaliser, degree, taken) in enumerate(
                zip(*(np.asarray(column).tolist() for column in columns), strict=True)
            )
        )
        assumptions = (*problem.objectives.assumptions, *problem.assumptions)
        if trials > 1:  # every trial is a separate release, and the guarantee is for one
            published = f"one trial is published, the first of {trials:,}, and no other"
            assumptions = (*assumptions, published)
        return cls(contexts, tuple(problem.names), assumptions, declared, problem.divided)

    def kinds(self, method: AbstractMethod, *also: Any) -> Kinds:
        """Group owners with equal numbers.

        A method of others may keep an owner's number anywhere, so its releases are compared, too.

        Args:
            method: method whose numbers may differ per owner.
            also: further numbers that distinguish owners, each of shape `(..., agents)`.
        """
        agents = len(self.contexts)
        own = [leaf for leaf in jax.tree.leaves(method) if np.shape(leaf) == (agents,)]
        numbers = [
            [c.count, c.normaliser, c.degree, c.participations, *c.gradient_bounds]
            for c in self.contexts
        ]
        columns = [np.array(numbers, dtype=float)]
        columns += [np.asarray(leaf, dtype=float).reshape(-1, agents).T for leaf in (*own, *also)]
        if is_foreign(method):
            releases = Releases(method)
            columns.append(np.array([releases.numbers(each) for each in self.contexts]))
        _, first, kind = np.unique(
            np.concatenate(columns, axis=1), axis=0, return_index=True, return_inverse=True
        )
        return Kinds(tuple(self.contexts[index] for index in first), kind.reshape(-1))


class Releases:
    """The releasing phases of a method, read once.

    Args:
        method: method whose phases are read.
        grid: whether noise is drawn on a grid, as in every production release.
    """

    def __init__(self, method: AbstractMethod, *, grid: bool = False) -> None:
        self.method, self.grid = method, grid
        self.phases: tuple[Phase, ...] = phases_of(method)
        privacy = method.privacy
        self.records = 1 if privacy is None else privacy.records_per_person
        self.sites = 1 if privacy is None else privacy.sites_per_person
        relations = {phase.release.relation for phase in self if phase.release is not None}
        if len(relations) > 1:
            raise PrivacyError("one run has one neighbouring relation, and its releases have two")
        self.relation = relations.pop() if relations else Relation.REPLACE_ONE
        self.varies = any(_varies(phase) for phase in self.phases)
        if self.varies and any(phase.hides.summed for phase in self.phases):
            raise PrivacyError(
                "noise that changes from round to round is charged by the round, and a masked sum "
                "by the attempt; a method has one or the other"
            )

    def __iter__(self) -> Iterator[Phase]:
        return (phase for phase in self.phases if phase.release is not None)

    def numbers(self, public: PublicContext) -> list[float]:
        """What the noise of an owner's releases follows from: equal for owners whose cost is."""
        found: list[float] = []
        for phase in self:
            assert phase.query is not None and phase.release is not None
            query, relation, dose = phase.query, self.relation, phase.release.mechanism.dose
            for round in range(public.rounds) if _varies(phase) else (0,):
                here = replace(public, round=round)
                found += [sensitivity_of(query, here, relation), query.rate]
                found += [] if dose is None else [dose.multiplier(query, here, relation)]
        return np.nan_to_num(found, nan=-1.0).tolist()  # not calibrated yet

    def once(self, public: PublicContext) -> list[Event]:
        """What one owner releases before round 0."""
        return self._released(public, once=True)

    def round(self, public: PublicContext, round: int = 0) -> list[Event]:
        """What one owner releases in one round that it takes part in."""
        return self._released(replace(public, round=round), once=False)

    def sums(self, rounds: int) -> int:
        """Number of sums that a run asks for if every one succeeds."""
        return sum(len(phase.rounds.of(rounds)) for phase in self if phase.hides.summed)

    def times(
        self, public: PublicContext, taken: int | None = None, done: int | None = None
    ) -> list[int]:
        """Maximum number of rounds in which an owner releases something, by releasing phase.

        Answers beyond the rounds belong to sums that are tried again. Which ones is not known
        beforehand, so each is counted as the most expensive.

        Args:
            public: declared constants of the owner.
            taken: number of answers so far to what is asked in every round; by default for the
                whole run.
            done: number of rounds so far; by default all.
        """
        done = public.rounds if done is None else done
        taken = public.participations if taken is None else taken
        found = []
        for phase in self:
            run = phase.rounds.of(public.rounds)
            so_far = len(run[: max(0, done - run.start)])
            found.append(1 if phase.rounds.before else min(taken, so_far))
        for place in self._again(public) if taken > done else []:
            found[place] += taken - done
        return found

    def _again(self, public: PublicContext) -> list[int]:
        """Positions among the releasing phases of what is counted for sums that are tried again."""
        summed = [place for place, phase in enumerate(self) if phase.hides.summed]
        if not summed:  # asked about a budget: the cost of as many releases without masks
            return [place for place, phase in enumerate(self) if not phase.rounds.before]
        if len(summed) < 2:
            return summed
        phases = list(self)
        costs = masked.as_dear([self.event(phases[place], public) for place in summed])
        return [summed[place] for place, more in enumerate(costs) if more == [place]]

    def all(self, public: PublicContext) -> list[Event]:
        """Everything that one owner releases during the run."""
        if self.varies:
            rounds = [event for t in range(public.rounds) for event in self.round(public, t)]
            return self.once(public) + rounds
        return self.first(public)

    def first(
        self, public: PublicContext, taken: int | None = None, done: int | None = None
    ) -> list[Event]:
        """What one owner releases in its first rounds; arguments as for `times`.

        Args:
            public: declared constants of the owner, with the same noise in every round.
            taken: number of answers so far, as for `times`.
            done: number of rounds so far, as for `times`.
        """
        times = zip(self, self.times(public, taken, done), strict=True)
        return self.once(public) + [
            Repeated(self._steps(phase, public), most)
            for phase, most in times
            if most and not phase.rounds.before
        ]

    def by_phase(self, public: PublicContext, place: int) -> list[Event]:
        """What one owner releases in one phase during the run.

        Args:
            public: declared constants of the owner.
            place: position of the phase among the releasing phases.
        """
        phase = list(self)[place]
        if phase.rounds.before:
            return [self._steps(phase, public)]
        if self.varies:
            rounds = (replace(public, round=t) for t in phase.rounds.of(public.rounds))
            return [self._steps(phase, each) for each in rounds]
        most = self.times(public)[place]
        return [Repeated(self._steps(phase, public), most)] if most else []

    def event(self, phase: Phase, public: PublicContext) -> Event:
        """The cost of one step of a releasing phase: for a person, if one may have several records.

        Args:
            phase: phase with a query.
            public: declared constants of the owner, in the round.
        """
        if phase.query is None or phase.release is None:
            raise TypeError(f"phase {phase.name!r} releases nothing")
        event = phase.release.mechanism.event(phase.query, public, phase.release.relation)
        event = _grouped(event, self.records)
        return on_grid(event) if self.grid else event

    def _released(self, public: PublicContext, *, once: bool) -> list[Event]:
        return [
            self._steps(phase, public)
            for phase in self
            if phase.rounds.before is once and phase.rounds.includes(public.round, public.rounds)
        ]

    def _steps(self, phase: Phase, public: PublicContext) -> Event:
        event = self.event(phase, public)
        return event if phase.repeat == 1 else Repeated(event, phase.repeat)


def is_foreign(method: AbstractMethod) -> bool:
    """Whether a method, or one that it runs around, is not tacit's own."""
    inside = jax.tree.leaves(
        method, is_leaf=lambda node: isinstance(node, AbstractMethod) and node is not method
    )
    inner = (each for each in inside if isinstance(each, AbstractMethod))
    return not is_own(type(method)) or any(map(is_foreign, inner))


def events(releases: Releases, kinds: Kinds) -> tuple[tuple[Event, ...], ...]:
    """Everything that each owner is charged for: all releases by the sites of one person.

    Raises:
        PrivacyError: one person has records at several sites whose releases differ.
    """
    charged = charges(releases, kinds)
    return tuple(charged[own] for own in kinds.of)


def charges(releases: Releases, kinds: Kinds) -> list[tuple[Event, ...]]:
    """The same, for each kind of owner."""
    alone = [tuple(releases.all(public)) for public in kinds.contexts]
    if releases.sites > 1 and len(set(alone)) > 1:
        raise PrivacyError(
            f"sites_per_person={releases.sites}: one person's guarantee rests on the releases of "
            "several owners, and here they differ; give all owners the same noise multiplier, or "
            "leave sites_per_person at 1"
        )
    return [events * releases.sites for events in alone]


def of_any(owners: Iterable[Sequence[Event]]) -> list[Event]:
    """The smallest set of releases that contains every owner's: for a record that may be at any."""
    most: dict[Event, int] = {}
    for events_ in owners:
        counts: dict[Event, int] = {}
        for event in events_:
            times = 1
            while isinstance(event, Repeated):
                times, event = times * event.count, event.event
            counts[event] = counts.get(event, 0) + times
        most = {each: max(most.get(each, 0), counts.get(each, 0)) for each in (*most, *counts)}
    return [Repeated(event, count) for event, count in most.items() if count]


def scales(releases: Releases, kinds: Kinds) -> tuple[Float[np.ndarray, "*_shape"], ...]:
    """Noise scale of every phase: shape `(agents,)`, or `(rounds, agents)` if it varies."""
    each, kind = kinds
    table: list[Float[np.ndarray, "*_shape"]] = []
    for phase in releases.phases:
        if phase.query is None or phase.release is None:
            table.append(np.zeros(len(kind)))
            continue
        mechanism, query, relation = phase.release.mechanism, phase.query, phase.release.relation
        rounds: Iterable[int] = range(each[0].rounds) if _varies(phase) else (0,)
        values = np.array(
            [[mechanism.scale(query, replace(c, round=t), relation) for c in each] for t in rounds]
        )
        table.append(values[:, kind] if _varies(phase) else values[0, kind])
    return tuple(table)


def units_of(public: PublicContext, records_per_person: int = 1) -> tuple[int, str]:
    """Number of units that a guarantee is about, as far as it is public, and their name."""
    if public.unit is Unit.AGENT:
        return public.agents, "agents"
    if records_per_person > 1:
        return max(1, public.count // records_per_person), "people with records"
    return public.count, "records"


def _varies(phase: Phase) -> bool:
    return phase.release is not None and phase.release.mechanism.varying and not phase.rounds.before


def _grouped(event: Event, records: int) -> Event:
    """The event for a person with several records at one site: the answer moves by that factor."""
    if records == 1:
        return event
    try:
        return at_distance(event, records)
    except UnsupportedEvent as unproved:
        raise PrivacyError(
            f"records_per_person={records} cannot be combined with {type(event).__name__}: no "
            "rule for groups is proved here; set sampling=1 or records_per_person=1"
        ) from unproved
