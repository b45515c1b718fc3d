"""Functional perturbation on example III.2, as it is published: how far it moves the minimiser."""

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
"""Of gradient descent on what was released; the condition is 51, and its error below 1e-9."""


def published(basis: LegendreBasis, epsilon: float, tolerance: float) -> FunctionalPerturbation:
    """The method of the paper, of an epsilon per unit of distance between whole costs.

    Args:
        basis: of the example.
        epsilon: as the paper means it.
        tolerance: violation of the paper's set that is left, a share of beta and u.
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
    """Distances of the answer from the true minimiser, and what it costs.

    Args:
        degree: total, of the basis.
        epsilon: of the paper, per unit of distance between whole costs.
        first: seed of the first run; it draws records and noise.
        runs: how many, with seeds from `first` on.
        tolerance: violation of the set that is left, a share of beta and u.
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
    """How far apart two possible records are: `sum_k k^p |c_k - c'_k|`, the constant included.

    Args:
        degree: total, of the basis.
        tolerance: by how much the upper bound may exceed the pair that was found.
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
