"""Functional perturbation on example III.2, as published: distance of the moved minimiser."""

from __future__ import annotations

from typing import Any

import numpy as np

import tacit
from tacit import Privacy, network
from tacit.method import (
    CurvatureBounds,
    FunctionalPerturbation,
    GradientDescent,
    LegendreBasis,
    record_distance,
)
from tacit.papers.nozari2016.pdop_runs import posed
from tacit.papers.nozari2016.problem import AGENTS, Costs, P, allowed, legendre, noise_scale
from tacit.problem import Logistic

CLIP = 1e6
"""Larger than the weighted coefficients of any cost of the example: the paper clips nothing."""

ROUNDS = 600
"""Rounds of gradient descent on released costs; the condition is 51, and the error below 1e-9."""


def published(basis: LegendreBasis, epsilon: float, tolerance: float) -> FunctionalPerturbation:
    """The method of the paper, with an epsilon per unit of distance between whole costs.

    Args:
        basis: basis of the example.
        epsilon: epsilon in the paper's sense.
        tolerance: remaining violation of the paper's set, as a share of beta and u.
    """
    inside = allowed()
    alpha, beta = inside.strong_convexity, inside.smoothness
    return FunctionalPerturbation(
        GradientDescent(step=2.0 / (alpha + beta)),
        basis,
        CurvatureBounds(alpha, beta, inside.gradient_bound, tolerance=tolerance),
        p=P,
        # a cost is replaced, at most 2 CLIP away: this multiplier is the paper's noise
        privacy=Privacy(
            clip=CLIP,
            noise_multiplier=noise_scale(epsilon) / (2.0 * CLIP),
            delta=0.0,
            noise="laplace",
        ),
    )


def perturbed(
    degree: int, epsilon: float, first: int, runs: int, tolerance: float
) -> dict[str, Any]:
    """Distances of the answer from the true minimiser, and its privacy cost.

    Args:
        degree: total degree of the basis.
        epsilon: the paper's epsilon, per unit of distance between whole costs.
        first: seed of the first run, which draws records and noise.
        runs: number of runs, with seeds from `first` on.
        tolerance: remaining violation of the set, as a share of beta and u.
    """
    method, missed = published(legendre(degree), epsilon, tolerance), []
    for seed in range(first, first + runs):
        costs = Costs(np.random.default_rng(seed))
        task = posed(costs)
        result = tacit.run(
            task, network.Coordinator(AGENTS), method, rounds=ROUNDS, seed=seed, record=[]
        )
        missed.append(costs.missed(result.solution))
    distances, excesses = np.transpose(missed)
    return {"distance": distances.tolist(), "excess": excesses.tolist()}


def replaced(degree: int, tolerance: float) -> dict[str, Any]:
    """Largest distance of two possible records: `sum_k k^p |c_k - c'_k|`, the constant included.

    Args:
        degree: total degree of the basis.
        tolerance: largest excess of the upper bound over the pair found.
    """
    found = record_distance(
        legendre(degree),
        Logistic(),
        [0.0, 0.0],
        [1.0, 1.0],
        [0.0, 1.0],
        exponent=P,
        tolerance=tolerance,
        constant=True,
    )
    return {"lower": found.lower, "upper": found.upper}
