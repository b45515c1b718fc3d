"""Convergence without privacy, against the centralised solution."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tacit
from tacit import DGD, DZOASolver, GradientDescent, Privacy, network, problem
from tacit.method import ORZO, ZOOADMM, FedAvg
from tacit.papers.gratton2021.setting import paper_network, paper_problem
from tests.quick import only


def _data(seed: int, agents: int = 6, records: int = 30, features: int = 4) -> Any:
    rng = np.random.default_rng(seed)
    x = [rng.normal(size=(records, features)) for _ in range(agents)]
    truth = rng.normal(size=features)
    return x, [table @ truth + 0.3 * rng.normal(size=records) for table in x]


def _distance(result: tacit.Result) -> float:
    """Relative distance of the worst agent from the reference."""
    assert result.reference is not None
    gaps = np.linalg.norm(result.solutions[0] - result.reference, axis=1)
    return float(gaps.max() / np.linalg.norm(result.reference))


def _labels(targets: Any) -> Any:
    return [(y > 0).astype(float) for y in targets]


@pytest.mark.parametrize("loss", only({"logistic"}, ["squared", "logistic", "huber"]))
def test_gradient_descent_on_a_star_reaches_the_optimum(loss: str) -> None:
    x, y = _data(0)
    losses = {
        "squared": (problem.Squared(), y, 0.2),
        "logistic": (problem.Logistic(), _labels(y), 2.0),
        "huber": (problem.Huber(1.0), y, 0.5),
    }
    law, targets, step = losses[loss]
    task = problem.empirical_risk(x, targets, law, regulariser=problem.L2(0.5))
    result = tacit.run(
        task,
        network.Coordinator(6),
        GradientDescent(step=step),
        rounds=2000,
        seed=0,
        reference="solve",
    )
    assert _distance(result) < 1e-8


@pytest.mark.long
def test_a_sparse_solution_is_reached_through_the_proximal_step() -> None:
    x, y = _data(1)
    task = problem.empirical_risk(x, y, problem.Squared(), regulariser=problem.L1(6.0))
    result = tacit.run(
        task,
        network.Coordinator(6),
        GradientDescent(step=0.2),
        rounds=2000,
        seed=0,
        reference="solve",
    )
    assert np.any(result.solution == 0.0)
    assert _distance(result) < 1e-7


@pytest.mark.slow
def test_the_bias_of_dgd_halves_with_its_constant_step() -> None:
    x, y = _data(2)
    task = problem.empirical_risk(x, y, problem.Squared(), regulariser=problem.L2(0.5))

    def bias(step: float) -> float:
        return _distance(
            tacit.run(
                task, network.ring(6), DGD(step=step), rounds=20_000, seed=0, reference="solve"
            )
        )

    coarse, fine = bias(0.01), bias(0.005)
    assert coarse > 1e-4
    assert 1.8 < coarse / fine < 2.2


@pytest.mark.slow
def test_the_bias_of_dgd_vanishes_with_a_diminishing_step() -> None:
    x, y = _data(2)
    task = problem.empirical_risk(x, y, problem.Squared(), regulariser=problem.L2(0.5))
    distances = [
        _distance(
            tacit.run(
                task,
                network.ring(6),
                DGD(step=0.2, decay=0.9),
                rounds=rounds,
                seed=0,
                reference="solve",
            )
        )
        for rounds in (1_000, 10_000, 100_000)
    ]
    # the error follows the step, t^-0.9
    assert distances[1] < 0.2 * distances[0]
    assert distances[2] < 0.2 * distances[1]
    assert distances[2] < 1e-3


@pytest.mark.long
@pytest.mark.parametrize("kind", only({"lasso"}, ["ridge", "lasso"]))
def test_the_d_zoa_solver_on_the_five_agents_of_the_paper(kind: str) -> None:
    task = paper_problem(kind, seed=0, weighting="agent")
    net = paper_network()
    result = tacit.run(task, net, DZOASolver(), rounds=60, seed=0, reference="solve", record=10)
    relative = np.sqrt(result.history.measured["distance"][-1, 0] / task.agents)
    assert relative < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("penalty", only({"0.1"}, [0.1, 0.2, 0.4]))
@pytest.mark.parametrize("seed", only({"0"}, range(3)))
@pytest.mark.parametrize("kind", only({"lasso"}, ["ridge", "lasso"]))
def test_around_its_estimate_the_solver_is_less_noisy_on_the_lasso_than_as_printed(
    kind: Any, penalty: float, seed: int
) -> None:
    task = paper_problem(kind, seed, weighting="agent")
    reached = {}
    for printed in (False, True):
        method = DZOASolver(penalty=penalty, directions=22, printed=printed)
        result = tacit.run(
            task, paper_network(), method, rounds=60, seed=seed, reference="solve", record=1
        )
        reached[printed] = result.history.measured["distance"][:, 0]
    first = int(np.argmax(reached[False] < 1e-3))
    if kind == "ridge":  # where the noise of either vanishes at the optimum
        assert 10 < first < 25 and abs(first - int(np.argmax(reached[True] < 1e-3))) <= 1
    else:
        assert 10 < first < 55 and reached[True].min() > 1e-3
        # one round says little: its noise spreads over a factor of four, and rounding, which is
        # another on another processor, chooses the sides of the kinks
        late = {printed: np.median(distances[30:]) for printed, distances in reached.items()}
        assert late[False] < late[True]
        assert 0.001 < late[True] < 0.1


CASES = {
    "logistic": (problem.Logistic(), True, 60),
    "svm": (problem.Hinge(), True, 60),
    "quantile": (problem.Quantile(0.3), False, 60),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_the_d_zoa_solver_on_other_losses(case: str) -> None:
    loss, binary, rounds = CASES[case]
    x, y = _data(3, agents=5, records=20)
    task = problem.empirical_risk(x, _labels(y) if binary else y, loss, regulariser=problem.L2(0.1))
    net = paper_network()
    method = DZOASolver(step=0.3, directions=20)
    result = tacit.run(task, net, method, rounds=rounds, seed=0)
    optimum = task.reference().value
    gap = (task.value(result.solution) - optimum) / abs(optimum)
    assert -1e-9 < gap < 1e-3


@pytest.mark.slow
def test_the_d_zoa_solver_on_a_black_box() -> None:
    centres = np.array([[1.0, 2.0], [-1.0, 0.5], [0.5, -1.5]])

    def cost(x: np.ndarray, agent: int) -> float:
        gap = x - centres[agent]
        return float(np.sum(np.abs(gap) ** 3) + 0.5 * np.sum(gap**2))

    task = problem.black_box_problem(cost, agents=3, x0=np.zeros(2))
    net = network.complete(3)
    method = DZOASolver(step=0.12, directions=6, inner_steps=20)
    result = tacit.run(task, net, method, rounds=40, seed=0)

    def total(x: Any) -> Any:
        gap = x - centres
        return jnp.sum(jnp.abs(gap) ** 3) + 0.5 * jnp.sum(gap**2)

    with jax.enable_x64(True):
        best = np.zeros(2)
        for _ in range(50):
            best = best - np.linalg.solve(jax.hessian(total)(best), jax.grad(total)(best))
        optimum = float(total(best))
    assert (float(total(result.solution)) - optimum) / optimum < 1e-3
    assert result.history.evaluations[-1] == 3 * 40 * 2 * 6 * 20


@pytest.mark.slow
@pytest.mark.parametrize("kind", [ORZO, ZOOADMM])
def test_two_point_methods_without_noise_reach_an_unpenalised_optimum(kind: Any) -> None:
    x, y = _data(4)
    task = problem.empirical_risk(x, y, problem.Squared())
    method = kind(step=0.2, directions=16, privacy=Privacy(clip=np.inf, epsilon=np.inf))
    done = tacit.run(
        task, network.Coordinator(6), method, rounds=1000, seed=0, reference="solve", record=1000
    )
    assert _distance(done) < 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("kind", [partial(ORZO, proximal=True), ZOOADMM])
def test_beside_an_exact_penalty_the_estimate_keeps_its_randomness(kind: Any) -> None:
    # at the optimum the costs' gradient is not 0, and neither is the spread of its estimate
    x, y = _data(4)
    task = problem.empirical_risk(x, y, problem.Squared(), regulariser=problem.L1(1.0))
    done = tacit.run(
        task,
        network.Coordinator(6),
        kind(step=0.2, directions=16),
        rounds=10_000,
        seed=0,
        reference="solve",
        record=[100, 10_000],
        runtime=tacit.Simulation(trials=8),
    )
    early, late = done.history.measured["distance"][[1, 2]].mean(axis=1)
    # squared distances follow the step at least, 10 times smaller
    assert 1e-10 < late < 0.15 * early


@pytest.mark.slow
def test_whole_updates_without_noise_reach_the_optimum_of_one_local_step() -> None:
    x, y = _data(5)
    task = problem.empirical_risk(x, y, problem.Squared())
    silent = Privacy(clip=np.inf, epsilon=np.inf)
    for steps, error in ((1, 1e-8), (5, 0.1)):
        method = FedAvg(step=0.2, local_steps=steps, release="update", privacy=silent)
        done = tacit.run(
            task, network.Coordinator(6), method, rounds=400, seed=0, reference="solve", record=400
        )
        assert _distance(done) < error
    # several steps at sites that differ settle beside it
    assert _distance(done) > 1e-4
