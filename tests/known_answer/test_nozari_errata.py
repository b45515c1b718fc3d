"""Section VI-A2 and figure 1 of Nozari, Tallapragada, Cortes, beside what holds.

The statements about accuracy stand in `tests/unit/papers/nozari2016/test_accuracy.py` and
`test_functional_argmin.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import lsq_linear
from scipy.special import expit

from tacit.papers.nozari2016.pdop_runs import RATIO, ROUNDS, STEP
from tacit.papers.nozari2016.problem import AGENTS, HALF, RECORDS, STRENGTH, Costs


@pytest.mark.parametrize("points", [51, 101])
def test_the_nearest_function_has_a_second_derivative_that_jumps(points: int) -> None:
    """Section VI-A2 projects on a set of C^2, which need not have a nearest point."""
    alpha, beta = 1.0, 20.0
    x = np.linspace(-1.0, 1.0, points)
    ramps = np.maximum(x[:, None] - x[None, 1:-1], 0.0) * (x[1] - x[0])
    # value and slope at -1, and the second derivative at all points between
    matrix = np.column_stack([np.ones(points), x + 1.0, ramps])
    free = [np.inf, np.inf]
    lower = np.concatenate([np.negative(free), np.full(points - 2, alpha)])
    upper = np.concatenate([free, np.full(points - 2, beta)])
    bends = lsq_linear(matrix, x**3, (lower, upper), method="bvls", tol=1e-12).x[2:]
    between = (bends > alpha + 1e-6) & (bends < beta - 1e-6)
    # from alpha to beta over at most one point of the grid, however fine that is
    assert between.sum() <= 1 and bends[0] == alpha and bends[-1] == beta


def silent_end(costs: Costs, start: Any) -> float:
    """How far PDOP of figure 1 without noise ends from the minimiser, mean over the agents."""
    x = np.broadcast_to(np.asarray(start, dtype=float), (AGENTS, 2))
    for t in range(ROUNDS):
        z = np.tile(x.mean(axis=0), (AGENTS, 1))  # complete graph, equal weights
        margins = costs.labels * np.einsum("ajd,ad->aj", costs.rows, z)
        slope = np.einsum("aj,ajd->ad", -costs.labels * expit(-margins), costs.rows)
        slope += RECORDS * STRENGTH * z
        x = np.clip(z - STEP * RATIO**t * slope, -HALF, HALF)
    return float(np.linalg.norm(x - costs.best, axis=1).mean())


def test_pdop_of_figure_1_ends_away_from_the_minimiser_without_noise_too() -> None:
    rng = np.random.default_rng(0)
    costs = [Costs(np.random.default_rng(seed)) for seed in range(3)]
    # from 0, which happens to lie near it, from a random point of one's own or the same for all,
    # and from a corner
    assert all(0.05 < silent_end(each, [0.0, 0.0]) < 0.3 for each in costs)
    ends = [silent_end(each, rng.uniform(-HALF, HALF, 2)) for each in costs for _ in range(20)]
    assert 3.0 < np.mean(ends) < 5.0
    own = [rng.uniform(-HALF, HALF, (AGENTS, 2)) for _ in range(20)]
    assert 2.0 < np.mean([silent_end(each, start) for each in costs for start in own]) < 3.0
    assert all(4.5 < silent_end(each, [HALF, HALF]) < 5.0 for each in costs)
