"""What masks that cancel hide, by closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit.errors import PrivacyError
from tacit.privacy.masks import (
    UNIFORM,
    mask_ratio,
    masked_mu,
    masked_multiplier,
    worst_masked_mu,
)


def circulant(agents: int, *steps: int) -> np.ndarray:
    apart = np.subtract.outer(np.arange(agents), np.arange(agents)) % agents
    return np.isin(apart, [*steps, *(agents - step for step in steps)])


def complete(agents: int) -> np.ndarray:
    return ~np.eye(agents, dtype=bool)


SCALES = [0.1, 1.0, 3.0, 40.0]


@pytest.mark.parametrize("ratio", SCALES)
@pytest.mark.parametrize("agents", [3, 10, 25])
def test_complete_graphs_have_their_closed_form(agents: int, ratio: float) -> None:
    exact = (1.0 + (agents - 1) / (1.0 + agents * ratio**2)) / agents
    np.testing.assert_allclose(masked_mu(complete(agents), (), ratio) ** 2, exact, rtol=1e-10)


@pytest.mark.parametrize("ratio", SCALES)
@pytest.mark.parametrize("agents", [3, 10, 25])
def test_rings_have_their_closed_form(agents: int, ratio: float) -> None:
    angle = math.acosh(1.0 + 1.0 / (2.0 * ratio**2))
    exact = 1.0 / (math.tanh(agents * angle / 2.0) * 2.0 * ratio**2 * math.sinh(angle))
    found = masked_mu(circulant(agents, 1), (), ratio) ** 2
    np.testing.assert_allclose(found, exact, rtol=1e-10)


@pytest.mark.parametrize("ratio", SCALES)
@pytest.mark.parametrize("agents", [5, 10, 25])
def test_circulants_have_their_closed_form(agents: int, ratio: float) -> None:
    angle = 2.0 * np.pi * np.arange(agents) / agents
    waves = 4.0 - 2.0 * np.cos(angle) - 2.0 * np.cos(2.0 * angle)
    exact = np.mean(1.0 / (1.0 + ratio**2 * waves))
    found = masked_mu(circulant(agents, 1, 2), (), ratio) ** 2
    np.testing.assert_allclose(found, exact, rtol=1e-10)


def test_uniform_masks_are_the_limit_of_large_ones() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        graph = np.triu(rng.random((8, 8)) < 0.3, 1)
        graph |= graph.T
        coalition = rng.choice(8, 2, replace=False).tolist()
        np.testing.assert_allclose(
            masked_mu(graph, coalition, 1e9), masked_mu(graph, coalition, UNIFORM), rtol=1e-12
        )


@pytest.mark.parametrize(
    ("graph", "cost"),
    [
        (circulant(10, 1), [1.10, 1.22, 10.0]),
        (circulant(10, 1, 2), [1.10, 1.22, 1.375, 1.57, 10.0]),
        (complete(10), [1.10, 1.22, 1.375, 1.57, 1.83]),
    ],
)
def test_what_the_sum_costs_against_one_noise_for_all(graph: np.ndarray, cost: list[float]) -> None:
    """Ten agents, masks a tenth above uniform ones: a bound, and exact within a tenth of it."""
    for size, bound in enumerate(cost):
        ratio = mask_ratio(graph, size, 0.1)
        uniform = 10 * worst_masked_mu(graph, size) ** 2
        exact = 10 * worst_masked_mu(graph, size, ratio) ** 2
        hidden = not math.isclose(uniform, 10.0)
        assert uniform * (1.1 if hidden else 1.0) == pytest.approx(bound, abs=0.005)
        assert uniform <= exact * (1 + 1e-12) <= bound + 0.005


def test_the_parameter_is_that_of_the_likelihood_ratio() -> None:
    """The log-likelihood ratio of two neighbours has mean mu^2/2 and variance mu^2."""
    rng = np.random.default_rng(1)
    graph, ratio, victim, bad = circulant(6, 1), 1.5, 2, 0
    draws = 40_000
    noise = rng.normal(size=(draws, 6))
    for i in range(6):
        for j in range(i + 1, 6):
            if graph[i, j]:
                mask = ratio * rng.normal(size=draws)
                known = bad in (i, j)  # taken off by the coalition
                noise[:, i] += 0.0 if known else mask
                noise[:, j] -= 0.0 if known else mask
    honest = [i for i in range(6) if i != bad]
    among = graph[np.ix_(honest, honest)]
    covariance = np.eye(5) + ratio**2 * (np.diag(among.sum(axis=1).astype(float)) - among)
    np.testing.assert_allclose(np.cov(noise[:, honest].T), covariance, atol=0.15)
    change = np.array([float(i == victim) for i in honest])
    seen, precision = noise[:, honest], np.linalg.inv(covariance)
    # log of N(y; 0, S) over N(y; change, S)
    ratios = change @ precision @ change / 2 - seen @ precision @ change
    mu = masked_mu(graph, [bad], ratio)[victim]
    assert np.mean(ratios) == pytest.approx(mu**2 / 2, abs=4 * mu / math.sqrt(draws))
    assert np.var(ratios) == pytest.approx(mu**2, rel=0.04)


def test_who_is_absent_hides_nobody() -> None:
    everybody = complete(10)
    assert worst_masked_mu(everybody, 1, absent=2) == pytest.approx(1 / math.sqrt(7))
    assert worst_masked_mu(circulant(10, 1), 1, absent=1) == 1.0
    assert masked_mu(everybody, [3, 3, 4])[[3, 4]].tolist() == [0.0, 0.0]
    with pytest.raises(PrivacyError, match="leave none of 10 agents"):
        worst_masked_mu(everybody, 9, absent=1)
    with pytest.raises(PrivacyError, match="too many to try each"):
        worst_masked_mu(circulant(60, 1), 10)
    with pytest.raises(PrivacyError, match=r"1,000 sets of 1 of 1000 agents .* about 251 agents"):
        mask_ratio(circulant(1000, 1), 1, 0.1)


def test_no_masks_are_noise_alone() -> None:
    assert worst_masked_mu(np.zeros((4, 4), dtype=bool), 1) == 1.0
    assert worst_masked_mu(complete(4), 1, ratio=0.0) == pytest.approx(1.0)
    one = masked_multiplier(1.0, 1e-5, 300, 1.0)
    assert masked_multiplier(1.0, 1e-5, 300, 1 / 3) == pytest.approx(one / 3)


@pytest.mark.parametrize(
    "masks",
    [np.eye(3, dtype=bool), np.triu(np.ones((3, 3), dtype=bool), 1)],
)
def test_what_is_no_graph_of_masks_is_refused(masks: np.ndarray) -> None:
    with pytest.raises(PrivacyError, match="symmetric boolean matrix"):
        masked_mu(masks)


def test_numbers_out_of_range_are_refused() -> None:
    with pytest.raises(PrivacyError, match="ratio=-1"):
        masked_mu(complete(3), (), -1.0)
    with pytest.raises(PrivacyError, match="coalition=3"):
        masked_mu(complete(3), [3])
    with pytest.raises(PrivacyError, match="excess=0"):
        mask_ratio(complete(3), 1, 0.0)
    with pytest.raises(PrivacyError, match="releases=0"):
        masked_multiplier(1.0, 1e-6, 0, 1.0)
