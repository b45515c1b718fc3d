"""Trade-off curves: the errors of cautious and bold attackers, and the least a claim allows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from tacit.audit.binomial import at_least, at_most
from tacit.audit.readings import Scores
from tacit.privacy import accounting
from tacit.privacy.event import Event, GaussianRelease, PoissonSampled


@dataclass(frozen=True)
class Curve:
    """The trade-off of the attacks, from cautious to bold: false alarms against misses.

    Attributes:
        false_alarms: share of runs on D' that the attacker takes for D, ascending from 0 to 1.
        measured: share of runs on D that it then misses, as counted.
        low: lower end of the confidence band, at every point.
        high: upper end of the confidence band, at every point.
        claimed: smallest share of misses that the claim allows, at every point.
    """

    false_alarms: Float[np.ndarray, " points"]
    measured: Float[np.ndarray, " points"]
    low: Float[np.ndarray, " points"]
    high: Float[np.ndarray, " points"]
    claimed: Float[np.ndarray, " points"]


def trade_off(
    scores: Scores,
    others: Scores,
    claimed: Callable[[Float[np.ndarray, " points"]], Float[np.ndarray, " points"]],
    confidence: float,
    points: int = 201,
) -> Curve:
    """The curve that the scores trace, with a Clopper-Pearson band at every point."""
    at = np.unique(np.concatenate([scores, others]))
    at = at[:: max(1, len(at) // 2000)]
    misses = np.searchsorted(np.sort(scores), at, side="right")
    alarms = len(others) - np.searchsorted(np.sort(others), at, side="right")
    error = (1.0 - confidence) / 4.0
    x = np.linspace(0.0, 1.0, points)

    def line(alarm: np.ndarray, miss: np.ndarray) -> Float[np.ndarray, " points"]:
        alarm = np.concatenate([[1.0], alarm, [0.0]])[::-1]
        miss = np.concatenate([[0.0], miss, [1.0]])[::-1]
        return np.interp(x, alarm, np.minimum.accumulate(miss))

    return Curve(
        false_alarms=x,
        measured=line(alarms / len(others), misses / len(scores)),
        low=line(at_least(alarms, len(others), error), at_least(misses, len(scores), error)),
        high=line(at_most(alarms, len(others), error), at_most(misses, len(scores), error)),
        claimed=np.asarray(claimed(x)),
    )


def claimed_trade_off(
    events: Sequence[Event], epsilon: float, delta: float
) -> Callable[[Float[np.ndarray, " points"]], Float[np.ndarray, " points"]]:
    """The smallest share of misses that a claim allows at a given share of false alarms.

    A mechanism that is `(e, d)`-DP misses at least `max(1 - d - exp(e) x, exp(-e) (1 - d - x))`
    (Kairouz, Oh, Viswanath 2015, theorem 2.1), and the claim is that for a whole profile of pairs.
    """
    epsilons = np.unique(np.concatenate([np.linspace(0.0, 2.0 * epsilon, 40), [epsilon]]))
    deltas = np.minimum(accounting.profile(events, epsilons), 1.0) if events else 0.0 * epsilons
    deltas[epsilons == epsilon] = np.minimum(deltas[epsilons == epsilon], delta)

    def least(x: Float[np.ndarray, " points"]) -> Float[np.ndarray, " points"]:
        up = 1.0 - deltas[:, None] - np.exp(epsilons)[:, None] * x
        down = np.exp(-epsilons)[:, None] * (1.0 - deltas[:, None] - x)
        return np.maximum(np.max(np.maximum(up, down), axis=0), 0.0)

    return least


def claimed_pair(
    epsilon: float, delta: float
) -> Callable[[Float[np.ndarray, " points"]], Float[np.ndarray, " points"]]:
    """The same where only one pair is claimed."""

    def least(x: Float[np.ndarray, " points"]) -> Float[np.ndarray, " points"]:
        up, down = 1.0 - delta - np.exp(epsilon) * x, np.exp(-epsilon) * (1.0 - delta - x)
        return np.maximum(np.maximum(up, down), 0.0)

    return least


def is_gaussian(events: Sequence[Event]) -> bool:
    """Whether everything released is plain Gaussian noise, so that the claim is Gaussian-DP."""
    return bool(events) and all(_plain_gaussian(event) for event in events)


def measured_mu(scores: Scores, others: Scores) -> float:
    """Mu of Gaussian-DP that exact log-likelihood ratios of Gaussian noise come to.

    They are normal with means `mu^2 / 2` and `-mu^2 / 2` and variance `mu^2` if the noise is as
    wide as the ratio takes it to be; the quotient is right for noise of any width.

    Args:
        scores: ratios of the runs on one data set, shape `(n,)`, at least 2.
        others: ratios of those on the other.
    """
    spread = math.sqrt((np.var(scores, ddof=1) + np.var(others, ddof=1)) / 2.0)
    return float((np.mean(scores) - np.mean(others)) / spread) if spread > 0.0 else math.inf


def _plain_gaussian(event: Event) -> bool:
    if isinstance(event, PoissonSampled) or event.inner is None:
        return isinstance(event, GaussianRelease)
    return _plain_gaussian(event.inner)
