"""Functional perturbation through `tacit.run`: every basis, projection, network and inner method.

Costs are `(x - c)^2`, with curvature 2, and have to have at least 3. The nearest function in L2 is
`3/2 x^2 - 2 c x` in every basis: its curvature is raised by 1, and any other with as much differs
by a convex function, whose inner product with what was added is positive. The mean of these has
its minimiser at two thirds of the mean of the centres.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tacit
from tacit import Privacy, network, problem
from tacit.errors import ProblemError
from tacit.method import (
    DGD,
    EXTRA,
    CurvatureBounds,
    FedAvg,
    FunctionalPerturbation,
    GradientDescent,
    GradientTracking,
    LegendreBasis,
    QuadraticBasis,
)

CENTRES = np.array([[0.5], [-0.2], [0.3], [0.0]])
SILENT = Privacy(clip=1e6, epsilon=np.inf, delta=0.0, noise="laplace")
LINE = [-1.0], [1.0]
STEEPER = CurvatureBounds(3.0, 8.0)


def square(x: jax.Array, centre: jax.Array) -> jax.Array:
    return jnp.sum((x - centre) ** 2)


def a_task(centres: np.ndarray = CENTRES) -> problem.Problem:
    return problem.costs(square, centres, np.zeros(centres.shape[1]), convex=True)


def solved(
    method: Any, on: Any, rounds: int = 150, runtime: tacit.Simulation | None = None
) -> np.ndarray:
    return tacit.run(a_task(), on, method, rounds=rounds, seed=0, runtime=runtime).solutions


@pytest.mark.long
@pytest.mark.parametrize(
    ("basis", "bounds"),
    [
        pytest.param(LegendreBasis(*LINE, 2), STEEPER, id="squares 2"),
        pytest.param(LegendreBasis(*LINE, 4), STEEPER, id="squares 4", marks=pytest.mark.long),
        pytest.param(
            LegendreBasis(*LINE, 4),
            CurvatureBounds(3.0, 8.0, 20.0, tolerance=1e-7),
            id="grid 4",
        ),
        pytest.param(LegendreBasis(*LINE, 8), STEEPER, id="grid 8", marks=pytest.mark.long),
        pytest.param(QuadraticBasis(*LINE), STEEPER, id="quadratic", marks=pytest.mark.long),
    ],
)
def test_every_projection_runs_and_raises_the_curvature(basis: Any, bounds: Any) -> None:
    method = FunctionalPerturbation(EXTRA(step=0.15), basis, bounds, privacy=SILENT)
    found = solved(method, network.complete(4))
    np.testing.assert_allclose(found, np.full_like(found, 0.1), atol=1e-5)


@pytest.mark.parametrize(
    ("inner", "on"),
    [
        (EXTRA(step=0.15), network.ring(4)),
        pytest.param(GradientTracking(step=0.05), network.complete(4), marks=pytest.mark.slow),
        pytest.param(GradientDescent(step=0.2), network.Coordinator(4), marks=pytest.mark.slow),
        pytest.param(
            GradientDescent(step=0.2), network.ExactSum(network.ring(4)), marks=pytest.mark.long
        ),
        pytest.param(
            FedAvg(step=0.2, local_steps=1), network.Coordinator(4), marks=pytest.mark.long
        ),
    ],
    ids=lambda part: type(part).__name__,
)
def test_around_every_kind_of_method(inner: Any, on: Any) -> None:
    method = FunctionalPerturbation(inner, LegendreBasis(*LINE, 2), STEEPER, privacy=SILENT)
    found = solved(method, on)
    np.testing.assert_allclose(found, np.full_like(found, 0.1), atol=1e-5)


@pytest.mark.long
def test_agent_by_agent_and_in_trials() -> None:
    basis = LegendreBasis(*LINE, 4)
    loud = Privacy(clip=20.0, epsilon=5.0, delta=0.0, noise="laplace")
    method = FunctionalPerturbation(DGD(step=0.1), basis, STEEPER, privacy=loud)
    batched = solved(method, network.ring(4), 20, tacit.Simulation(trials=2))
    exact = solved(method, network.ring(4), 20, tacit.Simulation(exact=True))
    assert np.isfinite(batched).all() and not np.allclose(batched[0], batched[1])
    np.testing.assert_allclose(exact[0], batched[0], atol=1e-6)


def test_bounds_that_nothing_satisfies_are_refused_before_the_run() -> None:
    for degree in (4, 8):
        never = CurvatureBounds(3.0, 8.0, gradient_bound=0.1)
        method = FunctionalPerturbation(
            DGD(step=0.1), LegendreBasis(*LINE, degree), never, privacy=SILENT
        )
        with pytest.raises(ProblemError, match="widen"):
            tacit.account(a_task(), network.ring(4), method, rounds=1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("degree", "bounds"),
    [(2, CurvatureBounds(1.9, 2.1, 8.0)), (8, CurvatureBounds(1.9, 2.1, tolerance=1e-5))],
)
def test_two_dimensions_with_noise(degree: int, bounds: CurvatureBounds) -> None:
    centres = np.random.default_rng(0).uniform(-0.5, 0.5, (10, 2))
    loud = Privacy(clip=4.0, epsilon=40.0, delta=0.0, noise="laplace")
    basis = LegendreBasis([-1.0, -1.0], [1.0, 1.0], degree)
    method = FunctionalPerturbation(EXTRA(step=0.2), basis, bounds, privacy=loud)
    result = tacit.run(a_task(centres), network.complete(10), method, rounds=100, seed=0)
    assert np.linalg.norm(result.solution - centres.mean(axis=0)) < 0.3
    assert result.guarantee.worst.status.value == "proved"
