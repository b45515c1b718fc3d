"""Exact log-likelihood ratios against densities, and the learned score."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tacit.audit.scores import (
    LearnedScore,
    exposure,
    gaussian_log_ratio,
    laplace_log_ratio,
    sampled_gaussian_log_ratio,
)
from tacit.errors import ConfigError

RNG = np.random.default_rng(0)
OUTPUTS, MEAN, OTHER = RNG.normal(size=(6, 4, 3)), RNG.normal(size=(4, 3)), RNG.normal(size=(4, 3))


def test_gaussian_ratios_are_those_of_the_densities() -> None:
    scale = np.array([0.5, 1.0, 2.0, 4.0])[:, None]
    exact = stats.norm.logpdf(OUTPUTS, MEAN, scale) - stats.norm.logpdf(OUTPUTS, OTHER, scale)
    found = gaussian_log_ratio(OUTPUTS, MEAN, OTHER, scale)
    assert found == pytest.approx(exact.sum(axis=(1, 2)))


def test_nothing_is_lost_where_the_means_almost_agree() -> None:
    # squared distances of 1e20, whose difference is 2
    found = gaussian_log_ratio(np.array([[1e10]]), 1e-10, 0.0, 1.0)
    assert found == pytest.approx([1.0])


@pytest.mark.parametrize("other_scale", [None, 3.0])
def test_laplace_ratios_are_those_of_the_densities(other_scale: float | None) -> None:
    exact = stats.laplace.logpdf(OUTPUTS, MEAN, 2.0) - stats.laplace.logpdf(
        OUTPUTS, OTHER, other_scale or 2.0
    )
    found = laplace_log_ratio(OUTPUTS, MEAN, OTHER, 2.0, other_scale)
    assert found == pytest.approx(exact.sum(axis=(1, 2)))


def test_sampled_ratios_are_those_of_the_mixture() -> None:
    rate, scale = 0.2, 1.5

    def density(mean: np.ndarray) -> np.ndarray:
        return np.exp(stats.norm.logpdf(OUTPUTS, mean, scale).sum(axis=2))

    here = rate * density(MEAN + OTHER) + (1.0 - rate) * density(MEAN)
    exact = (np.log(here) - np.log(density(MEAN))).sum(axis=1)
    found = sampled_gaussian_log_ratio(OUTPUTS, MEAN, OTHER, rate, scale)
    assert found == pytest.approx(exact)


def test_an_answer_without_noise_is_exposed() -> None:
    outputs = OUTPUTS.copy()
    outputs[0, 2], outputs[1, 3] = MEAN[2], OTHER[3]
    found = exposure(outputs, MEAN, OTHER)
    assert found[0] > 100 and found[1] < -100 and np.all(np.abs(found[2:]) < 10)


def test_a_difference_in_spread_is_learned() -> None:
    one, other = RNG.normal(size=(2, 400, 2))
    score = LearnedScore.fit(one * [1.0, 2.0], other)
    assert score.curvature is not None
    fresh, rest = RNG.normal(size=(2, 5000, 2))
    here, there = score(fresh * [1.0, 2.0]), score(rest)
    best = np.abs(fresh[:, 1] * 2.0), np.abs(rest[:, 1])
    reached, possible = (
        stats.mannwhitneyu(a, b).statistic / 5000**2 for a, b in ((here, there), best)
    )
    assert reached > possible - 0.02


def test_a_shift_is_learned_linearly_and_with_more_features_than_runs() -> None:
    one, other = RNG.normal(size=(2, 400, 2))
    assert LearnedScore.fit(one + np.array([0.5, 0.0]), other).curvature is None
    one, other = RNG.normal(size=(2, 60, 100))
    one[:, 0] += 5.0
    score = LearnedScore.fit(one, other)
    fresh = RNG.normal(size=(500, 100))
    shifted = fresh.copy()
    shifted[:, 0] += 5.0
    assert np.mean(score(shifted) > np.median(score(fresh))) > 0.8


@pytest.mark.parametrize("rate", [0.0, 1.0, 1.5, -0.1])
def test_a_rate_of_no_sample_is_refused(rate: float) -> None:
    with pytest.raises(ConfigError, match=r"rate=.* must be in \(0, 1\)"):
        sampled_gaussian_log_ratio(np.zeros((5, 3)), 0.0, 1.0, rate, 1.0)


def test_sampled_ratios_need_means_of_a_run_and_noise() -> None:
    with pytest.raises(ConfigError, match="shift has shape"):
        sampled_gaussian_log_ratio(np.zeros((5, 3)), 0.0, [1.0, 1.0], 0.5, 1.0)
    with pytest.raises(ConfigError, match=r"scale=0\.0 must be a positive"):
        sampled_gaussian_log_ratio(np.zeros((5, 3)), 0.0, 1.0, 0.5, 0.0)


@pytest.mark.parametrize(
    "shapes", [((3, 2), (3, 4)), ((0, 2), (0, 2)), ((3, 2), (0, 2)), ((3, 0),) * 2]
)
def test_a_score_is_learned_from_the_same_features(shapes: tuple) -> None:
    with pytest.raises(ConfigError, match="rows and others have the shapes"):
        LearnedScore.fit(*(np.zeros(shape) for shape in shapes))
