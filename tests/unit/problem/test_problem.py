"""The problem: shares, agents, value; passes through compiled code without compiling twice."""

import equinox as eqx
import jax
import numpy as np
import pytest

from tacit import problem as package
from tacit.errors import ProblemError
from tacit.problem import L2, Logistic, Problem, Squared, curvature, empirical_risk


def build(seed=0, **options):
    rng = np.random.default_rng(seed)
    rows = [rng.normal(size=(n, 3)) for n in (4, 6, 5)]
    return empirical_risk(rows, [np.arange(len(r)) % 2 for r in rows], Logistic(), **options)


def test_value_is_the_sum_of_objectives_and_the_whole_regulariser(float64):
    problem, x = build(regulariser=L2(0.3)), np.array([0.1, -0.2, 0.3])
    parts = [problem.agent(k).value(x) + problem.public.value(x) for k in range(3)]
    assert problem.value(x) == pytest.approx(float(sum(parts)), rel=1e-14)


def test_value_is_in_double_precision_without_a_context():
    problem, x = build(), np.array([0.1, -0.2, 0.3])
    risk = problem.objectives
    losses = np.logaddexp(0.0, risk.features @ x) - risk.targets * (risk.features @ x)
    expected = float(np.sum(np.sum(losses * risk.mask, axis=1) / problem.counts))
    assert problem.value(x) == pytest.approx(expected, rel=1e-14)


def test_each_agent_has_its_share_of_the_regulariser():
    assert float(build(regulariser=L2(0.3)).public.regulariser.strength) == pytest.approx(0.1)


def test_a_second_problem_of_equal_shape_does_not_compile_again(float64):
    traced = []

    @eqx.filter_jit
    def gradients(objectives, public, x):
        traced.append(1)
        slopes = jax.vmap(lambda own: own.gradient(x))(objectives)
        return public.descend(x, slopes.sum(axis=0), 0.1)

    for seed, strength in ((0, 0.1), (1, 0.2)):
        problem = build(seed, regulariser=L2(strength))
        gradients(problem.objectives, problem.public, problem.x0)
    assert len(traced) == 1


@pytest.mark.parametrize("index", [-1, 3])
def test_an_agent_that_is_not_there(index):
    with pytest.raises(ProblemError, match=f"no agent {index}"):
        build().agent(index)


def test_parts_that_do_not_fit_are_refused():
    good = build()
    with pytest.raises(ProblemError, match="2 names"):
        Problem(good.objectives, good.x0, good.counts, ("a", "b"), good.parameter_names)
    with pytest.raises(ProblemError, match="2 parameter names"):
        Problem(good.objectives, good.x0, good.counts, good.names, ("a", "b"))


def test_reference_is_computed_once():
    problem = build(regulariser=L2(0.3))
    assert problem.reference() is problem.reference()


def test_curvature_is_the_largest_eigenvalue_of_the_second_derivative(float64):
    rows = [np.array([[1.0, 2.0], [3.0, -1.0]]), np.array([[0.5, 0.5]])]
    problem = empirical_risk(rows, [[0.0, 1.0], [0.0]], Squared())
    for k, bound in enumerate(curvature(problem)):
        hessian = jax.hessian(problem.agent(k).value)(np.zeros(2))
        assert bound == pytest.approx(np.linalg.eigvalsh(hessian).max(), rel=1e-12)


def test_curvature_is_infinite_without_a_bound():
    rows = [np.ones((2, 1)), np.ones((1, 1))]
    problem = empirical_risk(rows, [[0.0, 1.0], [0.0]], package.Hinge())
    assert np.isinf(curvature(problem)).all()
    assert np.isinf(curvature(package.costs(lambda x, c: c * x[0], np.ones(2), [0.0]))).all()


def test_every_public_name_is_there():
    for name in package.__all__:
        assert getattr(package, name) is not None
    assert set(package.__all__) <= set(dir(package))
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        package.nothing_of_the_kind  # noqa: B018 - the access is the test
