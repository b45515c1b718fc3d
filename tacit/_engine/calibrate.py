"""Releases with the noise that every owner's budget requires, determined for a whole run."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float

from tacit._engine.charging import Kinds, Owners, scales, units_of
from tacit._engine.identity import opaque
from tacit.arguments.own import is_own
from tacit.errors import BudgetExceeded, PrivacyError
from tacit.method.releases import Releases
from tacit.privacy import accounting, caution
from tacit.privacy.budget import Privacy
from tacit.privacy.calibration import noise_multiplier
from tacit.privacy.digits import rounded_down, rounded_up, short
from tacit.privacy.event import Event
from tacit.privacy.laws import NoiseKind
from tacit.privacy.query import sensitivity_of
from tacit.types import PublicContext, Relation, Unit


def calibrate(releases: Releases, owners: Owners) -> Releases:
    """The releases with the smallest noise that keeps every owner within budget.

    Args:
        releases: releases of a method with a budget.
        owners: declared constants of the owners.

    Raises:
        PrivacyError: a budget that no noise can meet, or a number of budgets that fits no owners.
        BudgetExceeded: the accountant does not confirm the calibrated noise.
    """
    privacy, kinds = releases.method.privacy, owners.kinds(releases)
    _check_rounds(releases, kinds)
    if privacy is None:
        if releases.private:
            _check_divisors(releases.relation, owners)
        return _levelled(releases, kinds)
    for name in ("clip", "epsilon", "delta", "noise_multiplier"):
        value = getattr(privacy, name)
        if value is not None and np.ndim(value) and np.shape(value) != (len(owners.names),):
            raise PrivacyError(
                f"{name} has {np.size(value)} entries for {len(owners.names)} owners; "
                "give one number for all, or one per owner; several values are compared by a sweep "
                f"(tacit.sweep, or `tacit sweep`) over privacy.{name}"
            )
    _check_used(releases, privacy)
    _check_relation(privacy, owners)
    deltas = _per_owner(privacy.delta, owners)
    if not privacy.large_delta:
        _check_deltas(deltas, owners, privacy)
    if privacy.noise_multiplier is not None:
        return _levelled(releases, kinds)
    epsilons = _per_owner(privacy.epsilon, owners)
    solved: dict[Any, float] = {}
    multipliers: list[float] = []
    foreign = opaque(releases.method)
    for public in kinds.contexts:
        epsilon, delta = epsilons[public.agent], deltas[public.agent]
        # the cost of tacit's releases depends on the noise multiplier, not on the size of the data
        same = public if foreign else replace(public, agent=0, count=0, normaliser=1.0)
        case = (epsilon, delta, same)
        if case not in solved:
            solved[case] = _smallest_noise(releases, public, epsilon, delta)
        multipliers.append(solved[case])
    return _levelled(releases.with_noise(np.array(multipliers)[kinds.of]), kinds)


def _per_owner(value: Any, owners: Owners) -> list[float]:
    """A number of the budget for every owner."""
    return np.broadcast_to(np.asarray(value, dtype=float), (len(owners.names),)).tolist()


def _check_deltas(deltas: Sequence[float], owners: Owners, privacy: Privacy) -> None:
    # where the number of records is private, it is the one that was declared in its place
    whose = "of" if owners.counted else "declared for"
    for public, name, delta in zip(owners.contexts, owners.names, deltas, strict=True):
        units, kind = units_of(public, privacy.records_per_person)
        caution.check_delta(
            delta,
            units,
            kind if public.unit is Unit.AGENT else f"{kind} {whose} {name}",
            "or accept it with large_delta = true in [privacy] (large_delta=True) if that is meant",
        )


def _check_used(releases: Releases, privacy: Privacy) -> None:
    """Refuse a sampling rate, clip norm, adjacency or noise that no release of the method has."""
    asked = [
        (phase.query, phase.release)
        for phase in releases
        if phase.query is not None and phase.release is not None
    ]
    if not asked:
        return
    queries, protections = zip(*asked, strict=True)
    laws = {each.mechanism.law.kind for each in protections if each.mechanism.law is not None}
    relations = {each.relation for each in protections}
    for stated, there, instead, passing in (
        (
            f"sampling={privacy.sampling!r}",
            privacy.sampling == 1.0 or any(each.rate == privacy.sampling for each in queries),
            "leave it out",
            "to its query: rate=self.privacy.sampling",
        ),
        (
            f"clip_norm={privacy.clip_norm!r}",
            privacy.clip_norm is None
            or any(each.clip_norm == privacy.clip_norm for each in queries),
            "leave it out",
            "to its query: norm=self.privacy.clip_norm",
        ),
        (
            f"relation={privacy.relation.value!r}",
            privacy.relation in relations,
            f"give relation={_one_of(relations)}",
            "to its release: relation=self.privacy.relation",
        ),
        (
            f"noise={privacy.noise.value!r}",
            not laws or privacy.noise in laws,
            f"give noise={_one_of(laws)}",
            "to its release: mechanism=self.privacy.mechanism",
        ),
    ):
        if not there:
            own = type(releases.method)
            passed = "" if is_own(own) else f", or let the method pass it on {passing}"
            raise PrivacyError(
                f"{stated} has no effect on any release of {own.__name__}; {instead}{passed}"
            )


def _one_of(values: Iterable[Relation | NoiseKind]) -> str:
    return " or ".join(repr(each.value) for each in sorted(values))


def _check_rounds(releases: Releases, kinds: Kinds) -> None:
    """Refuse a query of others that moves further in a later round than its noise is made for."""
    for phase in releases:
        query, release = phase.query, phase.release
        assert query is not None and release is not None
        if release.mechanism.varying or is_own(type(query)):
            continue
        for public in kinds.contexts:
            rounds = (0, *phase.rounds.of(public.rounds))
            moved = {
                sensitivity_of(query, replace(public, round=t), release.relation) for t in rounds
            }
            if len(moved) > 1:
                raise PrivacyError(
                    f"{type(query).__name__}.sensitivity is from {min(moved):g} to {max(moved):g} "
                    f"in the rounds of phase {phase.name!r}, and the noise is that of round 0; let "
                    "it state one bound for all rounds, or give the mechanism the factor of each "
                    "round: Calibrated(noise_multiplier, relative)"
                )


def _check_divisors(relation: Relation, owners: Owners) -> None:
    if relation is Relation.ADD_REMOVE and not owners.declared:
        raise PrivacyError(
            "under add_remove the number of records is private, so sums must be divided by a "
            "declared number instead: give the problem normaliser=..., or use "
            "relation='replace_one'"
        )


def _check_relation(privacy: Privacy, owners: Owners) -> None:
    _check_divisors(privacy.relation, owners)
    unit = owners.contexts[0].unit
    if max(privacy.sites_per_person, privacy.records_per_person) == 1:
        return
    if unit is not Unit.RECORD:
        raise PrivacyError(
            f"sites_per_person={privacy.sites_per_person} and records_per_person="
            f"{privacy.records_per_person} are about records, and this problem protects a whole "
            f"{unit.value}; leave both at 1"
        )
    most = max(public.count for public in owners.contexts)
    if owners.counted and privacy.records_per_person > most:
        # of private numbers nothing is said: a refusal would tell what they are
        raise PrivacyError(
            f"records_per_person={privacy.records_per_person} is more than the {most:,} records "
            "of the largest site, so that nobody can have as many; lower it"
        )
    # releases of several owners are composed for one person, so all must have the same noise
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
    releases: Releases, public: PublicContext, epsilon: float, delta: float
) -> float:
    if np.isinf(epsilon):
        return 0.0

    @functools.cache  # bisection asks for the same noise more than once
    def spending(multiplier: float) -> Sequence[Event]:
        return releases.with_noise(multiplier).all(public) * releases.sites

    if not spending(1.0):
        return 1.0
    try:
        multiplier = noise_multiplier(epsilon, delta, spending)
    except PrivacyError:
        _check_fixed(releases, public, epsilon, delta)
        raise
    costs = accounting.epsilon(spending(multiplier), delta)
    if costs > epsilon:
        raise BudgetExceeded(
            f"the run would spend epsilon = {rounded_up(costs, 6)} at delta = "
            f"{short(delta)}, above the budget of {rounded_down(epsilon, 6)}; nothing was released"
        )
    return multiplier


def _check_fixed(releases: Releases, public: PublicContext, epsilon: float, delta: float) -> None:
    """Refuse phases whose noise does not follow from the budget, and alone costs more than it."""
    less, more = (releases.with_noise(one) for one in (1.0, 2.0))
    found: list[str] = []
    spent: list[Event] = []
    for place, phase in enumerate(less):
        events = less.by_phase(public, place)
        assert phase.release is not None and phase.query is not None
        if not events or events != more.by_phase(public, place):
            continue
        events *= less.sites
        mechanism, noise = phase.release.mechanism, "no noise"
        if mechanism.dose is not None:
            z = mechanism.dose.multiplier(phase.query, public, phase.release.relation)
            noise = f"a fixed noise multiplier of {short(z)}"
        costs = accounting.epsilon(events, delta)
        cost = rounded_up(costs)
        found.append(f"phase {phase.name!r} has {noise} and costs epsilon = {cost} by itself")
        spent += events
    if spent and accounting.epsilon(spent, delta) > epsilon:
        raise PrivacyError(
            f"{', '.join(found)}, with a budget of epsilon = {rounded_down(epsilon, 6)} at delta = "
            f"{short(delta)}. Only the noise of Privacy.mechanism follows from the budget: write "
            "Release(..., self.privacy.mechanism, self.privacy.relation) in that phase, give it "
            "more noise, or allow a larger epsilon"
        )


def _levelled(releases: Releases, kinds: Kinds) -> Releases:
    """The releases with one noise scale for all agents, if the noise of others hides an agent.

    Args:
        releases: releases with noise that is equal for all owners of a kind.
        kinds: the owners, grouped.
    """
    method, agents = releases.method, len(kinds.of)
    privacy, shared = method.privacy, _shared_scales(releases, kinds)
    if privacy is not None and shared:
        method.hides.check_agents(agents)  # refuses a coalition of all agents
        wanted = np.broadcast_to(np.asarray(privacy.noise_multiplier, dtype=float), agents)
        if wanted.any():
            # of several phases, use the first: whether that levels the others is checked below
            single = _shared_scales(releases.with_noise(1.0), kinds)
            hides = next(phase.hides for phase in releases if phase.hides.together)
            releases = releases.with_noise(hides.level(wanted, single[0]))
            shared = _shared_scales(releases, kinds)
    # none may have less, however a method makes its noise
    for each in shared:
        if np.ptp(each) > 1e-9 * np.max(each):
            raise PrivacyError(
                f"{type(method).__name__} has noise of several scales, from {np.min(each):.4g} to "
                f"{np.max(each):.4g}, where agents hide each other: the guarantee needs one scale "
                "for all in each such phase; make it with Privacy.mechanism or mechanism_of, and "
                "let all their queries divide by the normaliser, or none"
            )
    return releases


def _shared_scales(releases: Releases, kinds: Kinds) -> list[Float[np.ndarray, "*_shape"]]:
    """Noise scales of the phases in which agents hide each other, before calibration."""
    found = zip(scales(releases, kinds), releases.phases, strict=True)
    return [each for each, phase in found if phase.hides.together]
