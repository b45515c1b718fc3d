"""The guessing game: coins choose between D and D', and the attacker says which, or abstains.

Of `m` runs, each on D or on D' by the toss of a fair coin, the attacker picks `k` (a number fixed
beforehand) and guesses their coins. The number of right guesses is a single count, and a claim
of privacy bounds its upper tail exactly, whatever the attacker does with the outputs:

    the count is stochastically smaller than if the attacker saw, for every run, which of the two
    outcomes of the claim's dominating pair it was, and guessed the k runs that it is surest of

(docs/proofs/audit.md, theorem 1). Laws of that largest count, for three kinds of claim, are below.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import ArrayLike, Float

from tacit.audit.binomial import tail

_COINS = 20_230_501
"""Seed of the coins. They are tossed before anything is known of the runs, so any seed will do."""

_CELLS = np.unique(
    np.concatenate([[0.0], np.logspace(-9.0, -2.5, 20), np.linspace(0.01, 0.99, 99), [1.0]])
)
"""Probabilities between which the boundary of the surest guesses is rounded, safely."""

_HALVINGS = 40
_WIDE = 12.0
"""Standard deviations outside of which revealed runs are counted as impossible or certain."""

_LEVELS = 400
_ROUNDING = 1e-7
_TINY = 1e-300


@dataclass(frozen=True)
class Guesses:
    """The outcome of a game.

    Attributes:
        runs: number of coins tossed, `m`.
        made: number of guesses, `k`, fixed beforehand.
        correct: number of right guesses.
        false_alarms: share of the runs on D' for which the attacker guessed D.
        missed: share of the runs on D for which it guessed D'.
    """

    runs: int
    made: int
    correct: int
    false_alarms: float
    missed: float


def play(
    scores: Float[np.ndarray, " runs"], others: Float[np.ndarray, " others"], share: float
) -> Guesses:
    """Play the game with runs that were made on both sides.

    The attacker guesses D for the highest scores and D' for the lowest. Where the coins require
    more runs on one side than exist, it gets an uninformative score in their place.

    Args:
        scores: scores of runs on D, higher where D is likelier.
        others: scores of runs on D'.
        share: share of the coins that are guessed, in (0, 1].
    """
    flips = 2 * min(len(scores), len(others))
    heads = np.random.default_rng(_COINS).random(flips) < 0.5
    pile = np.full(flips, np.nan)
    for side, chosen in ((scores, heads), (others, ~heads)):
        wanted = np.flatnonzero(chosen)[: len(side)]
        pile[wanted] = side[: len(wanted)]
    pile[np.isnan(pile)] = np.nanmedian(pile)
    order = np.argsort(pile, kind="stable")
    made = max(1, round(share * flips))
    low, high = order[: made // 2], order[flips - (made - made // 2) :]
    return Guesses(
        runs=flips,
        made=made,
        correct=int(np.sum(~heads[low]) + np.sum(heads[high])),
        false_alarms=float(np.sum(~heads[high]) / max(np.sum(~heads), 1)),
        missed=float(np.sum(heads[low]) / max(np.sum(heads), 1)),
    )


def revealed_tail(
    epsilon: float, delta: float, runs: int, made: int, correct: int | float
) -> Float[np.ndarray, ""]:
    """Largest probability of `correct` right guesses or more under an `(epsilon, delta)`-DP claim.

    Such a claim is dominated by randomised response that reveals the coin with probability `delta`
    (Kairouz, Oh, Viswanath 2015, theorem 2.1): `R ~ Bin(m, delta)` guesses are certain, and the
    others right with probability `e^epsilon / (1 + e^epsilon)`.
    """
    rate = 1.0 / (1.0 + np.exp(-epsilon))
    if delta == 0.0:
        return tail(correct, made, rate)
    mean, spread = runs * delta, np.sqrt(runs * delta * (1.0 - delta))
    most = int(min(made, mean + _WIDE * spread + _WIDE))
    # revealed runs, rounded up to the next of these
    counts = np.unique(np.linspace(0, most, min(most + 1, _LEVELS)).astype(int))
    at_least_so_many = tail(np.concatenate([[-1], counts[:-1]]) + 1, runs, delta)
    more = tail(counts + 1, runs, delta)
    inside = tail(correct - counts, made - counts, rate)
    return np.asarray(np.sum((at_least_so_many - more) * inside) + more[-1])


def gaussian_tail(mu: float, runs: int, made: int, correct: int | float) -> Float[np.ndarray, ""]:
    """Largest probability of `correct` right guesses or more under a `mu`-Gaussian-DP claim.

    The attacker sees `u ~ N(mu/2, 1)` or `N(-mu/2, 1)` and is surest where `|u|` is largest. Given
    the largest `|u|` for which it abstains, its guesses are independent.
    """
    from scipy.special import betaincinv, ndtr

    if made == runs:
        return tail(correct, made, ndtr(mu / 2.0))
    # the share of outcomes beyond that |u| is Beta(k + 1, m - k)
    beyond = betaincinv(made + 1.0, float(runs - made), _CELLS[:-1])
    low, high = np.zeros_like(beyond), np.full_like(beyond, mu / 2.0 + 40.0)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        far = ndtr(mu / 2.0 - middle) + ndtr(-mu / 2.0 - middle) > beyond
        low, high = np.where(far, middle, low), np.where(far, high, middle)
    right = ndtr(mu / 2.0 - high)
    with np.errstate(invalid="ignore"):
        rate = right / (right + ndtr(-mu / 2.0 - high))
    rate = np.where(np.isfinite(rate), rate, 1.0)
    return np.asarray(np.sum(np.diff(_CELLS) * tail(correct, made, rate)))


def largest_refuted(
    pvalue: Callable[[float], Float[ArrayLike, ""]], error: float, high: float
) -> float:
    """Largest parameter, rounded down, below which every claim is refuted.

    Args:
        pvalue: function that gives the p-value of a claim with that parameter; increasing in it.
        error: allowed probability of error.
        high: largest parameter that is tried.
    """
    from scipy.optimize import brentq

    def excess(parameter: float) -> float:
        return math.log(max(float(np.asarray(pvalue(parameter))), _TINY)) - math.log(error)

    if excess(0.0) > 0.0:
        return 0.0
    if excess(high) <= 0.0:
        return high
    root: Any = brentq(excess, 0.0, high, xtol=_ROUNDING)
    return max(float(root) - 2.0 * _ROUNDING, 0.0)
