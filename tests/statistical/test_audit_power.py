"""How close lower bounds come to the true epsilon of exact mechanisms, and how rarely above it."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
import pytest

from tacit.audit import lower_bounds, trials_for_power
from tacit.audit.scores import gaussian_log_ratio, laplace_log_ratio
from tacit.privacy.gaussian_dp import mu_from_epsilon
from tests.quick import only

DELTA, RUNS = 1e-5, 50_000
SHARES = {0.1: 0.6, 0.5: 0.85, 1.0: 0.85, 3.0: 0.85}
"""Share of the true epsilon that the bound must reach with so many runs a side, on average."""

REPETITIONS, MOST = 200, 21
"""21 of 200 bounds above the truth are the 99.9 % point at an error of 5 %."""


def laplace(rng: np.random.Generator, epsilon: float, runs: int) -> tuple[Any, Any]:
    """Scores of `x + Lap(1 / epsilon)` at 1 and at 0."""
    noise = rng.laplace(scale=1.0 / epsilon, size=(2, runs, 1))
    one, other = noise + np.array([1.0, 0.0]).reshape(2, 1, 1)
    scale = 1.0 / epsilon
    return laplace_log_ratio(one, 1.0, 0.0, scale), laplace_log_ratio(other, 1.0, 0.0, scale)


def gaussian(rng: np.random.Generator, epsilon: float, runs: int) -> tuple[Any, Any]:
    """Scores of Gaussian noise that costs exactly `epsilon` at `DELTA`."""
    scale = 1.0 / mu_from_epsilon(epsilon, DELTA)
    noise = rng.normal(scale=scale, size=(2, runs, 1))
    one, other = noise + np.array([1.0, 0.0]).reshape(2, 1, 1)
    return gaussian_log_ratio(one, 1.0, 0.0, scale), gaussian_log_ratio(other, 1.0, 0.0, scale)


MECHANISMS: dict[str, tuple[Any, dict[str, Any]]] = {
    "laplace": (laplace, {"delta": 0.0}),
    "gaussian": (gaussian, {"delta": DELTA, "gaussian": True}),
}


def bounds(name: str, epsilon: float, runs: int, repetitions: int, seed: int = 0) -> Any:
    """The largest lower bound of each repetition."""
    draw, settings = MECHANISMS[name]
    rng = np.random.default_rng(seed)
    return np.array(
        [
            max(b.epsilon for b in lower_bounds(*draw(rng, epsilon, runs), **settings))
            for _ in range(repetitions)
        ]
    )


@pytest.mark.parametrize("epsilon", only({"1.0"}, SHARES))
@pytest.mark.parametrize("name", only({"gaussian"}, MECHANISMS, pytest.mark.long))
def test_bounds_come_close_and_rarely_exceed_the_truth(name: str, epsilon: float) -> None:
    # 200 repetitions of so many runs are below, marked slow
    found = bounds(name, epsilon, RUNS, repetitions=6)
    assert found.mean() >= SHARES[epsilon] * epsilon
    # 13 of 100 are the 99.9 % point, too
    assert np.sum(bounds(name, epsilon, 500, 100, seed=1) > epsilon) <= 13


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", SHARES)
@pytest.mark.parametrize("name", MECHANISMS)
def test_two_hundred_bounds_at_fifty_thousand_runs(name: str, epsilon: float) -> None:
    found = bounds(name, epsilon, RUNS, REPETITIONS)
    assert found.mean() >= SHARES[epsilon] * epsilon
    assert np.sum(found > epsilon) <= MOST


@pytest.mark.long
def test_at_a_large_epsilon_the_number_of_runs_is_the_limit() -> None:
    ceiling = math.log(RUNS / 3.7)  # of Clopper-Pearson with a perfect attack
    perfect = lower_bounds(np.ones(RUNS), np.zeros(RUNS), delta=0.0)
    assert max(b.epsilon for b in perfect) > ceiling > 8.0
    found = bounds("laplace", 8.0, RUNS, repetitions=5)
    assert np.all(found > 0.85 * 8.0) and np.all(found < 8.0)


@pytest.mark.parametrize(
    ("name", "claim", "factor", "most"),
    [
        pytest.param("laplace", 1.0, 1.25, 1500, marks=pytest.mark.long),
        pytest.param("laplace", 1.0, 1.5, 408, marks=pytest.mark.long),
        ("laplace", 1.0, 2.0, 135),
        pytest.param("laplace", 0.1, 2.0, 3900, marks=pytest.mark.long),
        pytest.param("gaussian", 1.0, 2.0, 752, marks=pytest.mark.slow),
    ],
)
def test_nine_of_ten_audits_refute_in_the_planned_number_of_runs(
    name: Literal["gaussian", "laplace"], claim: float, factor: float, most: int
) -> None:
    delta = MECHANISMS[name][1]["delta"]
    needed = trials_for_power(claim, delta, factor=factor, kind=name)
    assert needed is not None and needed <= most
    # `factor` times less noise: as many times the distance, or the epsilon
    draw, settings = MECHANISMS[name]
    rng, mu = np.random.default_rng(4), factor * mu_from_epsilon(claim, DELTA)
    refuted = 0
    for _ in range(100):
        if name == "gaussian":
            one, other = rng.normal(size=(2, needed))
            scores = one + mu, other
        else:
            scores = draw(rng, claim * factor, needed)
        refuted += max(b.epsilon for b in lower_bounds(*scores, **settings)) > claim
    assert refuted >= 80  # the 0.1 % point of 100 at 0.9
