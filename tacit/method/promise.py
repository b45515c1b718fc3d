"""The guarantee of a run, owner by owner, and what it has spent along the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float

from tacit.errors import PrivacyError
from tacit.method.claim import Owners, delta_of, events, released, releasing
from tacit.method.phase import AbstractMethod
from tacit.privacy import accounting
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
from tacit.types import PublicContext, Unit

_COUNTS = "the number of records of every owner is public"


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
    all_events = [tuple(events(method, public)) for public in owners.contexts]
    weakest = _weakest(method, owners, all_events, sites)
    made: dict[Any, Guarantee] = {}
    stated: list[Guarantee] = []
    for public, name in zip(owners.contexts, owners.names, strict=True):
        others = [agent for agent in weakest if agent != public.agent][: sites - 1]
        composed = all_events[public.agent] + tuple(
            event for agent in others for event in all_events[agent]
        )
        case = (composed, delta_of(method, public), public.unit)
        if case not in made:
            made[case] = _guarantee(method, composed, public, name)
        stated.append(replace(made[case], owner=name))
    return Guarantees(tuple(stated))


def _weakest(
    method: AbstractMethod, owners: Owners, all_events: Sequence[tuple[Event, ...]], sites: int
) -> list[int]:
    """The owners with the largest epsilon, as many as one person may stand with, and one more."""
    if sites == 1:
        return []
    cost: dict[Any, float] = {}
    for public, own in zip(owners.contexts, all_events, strict=True):
        if own not in cost:
            cost[own] = accounting.epsilon(own, delta_of(method, public))
    order = sorted(range(len(all_events)), key=lambda agent: -cost[all_events[agent]])
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
        delta = delta_of(method, public)
        once = tuple(released(method, public, once=True))
        so_far = tuple(int(count) for count in taken[:, public.agent])
        case = (once, so_far, delta, public.degree, public.count, public.normaliser)
        if case not in curves:
            each_round = [
                event
                for round in range(so_far[-1])
                for event in released(method, replace(public, round=round), once=False)
            ]
            width = len(each_round) // so_far[-1] if so_far[-1] else 0
            at = [0 if row == 0 else len(once) + n * width for row, n in enumerate(so_far)]
            curves[case] = accounting.epsilon_curve([*once, *each_round], at, delta)
        columns.append(curves[case])
    return np.stack(columns, axis=1)


def _guarantee(
    method: AbstractMethod, composed: tuple[Event, ...], public: PublicContext, name: str
) -> Guarantee:
    privacy, delta = method.privacy, delta_of(method, public)
    plain = [_innermost(event) for event in composed]
    claims = [event for event in plain if isinstance(event, ModelClaim)]
    relation = next(phase.release.relation for _, phase in releasing(method) if phase.release)
    unit, sites, records = public.unit, 1, 1
    assumptions = [_COUNTS] if unit is Unit.RECORD else []
    if privacy is not None:
        sites, records = privacy.sites_per_person, privacy.records_per_person
        if sites > 1 or records > 1:
            unit = Unit.PERSON
            assumptions.append(
                f"nobody has records at more than {sites} sites or more than {records} at one site"
            )
    if any(isinstance(event, NonPrivate) for event in plain):
        status, theorem, noise = Status.NONE, "none: private values leave as they are", NoiseSource.NONE
    elif claims:
        status, theorem, noise = Status.MODEL, claims[0].theorem, NoiseSource.SIMULATED
        assumptions += [claim.assumption for claim in dict.fromkeys(claims)]
    else:
        status, noise = Status.PROVED, NoiseSource.SIMULATED
        theorem = "; ".join(dict.fromkeys(_theorem(event) for event in plain))
    return Guarantee(
        owner=name,
        epsilon=accounting.epsilon(composed, delta),
        delta=delta,
        unit=unit,
        relation=relation,
        theorem=theorem,
        assumptions=tuple(assumptions),
        status=status,
        noise=noise,
        releases=sum(event.count if isinstance(event, Repeated) else 1 for event in composed),
        sites_per_person=sites,
        records_per_person=records,
        reason=claims[0].reason if claims else "",
    )


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
