"""The reference: optimality conditions, an independent solver, honest gaps and refusals."""

import sys

import cvxpy
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tacit.errors import ProblemError
from tacit.problem import (
    L1,
    L2,
    Affine,
    Ball,
    Box,
    ConvexSet,
    ElasticNet,
    Free,
    GroupL1,
    Hinge,
    Huber,
    JaxLoss,
    Logistic,
    NoRegulariser,
    Poisson,
    Quantile,
    Simplex,
    Softmax,
    Squared,
    costs,
    empirical_risk,
    solve,
)
from tacit.problem.blackbox import black_box_problem
from tacit.problem.composite import composite
from tacit.problem.descent import proximal_gradient
from tacit.problem.reference import GapKind

RNG = np.random.default_rng(0)
ROWS = [RNG.normal(size=(n, 4)) for n in (20, 25, 30)]
TRUE = np.array([1.0, -0.5, 0.0, 0.2])
SCORES = [rows @ TRUE + 0.7 * RNG.normal(size=len(rows)) for rows in ROWS]
TARGETS = {
    Logistic: [(s > 0) * 1.0 for s in SCORES],
    Hinge: [(s > 0) * 1.0 for s in SCORES],
    Softmax: [np.digitize(s, [-0.5, 0.5]) for s in SCORES],
    Poisson: [np.round(np.exp(np.clip(s, -1.0, 1.0))) for s in SCORES],
}
GROUPS = (0, 0, 1, 1)
NONE, FREE = NoRegulariser(), Free()


def wedge(x):
    return [cvxpy.norm2(x) <= 0.6, x[0] >= x[1], cvxpy.sum(x) == 0.1]


def smooth_absolute(x, row, target):
    return jnp.log(jnp.cosh(row @ x - target))


def build(loss, regulariser=NONE, constraint=FREE):
    targets = TARGETS.get(type(loss), SCORES)
    return empirical_risk(ROWS, targets, loss, regulariser, constraint)


SMOOTH = [
    (Squared(), L1(0.4), Free()),
    (Squared(), ElasticNet(0.3, 0.2), Box(-0.3, 0.4)),
    (Squared(), GroupL1(0.5, GROUPS), Free()),
    (Squared(), NoRegulariser(), Affine([[1.0, 1.0, 1.0, 1.0]], [0.3])),
    (Logistic(), NoRegulariser(), Simplex()),
    (Logistic(), L1(0.2, unpenalised=(3,)), Free()),
    (Softmax(3), L2(0.1), Free()),
    (Huber(0.5), L1(0.2), Ball(0.6)),
    (Poisson(), NoRegulariser(), Ball(0.5, order=1)),
    (JaxLoss(smooth_absolute, convex=True), GroupL1(0.2, GROUPS), Free()),
]


def label(part):
    return type(part).__name__


MARKS = (pytest.mark.long, pytest.mark.slow, pytest.mark.slow)


@pytest.mark.parametrize(
    ("loss", "regulariser", "constraint"),
    [
        pytest.param(*case, marks=MARKS[number % 3] if number else ())
        for number, case in enumerate(SMOOTH)
    ],
    ids=label,
)
def test_smooth_solutions_are_fixed_points_of_the_proximal_step(
    loss, regulariser, constraint, float64
):
    problem = build(loss, regulariser, constraint)
    found = solve(problem)
    x, step = found.solution, 0.05
    slopes = jax.vmap(lambda own: own.gradient(jnp.asarray(x)))(problem.objectives)
    moved = constraint.project(regulariser.prox(x - step * np.asarray(slopes).sum(axis=0), step))
    assert np.linalg.norm(moved - x) <= 1e-11 * (1.0 + np.linalg.norm(x))
    assert constraint.contains(x, 1e-12)
    assert found.value == pytest.approx(problem.value(x), rel=1e-14)
    assert 0.0 < found.gap <= 1e-8 * abs(found.value)


OTHER = [
    (Hinge(), L2(0.1), Free()),
    (Hinge(), L1(0.1), Box(-0.3, 0.3)),
    (Quantile(0.3), NoRegulariser(), Free()),
    (Quantile(0.3), ElasticNet(0.1, 0.1), Simplex()),
    (Quantile(0.7), GroupL1(0.1, GROUPS), Affine([[1.0, 0.0, 0.0, 1.0]], [0.2])),
    (Squared(), L2(0.1), ConvexSet(wedge)),
    (Softmax(3), GroupL1(0.2, tuple(i // 3 for i in range(12))), Box(-0.3, np.inf)),
    (Huber(0.5), L1(0.2), Simplex()),
    (Hinge(), L2(0.1), Ball(0.5, order=1)),
    (Hinge(), NoRegulariser(), Ball(0.5, np.array([0.1, 0.0, 0.0, 0.0]))),
]


@pytest.mark.parametrize(("loss", "regulariser", "constraint"), OTHER, ids=label)
def test_no_nearby_feasible_point_is_better_than_the_gap(loss, regulariser, constraint, float64):
    problem = build(loss, regulariser, constraint)
    found = solve(problem)
    assert constraint.contains(found.solution, 1e-8)
    assert found.gap <= 1e-7 * found.value
    rng = np.random.default_rng(1)
    for scale in (1e-5, 1e-3, 1e-1):
        for _ in range(4):
            near = found.solution + scale * rng.normal(size=problem.dimension)
            feasible = np.asarray(constraint.project(near))
            assert problem.value(feasible) >= found.value - found.gap - 1e-8


def test_lasso_and_ridge_agree_with_an_independent_solver():
    from sklearn.linear_model import Lasso

    rows, targets = np.concatenate(ROWS), np.concatenate(SCORES)
    problem = empirical_risk(ROWS, SCORES, Squared(), L1(6.0), weighting="sum")
    independent = Lasso(6.0 / (2 * len(rows)), fit_intercept=False, tol=1e-14, max_iter=100_000)
    np.testing.assert_allclose(
        problem.reference().solution, independent.fit(rows, targets).coef_, atol=1e-10
    )
    ridge = empirical_risk(ROWS, SCORES, Squared(), L2(6.0), weighting="sum").reference()
    exact = np.linalg.solve(rows.T @ rows + 6.0 * np.eye(4), rows.T @ targets)
    np.testing.assert_allclose(ridge.solution, exact, rtol=1e-12)
    assert ridge.gap_kind is GapKind.CERTIFIED


def test_quantile_regression_agrees_with_a_linear_program():
    from sklearn.linear_model import QuantileRegressor

    problem = empirical_risk(ROWS, SCORES, Quantile(0.3), weighting="record")
    independent = QuantileRegressor(quantile=0.3, alpha=0.0, fit_intercept=False)
    independent.fit(np.concatenate(ROWS), np.concatenate(SCORES))
    np.testing.assert_allclose(problem.reference().solution, independent.coef_, atol=1e-7)


def test_proximal_gradients_alone_find_the_lasso_of_an_identity():
    # the minimum of ||x - y||^2 + 0.2 ||x||_1: every coordinate of y is shrunk by 0.1
    rows, targets = np.eye(4), np.array([2.0, -0.3, 0.05, 1.0])
    task = empirical_risk(
        [rows[:2], rows[2:]],
        [targets[:2], targets[2:]],
        Squared(),
        regulariser=L1(0.2),
        weighting="sum",
    )
    with jax.enable_x64(True):
        found = proximal_gradient(composite(task), np.zeros(4))
    assert found == pytest.approx([1.9, -0.2, 0.0, 0.9], abs=1e-6)


def test_scipy_is_enough_without_cvxpy(monkeypatch):
    monkeypatch.setitem(sys.modules, "cvxpy", None)
    assert "SciPy" in solve(build(Squared(), L1(0.4))).solver
    with pytest.raises(ProblemError, match=r"tacit\[convex\]"):
        solve(build(Hinge(), L2(0.1)))


def test_separable_classes_without_regulariser_have_no_solution():
    rows = [np.array([[1.0], [-1.0]]), np.array([[2.0], [-0.5]])]
    problem = empirical_risk(rows, [[1.0, 0.0], [1.0, 0.0]], Logistic())
    with pytest.raises(ProblemError, match="no minimiser was found"):
        solve(problem)


def test_an_unbounded_problem_is_refused():
    def slope(x, own):
        return own * x[0]

    with pytest.raises(ProblemError, match=r"no minimiser|not finite"):
        solve(costs(slope, np.ones(2), np.zeros(1), convex=True))


def test_a_problem_that_is_not_convex_has_no_gap():
    def wells(x, own):
        return own * (x[0] ** 2 - 1.0) ** 2

    found = solve(costs(wells, np.ones(2), np.array([0.5])))
    assert found.solution == pytest.approx([1.0])
    assert found.gap == np.inf
    assert found.gap_kind is GapKind.NONE


def test_collinear_columns_are_no_obstacle():
    rows = [np.column_stack([part[:, :2], part[:, 0]]) for part in ROWS]
    found = solve(empirical_risk(rows, SCORES, Squared()))
    pooled, targets = np.concatenate(rows), np.concatenate(SCORES)
    weights = np.sqrt(np.repeat([1 / 20, 1 / 25, 1 / 30], [20, 25, 30]))
    least = np.linalg.lstsq(weights[:, None] * pooled, weights * targets, rcond=None)[0]
    np.testing.assert_allclose(pooled @ found.solution, pooled @ least, atol=1e-10)
    assert found.gap <= 1e-12 * found.value


def rough(x, row, target):
    return jnp.abs(row @ x - target)


@pytest.mark.parametrize(
    ("problem", "word"),
    [
        (lambda: build(JaxLoss(rough, smooth=False, convex=True)), "not differentiable"),
        (lambda: build(JaxLoss(smooth_absolute), L1(0.1), Simplex()), "no exact proximal map"),
        (lambda: black_box_problem(lambda x, agent: x[0] ** 2, 2, x0=[0.0]), "values only"),
    ],
)
def test_what_no_solver_takes_is_refused(problem, word):
    with pytest.raises(ProblemError, match=word):
        solve(problem())


def test_a_reference_knows_its_problem() -> None:
    problem = empirical_risk(ROWS, SCORES, Squared())
    found = solve(problem)
    assert found.of(problem) and problem.reference().of(problem)
    shuffled = empirical_risk(ROWS[::-1], SCORES[::-1], Squared())
    assert found.of(shuffled)  # the same objective, in another order
    assert not found.of(empirical_risk(ROWS, [3.0 * each for each in SCORES], Squared()))
    assert not found.of(empirical_risk(ROWS, SCORES, Squared(), L2(0.1)))


def test_a_reference_of_an_exact_fit_knows_its_problem() -> None:
    exact = [rows @ TRUE for rows in ROWS]
    found = solve(empirical_risk(ROWS, exact, Squared()))
    assert found.value < 1e-20
    assert found.of(empirical_risk(ROWS[::-1], exact[::-1], Squared()))
    assert not found.of(empirical_risk(ROWS, [each + 1e-3 for each in exact], Squared()))
