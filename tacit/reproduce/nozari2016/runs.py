"""Functional perturbation on example III.2: how far it moves the minimiser."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from tacit.method import record_distance
from tacit.method.functional_grid import nearest_on_grid
from tacit.problem import Logistic
from tacit.reproduce.nozari2016.problem import (
    AGENTS,
    RECORDS,
    STRENGTH,
    Costs,
    P,
    allowed,
    legendre,
    noise_scale,
    on_box,
)


def perturbed(
    degree: int, epsilon: float, first: int, runs: int, tolerance: float
) -> dict[str, Any]:
    """Distances of the perturbed minimiser from the true one, and what it costs.

    Every agent's cost is put into the basis, noised, and put back into the paper's set.

    Args:
        degree: total, of the basis.
        epsilon: of the paper, per unit of distance between whole costs.
        first: seed of the first run; it draws records and noise.
        runs: how many, with seeds from `first` on.
        tolerance: violation of the set that is left, a share of beta and u.
    """
    basis, inside, gamma = legendre(degree), allowed().allowed, noise_scale(epsilon)
    points, operator = np.asarray(basis.points), np.asarray(basis.operator)
    ridge = RECORDS * STRENGTH / 2.0 * np.sum(points**2, axis=1)
    shares = np.arange(1.0, basis.size + 1.0) ** P
    missed = []
    with jax.enable_x64(True):
        ask = jax.jit(jax.value_and_grad(lambda x, c: c @ basis.functions(x)))
        for seed in range(first, first + runs):
            rng = np.random.default_rng(seed)
            costs = Costs(rng)
            exact = operator @ (costs.losses(points).sum(axis=2) + ridge[:, None])
            noised = exact.T + rng.laplace(size=(AGENTS, basis.size)) * gamma / shares
            total = np.sum([nearest_on_grid(basis, inside, c, tolerance) for c in noised], axis=0)
            answer = on_box(lambda x, c=total: tuple(map(np.asarray, ask(x, c))), 2)
            missed.append(costs.missed(answer))
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
