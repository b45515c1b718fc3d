"""Counting releases: equal events share an entry, trivial ones are resolved, parameters checked."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from tacit.errors import PrivacyError, UnsupportedEvent
from tacit.privacy.event import (
    DiscreteGaussianRelease,
    DiscreteLaplaceRelease,
    Event,
    GaussianRelease,
    LaplaceRelease,
    NonPrivate,
    NoRelease,
    PoissonSampled,
    Repeated,
)

Noise: TypeAlias = (
    GaussianRelease | LaplaceRelease | DiscreteGaussianRelease | DiscreteLaplaceRelease
)
"""One release with additive noise."""

LEAST_NOISE, MOST_NOISE = 1e-70, 1e70
"""Noise over sensitivity below the first counts as none, and above the second as the second: powers
of these, or of their inverses, would overflow."""

MOST_RELEASES = 2**48
"""More releases than anybody makes."""

NOISES = (GaussianRelease, LaplaceRelease, DiscreteGaussianRelease, DiscreteLaplaceRelease)


@dataclass(frozen=True)
class Tally:
    """Number of occurrences of each event; the order of releases does not change their joint cost.

    Attributes:
        releases: counts of releases with additive noise, Poisson-sampled or not.
        exposed: whether something is released without protection.
    """

    releases: frozenset[tuple[Event, int]] = frozenset()
    exposed: bool = False

    @classmethod
    def of(cls, events: Iterable[Event]) -> Tally:
        """Count events, resolving `Repeated` (nested or not) and omitting what costs nothing.

        Raises:
            PrivacyError: a parameter of an event out of range.
            UnsupportedEvent: an event without a proved rule.
        """
        counts: dict[Event, int] = {}
        _count(events, 1, counts)
        exposed = counts.pop(NonPrivate(), 0) > 0
        return cls(frozenset(counts.items()), exposed)

    @property
    def empty(self) -> bool:
        """Whether nothing that depends on private data is released."""
        return not (self.releases or self.exposed)

    @cached_property
    def mu(self) -> float | None:
        """Gaussian-DP parameter, if every release is an unsampled Gaussian; else `None`."""
        squares: list[float] = []
        for event, count in self.releases:
            if not isinstance(event, GaussianRelease):
                return None
            squares.append(count * (1.0 / event.noise_multiplier) ** 2)
        return None if self.exposed else math.sqrt(math.fsum(squares))

    @cached_property
    def pure(self) -> float:
        """Sum of the pure epsilons; infinite when a release has none or is exposed."""
        if self.exposed:
            return math.inf
        return math.fsum(count * pure_epsilon(event) for event, count in self.releases)

    @cached_property
    def renyi_only(self) -> bool:
        """Whether some release has a Renyi curve and no loss distribution."""
        return any(
            isinstance(split(event)[0], DiscreteGaussianRelease) for event, _ in self.releases
        )


def split(event: Event) -> tuple[Noise, float]:
    """A release without its sampling, and its sampling rate (1 for none).

    Raises:
        UnsupportedEvent: an event other than additive noise.
    """
    base, rate = (event.event, event.rate) if isinstance(event, PoissonSampled) else (event, 1.0)
    if not isinstance(base, NOISES):
        raise UnsupportedEvent(
            f"no accountant has a proved rule for {event!r}; it knows Gaussian and Laplace "
            "releases, continuous or discrete, each with or without Poisson sampling"
        )
    return base, rate


def _count(events: Iterable[Event], times: int, counts: dict[Event, int]) -> None:
    for event in events:
        if isinstance(event, Repeated):
            if times * event.count > MOST_RELEASES:
                raise PrivacyError(f"{event!r}: count must be from 0 to 2^48 releases in all")
            _count([event.event], times * event.count, counts)
            continue
        if event.counted is not event:  # the event that it amounts to under its assumption
            _count([event.counted], times, counts)
            continue
        event = _simplified(event)
        if times > 0 and not isinstance(event, NoRelease):
            counts[event] = counts.get(event, 0) + times


def _simplified(event: Event) -> Event:
    match event:
        case NoRelease() | NonPrivate():
            return event
        case (
            GaussianRelease(z)
            | LaplaceRelease(z)
            | DiscreteGaussianRelease(z)
            | DiscreteLaplaceRelease(z)
        ):
            if z < LEAST_NOISE or math.isinf(z):
                return NonPrivate() if z < LEAST_NOISE else NoRelease()
            return event if z <= MOST_NOISE else type(event)(MOST_NOISE)
        case PoissonSampled(rate=rate, event=inner):
            inner = _simplified(inner)
            if rate == 0.0 or isinstance(inner, NoRelease):
                return NoRelease()
            if rate == 1.0 or isinstance(inner, NonPrivate):
                return inner
            if not isinstance(inner, NOISES):
                raise UnsupportedEvent(
                    f"no proved rule for Poisson sampling around {inner!r}; "
                    "sample each Gaussian or Laplace release by itself"
                )
            return PoissonSampled(rate, inner)
        case _:
            raise UnsupportedEvent(f"the accountant has no proved rule for {event!r}")


def pure_epsilon(event: Event) -> float:
    """The cost of one release at delta 0; infinite for Gaussian noise."""
    base, rate = split(event)
    if isinstance(base, GaussianRelease | DiscreteGaussianRelease):
        return math.inf
    pure = 1.0 / base.noise_multiplier
    if rate == 1.0:
        return pure
    # log(1 + q (e^pure - 1)), without overflow
    return float(np.logaddexp(math.log1p(-rate), math.log(rate) + pure))
