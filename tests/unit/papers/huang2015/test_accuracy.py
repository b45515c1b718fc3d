"""The accuracy argument of PDOP's paper: printed formulas, and where the corrected ones stand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tacit.errors import ConfigError
from tacit.method.forms import Form
from tacit.papers.huang2015.accuracy import accuracy_recursion, scheduled_accuracy
from tacit.papers.huang2015.bounds import consensus_bound, printed_accuracy

SQUARE: dict[str, Any] = {
    "diameter": 8.0**0.5,
    "gradient_bound": 32.0**0.5,
    "curvature": 2.0,
    "dimension": 2,
}
SCHEDULE: dict[str, Any] = {"step": 0.05, "ratio": 0.6, "noise_ratio": 0.9, "epsilon": 4.0}


def rounds_of(count: int) -> tuple[np.ndarray, np.ndarray]:
    """`gamma_t` and `M_t` of eq (8)."""
    c, q, p = SCHEDULE["step"], SCHEDULE["ratio"], SCHEDULE["noise_ratio"]
    first = (
        2.0 * SQUARE["gradient_bound"] * math.sqrt(2.0) * c * p / (SCHEDULE["epsilon"] * (p - q))
    )
    t = np.arange(count)
    return c * q**t, first * p**t


def recursion(count: int, form: Form, start: float = 8.0**0.5, **more: Any) -> np.ndarray:
    steps, scales = rounds_of(count)
    setting = {name: value for name, value in SQUARE.items() if name != "diameter"}
    return accuracy_recursion(steps, scales, start=start, form=form, **setting, **more)


def test_theorem_10_is_the_printed_bound_for_ever() -> None:
    found = scheduled_accuracy(form="printed", **SCHEDULE, **SQUARE)
    assert found == printed_accuracy(0.05, 0.6, 0.9, epsilon=4.0, **SQUARE)
    # eq (27) in the limit has 2 C1 where (15) has C1, and a product for the exponential
    late = scheduled_accuracy(rounds=500, form="printed", **SCHEDULE, **SQUARE)
    product = float(np.prod(1.0 - 2.0 * rounds_of(500)[0]))
    bias = SQUARE["diameter"] * (2.0 * product - math.exp(-2.0 * 0.05 / 0.4))
    assert late - found == pytest.approx(bias)


def test_eq_27_by_hand() -> None:
    # t = 2: (1 - 2 * .05)(1 - 2 * .03)
    found = scheduled_accuracy(rounds=2, form="printed", **SCHEDULE, **SQUARE)
    noise = 2.0 * float(np.sum(rounds_of(2000)[1] ** 2))
    by_hand = 2.0 * 8.0**0.5 * 0.9 * 0.94 + 32.0 * 0.0025 / 0.64 + noise
    assert found == pytest.approx(by_hand, rel=1e-12)


@pytest.mark.parametrize("count", [1, 3, 40])
def test_eq_27_bounds_what_eq_25_leads_to(count: int) -> None:
    # in either form, from S(0) = C1^2; the printed one from the 2 C1 that it takes for it
    mixing = {"contraction": 0.7, "apart": 0.3}
    corrected = recursion(count, "corrected", **mixing)[-1]
    bound = scheduled_accuracy(rounds=count, **SCHEDULE, **SQUARE, **mixing)
    assert 0.5 * bound < corrected <= bound
    printed = recursion(count, "printed", start=math.sqrt(2.0 * 8.0**0.5))[-1]
    assert printed <= scheduled_accuracy(rounds=count, form="printed", **SCHEDULE, **SQUARE)
    assert bound <= scheduled_accuracy(rounds=1, **SCHEDULE, **SQUARE, **mixing)


def test_the_corrected_bound_for_ever_term_by_term() -> None:
    b, a = 0.7, 0.3
    steps, scales = rounds_of(4000)
    disagreement, apart, before = 0.0, a, 0.0
    for step, scale in zip(steps, scales, strict=True):
        apart = b * (apart + before * SQUARE["gradient_bound"] + math.sqrt(4.0) * scale)
        disagreement += 2.0 * step * SQUARE["gradient_bound"] * apart
        before = step
    by_hand = 8.0 * math.exp(-0.25) + float(np.sum((SQUARE["gradient_bound"] * steps) ** 2))
    by_hand += 4.0 * float(np.sum(scales**2)) + disagreement
    found = scheduled_accuracy(contraction=b, apart=a, **SCHEDULE, **SQUARE)
    assert found == pytest.approx(by_hand, rel=1e-9)


def test_eq_25_takes_one_coordinate_s_noise_for_a_vector_s() -> None:
    # one agent starts at the optimum of ||x||^2 / 2 in four dimensions; the box is out of reach
    n, scale, step, trials = 4, 1.0, 1e-3, 20_000
    noise = scale * np.random.default_rng(0).laplace(size=(trials, n))
    squared = float(np.mean(np.sum(((1.0 - step) * noise) ** 2, axis=1)))
    common: dict[str, Any] = {
        "curvature": 1.0,
        "gradient_bound": 200.0,
        "start": 0.0,
        "dimension": n,
        "contraction": 0.0,
    }
    printed, corrected = (
        accuracy_recursion([step], [scale], form=form, **common)[-1]
        for form in ("printed", "corrected")
    )
    assert printed < 0.3 * squared < squared < corrected < 1.02 * squared


def drifted(contraction: float, step: float, ratio: float, rounds: int) -> float:
    """Squared distance of the mean of two agents: Hessians 1 and 9, minimisers 1 and -1, no noise.

    It bounds `S` from below, which is a mean of squared distances.
    """
    first = second = 0.0
    for _ in range(rounds):
        mean, half = (first + second) / 2.0, contraction * (first - second) / 2.0
        first = min(mean + half - step * (mean + half - 1.0), 1.0)
        second = max(mean - half - 9.0 * step * (mean - half + 1.0), -1.0)
        step *= ratio
    return ((first + second) / 2.0 + 0.8) ** 2


def test_disagreement_is_what_theorem_10_leaves_out() -> None:
    step, ratio, slow = 5e-4, 1.0 - 1e-4, 1.0 - 2e-8
    setting: dict[str, Any] = {
        "noise_ratio": ratio ** (1.0 / 3.0),
        "epsilon": 1e9,
        "diameter": 2.0,
        "gradient_bound": 18.0,
        "curvature": 1.0,
        "dimension": 1,
    }
    found = drifted(slow, step, ratio, 60_000)
    printed, corrected = (
        scheduled_accuracy(step, ratio, contraction=slow, form=form, **setting)
        for form in ("printed", "corrected")
    )
    assert printed == pytest.approx(0.419, abs=1e-3) and found == pytest.approx(0.634, abs=1e-3)
    assert printed < found < corrected
    # where agents mix fast both hold
    fast = drifted(0.2, step, ratio, 60_000)
    assert fast < scheduled_accuracy(step, ratio, contraction=0.2, **setting) < 3.0


def test_the_corrected_recursion_bounds_runs_with_noise() -> None:
    # the algorithm of the paper with P_X z for z: four agents on a ring with weights of a third
    rng = np.random.default_rng(0)
    trials, rounds, agents, n, half = 400, 15, 4, 2, 1.0
    centres = rng.uniform(-1.0, 1.0, (agents, n))
    weights = np.array([[1, 1, 0, 1], [1, 1, 1, 0], [0, 1, 1, 1], [1, 0, 1, 1]]) / 3.0
    contraction = float(np.abs(np.sort(np.linalg.eigvalsh(weights)))[:-1].max())
    steps, scales = 0.4 * 0.7 ** np.arange(rounds), 0.3 * 0.9 ** np.arange(rounds)
    best = centres.mean(axis=0)
    x = np.broadcast_to([half, -half], (trials, agents, n))
    start = float(np.linalg.norm(x[0, 0] - best))
    bounds = accuracy_recursion(
        steps,
        scales,
        curvature=1.0,
        gradient_bound=math.sqrt(8.0),  # of x - centre on the square
        start=start,
        dimension=n,
        contraction=contraction,
    )
    for t in range(rounds):
        sent = x + scales[t] * rng.laplace(size=x.shape)
        v = np.clip(np.einsum("ij,tjk->tik", weights, sent), -half, half)
        x = np.clip(v - steps[t] * (v - centres), -half, half)
        assert np.mean(np.sum((x - best) ** 2, axis=2)) < bounds[t]


def test_lemma_7_in_both_forms() -> None:
    steps, noise = np.array([0.3, 0.2]), np.array([1.0, 0.5])
    setting: dict[str, Any] = {
        "agents": 2,
        "smallest_weight": 0.5,
        "gradient_bound": 2.0,
        "radius": 3.0,
    }
    beta = 1.0 - 0.5 / 16.0
    factor = 4.0 / beta**2  # 2 N theta
    for form, power in (("printed", 1), ("corrected", 0)):
        # M1 beta^2 + M2 (beta gamma_1 + gamma_2) + M3 (beta^(1+p) ||w_1|| + beta^p ||w_2||)
        by_hand = factor * (3.0 * beta**2 + 2.0 * (beta * 0.3 + 0.2))
        by_hand += factor * beta**power * (beta * 1.0 + 0.5)
        found = consensus_bound(steps, noise, form=form, **setting)
        assert found[-1] == pytest.approx(by_hand)
    with pytest.raises(ConfigError, match=r"radius=-3\.0"):
        consensus_bound(steps, noise, **(setting | {"radius": -3.0}))
    with pytest.raises(ConfigError, match="noise="):
        consensus_bound(steps, -noise, **setting)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({}, "needs contraction"),
        ({"contraction": 1.5}, "contraction=1.5"),
        ({"form": "printed", "step": 0.0}, "step=0.0"),
        ({"form": "printed", "step": 0.6, "rounds": 3}, "exceeds one over"),
        ({"contraction": 0.5, "step": 0.6}, "exceeds one over"),
        ({"form": "printed", "ratio": 1.0}, "ratio=1.0"),
        ({"form": "printed", "noise_ratio": 0.6}, "noise_ratio=0.6"),
        ({"form": "printed", "noise_ratio": 1.0}, "noise_ratio=1.0"),
        ({"form": "printed", "rounds": 0}, "rounds=0"),
        ({"form": "printed", "epsilon": math.inf}, "epsilon=inf"),
        ({"contraction": 0.5, "apart": -1.0}, "apart=-1.0"),
        ({"form": "printed", "dimension": 0}, "dimension=0"),
    ],
)
def test_arguments_of_a_schedule(change: dict[str, Any], word: str) -> None:
    with pytest.raises(ConfigError, match=word):
        scheduled_accuracy(**(SCHEDULE | SQUARE | change))


def test_arguments_of_the_recursion() -> None:
    with pytest.raises(ConfigError, match="same rounds"):
        accuracy_recursion(
            [0.1, 0.1],
            [0.1],
            curvature=1.0,
            gradient_bound=1.0,
            start=1.0,
            dimension=1,
            form="printed",
        )
    with pytest.raises(ConfigError, match=r"a step of 0\.6 exceeds"):
        accuracy_recursion(
            [0.6],
            [0.1],
            curvature=2.0,
            gradient_bound=1.0,
            start=1.0,
            dimension=1,
            form="printed",
        )
