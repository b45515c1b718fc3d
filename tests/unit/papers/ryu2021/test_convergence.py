"""Theorem 2 of DP-IADMM and what it is made of: held against runs of the algorithm's own steps."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tacit.errors import ConfigError
from tacit.method._dp_iadmm_step import proximal_point
from tacit.papers.ryu2021.convergence import (
    ConvergenceConstants,
    convergence_bound,
    server_condition,
    step_inequality,
)

AGENTS, SIZE, HALF = 5, 3, 1.0
CONSTANTS = ConvergenceConstants(gradient=2.0, diameter=3.0, sensitivity=0.5)
SETTING: dict[str, Any] = {
    "rounds": 16,
    "agents": 4,
    "parameters": 6,
    "epsilon": 0.25,
    "first_penalty": 2.0,
    "largest_penalty": 5.0,
    "violation_weight": 3.0,
    "first_dual": 1.0,
}


@pytest.mark.parametrize(
    ("form", "squared", "apart"), [("printed", 3.0, 3.0), ("corrected", 36.0, 6.0)]
)
def test_the_bound_term_by_term(form: Any, squared: float, apart: float) -> None:
    # P U1^2 = 16, 2 P n U3^2 / epsilon^2 = 192, sqrt T = 4
    by_hand = (16.0 + 192.0 + squared / 2.0) * 4.0 + 3.0 * apart + squared * 2.5 + 16.0 / 4.0
    assert convergence_bound(CONSTANTS, form=form, **SETTING) == pytest.approx(by_hand / 16.0)


def test_the_printed_theorem_fails_where_copies_start_far_apart() -> None:
    # no costs; half of 100 copies at either end of [-1/2, 1/2], so that w = 0 after one round
    agents, weight = 100, 1.0
    copies = np.repeat([[0.5], [-0.5]], agents // 2, axis=0)
    w = copies.mean(axis=0)
    assert server_condition(w, copies, np.zeros_like(copies), 1.0) == pytest.approx(0.0)
    left = weight * float(np.linalg.norm(w - copies))
    printed, corrected = (
        convergence_bound(
            ConvergenceConstants(0.0, 1.0, 0.0),
            rounds=1,
            agents=agents,
            parameters=1,
            epsilon=math.inf,
            first_penalty=1.0,
            largest_penalty=1.0,
            violation_weight=weight,
            form=form,
        )
        for form in ("printed", "corrected")
    )
    assert left == 5.0 and printed == pytest.approx(2.5) and corrected > left


Path = list[dict[str, np.ndarray]]

STEP = jax.jit(jax.vmap(proximal_point, in_axes=(None, 0, 0, 0, None, None)))
"""The library's own step, for all agents."""


def walk(rounds: int, noise: float, seed: int) -> tuple[Path, Callable[[np.ndarray], np.ndarray]]:
    """DP-IADMM-Prox on `||u - m_p||^2 / 2` over a box, by the library's own step; and the costs."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(0).uniform(-2.0, 2.0, (AGENTS, SIZE))
    z = rng.uniform(-HALF, HALF, (AGENTS, SIZE))
    duals, path = np.zeros((AGENTS, SIZE)), []
    for t in range(1, rounds + 1):
        rho = 0.5 + 0.5 * t / rounds
        w = np.mean(z - duals / rho, axis=0)
        gradient, xi = z - centres, noise * rng.laplace(size=z.shape)
        eta = 1.0 / math.sqrt(t)
        stacked = (jnp.asarray(each) for each in (w, duals, gradient + xi, z))
        after = np.asarray(STEP(*stacked, rho, eta)).clip(-HALF, HALF)
        moved = duals + rho * (w - after)
        path.append(
            {"w": w, "z": z, "after": after, "old": duals, "dual": moved, "xi": xi, "g": gradient}
            | {"rho": np.array(rho), "eta": np.array(eta)}
        )
        z, duals = after, moved
    return path, lambda u: 0.5 * np.sum((u - centres) ** 2, axis=-1)


@pytest.mark.usefixtures("float64")
def test_every_step_keeps_to_proposition_3_and_every_w_to_its_condition() -> None:
    path, cost = walk(25, noise=0.3, seed=1)
    rng = np.random.default_rng(2)
    slack = []
    for row in path:
        residual = server_condition(row["w"], row["z"], row["old"], float(row["rho"]))
        assert residual == pytest.approx(0.0, abs=1e-12)
        point = rng.uniform(-HALF, HALF, (AGENTS, SIZE))
        values = cost(row["z"]), cost(point)
        for p in range(AGENTS):
            left, right = step_inequality(
                before=float(values[0][p]),
                there=float(values[1][p]),
                gradient=row["g"][p],
                noise=row["xi"][p],
                z=row["z"][p],
                after=row["after"][p],
                dual=row["dual"][p],
                point=point[p],
                proximity=float(row["eta"]),
            )
            assert left <= right + 1e-12
            slack.append(right - left)
    assert min(slack) < 0.2  # it is no idle bound


@pytest.mark.usefixtures("float64")
def test_runs_keep_to_the_corrected_theorem() -> None:
    rounds, noise, weight = 30, 0.2, 1.0
    found = []
    for seed in range(20):
        path, cost = walk(rounds, noise, seed)
        w = np.mean([row["w"] for row in path], axis=0)
        z = np.mean([row["z"] for row in path], axis=0)
        # all copies at the mean of the centres, cut to the box
        best = np.random.default_rng(0).uniform(-2.0, 2.0, (AGENTS, SIZE)).mean(axis=0)
        best = np.broadcast_to(best.clip(-HALF, HALF), (AGENTS, SIZE))
        gap = float(np.sum(cost(z)) - np.sum(cost(best)))
        found.append(gap + weight * float(np.linalg.norm(w - z)))
    centres = np.random.default_rng(0).uniform(-2.0, 2.0, (AGENTS, SIZE))
    longest = float(np.linalg.norm(np.abs(centres) + HALF, axis=1).max())
    bound = convergence_bound(
        # noise of scale U3 / epsilon
        ConvergenceConstants(longest, 2.0 * HALF * math.sqrt(SIZE), noise),
        rounds=rounds,
        agents=AGENTS,
        parameters=SIZE,
        epsilon=1.0,
        first_penalty=0.5 + 0.5 / rounds,
        largest_penalty=1.0,
        violation_weight=weight,
    )
    assert np.mean(found) < bound


def test_bounds_for_the_softmax_model_hold_for_random_records() -> None:
    features, classes, agents, records, half = 6, 4, 3, 5, 0.7
    rng = np.random.default_rng(0)
    total = agents * records
    constants = ConvergenceConstants.softmax(
        features=features,
        classes=classes,
        total=float(total),
        largest=float(records),
        agents=agents,
        half_width=half,
        regulariser=0.3,
        relation="replace_one",
    )
    assert constants.diameter == pytest.approx(2.0 * half * math.sqrt(24.0))
    assert constants.sensitivity == pytest.approx(4.0 * features / total)

    def gradient(u: np.ndarray, rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
        scores = np.exp(rows @ u)
        likely = scores / scores.sum(axis=1, keepdims=True)
        return rows.T @ (likely - np.eye(classes)[labels]) / total + 2.0 * 0.3 / agents * u

    for _ in range(200):
        u = rng.choice([-half, half], (features, classes))
        rows, labels = rng.uniform(size=(records, features)), rng.integers(0, classes, records)
        other, changed = rows.copy(), labels.copy()
        other[0], changed[0] = rng.uniform(size=features), rng.integers(0, classes)
        one, two = gradient(u, rows, labels), gradient(u, other, changed)
        assert np.linalg.norm(one) <= constants.gradient
        assert np.abs(one - two).sum() <= constants.sensitivity


def test_the_bound_falls_with_the_root_of_the_rounds_and_the_square_of_epsilon() -> None:
    large = SETTING | {"rounds": 10**8}
    more = convergence_bound(CONSTANTS, **(large | {"rounds": 10**10}))
    assert convergence_bound(CONSTANTS, **large) / more == pytest.approx(10.0, rel=1e-2)
    noisy = [convergence_bound(CONSTANTS, **(large | {"epsilon": e})) for e in (1e-4, 1e-5)]
    assert noisy[1] / noisy[0] == pytest.approx(100.0, rel=1e-2)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"rounds": 0}, "rounds=0"),
        ({"agents": 0}, "agents=0"),
        ({"parameters": 0}, "parameters=0"),
        ({"epsilon": 0.0}, "epsilon=0.0"),
        ({"epsilon": math.nan}, "epsilon=nan"),
        ({"first_penalty": 6.0}, "penalties never fall"),
        ({"first_penalty": 0.0}, "first_penalty=0.0"),
        ({"violation_weight": math.inf}, "violation_weight=inf"),
        ({"first_dual": -1.0}, "first_dual=-1.0"),
    ],
)
def test_numbers_out_of_range(change: dict[str, Any], word: str) -> None:
    with pytest.raises(ConfigError, match=word):
        convergence_bound(CONSTANTS, **(SETTING | change))


def test_constants_out_of_range() -> None:
    with pytest.raises(ConfigError, match=r"diameter=-1\.0"):
        ConvergenceConstants(1.0, -1.0, 1.0)
    model: dict[str, Any] = {
        "features": 3,
        "classes": 2,
        "total": 10.0,
        "largest": 5.0,
        "agents": 2,
        "half_width": 1.0,
    }
    for change, word in (
        ({"classes": 1}, "classes=1"),
        ({"largest": 11.0}, "at most total"),
        ({"half_width": 0.0}, "half_width=0.0"),
        ({"regulariser": -1.0}, "regulariser=-1.0"),
        ({"relation": "metric"}, "whole costs"),
    ):
        with pytest.raises(ConfigError, match=word):
            ConvergenceConstants.softmax(**(model | change))
    with pytest.raises(ConfigError, match=r"penalty=0\.0"):
        server_condition(np.zeros(1), np.zeros((2, 1)), np.zeros((2, 1)), 0.0)
    with pytest.raises(ConfigError, match=r"proximity=0\.0"):
        step_inequality(
            before=0.0,
            there=0.0,
            gradient=np.zeros(1),
            noise=np.zeros(1),
            z=np.zeros(1),
            after=np.zeros(1),
            dual=np.zeros(1),
            point=np.zeros(1),
            proximity=0.0,
        )
