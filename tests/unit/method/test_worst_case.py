"""Worst-case neighbours: linear losses, and those that the D-ZOA paper's assumption allows."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tacit import DGD, DPSG, DZOASolver, Privacy, problem
from tacit.errors import PrivacyError
from tacit.method import PaperClaim
from tacit.method._d_zoa_neighbours import GRADIENT_BOUND, REACH, bounded_neighbours
from tacit.method._oracle import gradient_query
from tacit.method.worst_case import LinearUnits, linear_neighbours
from tacit.papers.gratton2021.setting import paper_problem
from tacit.problem import Logistic, RecordBounds, empirical_risk
from tacit.types import PublicContext, Relation, Unit

pytestmark = pytest.mark.usefixtures("float64")


def test_linear_units_are_their_own_derivative() -> None:
    units = LinearUnits(4.0, np.array([[3.0, -4.0], [0.5, 0.0]]))
    x = jnp.array([2.0, 1.0])
    assert units.units == 2
    assert units.losses(x).tolist() == [2.0, 1.0]
    assert float(units.value(x)) == 0.75
    np.testing.assert_allclose(units.gradient(x), jax.grad(units.value)(x))
    np.testing.assert_allclose(
        units.clipped_gradient(x, 1.0, 2, None), np.array([0.6 + 0.5, -0.8]) / 4.0
    )
    keep = jnp.array([False, True])
    np.testing.assert_allclose(units.clipped_gradient(x, 1.0, 1, keep), [0.125, 0.0])


@pytest.mark.parametrize("order", [1, 2])
def test_replacing_the_unit_moves_a_clipped_sum_by_the_sensitivity(order: int) -> None:
    noise = "laplace" if order == 1 else "gaussian"
    privacy = Privacy(clip=[9.0, 0.5], epsilon=1.0, noise=noise)
    pair = linear_neighbours(privacy, [3.0, 8.0], 4, 1)
    one, other = (
        LinearUnits(np.asarray(o.normaliser)[1], np.asarray(o.gradients)[1])
        for o in (pair.objectives, pair.others)
    )
    moved = one.clipped_gradient(jnp.zeros(4), 0.5, order, None) - other.clipped_gradient(
        jnp.zeros(4), 0.5, order, None
    )
    assert float(jnp.linalg.norm(moved, order)) == pytest.approx(2 * 0.5 / 8.0)
    assert not np.asarray(pair.objectives.gradients)[0].any()
    assert pair.others_zero and "replaced by its opposite" in pair.how


def test_a_unit_that_is_removed_leaves_nothing() -> None:
    privacy = Privacy(clip=1.0, epsilon=1.0, relation="add_remove")
    pair = linear_neighbours(privacy, [3.0, 3.0], 2, 0)
    assert np.asarray(pair.objectives.gradients).any()
    assert not np.asarray(pair.others.gradients).any()
    assert "there or absent" in pair.how


def test_nothing_is_the_worst_case_of_what_is_not_bounded() -> None:
    data = paper_problem("ridge", 0)
    with pytest.raises(PrivacyError, match="clips nothing"):
        DGD(step=0.1).worst_case(data, 0)
    endless = DPSG(step=0.1, privacy=Privacy(clip=math.inf, noise_multiplier=1.0))
    with pytest.raises(PrivacyError, match="clip=inf of agent 2 bounds nothing"):
        endless.worst_case(data, 2)
    with pytest.raises(PrivacyError, match="clips nothing"):
        DZOASolver(step=0.1).worst_case(data, 0)


def gradients(objective: Any, x: Any) -> np.ndarray:
    return np.asarray(jax.jacrev(objective.losses)(jnp.asarray(x)))


@pytest.mark.slow
def test_the_papers_assumption_holds_wherever_the_iterates_may_go() -> None:
    data = paper_problem("ridge", 3)
    pair = bounded_neighbours(data, 3)
    assert pair.owners == (3,)
    rng = np.random.default_rng(0)
    points = rng.normal(size=(50, data.dimension))
    points *= REACH / np.linalg.norm(points, axis=1, keepdims=True)
    for objectives in (pair.objectives, pair.others):
        for agent in range(data.agents):
            alone = jax.tree.map(lambda leaf, k=agent: np.asarray(leaf)[k], objectives)
            longest = max(np.linalg.norm(gradients(alone, x), axis=1).max() for x in points)
            assert longest <= GRADIENT_BOUND
            if agent == 3:
                assert longest > 0.995
    moved = np.asarray(pair.objectives.targets) != np.asarray(pair.others.targets)
    assert moved.sum() == 1 and moved[3, 0]


def test_another_loss_is_audited_with_linear_ones() -> None:
    rng = np.random.default_rng(0)
    data = problem.empirical_risk(
        [rng.normal(size=(4, 3))] * 2, [np.array([0.0, 1, 0, 1])] * 2, problem.Logistic()
    )
    method = DZOASolver(step=0.1, printed=True, claim=PaperClaim(1.0, 1e-3))
    pair = method.worst_case(data, 1)
    assert isinstance(pair.objectives, LinearUnits)
    assert np.linalg.norm(np.asarray(pair.objectives.gradients)[1]) == GRADIENT_BOUND


@pytest.mark.parametrize(
    ("clip_norm", "noise"), [("inf", "gaussian"), ("inf", "laplace"), (2, "laplace")]
)
def test_a_clip_in_a_wider_norm_is_worst_along_the_diagonal(clip_norm: Any, noise: str) -> None:
    privacy = Privacy(clip=0.5, noise_multiplier=1.0, noise=noise, clip_norm=clip_norm)
    pair = linear_neighbours(privacy, [8.0, 8.0], 4, 0)
    query, _ = gradient_query(privacy)
    public = PublicContext(0, 2, 0, 1, 1, 8.0, Unit.RECORD, 1, 1, dimension=4)
    one, other = (
        LinearUnits(np.asarray(o.normaliser)[0], np.asarray(o.gradients)[0])
        for o in (pair.objectives, pair.others)
    )
    moved = one.clipped_gradient(jnp.zeros(4), 0.5, privacy.clip_norm, None)
    moved -= other.clipped_gradient(jnp.zeros(4), 0.5, privacy.clip_norm, None)
    stated = query.sensitivity(public, Relation.REPLACE_ONE)
    assert float(jnp.linalg.norm(moved, privacy.order)) == pytest.approx(stated, rel=1e-12)
    assert "along the diagonal" in pair.how


def test_declared_bounds_are_the_clip_of_the_worst_case() -> None:
    bounds = RecordBounds(row=3.0)
    tables, targets = [[[1.0, 0.0]], [[0.0, 1.0]]], [[0.0], [1.0]]
    task = empirical_risk(tables, targets, Logistic(), bounds=bounds)
    method = DPSG(step=0.1, privacy=Privacy(clip=math.inf, noise_multiplier=1.0))
    pair = method.worst_case(task, 0)
    np.testing.assert_array_equal(pair.objectives.gradient_bound(2), 3.0)
    assert np.max(np.asarray(pair.objectives.gradients)) == 3e6


def test_costs_compared_by_distance_are_one_apart() -> None:
    privacy = Privacy(clip=math.inf, noise_multiplier=1.0, relation="metric")
    pair = linear_neighbours(privacy, [1.0, 1.0], 3, 0)
    apart = np.asarray(pair.objectives.gradients) - np.asarray(pair.others.gradients)
    assert np.linalg.norm(apart[0, 0]) == 1.0
