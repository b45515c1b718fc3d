"""The public part: where the composed proximal map is exact, and the step where it is not."""

import cvxpy
import numpy as np
import pytest

from tacit.problem.constraint import Affine, Ball, Box, Free, Simplex
from tacit.problem.public import Public
from tacit.problem.regularisers import L1, L2, ElasticNet, GroupL1, NoRegulariser

V = np.array([1.5, -0.9, 0.4, 0.1])
STEP = 0.5


def penalty(regulariser, x):
    match regulariser:
        case L1():
            return float(regulariser.strength) * cvxpy.norm1(x)
        case L2():
            return float(regulariser.strength) * cvxpy.sum_squares(x)
        case ElasticNet():
            return float(regulariser.l1) * cvxpy.norm1(x) + float(
                regulariser.l2
            ) * cvxpy.sum_squares(x)
        case GroupL1():
            return (
                float(regulariser.strength)
                * np.sqrt(2.0)
                * (cvxpy.norm2(x[:2]) + cvxpy.norm2(x[2:]))
            )
        case _:
            return 0.0


def rules(constraint, x):
    match constraint:
        case Box():
            return [x >= constraint.lower, x <= constraint.upper]
        case Ball():
            return [cvxpy.norm(x, constraint.order) <= float(constraint.radius)]
        case Simplex():
            return [x >= 0.0, cvxpy.sum(x) == 1.0]
        case Affine():
            return [constraint.matrix @ x == constraint.target]
        case _:
            return []


def solved(program):
    program.solve(solver=cvxpy.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10)


def independent(public):
    x = cvxpy.Variable(4)
    objective = STEP * penalty(public.regulariser, x) + cvxpy.sum_squares(x - V) / 2.0
    solved(cvxpy.Problem(cvxpy.Minimize(objective), rules(public.constraint, x)))
    return x.value


GROUPS = (0, 0, 1, 1)
SETS = [
    Free(),
    Box(-0.3, 0.6),
    Ball(0.7),
    Ball(0.7, order=1),
    Simplex(),
    Affine([[1.0] * 4], [1.0]),
]
PENALTIES = [NoRegulariser(), L1(0.6), L2(0.6), ElasticNet(0.4, 0.3), GroupL1(0.4, GROUPS)]


@pytest.mark.parametrize("constraint", SETS, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("regulariser", PENALTIES, ids=lambda each: type(each).__name__)
def test_exact_means_the_solution_of_the_joint_problem(regulariser, constraint, float64):
    public = Public(regulariser, constraint)
    if public.exact:
        np.testing.assert_allclose(public.prox(V, STEP), independent(public), atol=2e-5)


def test_composition_is_not_claimed_where_it_is_wrong(float64):
    public = Public(L1(0.6), Ball(0.3, np.array([0.0, 1.0, 0.0, 0.0])))
    assert not public.exact
    x = cvxpy.Variable(4)
    objective = STEP * 0.6 * cvxpy.norm1(x) + cvxpy.sum_squares(x - V) / 2.0
    inside = [cvxpy.norm2(x - public.constraint.centre) <= 0.3]
    solved(cvxpy.Problem(cvxpy.Minimize(objective), inside))
    assert np.linalg.norm(x.value - np.asarray(public.prox(V, STEP))) > 1e-2


def test_coordinates_without_penalty_break_only_what_they_should():
    assert not Public(L2(1.0, unpenalised=(0,)), Ball(1.0)).exact
    assert not Public(ElasticNet(1.0, 1.0, unpenalised=(0,)), Ball(1.0)).exact
    assert Public(L1(1.0, unpenalised=(0,)), Ball(1.0)).exact
    assert not Public(GroupL1(1.0, GROUPS), Box(0.0, 1.0)).exact


def test_step_is_proximal_where_exact_and_projected_subgradient_elsewhere(float64):
    x, direction = np.array([1.0, -1.0, 0.5, 0.0]), np.array([0.2, 0.1, -0.3, 0.4])
    exact = Public(L1(0.6), Box(-1.0, 1.0))
    np.testing.assert_allclose(
        exact.descend(x, direction, STEP), exact.prox(x - STEP * direction, STEP)
    )
    other = Public(L1(0.6), Simplex())
    moved = x - STEP * (direction + 0.6 * np.sign(x))
    np.testing.assert_allclose(other.descend(x, direction, STEP), Simplex().project(moved))


def test_value_and_gradient_are_the_regularisers(float64):
    public = Public(L2(0.5), Box(-1.0, 1.0))
    assert float(public.value(V)) == pytest.approx(0.5 * V @ V)
    np.testing.assert_allclose(public.gradient(V), V)
