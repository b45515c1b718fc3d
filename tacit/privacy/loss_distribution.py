"""Privacy losses on a grid: discrete laws that dominate those of the releases.

The loss of a release is `log(P/Q)` under `P`, where `P` and `Q` are the laws of what is observed on
neighbouring data; its tails give `delta(e) = P(loss > e) - e^e Q(loss > e)`. On a grid of width `h`
the points of the delta curve are joined by lines in `e^e` (Doroshenko et al. 2022, algorithm 1):
the law with

    P(loss >= e_i) = (delta(e_(i-1)) - e^-h delta(e_i)) / (1 - e^-h),

whose delta is nowhere smaller. What rounding may have cost these numbers is added to them: a law
that is larger in the usual stochastic order has a larger delta, alone and composed. `convolution`
composes the laws.

A discrete Laplace release is put on the grid as what dominates every pure release: randomised
response (Kairouz, Oh, Viswanath 2015, theorem 2.1). That of the continuous law would not do: its
proof moves along coordinates continuously.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

import numpy as np
from jaxtyping import Float

from tacit.privacy.event import (
    DiscreteGaussianRelease,
    Event,
    GaussianRelease,
    LaplaceRelease,
    PoissonSampled,
)
from tacit.privacy.tally import Noise, Tally, split

Counts = Mapping[Event, int]
"""How often each event occurs; equal events share a key."""

Losses: TypeAlias = Float[np.ndarray, " points"]
"""Privacy losses, or one number for each."""

Tails: TypeAlias = Callable[[Losses], tuple[Losses, Losses]]
"""Logarithms of the masses of `P` and of `Q` beyond each loss."""

Dots: TypeAlias = Callable[[Losses], tuple[Losses, Losses]]
"""Delta at each epsilon, and how much too small rounding may have made it."""

_GRID_ERROR = 1e-4
"""Relative error of the composed variance that the grid may add."""

_POINTS = 2**21
"""Largest number of grid points of a composed distribution: some hundreds of megabytes."""

_FEWEST = 2**12
"""Least number of grid points across the range that a composed loss may reach."""

_FINEST = 1e-7
"""Finest grid: budgets are not written to more digits."""

_TAILS = 12.0
"""Number of deviations beyond which a Gaussian tail, of mass 2e-33, is an infinite loss."""

_WIDE = 500.0
"""Losses further apart than this overflow an exponential."""

_LAST_BIT = 2.0**-53

_ROUNDINGS = 16.0
"""Last bits by which delta may be wrong, relative to a tail, its logarithm and its loss."""

_RATIO = 1.01
"""Finest ratio of the grid on which long lists of distinct scales are grouped."""

_DISTINCT = 64
"""Lists with fewer distinct scales of one kind are composed unchanged."""

_GROUPS = {False: 600, True: 32}
"""Most groups of one kind, unsampled and sampled: a sampled distribution takes 0.2 s to make."""


def bucketed(counts: Counts) -> dict[Event, int]:
    """The same events, with noise multipliers rounded down to a few values: never more private.

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


@dataclass(frozen=True)
class OnGrid:
    """The law of one privacy loss on a grid.

    Attributes:
        first: smallest loss, in widths of the grid.
        log_masses: logarithms of the masses, from the smallest loss upwards.
        infinite: probability of an infinite loss.
    """

    first: int
    log_masses: Losses
    infinite: float


Parts: TypeAlias = list[tuple[OnGrid, int]]
"""Laws, each with the number of times that it is drawn."""


def on_grid(tally: Tally) -> tuple[float, tuple[Parts, Parts] | tuple[Parts]]:
    """Width of the grid, and the laws of all losses in both directions.

    Only one of the two if all releases have the same law in both directions.

    Args:
        tally: counts without discrete Gaussian releases: no law of theirs is proved in all
            dimensions.
    """
    counts, told = _within_reach(bucketed(dict(tally.releases)))
    plain = {event: n for event, n in counts.items() if isinstance(event, GaussianRelease)}
    if len(plain) > 1:  # together they are one Gaussian release
        squares = math.fsum(n / event.noise_multiplier**2 for event, n in plain.items())
        counts = {event: n for event, n in counts.items() if event not in plain}
        counts[GaussianRelease(1.0 / math.sqrt(squares))] = 1
    width = _grid_width(counts)
    both = told < 0.0 or any(split(event)[1] < 1.0 for event in counts)
    ways = [
        [_law(event, count, added, width) for event, count in counts.items()]
        + ([_revealing(told, added, width)] if told < 0.0 else [])
        for added in ([False, True] if both else [False])
    ]
    return width, (ways[0], ways[1]) if both else (ways[0],)


def _within_reach(counts: Counts) -> tuple[dict[Event, int], float]:
    """Releases that a grid can hold, and the log probability that no other reveals anything.

    A release with hardly any noise has losses that no grid holds beside others. It is counted as
    one that gives the record away wherever the record takes part: never less than it costs.
    """
    held, told = dict(counts), 0.0
    while held and _grid_width(held) > _WIDE:
        event = max(held, key=lambda each: _loss_moments(each)[1])
        rate = split(event)[1]
        silent = math.log1p(-rate) if rate < 1.0 else -math.inf
        told += held.pop(event) * silent
    return held, told


def _revealing(told: float, added: bool, width: float) -> tuple[OnGrid, int]:
    """Loss of a record that is given away, except with a probability of `exp(told)`."""
    if told < -_WIDE:  # a probability too small for a float
        return OnGrid(0, np.array([-_WIDE]), 1.0), 1
    if added:
        return OnGrid(math.ceil(-told / width), np.zeros(1), 0.0), 1
    return OnGrid(math.ceil(told / width), np.array([told]), -math.expm1(told)), 1


def _law(event: Event, count: int, added: bool, width: float) -> tuple[OnGrid, int]:
    """One event's law, and how often it is drawn (a Gaussian is composed in closed form)."""
    noise, rate = split(event)
    if isinstance(noise, GaussianRelease) and rate == 1.0:
        noise, count = GaussianRelease(noise.noise_multiplier / math.sqrt(count)), 1
    tails, reach = _tails(noise)
    dots = _dots(tails)
    low, high = -reach, reach
    if rate < 1.0:
        dots = _sampled(tails, rate, added)
        keep = math.log1p(-rate)
        low = float(np.logaddexp(keep, math.log(rate) - reach))
        high = float(np.logaddexp(keep, math.log(rate) + reach))
        low, high = (-high, -low) if added else (low, high)
    # the last point lies beyond the largest loss, so what rounding may hide there has a finite loss
    last = math.floor(high / width + 1e-9) + 1
    return _connected(dots, math.floor(low / width), last, width), count


def _connected(dots: Dots, first: int, last: int, width: float) -> OnGrid:
    """The law that joins the points of delta from `first` to `last`."""
    losses = np.arange(first, last + 1) * width
    delta, error = dots(losses)
    gap = -math.expm1(-width)
    # mass at or above each loss; all below the grid is lifted onto its first point
    least = np.ones_like(losses)
    least[1:] = (delta[:-1] - (1.0 - gap) * delta[1:] + error[:-1] + error[1:]) / gap
    infinite = float(delta[-1] + error[-1])
    least = np.maximum.accumulate(np.append(np.minimum(least, 1.0), infinite)[::-1])[::-1]
    with np.errstate(divide="ignore"):
        return OnGrid(first, np.log(-np.diff(least)), infinite)


def _tails(noise: Noise) -> tuple[Tails, float]:
    """Tails of the loss of one release that is not sampled, and the largest loss.

    The losses are symmetric: that of `P` against `Q` is distributed as that of `Q` against `P`.
    """
    from scipy.special import log_ndtr

    if isinstance(noise, GaussianRelease):
        mu = 1.0 / noise.noise_multiplier

        def gaussian(loss: Losses) -> tuple[Losses, Losses]:
            return log_ndtr(mu / 2.0 - loss / mu), log_ndtr(-mu / 2.0 - loss / mu)

        return gaussian, _TAILS * mu + mu**2 / 2.0
    pure = 1.0 / noise.noise_multiplier
    if isinstance(noise, LaplaceRelease):

        def seen(loss: Losses) -> tuple[Losses, Losses]:
            up, down = (loss - pure) / 2.0, -(loss + pure) / 2.0
            return np.log1p(-np.exp(up) / 2.0), down - math.log(2.0)
    else:
        likely = -math.log1p(math.exp(-pure))

        def seen(loss: Losses) -> tuple[Losses, Losses]:
            return np.full_like(loss, likely), np.full_like(loss, likely - pure)

    def within(loss: Losses) -> tuple[Losses, Losses]:
        inside = np.clip(loss, -pure, pure)
        all_or_none = np.where(loss < -pure, 0.0, -math.inf)
        between = (loss >= -pure) & (loss < pure)
        upper, lower = seen(inside)
        return np.where(between, upper, all_or_none), np.where(between, lower, all_or_none)

    return within, pure


def _dots(tails: Tails) -> Dots:
    def dots(loss: Losses) -> tuple[Losses, Losses]:
        upper, lower = tails(loss)
        beyond = np.exp(upper)
        size = 2.0 + np.abs(np.where(beyond > 0.0, upper, 0.0)) + np.abs(loss)
        delta = np.maximum(beyond - np.exp(loss + lower), 0.0)
        return delta, _ROUNDINGS * _LAST_BIT * size * beyond

    return dots


def _sampled(tails: Tails, rate: float, added: bool) -> Dots:
    """Dots for a Poisson sample: `(1 - q) Q + q P` against `Q`, or if `added` the other way.

    Of the release's own delta, the first is `q delta(l)` with `e^l = (e^eps - 1 + q) / q`, the
    other `(1 - (1 - q) e^eps) delta(l)` with `e^-l = (e^-eps - 1 + q) / q`: nothing cancels where
    `q` is small.
    """
    keep, take = math.log1p(-rate), math.log(rate)
    whole = _dots(tails)

    def dots(loss: Losses) -> tuple[Losses, Losses]:
        seen = -loss if added else loss
        above = seen > keep  # the least loss: the output shows that the record took no part
        inner = np.where(above, seen, 0.0)
        inner = inner + np.log(-np.expm1(keep - inner)) - take
        inner = -inner if added else inner
        delta, error = whole(inner)
        upper, lower = (np.exp(tail) for tail in tails(inner))
        part = np.where(above, -np.expm1(keep + loss), 0.0) if added else rate
        # a loss that is wrong by last bits moves delta by the tail times as much
        tail = upper if added else (1.0 - rate) * lower + rate * upper
        moved = _ROUNDINGS * _LAST_BIT * (np.abs(loss) - keep) * tail
        delta, error = part * delta, part * error * (1.0 - take) + moved
        known = np.zeros_like(loss) if added else -np.expm1(np.minimum(loss, 0.0))
        return np.where(above, delta, known), np.where(above, error, known * _ROUNDINGS * _LAST_BIT)

    return dots


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
    """Rough variance of one event's privacy loss, and its approximate maximum."""
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
    if not counts:
        return 1.0
    variance = spread = discretised = 0.0
    reach = 0.0
    for event, count in counts.items():
        one, furthest = _loss_moments(event)
        exact = isinstance(event, GaussianRelease)
        discretised += 1 if exact else count
        variance += count * one
        reach = max(reach, furthest * (math.sqrt(count) if exact else 1.0))
        deviations = 17.0 * math.sqrt(count * one)
        # pure releases reach no further than their sum
        spread += min(deviations, count * furthest) if _pure(event) else deviations
    # a few releases are far from normal: their tails are sensitive to the width
    far = max(reach, spread)
    width = min(math.sqrt(6.0 * _GRID_ERROR * variance / discretised), far / _FEWEST)
    width = max(width, far * 2 / _POINTS, _FINEST)
    largest = max(
        (1.0 / split(event)[0].noise_multiplier for event in counts if _pure(event)), default=0.0
    )
    # put the largest pure loss, which has a mass of its own, on a point of the grid
    return largest / math.ceil(largest / width) if largest > width else width


def _pure(event: Event) -> bool:
    base, rate = split(event)
    return rate == 1.0 and not isinstance(base, GaussianRelease | DiscreteGaussianRelease)
