"""Bounds, curves and learned scores against known answers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tacit.audit.binomial import at_least, at_most
from tacit.audit.curve import claimed_trade_off, is_gaussian, trade_off
from tacit.audit.estimators import lower_bounds, trials_to_reject
from tacit.audit.scores import LearnedScore
from tacit.privacy import GaussianRelease, LaplaceRelease, Repeated

RNG = np.random.default_rng(0)


def test_clopper_pearson_is_the_exact_binomial_interval() -> None:
    for count in (0, 1, 7, 20):
        interval = stats.binomtest(count, 20).proportion_ci(0.9, method="exact")
        assert float(at_least(count, 20, 0.05)) == pytest.approx(interval.low)
        assert float(at_most(count, 20, 0.05)) == pytest.approx(interval.high)


def test_perfect_guesses_reach_the_ceiling_and_no_more() -> None:
    bounds = lower_bounds(np.ones(4000), np.zeros(4000), delta=0.0)
    best = max(bound.epsilon for bound in bounds)
    # all of 8000 guesses are right, of which each is with probability e^eps / (1 + e^eps)
    assert 6.5 < best < -math.log(0.05 ** (-1 / 8000) - 1.0)


def test_scores_that_differ_by_rounding_only_are_equal() -> None:
    one, other = np.ones(4000), np.full(4000, 1.0 - 1e-15)
    assert max(bound.epsilon for bound in lower_bounds(one, other, delta=0.0)) < 0.1
    # 1 is the likelihood ratio of every output above 1, and rounded differently on either side
    ones = np.random.default_rng(0).laplace(size=(2, 20_000)) + np.array([[1.0], [0.0]])
    here, there = (np.abs(y) - np.abs(y - 1.0) for y in ones)
    assert 0.9 < max(bound.epsilon for bound in lower_bounds(here, there, delta=0.0)) < 1.0


def test_equal_scores_show_nothing() -> None:
    same = RNG.normal(size=(2, 3000))
    for bound in lower_bounds(same[0], same[1], delta=1e-5, gaussian=True):
        assert bound.epsilon < 0.2


def test_a_gaussian_claim_is_bounded_more_sharply() -> None:
    one, other = RNG.normal(size=(2, 40_000))
    found = {
        b.estimator: b.epsilon for b in lower_bounds(one + 1.0, other, delta=1e-5, gaussian=True)
    }
    assert 3.9 < found["Gaussian-DP"] < 4.3772
    assert found["Clopper-Pearson"] < found["Gaussian-DP"]


@pytest.mark.long
def test_the_number_of_runs_is_enough_for_most_audits() -> None:
    one, other = RNG.normal(size=(2, 20_000))
    settings: Any = {"delta": 1e-5, "gaussian": True}
    needed = trials_to_reject(one + 0.25, other, 0.5, confidence=0.95, **settings)
    assert needed is not None and 500 < needed < 20_000
    refuted = 0
    for _ in range(40):
        a, b = RNG.normal(size=(2, needed))
        best = max(x.epsilon for x in lower_bounds(a + 0.25, b, **settings))
        refuted += best > 0.5
    assert refuted >= 20
    assert trials_to_reject(one, other, 5.0, **settings) is None


def test_the_measured_curve_lies_in_its_band_and_near_the_truth() -> None:
    one, other = RNG.normal(size=(2, 5000))
    events = [Repeated(GaussianRelease(2.0), 4)]
    claimed = claimed_trade_off(events, 4.3772, 1e-5)
    curve = trade_off(one + 1.0, other, claimed, confidence=0.95)
    truth = stats.norm.cdf(stats.norm.isf(curve.false_alarms) - 1.0)
    assert np.all((curve.low <= curve.measured) & (curve.measured <= curve.high))
    assert np.abs(curve.measured - truth).max() < 0.03
    # the claimed curve is the largest that the profile's lines support, so it is below the truth
    assert np.all(curve.claimed <= truth + 1e-6)
    assert np.abs(curve.claimed - truth).max() < 0.02


def test_which_claims_are_gaussian() -> None:
    assert is_gaussian([GaussianRelease(1.0), Repeated(GaussianRelease(2.0), 3)])
    assert not is_gaussian([GaussianRelease(1.0), LaplaceRelease(1.0)])
    assert not is_gaussian([])


def test_fishers_discriminant_finds_the_direction_through_correlated_noise() -> None:
    mixing = np.array([[1.0, 0.9, 0.0], [0.0, 0.4, 0.0], [0.0, 0.0, 5.0]])
    one, other = (RNG.normal(size=(4000, 3)) @ mixing for _ in range(2))
    gap = np.array([0.3, 0.0, 0.0])
    score = LearnedScore.fit(one + gap, other)
    covariance = mixing.T @ mixing
    best = math.sqrt(gap @ np.linalg.solve(covariance, gap))
    fresh, rest = (RNG.normal(size=(20_000, 3)) @ mixing for _ in range(2))
    a, b = score(fresh + gap), score(rest)
    assert (a.mean() - b.mean()) / a.std() == pytest.approx(best, rel=0.1)


def test_a_feature_that_never_varies_gets_no_weight() -> None:
    one, other = RNG.normal(size=(2, 50, 2))
    one[:, 1] = other[:, 1] = 3.0
    weights = LearnedScore.fit(one, other).weights
    assert weights[1] == 0.0 and np.isfinite(weights[0])
