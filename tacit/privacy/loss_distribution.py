"""Composition of privacy loss distributions on a grid, with dp-accounting.

Every event is handed to dp-accounting as noise over sensitivity in our own adjacency, always with
its default relation: with `REPLACE_ONE` its loss distributions double the sensitivity while its
Renyi accountant does not. The grids are pessimistic (connect-the-dots), so each result is an upper
bound up to the rounding of floating-point convolutions.

A discrete Laplace release is put on the grid as what dominates every pure release: randomised
response (Kairouz, Oh, Viswanath 2015, theorem 2.1). That of the continuous law would not do: its
proof moves along coordinates continuously.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from tacit.privacy.event import (
    DiscreteGaussianRelease,
    DiscreteLaplaceRelease,
    Event,
    GaussianRelease,
    PoissonSampled,
)
from tacit.privacy.tally import Tally, split

if TYPE_CHECKING:
    from dp_accounting.pld.pld_pmf import PLDPmf
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

Counts = Mapping[Event, int]
"""How often each event occurs; equal events are one key."""

_GRID_ERROR = 1e-4
"""Relative error of the composed variance that the grid may add."""

_POINTS = 2**21
"""Largest number of grid points of a composed distribution: some hundreds of megabytes."""

_FEWEST = 2**12
"""Least number of grid points over what a composed loss may reach."""

_FINEST = 1e-7
"""Below it the second differences of connect-the-dots drown in rounding."""

_SHORT = 10_000
"""Points below which a composed distribution is kept whole: looking for its ends takes longer."""

_TAILS = 10.0
"""Deviations beyond which a Gaussian tail, of mass 1e-23, counts as an infinite loss."""

_TAIL = 1e-15
"""Mass that one truncation may move to an infinite loss."""

_WIDE = 500.0
"""Losses further apart than this overflow an exponential."""

_SOME_HUNDREDS = 1000

_RATIO = 1.01
"""Finest ratio of the grid on which long lists of distinct scales are grouped."""

_DISTINCT = 64
"""Lists of fewer distinct scales of one kind are composed as they are."""

_GROUPS = {False: 600, True: 32}
"""Most groups of one kind, not sampled and sampled: a sampled distribution takes 0.2 s to make."""


def bucketed(counts: Counts) -> dict[Event, int]:
    """The same events with noise multipliers rounded down to few distinct ones: never more private.

    Example:
        >>> from tacit.privacy.event import LaplaceRelease
        >>> scales = [LaplaceRelease(100.0 + i) for i in range(1000)]
        >>> len(bucketed({event: 1 for event in scales}))
        241
    """
    kinds: dict[tuple[type, float], list[Event]] = {}
    for event in counts:
        base, rate = split(event)
        kinds.setdefault((type(base), rate), []).append(event)
    grouped: dict[Event, int] = {}
    for (_, rate), events in kinds.items():
        most = _GROUPS[rate < 1.0]
        rounded = events if len(events) <= min(_DISTINCT, most) else _rounded_down(events, most)
        for event, group in zip(events, rounded, strict=True):
            grouped[group] = grouped.get(group, 0) + counts[event]
    return grouped


def composed(tally: Tally) -> PrivacyLossDistribution:
    """Privacy loss distribution of all releases of a tally together.

    Args:
        tally: without a discrete Gaussian release: none is proved for it in every dimension.
    """
    from dp_accounting.pld import privacy_loss_distribution as pld

    counts = bucketed(dict(tally.releases))
    width = _grid_width(counts)
    parts = []
    for event, count in counts.items():
        base, rate = split(event)
        grid: dict[str, Any] = {"value_discretization_interval": width}
        if isinstance(base, GaussianRelease) and rate == 1.0:
            parts.append(
                pld.from_gaussian_mechanism(base.noise_multiplier / math.sqrt(count), **grid)
            )
        elif isinstance(base, GaussianRelease):
            one = _sampled_gaussian(base.noise_multiplier, rate, width)
            parts.append(_power(one, count))
        else:
            if isinstance(base, DiscreteLaplaceRelease):
                one = _randomised_response(1.0 / base.noise_multiplier, rate, width)
            else:
                one = pld.from_laplace_mechanism(base.noise_multiplier, sampling_prob=rate, **grid)
            points = 2 * count / base.noise_multiplier / width
            parts.append(one.self_compose(count, 0.0) if points < _SHORT else _power(one, count))
    while len(parts) > 1:  # neighbours first, so that most convolutions are short
        pairs = zip(parts[::2], parts[1::2], strict=False)
        parts = [a.compose(b) for a, b in pairs] + parts[len(parts) & ~1 :]
    return parts[0]


def _power(one: PrivacyLossDistribution, count: int) -> PrivacyLossDistribution:
    """`one` composed with itself `count` times, by way of the square root if there are many.

    dp-accounting cuts the tails of a power by Chernoff bounds at a few orders, which fit a count of
    some hundreds; in a single step of 20,000 they keep six times the points that matter.
    """
    if count <= _SOME_HUNDREDS:
        return one.self_compose(count, _TAIL)
    inner = math.isqrt(count)
    outer, rest = divmod(count, inner)
    power = one.self_compose(inner, _TAIL / outer).self_compose(outer, _TAIL)
    return power.compose(one.self_compose(rest, _TAIL), _TAIL) if rest else power


def _randomised_response(epsilon: float, rate: float, width: float) -> PrivacyLossDistribution:
    """Loss distribution of `epsilon`-randomised response on a Poisson sample of rate `rate`."""
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

    one = -math.log1p(math.exp(-epsilon))  # logarithm of the likelier answer's probability
    without = np.array([one - epsilon, one])
    record = without[::-1]
    if rate == 1.0:
        return PrivacyLossDistribution(_two_outcomes(record, without, width))
    mixed = np.logaddexp(math.log1p(-rate) + without, math.log(rate) + record)
    return PrivacyLossDistribution(
        _two_outcomes(mixed, without, width), _two_outcomes(without, mixed, width)
    )


def _sampled_gaussian(z: float, rate: float, width: float) -> PrivacyLossDistribution:
    """Loss distribution between `(1 - q) N(0, z^2) + q N(1, z^2)` and `N(0, z^2)`, both ways.

    As dp-accounting's, with deltas of all grid points at once: its loop over them takes longer than
    everything else together. The loss grows with `x`, so delta is a difference of two tails.
    """
    from dp_accounting.pld.pld_pmf import create_pmf_pessimistic_connect_dots_fixed_gap
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution
    from scipy.special import log_ndtr

    without = math.log1p(-rate)  # the least loss: x shows that the record took no part
    least, most = np.logaddexp(
        without, math.log(rate) + (np.array([-_TAILS, _TAILS + 1.0 / z]) - 0.5 / z) / z
    ).tolist()

    def tails(
        epsilon: Float[np.ndarray, " points"], side: float
    ) -> tuple[Float[np.ndarray, " points"], Float[np.ndarray, " points"]]:
        """Log masses beyond the `x` of loss `epsilon`: of the mixture and of `N(0, z^2)`."""
        x = 0.5 + z**2 * (epsilon + np.log(-np.expm1(without - epsilon)) - math.log(rate))
        alone, shifted = log_ndtr(side * x / z), log_ndtr(side * (x - 1.0) / z)
        return np.logaddexp(without + alone, math.log(rate) + shifted), alone

    def law(low: float, high: float, removed: bool) -> PLDPmf:
        first, last = math.floor(low / width), math.ceil(high / width)
        epsilon = np.arange(first, last + 1) * width
        loss = epsilon if removed else -epsilon
        mixed, alone = np.zeros_like(loss), np.zeros_like(loss)
        above = loss > without
        mixed[above], alone[above] = tails(loss[above], -1.0 if removed else 1.0)
        if removed:
            deltas = np.exp(mixed) - np.exp(epsilon + alone)
        else:
            deltas = np.where(above, np.exp(alone) - np.exp(epsilon + mixed), 0.0)
        return create_pmf_pessimistic_connect_dots_fixed_gap(
            width, first, last, np.clip(deltas, 0.0, 1.0)
        )

    return PrivacyLossDistribution(law(least, most, True), law(-most, -least, False))


def _two_outcomes(
    upper: Float[np.ndarray, " 2"], lower: Float[np.ndarray, " 2"], width: float
) -> PLDPmf:
    """Connect-the-dots of a pair of laws on two outcomes, given their logarithms.

    Between the two losses delta is linear in `e^epsilon`, as the connected dots are, so the grid
    points around both losses are enough.
    """
    from dp_accounting.pld.pld_pmf import create_pmf_pessimistic_connect_dots

    losses = (upper - lower) / width
    dots = np.unique(np.concatenate([np.floor(losses), np.ceil(losses)])).astype(int)
    if np.ptp(dots) * width > _WIDE:  # the other outcome has no mass that a float can hold
        return create_pmf_pessimistic_connect_dots(width, dots[-1:], np.zeros(1))
    gaps = np.exp(upper) - np.exp(dots[:, None] * width + lower)
    deltas = np.maximum(gaps, 0.0).sum(axis=1)
    return create_pmf_pessimistic_connect_dots(width, dots, np.minimum(deltas, 1.0))


def _rounded_down(events: list[Event], most: int) -> list[Event]:
    """Events of one kind with their noise on a geometric grid that starts at the smallest."""
    noise = np.array([split(event)[0].noise_multiplier for event in events])
    least = noise.min()
    ratio = max(_RATIO, (noise.max() / least) ** (1.0 / most))
    steps = np.floor(np.log(noise / least) / math.log(ratio))
    base, rate = split(events[0])
    rounded: list[Event] = [type(base)(float(z)) for z in np.minimum(noise, least * ratio**steps)]
    return rounded if rate == 1.0 else [PoissonSampled(rate, event) for event in rounded]


@cache
def _loss_moments(event: Event) -> tuple[float, float]:
    """Rough variance of one event's privacy loss, and how far that loss can reach."""
    base, rate = split(event)
    inverse = 1.0 / base.noise_multiplier
    if isinstance(base, GaussianRelease | DiscreteGaussianRelease):
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
        one, furthest = _loss_moments(event)
        exact = isinstance(event, GaussianRelease)
        discretised += 1 if exact else count
        variance += count * one
        reach = max(reach, furthest * (math.sqrt(count) if exact else 1.0))
        spread += 17.0 * math.sqrt(count * one)
    # a few releases are far from normal: their tails see the width itself
    far = max(reach, spread)
    width = min(math.sqrt(6.0 * _GRID_ERROR * variance / discretised), far / _FEWEST)
    return max(width, far * 2 / _POINTS, _FINEST)
