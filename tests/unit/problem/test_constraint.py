"""Constraints: projections by their variational inequality, empty sets, wrong shapes."""

import cvxpy
import jax
import numpy as np
import pytest

from tacit.errors import ProblemError
from tacit.problem.constraint import Affine, Ball, Box, ConvexSet, Free, Polyhedron, Simplex


def half_disc(x):
    return [cvxpy.sum_squares(x) <= 1.0, x[0] >= 0.0, cvxpy.sum(x) == 0.25]


def nowhere(x):
    return [x[0] >= 1.0, x[0] <= 0.0]


def outside_the_disc(x):
    return [cvxpy.sum_squares(x) >= 1.0]


def for_three(x):
    return [np.ones(3) @ x <= 1.0]


SETS = [
    Free(),
    Box(-0.5, [1.0, 0.0, np.inf, 0.2]),
    Ball(0.8),
    Ball(0.8, np.array([1.0, 0.0, 0.0, 0.0])),
    Ball(0.8, order=1),
    Ball(0.8, np.array([1.0, 0.0, 0.0, 0.0]), order=1),
    Simplex(2.0),
    Affine([[1.0, 1.0, 0.0, 0.0], [2.0, 2.0, 0.0, 0.0], [0.0, 0.0, 1.0, -1.0]], [1.0, 2.0, 0.3]),
    ConvexSet(half_disc),
    Polyhedron(
        [[1.0, 1.0, 1.0, 1.0], [-1.0, 0.0, 0.0, 0.0]], [1.0, 0.5], [[0.0, 1.0, -1.0, 0.0]], [0.2]
    ),
]


@pytest.mark.parametrize("constraint", SETS, ids=lambda each: type(each).__name__)
def test_projection_is_the_nearest_point(constraint, float64):
    rng = np.random.default_rng(0)
    constraint.check(4)
    points = [np.asarray(constraint.project(v)) for v in 2.0 * rng.normal(size=(8, 4))]
    for v in 2.0 * rng.normal(size=(6, 4)):
        nearest = np.asarray(constraint.project(v))
        assert constraint.contains(nearest, 1e-8)
        assert all((v - nearest) @ (z - nearest) <= 1e-7 for z in points)
        np.testing.assert_allclose(constraint.project(nearest), nearest, atol=1e-6)


@pytest.mark.parametrize("constraint", SETS[1:], ids=lambda each: type(each).__name__)
def test_far_points_are_outside(constraint):
    assert not constraint.contains([9.0, 9.0, -9.0, 9.0])


def test_projections_by_hand(float64):
    np.testing.assert_allclose(Ball(1.0).project(np.array([3.0, 4.0])), [0.6, 0.8])
    np.testing.assert_allclose(Ball(1.0).project(np.zeros(2)), np.zeros(2))
    np.testing.assert_allclose(Ball(1.0, order=1).project(np.array([2.0, -1.5])), [0.75, -0.25])
    np.testing.assert_allclose(Simplex(1.0).project(np.array([5.0, 0.0, 0.0])), [1.0, 0.0, 0.0])
    np.testing.assert_allclose(Affine([[1.0, 1.0]], [1.0]).project(np.zeros(2)), [0.5, 0.5])


def test_convex_set_in_compiled_and_batched_code_keeps_double_precision(float64):
    points = np.random.default_rng(1).normal(size=(3, 4))
    project = jax.jit(jax.vmap(ConvexSet(half_disc).project))
    batch = np.asarray(project(points))
    for point, together in zip(points, batch, strict=True):
        np.testing.assert_allclose(ConvexSet(half_disc).project(point), together, atol=1e-9)
    assert batch.dtype == np.float64
    assert abs(float(batch[0].sum()) - 0.25) < 1e-10


def test_projections_of_a_solver_are_not_exact(float64):
    """So no method may project by one within a private question."""
    right_half = ConvexSet(lambda x: [cvxpy.norm(x, 2) <= 1.0, x[0] >= 0.0])
    rng = np.random.default_rng(0)
    worst = 0.0
    for point in (scale * rng.normal(size=2) for scale in (1.0, 10.0, 100.0) for _ in range(100)):
        nearest = np.array([max(point[0], 0.0), point[1]])
        nearest /= max(1.0, np.linalg.norm(nearest))
        worst = max(worst, np.linalg.norm(right_half.project(point) - nearest))
    assert 1e-7 < worst < 1e-3


def test_convex_set_gives_nan_for_a_run_that_diverged(float64):
    assert np.isnan(ConvexSet(half_disc).project(np.array([np.inf, 0.0, 0.0, 0.0]))).all()


def test_convex_set_compiles_once(float64):
    traced = []

    @jax.jit
    def project(constraint, v):
        traced.append(1)
        return constraint.project(v)

    project(ConvexSet(half_disc), np.zeros(4))
    project(ConvexSet(half_disc), np.ones(4))
    assert len(traced) == 1
    for _ in range(2):
        project(Polyhedron(np.eye(4), np.ones(4)), np.ones(4))
    assert len(traced) == 2


@pytest.mark.parametrize(
    ("build", "word"),
    [
        (lambda: Box(1.0, 0.0), "lower=1 and upper=0 at coordinate 0"),
        (lambda: Box([0.0, 3.0], [1.0, 2.0]), "coordinate 1"),
        (lambda: Box(np.inf, np.inf), "leave no point"),
        (lambda: Box(np.nan, 1.0), "leave no point"),
        (lambda: Box([0.0, 0.0], [1.0]), "2 entries and upper has 1"),
        (lambda: Box([[0.0]], 1.0), "one number or one a coordinate"),
        (lambda: Box([0.0, 0.0], 1.0).check(3), r"lower has shape \(2,\)"),
        (lambda: Ball(0.0), "radius=0"),
        (lambda: Ball(1.0, order=3), "order=3"),
        (lambda: Ball(1.0, [0.0]).check(2), "centre has shape"),
        (lambda: Simplex(-1.0), "total=-1"),
        (lambda: Affine([[1.0], [1.0]], [0.0, 1.0]), "no x satisfies"),
        (lambda: Affine([[1.0]], [0.0, 1.0]), "shape"),
        (lambda: Affine([[np.nan]], [0.0]), "finite"),
        (lambda: Affine([[1.0]], [0.0]).check(2), "1 columns"),
        (lambda: Polyhedron([[1.0]], [0.0, 1.0]), r"matrix has shape \(1, 1\) and bound \(2,\)"),
        (lambda: Polyhedron([[1.0]], [np.inf]), "finite"),
        (lambda: Polyhedron([[1.0]], [0.0], [[1.0]]), "equations and target, or neither"),
        (lambda: Polyhedron([[1.0]], [0.0], [[1.0, 0.0]], [0.0]), "1 columns and equations 2"),
        (lambda: Polyhedron([[1.0]], [0.0]).check(2), "1 columns"),
        (lambda: Polyhedron([[1.0], [-1.0]], [0.0, -1.0]), "polyhedron: no point satisfies all"),
        (lambda: Polyhedron([[1.0]], [0.0], [[1.0]], [1.0]), "and equations x = target; correct"),
        (lambda: ConvexSet(nowhere).check(2), "nowhere: .*infeasible"),
        (
            lambda: ConvexSet(outside_the_disc).check(2),
            "constraint 0 is convex: .*; write it by the rules",
        ),
        (lambda: ConvexSet(for_three).check(2), "for_three: could not build"),
        (lambda: ConvexSet(lambda x: None).check(2), "returned None; it must return a list of cv"),
        (lambda: ConvexSet(lambda x: x[0] >= 0.0).check(2), "must return a list of cvxpy constr"),
        (lambda: ConvexSet(lambda x: [True]).check(2), "returned a list; it must .* of nothing el"),
        (
            lambda: ConvexSet(lambda x, agent: []).check(2),
            r"takes \(x, agent\), and is called with \(x\): x is a cvxpy variable",
        ),
    ],
)
def test_empty_sets_and_wrong_shapes_are_refused(build, word):
    with pytest.raises(ProblemError, match=word):
        build()


def test_missing_cvxpy_names_the_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "cvxpy", None)
    with pytest.raises(ProblemError, match=r"tacit\[convex\]"):
        ConvexSet(lambda x: [x >= 0.0]).check(2)
