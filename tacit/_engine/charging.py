"""The owners of a run: their declared constants, and what each of them is charged for.

Everything here is plain Python over declared constants: what a method releases, record counts,
degrees and the public record of who takes part. No function of this file can see data.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float, Int

from tacit._engine.identity import opaque
from tacit.errors import PrivacyError
from tacit.method.releases import Releases
from tacit.method.worst_case import UNBOUNDED, gradient_bounds
from tacit.network.base import AbstractNetwork
from tacit.privacy import facts
from tacit.privacy.event import Event, Repeated
from tacit.privacy.facts import Fact
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
        counted: whether the numbers of their records are public.
    """

    contexts: tuple[PublicContext, ...]
    names: tuple[str, ...]
    assumptions: tuple[str, ...] = ()
    declared: bool = True
    divided: frozenset[Division] = frozenset()
    counted: bool = False

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
        names = tuple(problem.names)
        return cls(contexts, names, assumptions, declared, problem.divided, public)

    def kinds(self, releases: Releases, *also: Any) -> Kinds:
        """Group owners with equal numbers.

        Code of others may keep an owner's number anywhere, so its releases are compared, too.

        Args:
            releases: releases of the method whose numbers may differ per owner.
            also: further numbers that distinguish owners, each of shape `(..., agents)`.
        """
        agents = len(self.contexts)
        own = [leaf for leaf in jax.tree.leaves(releases.method) if np.shape(leaf) == (agents,)]
        numbers = [
            [c.count, c.normaliser, c.degree, c.participations, *c.gradient_bounds]
            for c in self.contexts
        ]
        columns = [np.array(numbers, dtype=float)]
        columns += [np.asarray(leaf, dtype=float).reshape(-1, agents).T for leaf in (*own, *also)]
        if opaque(releases.method):
            columns.append(np.array([releases.numbers(each) for each in self.contexts]))
        _, first, kind = np.unique(
            np.concatenate(columns, axis=1), axis=0, return_index=True, return_inverse=True
        )
        return Kinds(tuple(self.contexts[index] for index in first), kind.reshape(-1))


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
        rounds: Iterable[int] = range(each[0].rounds) if phase.varies else (0,)
        values = np.array(
            [[mechanism.scale(query, replace(c, round=t), relation) for c in each] for t in rounds]
        )
        table.append(values[:, kind] if phase.varies else values[0, kind])
    return tuple(table)


def units_of(public: PublicContext, records_per_person: int = 1) -> tuple[int, str]:
    """Number of units that a guarantee is about, as far as it is public, and their name."""
    if public.unit is Unit.AGENT:
        return public.agents, "agents"
    if records_per_person > 1:
        return max(1, public.count // records_per_person), "people with records"
    return public.count, "records"
