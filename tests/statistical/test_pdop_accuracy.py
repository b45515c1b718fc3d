"""The accuracy that PDOP is said to have, against 20,000 simulated runs."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float

import tacit
from tacit import Privacy, Simulation, network, problem
from tacit.method import PDOP
from tacit.papers.huang2015.bounds import corrected_accuracy, exact_accuracy, rate_of
from tests.laid_out import lay_out
from tests.quick import only

AGENTS, ROUNDS, CURVATURE = 4, 8, 2.0
CENTRES = np.random.default_rng(4).uniform(-1.0, 1.0, (AGENTS, 2))


def distance(x: Float[Array, " n"], centre: Float[Array, " n"]) -> Float[Array, ""]:
    return jnp.sum((x - centre) ** 2)


def pure(**more: Any) -> Privacy:
    return Privacy(clip=4.0, epsilon=2.0, delta=0.0, noise="laplace", **more)


FREE = problem.costs(distance, CENTRES, np.zeros(2), convex=True)
BOXED = problem.costs(
    distance, CENTRES, np.zeros(2), convex=True, constraint=problem.Box(-1.0, 1.0)
)
KNOWN: dict[str, Any] = {"curvature": CURVATURE, "centred": True}


def errors(task: Any, method: PDOP, net: Any, trials: int) -> tuple[np.ndarray, np.ndarray]:
    """Squared distance of every agent's answer from the optimum, and the noise scales."""
    result = tacit.run(task, net, method, rounds=ROUNDS, seed=0, runtime=Simulation(trials=trials))
    best = CENTRES.mean(axis=0)
    with jax.enable_x64(True):
        scales = np.asarray(lay_out(task, net, method, ROUNDS, seed=0)[0].scales[0])[..., 0]
    return np.sum((result.solutions - best) ** 2, axis=2), scales


@pytest.mark.long
@pytest.mark.parametrize(
    ("method", "law"),
    [
        (PDOP(step=0.2, ratio=0.8, privacy=pure(), **KNOWN), 2.0),
        pytest.param(
            *(PDOP(step=0.2, ratio=0.8, schedule="optimised", privacy=pure(), **KNOWN), 2.0),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            *(PDOP(step=0.2, ratio=0.8, privacy=Privacy(clip=4.0, epsilon=2.0), **KNOWN), 1.0),
            marks=pytest.mark.slow,
        ),
    ],
    ids=["corrected", "optimised", "gaussian"],
)
def test_the_exact_formula_for_quadratics_with_one_hessian(method: PDOP, law: float) -> None:
    trials = 20_000
    squared, scales = errors(FREE, method, network.complete(AGENTS), trials)
    found = squared[:, 0]  # on a complete graph all agents agree
    expected = exact_accuracy(
        0.2 * 0.8 ** np.arange(ROUNDS),
        law * scales**2,
        curvature=CURVATURE,
        start=float(np.linalg.norm(CENTRES.mean(axis=0))),
        dimension=2,
        agents=AGENTS,
    )
    error = float(found.std()) / math.sqrt(trials)
    assert abs(float(found.mean()) - expected) < 3.0 * error
    assert error < 0.02 * expected


@pytest.mark.long
def test_one_shot_is_as_accurate_as_one_noisy_average() -> None:
    method = PDOP(step=0.5, one_shot=True, privacy=pure(), **KNOWN)
    squared, scale = errors(FREE, method, network.complete(AGENTS), 20_000)
    expected = exact_accuracy(
        [0.5],
        [2.0 * float(scale) ** 2],
        curvature=CURVATURE,
        start=float(np.linalg.norm(CENTRES.mean(axis=0))),
        dimension=2,
        agents=AGENTS,
    )
    found = squared[:, 0]
    assert abs(float(found.mean()) - expected) < 3.0 * float(found.std()) / math.sqrt(20_000)
    # one release of the whole budget: 2 * 2 (8 * 0.5 / 2)^2 / 4
    assert expected == pytest.approx(4.0, rel=1e-5)


@pytest.mark.long
@pytest.mark.parametrize("graph", only({"ring"}, ["complete", "ring"]))
def test_the_corrected_bound_is_one(graph: str) -> None:
    net = network.complete(AGENTS) if graph == "complete" else network.ring(AGENTS)
    method = PDOP(step=0.2, ratio=0.8, privacy=pure(), **KNOWN)
    squared, scales = errors(BOXED, method, net, 500)
    for rate in (rate_of(net), 1.0 - network.spectral_gap(net)):
        bound = corrected_accuracy(
            0.2 * 0.8 ** np.arange(ROUNDS),
            2.0 * scales**2,
            curvature=CURVATURE,
            gradient_bound=4.0 * math.sqrt(2.0),
            start=float(np.linalg.norm(CENTRES.mean(axis=0))),
            dimension=2,
            agents=AGENTS,
            contraction=max(rate, 0.0),
        )
        assert float(squared.mean()) < bound


@pytest.mark.slow
def test_without_noise_records_are_fitted_to_the_centralised_optimum() -> None:
    rng = np.random.default_rng(2)
    x = [rng.normal(size=(30, 3)) for _ in range(AGENTS)]
    y = [table @ [1.0, -1.0, 0.5] + 0.2 * rng.normal(size=30) for table in x]
    task = problem.empirical_risk(x, y, problem.Squared(), regulariser=problem.L2(0.1))
    silent = Privacy(clip=math.inf, epsilon=math.inf)
    method = PDOP(step=0.1, ratio=0.996, privacy=silent)
    result = tacit.run(task, network.complete(AGENTS), method, rounds=3000, seed=0)
    best = task.reference().solution
    assert np.linalg.norm(result.solutions[0] - best, axis=1).max() < 1e-4
