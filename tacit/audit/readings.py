"""The readings of an audit: ways to turn scores into a lower bound on epsilon.

Each is valid on its own at the error that it is given; `tacit.audit.estimators` divides the error
among them. What a reading has to choose (a threshold, a direction, the number of guesses) it
chooses on the first fifth of the runs. It is tried on the rest, so that the choice costs no
confidence. Proofs: docs/proofs/audit.md.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from jaxtyping import Float

from tacit.audit.binomial import at_least, at_most
from tacit.audit.game import Guesses, gaussian_tail, largest_refuted, play, revealed_tail
from tacit.privacy.gaussian_dp import epsilon_from_mu

Scores: TypeAlias = Float[np.ndarray, " _runs"]
"""One score a run; their number is not bound to another array of the same call."""

Rates: TypeAlias = Float[np.ndarray, " _thresholds"]
"""A rate of errors, or of hits, at every threshold."""

UNLUCKY = 1.2816
"""Standard normal quantile: all but the worst tenth of audits do better than planned."""

_CHOOSING = 0.2
_CANDIDATES = 200

HALF, NEARLY_ALL = 0.5, 0.9
"""Shares of the coins that the hockey-stick reading guesses: the surest half, where outputs differ
in how telling they are, or nearly all, where none tells much."""

FAINT = 0.5
"""Log odds of a right guess in the surest half, up to which nearly all coins are guessed."""

_RARE = (0.2, 0.05, 0.01)
"""Shares for secrets that few outputs betray; taken only if clearly better."""

_LARGEST_EPSILON = 60.0
_LARGEST_MU = 40.0

GAUSSIAN_SHARE = 0.54
"""Share of the coins to guess that is best between two Gaussians close together: their outer
27 % on either side, as for the quantised correlation coefficient."""

_CLEAR = 0.9
"""Share of right guesses from which on the Gaussian reading guesses every coin."""

_FIRST = 100

_LAST_DIGITS, _LAST_OF_ALL = 1e-9, 1e-13
"""Of the spread of scores, and of scores themselves, what is taken for rounding."""


@dataclass(frozen=True)
class Bound:
    """A lower bound on epsilon.

    Attributes:
        estimator: name of the estimator that found it.
        epsilon: lower bound on epsilon at the claim's delta, at least 0.
        false_alarms: share of runs on D' that the attack takes for D, as counted.
        missed: share of runs on D that it takes for D'. An attack that abstains counts as neither.
    """

    estimator: str
    epsilon: float
    false_alarms: float
    missed: float


class AbstractReading(abc.ABC):
    """A way to read scores."""

    name: str
    weight: float
    """Its part of the error that is allowed for all readings together."""

    @abc.abstractmethod
    def bound(self, scores: Scores, others: Scores, delta: float, error: float) -> Bound:
        """A lower bound on epsilon at `delta`, too large with probability `error` at most."""

    @abc.abstractmethod
    def planned(
        self, scores: Scores, others: Scores, delta: float, error: float, runs: int
    ) -> float:
        """The bound that nine in ten audits with `runs` per side reach, judged by scores."""


@dataclass(frozen=True)
class ClopperPearson(AbstractReading):
    """`ln((p - delta) / q)`: at least `p` hits and at most `q` false alarms beyond a threshold."""

    weight: float
    name: str = "Clopper-Pearson"

    def bound(self, scores: Scores, others: Scores, delta: float, error: float) -> Bound:
        (first, rest), (second, remaining) = _divided(scores), _divided(others)
        best = (-math.inf, False, 0.0)
        for turned in (False, True):
            one, other = _turned(first, second, turned)
            at = _thresholds(one, other)
            found = self._epsilon(_above(one, at), _above(other, at), one, other, delta, error)
            i = int(np.argmax(found))
            best = max(best, (float(found[i]), turned, float(at[i])))
        _, turned, threshold = best
        one, other = _turned(rest, remaining, turned)
        at = np.array([threshold])
        hits, alarms = _above(one, at), _above(other, at)
        epsilon = float(self._epsilon(hits, alarms, one, other, delta, error)[0])
        hit, alarm = float(hits[0] / len(one)), float(alarms[0] / len(other))
        # if turned, a hit is a run on D' that is recognised
        return Bound(self.name, epsilon, *((1.0 - hit, alarm) if turned else (alarm, 1.0 - hit)))

    def planned(
        self, scores: Scores, others: Scores, delta: float, error: float, runs: int
    ) -> float:
        used = runs - int(_CHOOSING * runs)
        best = 0.0
        for turned in (False, True):
            one, other = _turned(scores, others, turned)
            at = _thresholds(one, other)
            hit, alarm = _above(one, at) / len(one), _above(other, at) / len(other)
            # in one of ten audits both counts together miss their means by this much
            hits = used * hit - UNLUCKY * np.sqrt(used * hit * (1.0 - hit) / 2.0)
            alarms = used * alarm + UNLUCKY * np.sqrt(used * alarm * (1.0 - alarm) / 2.0)
            best = max(best, float(np.max(_counted(hits, alarms, used, used, delta, error))))
        return best

    def _epsilon(
        self, hits: Rates, alarms: Rates, one: Scores, other: Scores, delta: float, error: float
    ) -> Rates:
        return _counted(hits, alarms, len(one), len(other), delta, error)


@dataclass(frozen=True)
class HockeyStick(AbstractReading):
    """The guessing game against the `(epsilon, delta)`-DP claim, with its exact tail."""

    weight: float
    name: str = "hockey-stick"

    @staticmethod
    def coins(runs: int) -> int:
        """The number of coins of the game that `runs` runs per side suffice for."""
        return 2 * (runs - int(_CHOOSING * runs))

    def bound(self, scores: Scores, others: Scores, delta: float, error: float) -> Bound:
        (first, rest), (second, remaining) = _divided(scores), _divided(others)
        game = play(rest, remaining, self._share(first, second, delta, error))
        epsilon = _hockey_stick(game.runs, game.made, game.correct, delta, error)
        return _of(self.name, epsilon, game)

    def planned(
        self, scores: Scores, others: Scores, delta: float, error: float, runs: int
    ) -> float:
        coins, share = self.coins(runs), self._share(scores, others, delta, error)
        made, correct = _expected(play(scores, others, share), share, coins)
        return _hockey_stick(coins, made, correct, delta, error)

    def _share(self, scores: Scores, others: Scores, delta: float, error: float) -> float:
        best = HALF
        found = _likely_odds(play(scores, others, HALF))
        most = play(scores, others, NEARLY_ALL)
        if found < FAINT or most.correct == most.made:
            best, found = NEARLY_ALL, _likely_odds(most)
        for share in _RARE:
            game = play(scores, others, share)
            safe = _roughly(game.runs, game.made, game.correct, delta, error)
            if safe > found:
                best, found = share, safe
        return best


@dataclass(frozen=True)
class GaussianDP(AbstractReading):
    """The guessing game against a claim of Gaussian-DP: a bound on `mu`, as epsilon at `delta`."""

    weight: float
    name: str = "Gaussian-DP"

    @staticmethod
    def coins(runs: int) -> int:
        """The number of coins of the game that `runs` runs per side suffice for."""
        return 2 * (runs - min(_FIRST, runs // 10))

    def bound(self, scores: Scores, others: Scores, delta: float, error: float) -> Bound:
        first, second = (min(_FIRST, len(side) // 10) for side in (scores, others))
        share = self._share(scores[:first], others[:second])
        game = play(scores[first:], others[second:], share)
        mu = _gaussian(game.runs, game.made, game.correct, error)
        return _of(self.name, float(epsilon_from_mu(mu, delta)), game)

    def planned(
        self, scores: Scores, others: Scores, delta: float, error: float, runs: int
    ) -> float:
        share = self._share(scores, others)
        coins = self.coins(runs)
        made, correct = _expected(play(scores, others, share), share, coins)
        return float(epsilon_from_mu(_gaussian(coins, made, correct, error), delta))

    def _share(self, scores: Scores, others: Scores) -> float:
        if not (len(scores) and len(others)):
            return GAUSSIAN_SHARE
        game = play(scores, others, 1.0)
        return 1.0 if game.correct >= _CLEAR * game.made else GAUSSIAN_SHARE


@dataclass(frozen=True)
class TradeOffCurve(AbstractReading):
    """The guessing game against the trade-off curve of composed releases.

    Every coin is guessed. The share of right guesses is at most `(1 + TV) / 2`, where the total
    variation `TV = delta(0)` of the claim is the point of its curve at which false alarms and
    misses together are fewest. Too many right guesses refute the releases as claimed, and the
    bound is the epsilon of the same releases with so little noise that the guesses are possible.

    Attributes:
        epsilon: function of a total variation and a delta that gives the epsilon of such releases.
    """

    weight: float
    epsilon: Callable[[float, float], float]
    name: str = "trade-off curve"

    def bound(self, scores: Scores, others: Scores, delta: float, error: float) -> Bound:
        game = play(scores, others, 1.0)
        return _of(self.name, self._epsilon(game.runs, game.correct, delta, error), game)

    def planned(
        self, scores: Scores, others: Scores, delta: float, error: float, runs: int
    ) -> float:
        _, correct = _expected(play(scores, others, 1.0), 1.0, 2 * runs)
        return self._epsilon(2 * runs, correct, delta, error)

    def _epsilon(self, coins: int, correct: int | float, delta: float, error: float) -> float:
        variation = 2.0 * float(at_least(correct, coins, error)) - 1.0
        return self.epsilon(variation, delta) if variation > 0.0 else 0.0


def without_last_digits(scores: Scores, others: Scores) -> tuple[Scores, Scores]:
    """Scores that differ only by rounding made equal, judged by the runs that choose.

    Many outputs of Laplace noise have one likelihood ratio. How it was rounded depends on the
    output's last digits, which reveal the side: a leak of floating-point noise, not of the
    intended mechanism.
    """
    pile = np.concatenate([_divided(scores)[0], _divided(others)[0]])
    if not len(pile):
        return scores, others
    apart = np.abs(pile - np.median(pile))
    typical = float(np.median(apart)) or float(np.max(apart, initial=0.0, where=apart < np.inf))
    unit = max(_LAST_DIGITS * typical, _LAST_OF_ALL * float(np.median(np.abs(pile))))
    if not 0.0 < unit < np.inf:
        return scores, others
    return np.round(scores / unit), np.round(others / unit)


def _of(name: str, epsilon: float, game: Guesses) -> Bound:
    return Bound(name, epsilon, game.false_alarms, game.missed)


def _expected(game: Guesses, share: float, coins: int) -> tuple[int, float]:
    """Guesses in a game of `coins` coins, and how many are right in nine of ten games."""
    made = max(1, round(share * coins))
    rate = game.correct / game.made
    return made, made * rate - UNLUCKY * math.sqrt(made * rate * (1.0 - rate))


def _hockey_stick(coins: int, made: int, correct: int | float, delta: float, error: float) -> float:
    return largest_refuted(
        lambda epsilon: revealed_tail(epsilon, delta, coins, made, correct),
        error,
        _LARGEST_EPSILON,
    )


def _roughly(coins: int, made: int, correct: int | float, delta: float, error: float) -> float:
    """Approximates `_hockey_stick` in one step, with the expected number of revealed guesses."""
    hidden = max(made - coins * delta, 1.0)
    return _log_odds(float(at_least(max(correct - coins * delta, 0.0), math.ceil(hidden), error)))


def _likely_odds(game: Guesses) -> float:
    return _log_odds((game.correct + 0.5) / (game.made + 1.0))


def _log_odds(rate: float) -> float:
    return math.log(max(rate, 1e-300)) - math.log(max(1.0 - rate, 1e-300))


def _gaussian(coins: int, made: int, correct: int | float, error: float) -> float:
    return largest_refuted(lambda mu: gaussian_tail(mu, coins, made, correct), error, _LARGEST_MU)


def _counted(
    hits: Rates, alarms: Rates, runs: int, others: int, delta: float, error: float
) -> Rates:
    """`ln((p - delta) / q)`, from the definition of differential privacy."""
    p, q = at_least(hits, runs, error / 2.0), at_most(alarms, others, error / 2.0)
    return np.log(np.maximum(np.maximum(p - delta, 0.0), q) / q)


def _divided(side: Scores) -> tuple[Scores, Scores]:
    """The runs that choose, and those that a bound rests on."""
    first = int(_CHOOSING * len(side))
    return side[:first], side[first:]


def _turned(one: Scores, other: Scores, turned: bool) -> tuple[Scores, Scores]:
    """The side on which the attack should hit, and the other."""
    return (-other, -one) if turned else (one, other)


def _thresholds(one: Scores, other: Scores) -> Rates:
    return np.unique(np.quantile(np.concatenate([one, other]), np.linspace(0.0, 1.0, _CANDIDATES)))


def _above(side: Scores, at: Rates) -> Rates:
    count = len(side) - np.searchsorted(np.sort(side), at, side="right")
    return np.asarray(count, dtype=float)
