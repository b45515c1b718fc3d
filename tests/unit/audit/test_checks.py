"""Tests of noise and samples: they find each fault, and leave what is right alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from tacit.audit.checks import ALARM, MOST, normal_checks, sample_checks, standard
from tests.quick import only

ROWS, COLUMNS, SIZE = 60, 12, 3
NAMES = [f"draw {i}" for i in range(COLUMNS)]


def draws(seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=(ROWS, COLUMNS, SIZE))


def failed(values: Any, resolution: float = 0.0) -> set[str]:
    found = normal_checks("noise", values, NAMES, resolution)
    return {check.what for check in found if check.failed}


def test_right_noise_passes_and_chances_are_no_smaller_than_they_say() -> None:
    found = [check for seed in range(300) for check in normal_checks("n", draws(seed), NAMES)]
    chances = np.array([check.chance for check in found])
    assert len(found) == 5 * 300 and not any(check.failed for check in found)
    assert ALARM / MOST < 1e-7
    for level in (0.05, 0.01):
        # 99.99 % point of the number of findings, if each had just its chance
        assert np.sum(chances < level) <= stats.binom.ppf(0.9999, len(found), level)


def left_out(values: Any) -> Any:
    values[7, 3] = 0.0
    return values


def copied(values: Any) -> Any:
    values[:, 5] = values[:, 2]
    return values


def turned(values: Any) -> Any:
    values[:, 5] = -0.8 * values[:, 2] + 0.6 * values[:, 5]
    return values


def spread_over_entries(values: Any) -> Any:
    return np.broadcast_to(values[..., :1], values.shape)


def seldom_repeated(values: Any) -> Any:
    values[10, 1] = values[40, 8]
    return values


@pytest.mark.parametrize(
    ("fault", "finds"),
    [
        (lambda values: 0.8 * values, {"size"}),
        (left_out, {"no draw without noise"}),
        (copied, {"draws are independent", "no repeated numbers"}),
        (turned, {"draws are independent"}),
        (spread_over_entries, {"entries are independent", "no repeated numbers"}),
        (seldom_repeated, {"no repeated numbers"}),
    ],
)
def test_each_fault_is_found_for_what_it_is(fault: Any, finds: set[str]) -> None:
    assert failed(fault(draws())) == finds


def test_more_noise_than_needed_and_a_coarse_grid_are_no_fault() -> None:
    assert failed(1.5 * draws()) == set()
    step = 1e-2  # so coarse that zeros and equal numbers are common
    assert failed(np.round(draws() / step) * step, resolution=step) == set()


@pytest.mark.parametrize("law", ["gaussian", "laplace", "l2_laplace"])
def test_noise_of_every_law_becomes_normal(law: str) -> None:
    rng = np.random.default_rng(1)
    noise = rng.normal(size=(5000, SIZE))
    if law == "laplace":
        noise = rng.laplace(size=noise.shape)
    if law == "l2_laplace":
        noise /= np.linalg.norm(noise, axis=1, keepdims=True)
        noise *= rng.gamma(SIZE, size=(5000, 1))
    normal = standard(noise, law)
    assert np.all(np.sign(normal) == np.sign(noise))
    assert all(stats.kstest(normal[:, i], "norm").pvalue > 1e-4 for i in range(SIZE))
    assert standard(np.zeros((1, SIZE)), law).tolist() == [[0.0] * SIZE]


@pytest.mark.parametrize("rate", only({"0.2"}, [0.01, 0.2, 0.9], pytest.mark.long))
def test_samples_of_the_right_rate_that_are_drawn_anew_pass(rate: float) -> None:
    for seed in range(100):
        taken = np.random.default_rng(seed).random((400, COLUMNS)) < rate
        assert not any(check.failed for check in sample_checks("s", taken, rate, NAMES))


@pytest.mark.parametrize("rate", only({"0.2"}, [0.01, 0.2, 0.9], pytest.mark.long))
def test_faulty_samples_are_found(rate: float) -> None:
    taken = np.random.default_rng(0).random((2000, COLUMNS)) < rate
    all_of_them = sample_checks("s", np.ones_like(taken), rate, NAMES)
    assert all_of_them[0].failed and "is charged" in all_of_them[0].sentence()
    taken[:, 4] = taken[:, 9]
    rated, related = sample_checks("s", taken, rate, NAMES)
    assert not rated.failed and related.failed
    assert "draw 4 and draw 9" in related.found
