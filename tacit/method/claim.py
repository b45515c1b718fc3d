"""What a run of a method will release, and the noise that its budget asks for.

Everything here is plain Python over declared constants: the table of phases, record counts, degrees
and the public record of who takes part. No function of this file can see data.
"""

from __future__ import annotations

from collections.abc import Iterator
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
    NonPrivate,
    Repeated,
)
from tacit.privacy.sensitivity import own_public
from tacit.types import PublicContext

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
    found = released(method, public, once=True)
    if any(_varies(phase) for _, phase in releasing(method)):
        for round in range(public.rounds):
            found += released(method, replace(public, round=round), once=False)
    elif public.participations:
        each_round = released(method, public, once=False)
        found += [Repeated(event, public.participations) for event in each_round]
    return found


def released(method: AbstractMethod, public: PublicContext, *, once: bool) -> list[Event]:
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


def _smallest_noise(
    method: AbstractMethod, public: PublicContext, epsilon: float, delta: float
) -> float:
    if np.isinf(epsilon):
        return 0.0
    assert method.privacy is not None
    sites = method.privacy.sites_per_person

    def spending(multiplier: float) -> list[Event]:
        return events(_with_noise(method, multiplier), public) * sites

    if not spending(1.0):
        return 1.0
    return noise_multiplier(epsilon, delta, spending)


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


def delta_of(method: AbstractMethod, public: PublicContext) -> float:
    """The delta at which an owner's epsilon is stated; 1e-6 for a method without a budget."""
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
