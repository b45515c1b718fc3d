"""What a run of a method releases and guarantees, computed before it starts.

Everything here is plain Python over declared constants: the table of phases, record counts, degrees
and the public record of who takes part. No function of this file can see data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import equinox as eqx
import numpy as np
from jaxtyping import Float

from tacit.errors import BudgetExceeded, PrivacyError
from tacit.method.phase import AbstractMethod, Phase
from tacit.privacy import accounting
from tacit.privacy.budget import Privacy
from tacit.privacy.calibration import noise_multiplier
from tacit.privacy.event import (
    Event,
    GaussianRelease,
    LaplaceRelease,
    ModelClaim,
    NonPrivate,
    PoissonSampled,
    Repeated,
)
from tacit.privacy.guarantee import Guarantee, Guarantees, NoiseSource, Status
from tacit.privacy.sensitivity import own_public
from tacit.types import PublicContext, Unit

Method = TypeVar("Method", bound=AbstractMethod)


@dataclass(frozen=True)
class Owners:
    """The declared constants of every owner of a run.

    Attributes:
        contexts: one an owner.
        names: the owners' names.
    """

    contexts: tuple[PublicContext, ...]
    names: tuple[str, ...]

    @classmethod
    def of(cls, problem: Any, network: Any, rounds: int, participations: Any) -> Owners:
        """Gather them from a problem (counts, normalisers) and a network (degrees, activity)."""
        degrees = network.degrees
        contexts = tuple(
            PublicContext(
                agent=agent,
                agents=problem.agents,
                round=0,
                rounds=rounds,
                count=int(problem.counts[agent]),
                normaliser=float(problem.normaliser[agent]),
                unit=problem.unit,
                degree=int(degrees[agent]),
                participations=int(participations[agent]),
            )
            for agent in range(problem.agents)
        )
        return cls(contexts, tuple(problem.names))


def releasing(method: AbstractMethod) -> Iterator[tuple[int, Phase]]:
    """The phases that release something, with their numbers in the table."""
    return ((i, phase) for i, phase in enumerate(method.phases()) if phase.release is not None)


def events(method: AbstractMethod, public: PublicContext) -> list[Event]:
    """Everything that one owner releases during the run, as events."""
    found = _released(method, public, once=True)
    if any(_varies(phase) for _, phase in releasing(method)):
        for round in range(public.rounds):
            found += _released(method, replace(public, round=round), once=False)
    elif public.participations:
        each_round = _released(method, public, once=False)
        found += [Repeated(event, public.participations) for event in each_round]
    return found


def _released(method: AbstractMethod, public: PublicContext, *, once: bool) -> list[Event]:
    """What one owner releases in one round, or before round 0."""
    records = 1 if method.privacy is None else method.privacy.records_per_person
    found: list[Event] = []
    for _, phase in releasing(method):
        if phase.once is once and phase.query is not None and phase.release is not None:
            event = phase.release.mechanism.event(phase.query, public, phase.release.relation)
            event = _grouped(event, records)
            found.append(event if phase.repeat == 1 else Repeated(event, phase.repeat))
    return found


def _varies(phase: Phase) -> bool:
    return phase.release is not None and phase.release.mechanism.varying and not phase.once


def scales(method: AbstractMethod, owners: Owners) -> tuple[Float[np.ndarray, "*shape"], ...]:
    """Noise scale of every phase: shape `(agents,)`, or `(rounds, agents)` where it varies."""
    table: list[Float[np.ndarray, "*shape"]] = []
    for phase in method.phases():
        contexts = owners.contexts
        if phase.query is None or phase.release is None:
            table.append(np.zeros(len(contexts)))
            continue
        mechanism, query, relation = phase.release.mechanism, phase.query, phase.release.relation
        if _varies(phase):
            rounds = range(contexts[0].rounds)
            table.append(
                np.array(
                    [
                        [mechanism.scale(query, replace(c, round=t), relation) for c in contexts]
                        for t in rounds
                    ]
                )
            )
        else:
            table.append(np.array([mechanism.scale(query, c, relation) for c in contexts]))
    return tuple(table)


def calibrate(method: Method, owners: Owners) -> Method:
    """The method with the smallest noise that keeps every owner within its budget.

    Raises:
        PrivacyError: a budget that no noise can meet, or as many budgets as there are no owners.
        BudgetExceeded: the accountant does not confirm the calibrated noise.
    """
    privacy = method.privacy
    if privacy is None:
        return method
    for name in ("clip", "epsilon", "delta", "noise_multiplier"):
        value = getattr(privacy, name)
        if value is not None and np.ndim(value) and np.shape(value) != (len(owners.names),):
            raise PrivacyError(
                f"{name} has {np.size(value)} entries for {len(owners.names)} owners; "
                "give one number for all, or one an owner"
            )
    if privacy.noise_multiplier is not None:
        return method
    solved: dict[Any, float] = {}
    multipliers: list[float] = []
    for public in owners.contexts:
        epsilon, delta = _budget(privacy, public)
        case = (epsilon, delta, replace(public, agent=0, count=0, normaliser=1.0))
        if case not in solved:
            solved[case] = _smallest_noise(method, public, epsilon, delta)
            _confirm(_with_noise(method, solved[case]), public, epsilon, delta)
        multipliers.append(solved[case])
    return _with_noise(method, np.array(multipliers))


def guarantees(method: AbstractMethod, owners: Owners) -> Guarantees:
    """The guarantee of the whole run, owner by owner, with simulated noise.

    A person whose records stand at `m` sites is covered by composing the owner's releases with those
    of the `m - 1` other owners who protect least.

    Raises:
        PrivacyError: a person at more sites than there are.
    """
    sites = 1 if method.privacy is None else method.privacy.sites_per_person
    if sites > len(owners.names):
        raise PrivacyError(
            f"sites_per_person={sites}, but there are {len(owners.names)} sites; lower it"
        )
    released = [tuple(events(method, public)) for public in owners.contexts]
    weakest = _weakest(method, owners, released, sites)
    made: dict[Any, Guarantee] = {}
    stated: list[Guarantee] = []
    for public, name in zip(owners.contexts, owners.names, strict=True):
        others = [agent for agent in weakest if agent != public.agent][: sites - 1]
        composed = released[public.agent] + tuple(e for agent in others for e in released[agent])
        case = (composed, _delta(method, public), public.unit)
        if case not in made:
            made[case] = _guarantee(method, composed, public)
        stated.append(replace(made[case], owner=name))
    return Guarantees(tuple(stated))


def _weakest(
    method: AbstractMethod, owners: Owners, released: Sequence[tuple[Event, ...]], sites: int
) -> list[int]:
    """The owners with the largest epsilon, as many as one person may stand with, and one more."""
    if sites == 1:
        return []
    cost: dict[Any, float] = {}
    for public, own in zip(owners.contexts, released, strict=True):
        if own not in cost:
            cost[own] = accounting.epsilon(own, _delta(method, public))
    order = sorted(range(len(released)), key=lambda agent: -cost[released[agent]])
    return order[: sites + 1]


def spent(
    method: AbstractMethod, owners: Owners, participations: Sequence[Any]
) -> Float[np.ndarray, "rows agents"]:
    """Epsilon that every owner has spent after each recorded round.

    Args:
        method: calibrated.
        owners: their constants.
        participations: for each recorded round, how often each owner took part so far.
    """
    taken = np.asarray(participations)
    curves: dict[Any, Float[np.ndarray, " rows"]] = {}
    columns: list[Float[np.ndarray, " rows"]] = []
    for public in owners.contexts:
        delta = _delta(method, public)
        once = tuple(_released(method, public, once=True))
        so_far = tuple(int(count) for count in taken[:, public.agent])
        case = (once, so_far, delta, public.degree, public.count, public.normaliser)
        if case not in curves:
            each_round = [
                event
                for round in range(so_far[-1])
                for event in _released(method, replace(public, round=round), once=False)
            ]
            width = len(each_round) // so_far[-1] if so_far[-1] else 0
            at = [0 if row == 0 else len(once) + n * width for row, n in enumerate(so_far)]
            curves[case] = accounting.epsilon_curve([*once, *each_round], at, delta)
        columns.append(curves[case])
    return np.stack(columns, axis=1)


def _smallest_noise(
    method: AbstractMethod, public: PublicContext, epsilon: float, delta: float
) -> float:
    if np.isinf(epsilon):
        return 0.0
    assert method.privacy is not None
    sites = method.privacy.sites_per_person

    def released(multiplier: float) -> list[Event]:
        return events(_with_noise(method, multiplier), public) * sites

    if not released(1.0):
        return 1.0
    return noise_multiplier(epsilon, delta, released)


def _confirm(method: AbstractMethod, public: PublicContext, epsilon: float, delta: float) -> None:
    assert method.privacy is not None
    costs = accounting.epsilon(events(method, public) * method.privacy.sites_per_person, delta)
    if costs > epsilon * (1 + 1e-9):
        raise BudgetExceeded(
            f"the run would spend epsilon = {costs:.6g} at delta = {delta:g}, above the budget of "
            f"{epsilon:g}; nothing was released"
        )


def _with_noise(method: Method, multiplier: Any) -> Method:
    return eqx.tree_at(
        lambda m: m.privacy.noise_multiplier, method, multiplier, is_leaf=lambda leaf: leaf is None
    )


def _budget(privacy: Privacy, public: PublicContext) -> tuple[float, float]:
    return own_public(privacy.epsilon, public.agent), own_public(privacy.delta, public.agent)


def _delta(method: AbstractMethod, public: PublicContext) -> float:
    return 1e-6 if method.privacy is None else own_public(method.privacy.delta, public.agent)


def _grouped(event: Event, records: int) -> Event:
    """The event for a person with several records at one site: the answer moves that much more."""
    if records == 1:
        return event
    match event:
        case GaussianRelease(z):
            return GaussianRelease(z / records)
        case LaplaceRelease(z):
            return LaplaceRelease(z / records)
        case NonPrivate():
            return event
        case _:
            raise PrivacyError(
                f"records_per_person={records} cannot be combined with {type(event).__name__}: no rule "
                "for groups is proved here; set sampling=1 or records_per_person=1"
            )


def _guarantee(
    method: AbstractMethod, released: tuple[Event, ...], public: PublicContext
) -> Guarantee:
    privacy, delta = method.privacy, _delta(method, public)
    plain = [_innermost(event) for event in released]
    claims = [event for event in plain if isinstance(event, ModelClaim)]
    relation = next(phase.release.relation for _, phase in releasing(method) if phase.release)
    unit, sites, records = public.unit, 1, 1
    assumptions = [_TUNING, _COUNTS] if unit is Unit.RECORD else [_TUNING]
    if privacy is not None:
        sites, records = privacy.sites_per_person, privacy.records_per_person
        if sites > 1 or records > 1:
            unit = Unit.PERSON
            assumptions.append(
                f"nobody has records at more than {sites} sites or more than {records} at one site"
            )
    if any(isinstance(event, NonPrivate) for event in plain):
        status, theorem, noise = Status.NONE, "none: private values leave as they are", NoiseSource.NONE
        assumptions = []
    elif claims:
        status, theorem, noise = Status.MODEL, claims[0].theorem, NoiseSource.SIMULATED
        assumptions += [claim.assumption for claim in dict.fromkeys(claims)]
    else:
        status, noise = Status.PROVED, NoiseSource.SIMULATED
        theorem = "; ".join(dict.fromkeys(_theorem(event) for event in plain))
    return Guarantee(
        owner="",
        epsilon=accounting.epsilon(released, delta),
        delta=delta,
        unit=unit,
        relation=relation,
        theorem=theorem,
        assumptions=tuple(assumptions),
        status=status,
        noise=noise,
        releases=sum(event.count if isinstance(event, Repeated) else 1 for event in released),
        sites_per_person=sites,
        records_per_person=records,
    )


_TUNING = "the hyper-parameters were not chosen on these data"
_COUNTS = "the number of records of every owner is public"


def _innermost(event: Event) -> Event:
    while isinstance(event, Repeated):
        event = event.event
    return event


def _theorem(event: Event) -> str:
    match event:
        case GaussianRelease():
            return "Gaussian mechanism on clipped contributions, composed exactly as Gaussian-DP"
        case LaplaceRelease():
            return "Laplace mechanism on clipped contributions, composed by privacy loss distributions"
        case PoissonSampled(rate, inner):
            return f"{_theorem(inner)}, amplified by Poisson sampling at rate {rate:g}"
        case _:
            return type(event).__name__
