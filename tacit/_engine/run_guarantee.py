"""The guarantee of a run, owner by owner, and what it has spent along the way."""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence

import numpy as np
from jaxtyping import Float, Int

from tacit._engine.charging import Kinds, Owners, charges, units_of
from tacit.arguments.own import is_own
from tacit.method.releases import Releases
from tacit.privacy import accounting, facts
from tacit.privacy.correlated import KEYS, MOST_DRAWN
from tacit.privacy.event import (
    DiscreteGaussianRelease,
    DiscreteLaplaceRelease,
    Event,
    GaussianRelease,
    LaplaceRelease,
    ModelClaim,
    NonPrivate,
    PerReleaseClaim,
    PoissonSampled,
    ProtocolClaim,
    Repeated,
)
from tacit.privacy.guarantee import Guarantee, NoiseSource, Scope, Status
from tacit.privacy.guarantees import Guarantees
from tacit.privacy.hidden_sums import in_sums, times
from tacit.privacy.noise import sampling_delta
from tacit.types import Division, PublicContext, Relation, Unit

_MECHANISMS: Mapping[type[Event], str] = {
    GaussianRelease: "Gaussian",
    LaplaceRelease: "Laplace",
    DiscreteGaussianRelease: "discrete Gaussian",
    DiscreteLaplaceRelease: "discrete Laplace",
}

_MOST_DRAWS = 2**40
"""More coordinates than any run releases."""

_ARITHMETIC = "arithmetic is exact: the rounding of floating-point numbers is not covered"


def guarantees(releases: Releases, owners: Owners, kinds: Kinds) -> Guarantees:
    """The guarantee of the whole run, owner by owner.

    Noise is simulated, or drawn on a grid from a secure source, as for the releases.

    A person whose records are at `m` sites is covered by composing the releases of `m` owners,
    each as active as the most active one.

    Args:
        releases: releases of the method, calibrated.
        owners: declared constants of the owners.
        kinds: the owners, grouped by what they release.

    Raises:
        PrivacyError: such a person, and owners whose releases differ.
    """
    made = [
        _guarantee(releases, composed, public, owners)
        for public, composed in zip(kinds.contexts, charges(releases, kinds), strict=True)
    ]
    return Guarantees(
        tuple(made[own].of(name) for own, name in zip(kinds.of.tolist(), owners.names, strict=True))
    )


def _sampling(total: float, drawn_by: int) -> str:
    draws = _MOST_DRAWS * drawn_by
    return (
        "noise of every coordinate is drawn within a total variation of 2^-133 of its law, which "
        # half as much again, because one digit may be rounded down
        f"adds at most {1.5 * sampling_delta(min(total, 700.0), draws):.0e} to delta"
    )


def spent(
    releases: Releases,
    owners: Owners,
    stops: Sequence[int] | Int[np.ndarray, " rows"],
    participations: Int[np.ndarray, "rows agents"],
) -> Float[np.ndarray, "rows agents"]:
    """Epsilon that every owner has spent after each recorded round.

    Args:
        releases: releases of the method, calibrated.
        owners: declared constants of the owners.
        stops: the recorded rounds.
        participations: number of times that each owner took part so far, for each recorded round; 0
            for the first, since before round 0 nothing has been released.
    """
    method, taken = releases.method, participations
    if releases.sites > 1:
        taken = np.broadcast_to(taken.max(axis=1, keepdims=True), taken.shape)
    kinds, kind = owners.kinds(releases, taken)
    curves: list[Float[np.ndarray, " rows"]] = []
    for public in kinds:
        so_far = taken[1:, public.agent].tolist()
        delta = method.delta(public.agent)
        if releases.varies:
            once = releases.once(public) * releases.sites
            last = int(taken[-1, public.agent])
            rounds = [releases.round(public, t) * releases.sites for t in range(last)]
            ends = np.cumsum([len(once), *map(len, rounds)])
            steps = once + [event for events in rounds for event in events]
            found = accounting.epsilon_curve(steps, [int(ends[n]) for n in so_far], delta)
        else:
            ends = zip(so_far, map(int, stops[1:]), strict=True)
            each = [events * releases.sites for events in releases.after(public, ends)]
            found = accounting.growing_epsilon(each, delta)
        curves.append(np.concatenate([[0.0], found]))
    return np.stack(curves, axis=1)[:, kind]


def _guarantee(
    releases: Releases,
    composed: tuple[Event, ...],
    public: PublicContext,
    owners: Owners,
) -> Guarantee:
    method = releases.method
    delta = method.delta(public.agent)
    plain = [_innermost(event) for event in composed]
    claims = [event for event in plain if isinstance(event, ModelClaim)]
    hidden = in_sums(composed, releases.sites)
    alone = any(isinstance(claim, PerReleaseClaim) for claim in claims)
    queries = [phase.query for phase in releases if phase.query is not None]
    others = list(dict.fromkeys(type(q).__name__ for q in queries if not is_own(type(q))))
    total = accounting.epsilon(composed, delta)
    unit = public.unit
    privacy = method.privacy
    assumptions = [
        *facts.assumed(unit, releases.relation),
        *owners.assumptions,
        *_divided(owners.divided, releases.relation, unit),
        *(f"the answers of the query {name} move by no more than it states" for name in others),
        *(
            f"the query {type(query).__name__} draws every record with the probability "
            f"{query.rate:g} that it states, by itself and with the key that it is given"
            for query in dict.fromkeys(q for q in queries if q.rate < 1.0)
            if not is_own(type(query))
        ),
        *dict.fromkeys(each for query in queries for each in query.assumes(releases.relation)),
    ]
    if releases.sites > 1 or releases.records > 1:
        unit = Unit.PERSON
        places = "one site" if releases.sites == 1 else f"{releases.sites} sites"
        assumptions.append(
            f"nobody has records at more than {places}, or more than {releases.records} at one site"
        )
    units, kind = units_of(public, releases.records)
    if privacy is not None and privacy.large_delta and delta * units >= 1.0:
        assumptions.append(
            f"it is accepted that delta is not below one over the {units:,} {kind}, so that one of "
            "them may be given away whole"
        )
    bare = any(isinstance(event, NonPrivate) for event in plain)
    if bare or (
        not claims and math.isinf(total)
    ):  # or with noise that floats cannot distinguish from none
        status, theorem, noise = (
            Status.NONE,
            "none: private values leave as they are",
            NoiseSource.NONE,
        )
        alone = False
    elif claims:
        status = Status.PER_RELEASE if alone else Status.MODEL
        theorem, noise = claims[0].theorem, NoiseSource.SIMULATED
        assumptions += dict.fromkeys(claim.assumption for claim in claims)
        if releases.grid and all(isinstance(claim, ProtocolClaim) for claim in claims):
            noise = NoiseSource.SECURE
            assumptions += [_sampling(total, MOST_DRAWN), *KEYS]
    else:
        noise = NoiseSource.SECURE if releases.grid else NoiseSource.SIMULATED
        status = Status.MODEL if others else Status.PROVED
        theorem = _theorem(plain, delta, hidden.words)
        drawn_by = hidden.drawn_by
        assumptions.append(_sampling(total, drawn_by) if releases.grid else _ARITHMETIC)
        assumptions += hidden.assumptions
    return Guarantee(
        owner=str(public.agent),
        epsilon=max(accounting.epsilon([each], delta) for each in set(plain)) if alone else total,
        delta=delta,
        unit=unit,
        relation=releases.relation,
        theorem=theorem,
        assumptions=tuple(assumptions),
        status=status,
        noise=noise,
        releases=sum(times(event) for event in composed) // releases.sites,
        sites_per_person=releases.sites,
        records_per_person=releases.records,
        reason=_why(claims, others),
        scope=Scope.RELEASE if alone else Scope.RUN,
        total_epsilon=total if alone else None,
        **hidden.stated,
    )


def _why(claims: Sequence[ModelClaim], others: Sequence[str]) -> str:
    """Why nothing is proved, as a clause; empty if it is."""
    said = [claims[0].reason] if claims else []
    said += [
        f"nothing here proves that the answers of the query {name} keep the bound that it states"
        for name in others
    ]
    return ", and ".join(said)


def _divided(by: frozenset[Division], relation: Relation, unit: Unit) -> Generator[str, None, None]:
    """What the division of the records assumes about neighbours; proof: docs/proofs/division.md."""
    own = unit is not Unit.AGENT
    if Division.TABLE in by:
        yield (
            "which site holds which record, and which are held out, is public, and no change of a "
            "record alters it for another"
        )
    if Division.PLACE in by and not (own and relation is Relation.REPLACE_ONE):
        yield (
            "which site holds which record, and which are held out, follows from public places, "
            "and no change of a record gives another a new place"
        )
    if Division.RECORD in by and own and relation is not Relation.ADD_REMOVE:
        yield "a record is replaced only by one that stands at the same site and is not held out"
    if own and relation is Relation.ADD_REMOVE:
        yield "every owner has at least one record, with and without the one in question"


def _innermost(event: Event) -> Event:
    while isinstance(event, Repeated):
        event = event.event
    return event


def _theorem(plain: Sequence[Event], delta: float, summed: str) -> str:
    """The mechanisms and the rule that composes them, as the accountant applies it."""
    if not plain:
        return "nothing is released"
    plain = [event.counted for event in plain]
    sampled = any(isinstance(event, PoissonSampled) for event in plain)
    bare = {type(event.event if isinstance(event, PoissonSampled) else event) for event in plain}
    mechanisms = " and ".join(name for kind, name in _MECHANISMS.items() if kind in bare)
    if bare == {GaussianRelease} and not sampled:
        rule = "composed exactly as Gaussian-DP"
    elif delta == 0.0:
        rule = "composed by adding pure epsilons"
    else:
        rule = (
            "composed numerically to an upper bound (privacy loss distributions, Renyi or the sum)"
        )
    poisson = ", on Poisson samples of the records" if sampled else ""
    return f"{mechanisms} mechanism on clipped contributions{poisson}{summed}, {rule}"
