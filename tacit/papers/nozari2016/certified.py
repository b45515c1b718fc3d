"""Example III.2 by the certified functional perturbation, on quadratics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import tacit
from tacit import Privacy, Simulation, network, problem
from tacit.method import (
    CurvatureBounds,
    FunctionalPerturbation,
    GradientDescent,
    QuadraticBasis,
    record_ball,
)
from tacit.papers.nozari2016.problem import AGENTS, HALF, RECORDS, STRENGTH, Costs

TIME_CONSTANTS = 12
"""Rounds of gradient descent over the condition number, for an error of `exp(-12)`."""


def quadratic(
    epsilons: Sequence[float],
    runs: int,
    trials: int,
    *,
    dimension: int = 2,
    first: int = 0,
    share: float = 1.0,
    **basis_options: float,
) -> dict[str, Any]:
    """Distances from the minimiser at epsilons for replacing one record.

    Args:
        epsilons: epsilons of the whole run.
        runs: number of draws of the records, with the seeds of the runs of figure 2.
        trials: number of draws of the noise for each.
        dimension: number of parameters; 2 in the paper.
        first: seed of the first run.
        share: clip as a share of the radius of the ball of all records.
        basis_options: options of `QuadraticBasis`.

    Returns:
        "distance": for every epsilon, one mean per draw of the records; "loss": as stated.
    """
    corner = np.full(dimension, HALF)
    basis = QuadraticBasis(-corner, corner, **basis_options)
    # a logistic loss bends by at most ||a||^2 / 4, and here ||a||^2 <= dimension
    bounds = CurvatureBounds(0.0, RECORDS * dimension / 4.0)
    ends = np.zeros(dimension), np.ones(dimension), [0.0, 1.0]
    ball = record_ball(basis, problem.Logistic(), *ends)
    condition = 1.0 + dimension / (4.0 * STRENGTH)
    inner = GradientDescent(step=1.0 / (RECORDS * STRENGTH * condition))
    distances: list[list[float]] = []
    losses: list[float] = []
    for epsilon in epsilons:
        method = FunctionalPerturbation(
            inner,
            basis,
            bounds,
            centre=ball.centre,
            privacy=Privacy(clip=share * ball.radius, epsilon=epsilon, delta=0.0, noise="laplace"),
        )
        found = []
        for seed in range(first, first + runs):
            costs = Costs(np.random.default_rng(seed), dimension)
            result = tacit.run(
                _task(costs),
                network.Coordinator(AGENTS),
                method,
                rounds=round(TIME_CONSTANTS * condition),
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
