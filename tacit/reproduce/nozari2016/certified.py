"""Example III.2 by the certified functional perturbation, on quadratics."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

import tacit
from tacit import Privacy, Simulation, network, problem
from tacit.method import DGD, CurvatureBounds, FunctionalPerturbation, QuadraticBasis
from tacit.reproduce.nozari2016.problem import AGENTS, HALF, RECORDS, STRENGTH, Costs

ROUNDS = 300
"""Enough for gradient descent at a condition of 51."""


def quadratic(epsilons: Sequence[float], runs: int, trials: int) -> dict[str, Any]:
    """Distances from the minimiser at epsilons for replacing one record.

    Args:
        epsilons: of the whole run, for each of which it is made.
        runs: draws of the records, with the seeds of the runs of figure 2.
        trials: draws of the noise for each.

    Returns:
        "distance": for every epsilon, one mean a draw of the records; "loss": as stated.
    """
    basis = QuadraticBasis([-HALF, -HALF], [HALF, HALF])
    # a logistic loss bends by at most ||a||^2 / 4, and here ||a||^2 <= 2
    bounds = CurvatureBounds(0.0, RECORDS / 2.0)
    inner = DGD(step=1.0 / (RECORDS * (STRENGTH + 0.5)))
    distances: list[list[float]] = []
    losses: list[float] = []
    for epsilon in epsilons:
        method = FunctionalPerturbation(
            inner,
            basis,
            bounds,
            privacy=Privacy(clip=_clip(basis), epsilon=epsilon, delta=0.0, noise="laplace"),
        )
        found = []
        for seed in range(runs):
            costs = Costs(np.random.default_rng(seed))
            result = tacit.run(
                _task(costs),
                network.complete(AGENTS),
                method,
                rounds=ROUNDS,
                seed=seed,
                record=[],
                runtime=Simulation(trials=trials),
                require="proved",
            )
            answers = result.solutions.mean(axis=1)
            found.append(float(np.linalg.norm(answers - costs.best, axis=1).mean()))
            losses.append(float(result.guarantee.worst.epsilon))
        distances.append(found)
    return {"distance": distances, "loss": losses[::runs]}


def _task(costs: Costs) -> problem.Problem:
    """The example as a problem of records."""
    return problem.empirical_risk(
        list(costs.rows),
        list(costs.labels > 0.0),
        problem.Logistic(),
        regulariser=problem.L2(AGENTS * RECORDS * STRENGTH / 2.0),
        constraint=problem.Box(-HALF, HALF),
        weighting="sum",
    )


def _clip(basis: QuadraticBasis) -> float:
    """The largest l1 norm of a record's coefficients among the corners of what a record may be."""
    points, operator = np.asarray(basis.points), np.asarray(basis.operator)
    corners = np.array(list(itertools.product([0.0, 1.0], repeat=2)))
    values = np.concatenate(
        [np.logaddexp(0.0, -label * points @ corners.T) for label in (-1.0, 1.0)], axis=1
    )
    return float(np.abs((operator @ values)[1:]).sum(axis=0).max())
