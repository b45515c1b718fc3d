"""Numerical composition with dp-accounting: Renyi orders and privacy loss distributions on a grid.

Every event is handed to dp-accounting as noise over sensitivity in our own adjacency, always with
its default relation: with `REPLACE_ONE` its loss distributions double the sensitivity while its
Renyi accountant does not. The grids are pessimistic (connect-the-dots), so each result is an upper
bound up to the rounding of floating-point convolutions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.errors import UnsupportedEvent
from tacit.privacy.event import Event, GaussianRelease, LaplaceRelease, PoissonSampled
from tacit.privacy.tally import Tally

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution
    from dp_accounting.rdp import RdpAccountant

Counts = Mapping[Event, int]
"""How often each event occurs; equal events are one key."""

_GRID_ERROR = 1e-4
"""Relative error of the composed variance that the grid may add."""

_POINTS = 2**21
"""Largest number of grid points of a composed distribution: some hundreds of megabytes."""

_FINEST = 1e-7
"""Below it the second differences of connect-the-dots drown in rounding."""

_SHORT = 10_000
"""Points below which a composed distribution is kept whole: looking for its ends takes longer."""

_TAIL = 1e-15
"""Mass that one truncation may move to an infinite loss."""

_RATIO = 1.01
"""Finest ratio of the grid on which long lists of distinct scales are grouped."""

_DISTINCT = 64
"""Lists of fewer distinct scales of one kind are composed as they are."""

_GROUPS = {False: 600, True: 32}
"""Most groups of one kind, not sampled and sampled: a sampled distribution takes 0.2 s to make."""


def bucketed(counts: Counts) -> dict[Event, int]:
    """The same events with noise multipliers rounded down to few distinct ones: never more private.

    Example:
        >>> scales = [LaplaceRelease(100.0 + i) for i in range(1000)]
        >>> len(bucketed({event: 1 for event in scales}))
        241
    """
    kinds: dict[tuple[type, float], list[Event]] = {}
    for event in counts:
        base, rate = _unsampled(event)
        kinds.setdefault((type(base), rate), []).append(event)
    grouped: dict[Event, int] = {}
    for (_, rate), events in kinds.items():
        most = _GROUPS[rate < 1.0]
        rounded = events if len(events) <= min(_DISTINCT, most) else _rounded_down(events, most)
        for event, group in zip(events, rounded, strict=True):
            grouped[group] = grouped.get(group, 0) + counts[event]
    return grouped


def composed(tally: Tally) -> PrivacyLossDistribution:
    """Privacy loss distribution of all releases of a tally together (its claims left out)."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    counts = bucketed(dict(tally.releases))
    width = _grid_width(counts)
    parts = []
    for event, count in counts.items():
        base, rate = _unsampled(event)
        grid: dict[str, Any] = {"value_discretization_interval": width}
        if isinstance(base, GaussianRelease) and rate == 1.0:
            parts.append(
                pld.from_gaussian_mechanism(base.noise_multiplier / math.sqrt(count), **grid)
            )
        elif isinstance(base, GaussianRelease):
            one = pld.from_gaussian_mechanism(base.noise_multiplier, sampling_prob=rate, **grid)
            parts.append(_power(one, count))
        else:
            one = pld.from_laplace_mechanism(base.noise_multiplier, sampling_prob=rate, **grid)
            points = 2 * count / base.noise_multiplier / width
            parts.append(one.self_compose(count, 0.0) if points < _SHORT else _power(one, count))
    while len(parts) > 1:  # neighbours first, so that most convolutions are short
        pairs = zip(parts[::2], parts[1::2], strict=False)
        parts = [a.compose(b) for a, b in pairs] + parts[len(parts) & ~1 :]
    return parts[0]


def _power(one: PrivacyLossDistribution, count: int) -> PrivacyLossDistribution:
    """`one` composed with itself `count` times, by way of the square root.

    dp-accounting cuts the tails of a power by Chernoff bounds at a few orders, which fit a count of
    some hundreds; in a single step of 20,000 they keep six times the points that matter.
    """
    inner = math.isqrt(count)
    outer, rest = divmod(count, inner)
    power = one.self_compose(inner, _TAIL / outer).self_compose(outer, _TAIL)
    return power.compose(one.self_compose(rest, _TAIL), _TAIL) if rest else power


def renyi(tally: Tally) -> RdpAccountant | None:
    """Renyi accountant after all releases of a tally, or `None` where it has no rule for one."""
    from dp_accounting import (
        ComposedDpEvent,
        GaussianDpEvent,
        LaplaceDpEvent,
        PoissonSampledDpEvent,
        SelfComposedDpEvent,
    )
    from dp_accounting.rdp import RdpAccountant
    from dp_accounting.rdp.rdp_privacy_accountant import DEFAULT_RDP_ORDERS

    events = []
    sampled = False
    for event, count in bucketed(dict(tally.releases)).items():
        base, rate = _unsampled(event)
        kind = GaussianDpEvent if isinstance(base, GaussianRelease) else LaplaceDpEvent
        one = kind(base.noise_multiplier)
        if rate < 1.0:
            sampled = True
            one = PoissonSampledDpEvent(rate, one)
        events.append(SelfComposedDpEvent(one, count))
    # Small budgets have their best order far out. A sampled event takes time linear in an integer
    # order, and the series of a fractional one may not converge.
    sampled_orders = [order for order in DEFAULT_RDP_ORDERS if float(order).is_integer()]
    orders = sampled_orders if sampled else [*DEFAULT_RDP_ORDERS, *np.geomspace(2e3, 1e7, 40)]
    accountant = RdpAccountant(orders=orders)
    total = ComposedDpEvent(events)
    return accountant.compose(total) if accountant.supports(total) else None


def _unsampled(event: Event) -> tuple[GaussianRelease | LaplaceRelease, float]:
    base, rate = (event.event, event.rate) if isinstance(event, PoissonSampled) else (event, 1.0)
    if not isinstance(base, GaussianRelease | LaplaceRelease):
        raise UnsupportedEvent(
            f"no accountant has a proved rule for {event!r}; it knows Gaussian and Laplace "
            "releases, each with or without Poisson sampling"
        )
    return base, rate


def _rounded_down(events: list[Event], most: int) -> list[Event]:
    """Events of one kind with their noise on a geometric grid that starts at the smallest."""
    noise = np.array([_unsampled(event)[0].noise_multiplier for event in events])
    least = noise.min()
    ratio = max(_RATIO, (noise.max() / least) ** (1.0 / most))
    steps = np.floor(np.log(noise / least) / math.log(ratio))
    base, rate = _unsampled(events[0])
    rounded: list[Event] = [type(base)(float(z)) for z in np.minimum(noise, least * ratio**steps)]
    return rounded if rate == 1.0 else [PoissonSampled(rate, event) for event in rounded]


@cache
def _loss_moments(event: Event) -> tuple[float, float]:
    """Rough variance of one event's privacy loss, and how far that loss can reach."""
    base, rate = _unsampled(event)
    inverse = 1.0 / base.noise_multiplier
    if isinstance(base, GaussianRelease):
        variance, reach = inverse**2, 10.0 * inverse + inverse**2 / 2
        chi_squared = math.expm1(min(inverse**2, 50.0))
    else:
        variance, reach = min(inverse, 1.0) ** 2, inverse
        chi_squared = math.expm1(min(inverse, 25.0)) ** 2
    if rate < 1.0:
        variance = min(rate**2 * chi_squared, rate * (variance + inverse**4 / 4))
    return variance, reach


def _grid_width(counts: Counts) -> float:
    """Width at which the grid adds at most `_GRID_ERROR` to the variance of the composed loss.

    Spreading a loss over two grid points `h` apart adds `h^2/6` to its variance on average, once
    for every event that is put on the grid (unsampled Gaussians are composed exactly first).
    """
    variance = spread = discretised = 0.0
    reach = 0.0
    for event, count in counts.items():
        one, far = _loss_moments(event)
        exact = isinstance(event, GaussianRelease)
        discretised += 1 if exact else count
        variance += count * one
        reach = max(reach, far * (math.sqrt(count) if exact else 1.0))
        spread += 17.0 * math.sqrt(count * one)
    width = math.sqrt(6.0 * _GRID_ERROR * variance / discretised)
    return max(width, max(reach, spread) * 2 / _POINTS, _FINEST)
