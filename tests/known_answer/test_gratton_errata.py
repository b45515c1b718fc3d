"""What the D-ZOA papers print, beside what holds: each test fails with the printed formula."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import numpy as np
import pytest

from tacit.audit import audit_callable
from tacit.audit.neighbours import replace_record
from tacit.errors import PrivacyError
from tacit.method import PaperClaim
from tacit.method.d_zoa_claim import inner_directions
from tacit.method.d_zoa_solver import two_point_slopes
from tacit.privacy import GaussianRelease, Repeated, epsilon
from tacit.reproduce.gratton2021.contest import LAST, final, measure
from tacit.reproduce.gratton2021.setting import (
    ALPHA0,
    PENALTY,
    Kind,
    paper_method,
    paper_network,
    paper_problem,
    paper_step,
)

SEEDS = range(2)


@pytest.mark.parametrize(("claimed", "exact"), [(0.15, 1.51), (0.95, 16.04)])
def test_eq_25_is_not_the_total_of_gaussian_releases(claimed: float, exact: float) -> None:
    claim = PaperClaim(claimed, 1e-3)
    total = epsilon([Repeated(claim.event.event, 200)], delta=1e-3)
    assert total == pytest.approx(exact, abs=0.005)
    assert abs(claim.total(200) - total) > 0.5


def test_eq_22_leaks_the_data_through_the_number_of_directions() -> None:
    net, task = paper_network(), paper_problem("ridge", 0)
    record = int(np.argmax(np.abs(np.asarray(task.objectives.targets)[0])))
    target = float(np.asarray(task.objectives.targets)[0, record])
    other = replace_record(task, 0, record, target=-target)
    one, changed = (paper_method(each, net, "ridge", 0.95).directions for each in (task, other))
    # agent 4 holds the same data in both, and everybody sees how long it computes
    assert one[3] != changed[3]


@pytest.mark.parametrize("seed", SEEDS)
def test_gradients_of_the_squared_loss_are_longer_than_c1(seed: int) -> None:
    task = paper_problem("ridge", seed)
    features, targets = (
        np.asarray(part) for part in (task.objectives.features, task.objectives.targets)
    )

    def lengths(b: Any) -> Any:
        return 2 * np.abs(features @ b - targets) * np.linalg.norm(features, axis=-1)

    # at the cold start of every round, and where the run ends
    start, end = lengths(np.zeros(10)), lengths(task.reference().solution)
    assert np.mean(start > 1) > 0.5 and start.max() > 3
    assert np.mean(end > 1) > 0.05 and end.max() > 1.4


def test_a_sum_of_losses_leaves_no_direction_without_the_factor_of_a_mean() -> None:
    net, task = paper_network(), paper_problem("ridge", 0)
    optimum = float(np.linalg.norm(task.reference().solution))
    setting: dict[str, Any] = {
        "penalty": PENALTY,
        "degrees": net.degrees,
        "dimension": 10,
        "inner_steps": 100,
        "radius": optimum,
        "optimum": optimum,
    }
    # printed: divided by the 20 records of an agent, as if the loss were their mean
    assert min(inner_directions(PaperClaim(0.15, 1e-3), counts=task.counts, **setting)) >= 1
    with pytest.raises(PrivacyError, match=r"J = 0\.0\d+ directions"):
        inner_directions(PaperClaim(0.15, 1e-3), counts=np.ones(5, int), **setting)


@pytest.mark.usefixtures("float64")
def test_the_second_step_is_never_longer_than_half_the_first() -> None:
    # u1 = 1, P = 1, t = 1: printed u2 = u1 / (P t)^2 = 1, which is above u1 / 2
    b, n1, n2 = 0.25, 1.5, 2.0
    directions = jax.numpy.asarray([[[n1]], [[n2]]])
    slope = float(
        two_point_slopes(lambda x: x @ x, jax.numpy.asarray([b]), 1.0, 1.0, directions)[0]
    )

    def with_step(u2: float) -> float:
        return ((b + n1 + u2 * n2) ** 2 - (b + n1) ** 2) / u2

    assert slope == pytest.approx(with_step(0.5))
    assert slope != pytest.approx(with_step(1.0))


@pytest.mark.parametrize(("kind", "floor"), [("lasso", 2.7), ("ridge", 2.1)])
def test_mean_and_sum_of_losses_have_different_solutions(kind: Kind, floor: float) -> None:
    errors = []
    for seed in SEEDS:
        mean = paper_problem(kind, seed, "agent").reference().solution
        ours = paper_problem(kind, seed, "sum").reference().solution
        errors.append(5 * np.sum((mean - ours) ** 2) / np.sum(ours**2))
    # where answering 0 scores 5
    assert np.mean(errors) == pytest.approx(floor, rel=0.25)


@pytest.mark.parametrize("kind", ["ridge", "lasso"])
def test_the_constant_of_the_step_is_no_lipschitz_constant(kind: Kind) -> None:
    task, net = paper_problem(kind, 0), paper_network()
    optimum = float(np.linalg.norm(task.reference().solution))
    constant = ALPHA0 * optimum / (paper_step(kind, optimum) * np.sqrt(10 * np.log(20)))
    features = np.asarray(task.objectives.features)
    for own, degree in zip(features, net.degrees, strict=True):
        curvature = np.linalg.eigvalsh(2 * own.T @ own).max() + 2 * PENALTY * degree
        # between 0 and the solution the gradient of F_k changes by up to this, times its length
        assert curvature > 3 * constant


@pytest.mark.slow
def test_with_a_lipschitz_constant_the_printed_cold_start_fails() -> None:
    task, net = paper_problem("ridge", 0), paper_network()
    reference = task.reference().solution
    method = paper_method(task, net, "ridge", 0.15)
    curvature = [
        np.linalg.eigvalsh(2 * own.T @ own).max() + 2 * PENALTY * degree
        for own, degree in zip(np.asarray(task.objectives.features), net.degrees, strict=True)
    ]
    # J and T stay; the step is that of a constant by which gradients of F_k really change
    constant = 1 + 2 * np.linalg.norm(reference) / 5
    shorter = eqx.tree_at(lambda m: m.step, method, method.step * constant / max(curvature))
    printed, right = (
        np.mean(final(measure(task, net, m, reference, rounds=200, seed=0, trials=2), LAST))
        for m in (method, shorter)
    )
    assert printed < 1e-3 and right > 0.5


def test_one_entry_says_little_of_a_correlated_vector() -> None:
    # theorem 1 takes a ratio of vector densities for that of one entry
    root = np.linalg.cholesky(np.array([[1.0, 0.99], [0.99, 1.0]]))
    moved = np.array([1.0, -1.0]) / np.sqrt(2.0)

    def mechanism(data: Any, rng: np.random.Generator) -> np.ndarray:
        return data + root @ rng.normal(size=2)

    # entries of variance 1 that were independent would make it 1-Gaussian-DP
    entry = epsilon([GaussianRelease(1.0)], delta=1e-3)
    found = audit_callable(
        mechanism,
        moved,
        np.zeros(2),
        claim=(entry, 1e-3),
        trials=1000,
        generator="numpy",
        seed=0,
    )
    assert found.refuted and found.best.epsilon > entry
