"""A private quantile regression: the waiting time that nine patients in ten stay below.

Hospital `k` knows when its patients came (`u`, in units of half a day from noon, between -1 and 1)
and how long they waited (`v` hours). All hospitals together fit the conditional 90 % quantile

    min_x sum_k (1/N_k) sum_j level * max(v - q(u), 0) + (1 - level) * max(q(u) - v, 0),
    q(u) = x_0 + x_1 u + x_2 u^2,

the loss of Koenker and Bassett (1978). Its slope is at most `level`, and the features are at most
sqrt(3) long, so each patient's gradient is bounded without a clip to choose. A coordinator that
need not be trusted averages noised gradients.

    python examples/quantile_regression.py --level 0.9 --epsilon 1
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

import tacit
from tacit import Privacy, network, problem
from tacit.method import FedAvg

Hospitals = tuple[list[Float[np.ndarray, "n 3"]], list[Float[np.ndarray, " n"]]]
"""Features `1, u, u^2` and waiting times, one table a hospital."""


def visits(hospitals: int, each: int, seed: int) -> Hospitals:
    """Waiting times that are longest, and most uncertain, around noon.

    Args:
        hospitals: how many.
        each: visits a hospital.
        seed: of the records.
    """
    rng = np.random.default_rng(seed)
    arrivals = [rng.uniform(-1.0, 1.0, each) for _ in range(hospitals)]
    waits = [
        1.0 + (1.0 - u**2) * (1.0 + rng.exponential(0.5, each)) + rng.uniform(0.0, 0.5, each)
        for u in arrivals
    ]
    return [np.stack([np.ones_like(u), u, u**2], axis=1) for u in arrivals], waits


def regression(data: Hospitals, level: float) -> problem.Problem:
    """The problem of fitting one conditional quantile.

    Args:
        data: one table a hospital.
        level: which quantile, in (0, 1).
    """
    features, waits = data
    return problem.empirical_risk(
        features,
        waits,
        problem.Quantile(level),
        feature_names=("noon", "slope", "curvature"),
        bounds=problem.RecordBounds(row=3.0**0.5),
    )


def fit(
    data: Hospitals, level: float, epsilon: float, *, rounds: int = 60, seed: int = 0
) -> tacit.Result:
    """Fit the quantile through a coordinator, five local steps between two visits.

    Args:
        data: one table a hospital.
        level: which quantile, in (0, 1).
        epsilon: of every patient, for the whole run at delta = 1e-6; positive.
        rounds: of the run.
        seed: of the simulated noise.
    """
    task = regression(data, level)
    privacy = Privacy(clip=np.inf, epsilon=epsilon, delta=1e-6)
    method = FedAvg(step=1.0, local_steps=5, decay=0.5, privacy=privacy)
    star = network.Coordinator(task.agents)
    return tacit.run(task, star, method, rounds=rounds, seed=seed, require="proved")


def coverage(x: Float[np.ndarray, " 3"], data: Hospitals) -> float:
    """Share of the waiting times that stay below the fitted quantile.

    Args:
        x: the coefficients.
        data: one table a hospital.
    """
    features, waits = (np.concatenate(part) for part in data)
    return float(np.mean(waits <= features @ x))


def main(arguments: Sequence[str] | None = None) -> None:
    """Draw visits, fit, and print both fits, their coverage, and what was promised."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--hospitals", type=int, default=5)
    parser.add_argument("--visits", type=int, default=1000)
    parser.add_argument("--level", type=float, default=0.9)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    given: Any = parser.parse_args(arguments)
    data = visits(given.hospitals, given.visits, given.seed)
    new = visits(given.hospitals, 2000, given.seed + 1)
    result = fit(data, given.level, given.epsilon, seed=given.seed)
    best = problem.solve(regression(data, given.level)).solution
    for name, x in (("without privacy", best), ("with privacy", result.solution)):
        print(f"{name:15s} {x.round(3)}, {100 * coverage(x, new):.1f} % of new waits stay below")
    print(result.guarantee.sentence())


if __name__ == "__main__":
    main()
