"""What a run of a method will release, and the noise that its budget asks for.

Everything here is plain Python over declared constants: the table of phases, record counts, degrees
and the public record of who takes part. No function of this file can see data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float, Int

from tacit.errors import BudgetExceeded, PrivacyError, UnsupportedEvent
from tacit.method.phase import AbstractMethod, Phase, Span
from tacit.method.worst_case import UNBOUNDED, gradient_bounds
from tacit.privacy import accounting, caution
from tacit.privacy.adjacency import at_distance
from tacit.privacy.budget import Privacy
from tacit.privacy.calibration import noise_multiplier
from tacit.privacy.event import Event, Repeated, on_grid
from tacit.privacy.masked import levelled
from tacit.privacy.sensitivity import own_public
from tacit.types import Division, PublicContext, Relation, Unit

Method = TypeVar("Method", bound=AbstractMethod)


@dataclass(frozen=True)
class Owners:
    """The declared constants of every owner of a run.

    Attributes:
        contexts: one an owner.
        names: the owners' names.
        assumptions: what their objectives take for granted, beside what is public (`facts`).
        declared: whether sums are divided by declared numbers rather than by record counts.
        divided: what decided which record stands where.
    """

    contexts: tuple[PublicContext, ...]
    names: tuple[str, ...]
    assumptions: tuple[str, ...] = ()
    declared: bool = True
    divided: frozenset[Division] = frozenset()

    @classmethod
    def of(
        cls,
        problem: Any,
        network: Any,
        rounds: int,
        participations: Any,
        trials: int = 1,
        unit: Unit | None = None,
        counted: bool = False,
    ) -> Owners:
        """Gather them from a problem (counts, normalisers) and a network (degrees, activity).

        `unit` is what one guarantee protects, if that is not the unit of the problem; with
        `counted` the numbers of records are public, as where a record is replaced by another.

        Raises:
            PrivacyError: whole agents are protected, and what others release depends on how many
                records an agent has.
        """
        declared = problem.declared
        # under add/remove the actual numbers are private; a divisor may be far from them
        hidden = declared and not counted
        counts = np.rint(problem.normaliser).astype(int) if hidden else problem.counts
        normaliser, bounds = problem.normaliser, gradient_bounds(problem)
        agents = problem.agents
        protected: Unit = problem.unit if unit is None else unit
        if protected is Unit.AGENT and problem.unit is not Unit.AGENT:
            if not declared and np.any(normaliser > problem.counts):
                raise PrivacyError(
                    "where the data of a whole agent are protected, the number of its records is "
                    "private, and here every agent's sum is divided by the number of all records, "
                    "so that the others' releases would tell it; use weighting='agent', or give "
                    "the problem normaliser=..., a declared number"
                )
            # all that an agent has is one unit; how many records that is, is private too
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
        if trials > 1:  # every trial is a release of its own, and the guarantee is that of one
            published = f"one trial is published, the first of {trials:,}, and no other"
            assumptions = (*assumptions, published)
        return cls(contexts, tuple(problem.names), assumptions, declared, problem.divided)

    def kinds(
        self, method: AbstractMethod, *also: Any
    ) -> tuple[list[PublicContext], Int[np.ndarray, " agents"]]:
        """Owners that differ in no number, told once: their first contexts, and each one's kind.

        Args:
            method: whose numbers may differ per owner.
            also: further numbers to tell owners apart by, each of shape `(..., agents)`.
        """
        agents = len(self.contexts)
        own = [leaf for leaf in jax.tree.leaves(method) if np.shape(leaf) == (agents,)]
        numbers = [
            [c.count, c.normaliser, c.degree, c.participations, *c.gradient_bounds]
            for c in self.contexts
        ]
        columns = [np.array(numbers, dtype=float)]
        columns += [np.asarray(leaf, dtype=float).reshape(-1, agents).T for leaf in (*own, *also)]
        _, first, kind = np.unique(
            np.concatenate(columns, axis=1), axis=0, return_index=True, return_inverse=True
        )
        return [self.contexts[index] for index in first], kind.reshape(-1)


class Releases:
    """The releasing phases of a method, read once.

    Args:
        method: which.
        grid: whether noise is drawn on a grid, as it is wherever values really leave.
    """

    def __init__(self, method: AbstractMethod, *, grid: bool = False) -> None:
        self.grid = grid
        self.phases: tuple[Phase, ...] = method.phases()
        self.closing = method.closing
        privacy = method.privacy
        self.records = 1 if privacy is None else privacy.records_per_person
        self.sites = 1 if privacy is None else privacy.sites_per_person
        relations = {phase.release.relation for phase in self if phase.release is not None}
        if len(relations) > 1:
            raise PrivacyError("one run has one neighbouring relation, and its releases have two")
        self.relation = relations.pop() if relations else Relation.REPLACE_ONE
        self.varies = any(_varies(phase) for phase in self.phases)
        if self.varies and any(phase.masked for phase in self.phases):
            raise PrivacyError(
                "noise that changes from round to round is charged by the round, and a masked sum "
                "by the attempt; a method has one or the other"
            )

    def __iter__(self) -> Iterator[Phase]:
        return (phase for phase in self.phases if phase.release is not None)

    def once(self, public: PublicContext) -> list[Event]:
        """What one owner releases before round 0."""
        return self._released(public, once=True)

    def round(self, public: PublicContext, round: int = 0) -> list[Event]:
        """What one owner releases in one round that it takes part in."""
        return self._released(replace(public, round=round), once=False)

    def times(self, phase: Phase, public: PublicContext) -> int:
        """In how many rounds an owner releases something in a phase, at most."""
        if phase.rounds is Span.EVERY:
            return public.participations
        return min(public.participations, public.rounds - self.closing)

    def all(self, public: PublicContext) -> list[Event]:
        """Everything that one owner releases during the run."""
        if self.varies:
            rounds = [event for t in range(public.rounds) for event in self.round(public, t)]
        else:
            each = [phase for phase in self if not phase.once]
            times = [self.times(phase, public) for phase in each]
            rounds = [
                Repeated(self._steps(phase, public), most)
                for phase, most in zip(each, times, strict=True)
                if most
            ]
        return self.once(public) + rounds

    def event(self, phase: Phase, public: PublicContext) -> Event:
        """What one step of a releasing phase costs: for a person, where one may have more records.

        Args:
            phase: with a query.
            public: of the owner, in the round.
        """
        if phase.query is None or phase.release is None:
            raise TypeError(f"phase {phase.name!r} releases nothing")
        event = phase.release.mechanism.event(phase.query, public, phase.release.relation)
        event = _grouped(event, self.records)
        return on_grid(event) if self.grid else event

    def _released(self, public: PublicContext, *, once: bool) -> list[Event]:
        at = (public.round, public.rounds, self.closing)
        return [
            self._steps(phase, public)
            for phase in self
            if phase.once is once and phase.rounds.includes(*at)
        ]

    def _steps(self, phase: Phase, public: PublicContext) -> Event:
        event = self.event(phase, public)
        return event if phase.repeat == 1 else Repeated(event, phase.repeat)


def events(method: AbstractMethod, owners: Owners) -> tuple[tuple[Event, ...], ...]:
    """Everything that each owner is charged for: what all sites of one person release together."""
    releases = Releases(method)
    kinds, kind = owners.kinds(method)
    charged = [tuple(releases.all(public)) * releases.sites for public in kinds]
    return tuple(charged[own] for own in kind)


def of_any(owners: Iterable[Sequence[Event]]) -> list[Event]:
    """The fewest releases that contain those of every owner: for a record that may be at any."""
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


def scales(method: AbstractMethod, owners: Owners) -> tuple[Float[np.ndarray, "*_shape"], ...]:
    """Noise scale of every phase: shape `(agents,)`, or `(rounds, agents)` where it varies."""
    kinds, kind = owners.kinds(method)
    table: list[Float[np.ndarray, "*_shape"]] = []
    for phase in method.phases():
        if phase.query is None or phase.release is None:
            table.append(np.zeros(len(owners.contexts)))
            continue
        mechanism, query, relation = phase.release.mechanism, phase.query, phase.release.relation
        rounds: Iterable[int] = range(kinds[0].rounds) if _varies(phase) else (0,)
        values = np.array(
            [[mechanism.scale(query, replace(c, round=t), relation) for c in kinds] for t in rounds]
        )
        table.append(values[:, kind] if _varies(phase) else values[0, kind])
    return tuple(table)


def calibrate(method: Method, owners: Owners, *, grid: bool = False) -> Method:
    """The method with the smallest noise that keeps every owner within its budget.

    Args:
        method: with a budget.
        owners: their declared constants.
        grid: whether noise is drawn on a grid, as it is wherever values really leave.

    Raises:
        PrivacyError: a budget that no noise can meet, or as many budgets as there are no owners.
        BudgetExceeded: the accountant does not confirm the calibrated noise.
    """
    privacy = method.privacy
    if privacy is None:
        return _levelled(method, owners)
    for name in ("clip", "epsilon", "delta", "noise_multiplier"):
        value = getattr(privacy, name)
        if value is not None and np.ndim(value) and np.shape(value) != (len(owners.names),):
            raise PrivacyError(
                f"{name} has {np.size(value)} entries for {len(owners.names)} owners; "
                "give one number for all, or one an owner"
            )
    _check_relation(privacy, owners)
    _check_deltas(privacy, owners)
    if privacy.noise_multiplier is not None:
        return _levelled(method, owners)
    kinds, kind = owners.kinds(method)
    solved: dict[Any, float] = {}
    multipliers: list[float] = []
    for public in kinds:
        epsilon = own_public(privacy.epsilon, public.agent)
        delta = own_public(privacy.delta, public.agent)
        # what a release costs depends on the noise multiplier, not on the size of the data
        case = (epsilon, delta, replace(public, agent=0, count=0, normaliser=1.0))
        if case not in solved:
            solved[case] = _smallest_noise(method, public, epsilon, delta, grid=grid)
        multipliers.append(solved[case])
    return _levelled(_with_noise(method, np.array(multipliers)[kind]), owners)


def _check_deltas(privacy: Privacy, owners: Owners) -> None:
    if privacy.large_delta:
        return
    for public, name in zip(owners.contexts, owners.names, strict=True):
        units, kind = units_of(public, privacy.records_per_person)
        caution.check_delta(
            own_public(privacy.delta, public.agent),
            units,
            kind if public.unit is Unit.AGENT else f"{kind} of {name}",
            "or say large_delta = true in [privacy] (Privacy(large_delta=True)) if that is meant",
        )


def units_of(public: PublicContext, records_per_person: int = 1) -> tuple[int, str]:
    """How many units a guarantee is about, as far as it is public, and what they are."""
    if public.unit is Unit.AGENT:
        return public.agents, "agents"
    if records_per_person > 1:
        return max(1, public.count // records_per_person), "people with records"
    return public.count, "records"


def _check_relation(privacy: Privacy, owners: Owners) -> None:
    unit = owners.contexts[0].unit
    if privacy.relation is Relation.ADD_REMOVE and not owners.declared:
        raise PrivacyError(
            "under add_remove the number of records is private, so sums must be divided by a "
            "declared number instead: give the problem normaliser=..., or use "
            "relation='replace_one'"
        )
    if max(privacy.sites_per_person, privacy.records_per_person) == 1:
        return
    if unit is not Unit.RECORD:
        raise PrivacyError(
            f"sites_per_person={privacy.sites_per_person} and records_per_person="
            f"{privacy.records_per_person} are about records, and this problem protects a whole "
            f"{unit.value}; leave both at 1"
        )
    # releases of several owners are composed for one person, so all must protect alike
    if privacy.sites_per_person > len(owners.names):
        raise PrivacyError(
            f"sites_per_person={privacy.sites_per_person}, but there are {len(owners.names)} "
            "sites; lower it"
        )
    for name in ("epsilon", "delta", "noise_multiplier"):
        value = getattr(privacy, name)
        if value is not None and np.ptp(np.asarray(value, dtype=float)) > 0:
            raise PrivacyError(
                f"{name} differs between owners, and with sites_per_person="
                f"{privacy.sites_per_person} one person's guarantee rests on several of them; "
                "give one number for all"
            )


def _smallest_noise(
    method: AbstractMethod, public: PublicContext, epsilon: float, delta: float, *, grid: bool
) -> float:
    if np.isinf(epsilon):
        return 0.0
    assert method.privacy is not None

    def spending(multiplier: float) -> Sequence[Event]:
        releases = Releases(_with_noise(method, multiplier), grid=grid)
        return releases.all(public) * releases.sites

    if not spending(1.0):
        return 1.0
    multiplier = noise_multiplier(epsilon, delta, spending)
    costs = accounting.epsilon(spending(multiplier), delta)
    if costs > epsilon:
        raise BudgetExceeded(
            f"the run would spend epsilon = {costs:.6g} at delta = {delta:g}, above the budget of "
            f"{epsilon:g}; nothing was released"
        )
    return multiplier


def _levelled(method: Method, owners: Owners) -> Method:
    """Where the noise of others hides an agent, the method with noise of one scale at all."""
    privacy, shared = method.privacy, _shared_scales(method, owners)
    if len(shared) > 1:
        raise PrivacyError(
            f"{type(method).__name__} has {len(shared)} phases in which agents hide each other, "
            "and one mask a round and attempt: let it have one"
        )
    if privacy is not None and shared:
        if privacy.masks is not None:
            privacy.masks.cohort(len(owners.contexts))  # a coalition of all is refused here
        wanted = np.asarray(privacy.noise_multiplier, dtype=float)
        wanted = np.broadcast_to(wanted, len(owners.names))
        if wanted.any():
            single = _shared_scales(_with_noise(method, 1.0), owners)
            method = _with_noise(method, levelled(wanted, single[0]))
    # none may have less, however a method makes its noise
    for each in _shared_scales(method, owners):
        if np.ptp(each) > 1e-9 * np.max(each):
            raise PrivacyError(
                f"{type(method).__name__} has noise of several scales, from {np.min(each):.4g} to "
                f"{np.max(each):.4g}, where agents hide each other: the guarantee needs one scale "
                "for all; make it with Privacy.mechanism, in one such phase"
            )
    return method


def _shared_scales(method: AbstractMethod, owners: Owners) -> list[Float[np.ndarray, "*_shape"]]:
    """Noise scales of the phases in which agents hide each other, before they are calibrated."""
    found = zip(scales(method, owners), method.phases(), strict=True)
    return [each for each, phase in found if phase.masked or phase.correlated]


def _with_noise(method: Method, multiplier: Any) -> Method:
    return eqx.tree_at(
        lambda m: m.privacy.noise_multiplier, method, multiplier, is_leaf=lambda leaf: leaf is None
    )


def _varies(phase: Phase) -> bool:
    return phase.release is not None and phase.release.mechanism.varying and not phase.once


def _grouped(event: Event, records: int) -> Event:
    """The event for a person with several records at one site: the answer moves that much more."""
    if records == 1:
        return event
    try:
        return at_distance(event, records)
    except UnsupportedEvent as unproved:
        raise PrivacyError(
            f"records_per_person={records} cannot be combined with {type(event).__name__}: no "
            "rule for groups is proved here; set sampling=1 or records_per_person=1"
        ) from unproved
