"""Costs in cvxpy: values, slopes, proximal points and multipliers against closed forms."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tacit
from tacit import method, network, problem
from tacit.errors import PrivacyError, ProblemError
from tacit.method import ADMM
from tacit.problem.callback import host_errors

cp = pytest.importorskip("cvxpy")

CENTRES = np.array([[0.0, 2.0], [1.0, 0.0], [5.0, 1.0]])


def distance(x: Any, agent: int) -> Any:
    return cp.sum_squares(x - CENTRES[agent])


def capped(x: Any, agent: int) -> Any:
    """The second and third agent forbid more than a total of 3."""
    return distance(x, agent), [x[0] + x[1] <= 3.0] if agent else []


def repaired(x: Any, agent: int) -> Any:
    """The cheapest own supply that covers a demand: `max(0, x0 - 1)` for the price of 2."""
    supply = cp.Variable(nonneg=True)
    return 2.0 * supply + cp.square(x[1]), [supply >= x[0] - 1.0]


def made(build: Any = distance, **given: Any) -> Any:
    return problem.convex_costs(build, 3, [0.0, 0.0], **given)


@pytest.mark.usefixtures("float64")
def test_values_and_slopes_of_all_agents_at_once() -> None:
    points = np.array([[1.0, -1.0], [0.5, 3.0]])
    both = jax.jit(
        jax.vmap(
            lambda cost: jax.vmap(lambda x: (cost.value(x), cost.gradient(x)))(jnp.asarray(points))
        )
    )
    values, slopes = both(made().objectives)
    away = points[None] - CENTRES[:, None]
    np.testing.assert_allclose(values, np.sum(away**2, axis=2), atol=1e-7)
    np.testing.assert_allclose(slopes, 2.0 * away, atol=1e-6)


@pytest.mark.usefixtures("float64")
def test_variables_of_an_agents_own() -> None:
    cost = made(repaired).agent(0)
    ask = jax.jit(lambda x: (cost.value(x), cost.gradient(x)))
    value, slope = ask(jnp.array([3.0, 1.0]))
    np.testing.assert_allclose(value, 5.0, atol=1e-7)
    np.testing.assert_allclose(slope, [2.0, 2.0], atol=1e-6)
    value, slope = ask(jnp.array([-3.0, 0.0]))
    np.testing.assert_allclose([value, *slope], 0.0, atol=1e-6)
    clip = jax.jit(lambda x: cost.clipped_gradient(x, 0.5, 2, None))(jnp.array([3.0, 1.0]))
    np.testing.assert_allclose(clip, [0.5**1.5, 0.5**1.5], atol=1e-6)


@pytest.mark.usefixtures("float64")
def test_proximal_points_and_multipliers() -> None:
    task = made(capped)
    prox = jax.jit(lambda cost, v: cost.prox(v, 0.5))
    # halfway between centre and v, then onto the line x0 + x1 = 3
    np.testing.assert_allclose(prox(task.agent(2), jnp.array([5.0, 3.0])), [3.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(prox(task.agent(0), jnp.array([4.0, 4.0])), [2.0, 3.0], atol=1e-6)
    own = made(repaired).objectives.duals([3.0, 1.0])
    np.testing.assert_allclose([each[0] for each in own], 2.0, atol=1e-6)
    assert [len(each) for each in task.objectives.duals([1.0, 1.0])] == [0, 1, 1]


def test_the_pooled_solution_knows_all_constraints() -> None:
    free, bound = made().reference(), made(capped).reference()
    np.testing.assert_allclose(free.solution, CENTRES.mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(bound.solution, [2.0, 1.0], atol=1e-6)
    assert bound.gap < 1e-5
    held = made(regulariser=problem.L2(3.0), constraint=problem.Box(0.0, 0.9)).reference()
    np.testing.assert_allclose(held.solution, [0.9, 0.5], atol=1e-6)


@pytest.mark.long
def test_admm_reaches_it_through_proximal_points() -> None:
    """Also where some agents' costs are infinite on the way."""
    task = made(lambda x, agent: capped(x + 1.0, agent))
    result = tacit.run(task, network.ring(3), ADMM(penalty=0.5), rounds=60, seed=0)
    np.testing.assert_allclose(result.solutions[0], [[1.0, 0.0]] * 3, atol=1e-3)


PRIVATE = tacit.DZOA(privacy=tacit.Privacy(clip=2.0, epsilon=50.0, delta=1e-3))


@pytest.mark.parametrize(
    ("chosen", "lacks"),
    [
        (tacit.DGD(step=0.1), "has no slope"),
        pytest.param(PRIVATE, "is infinite", marks=pytest.mark.long),
    ],
    ids=["gradients", "values"],
)
def test_a_run_ends_where_an_agents_cost_is_infinite(chosen: Any, lacks: str) -> None:
    """With the solver's own error, whichever way JAX passes it on."""
    closed = made(lambda x, agent: (distance(x, agent), [x <= -1.0] if agent == 1 else []))
    with pytest.raises(ProblemError, match=f"the cost of agent 1 {lacks}"):
        tacit.run(closed, network.ring(3), chosen, rounds=2, seed=0)


@pytest.mark.long
def test_gradient_methods_take_them() -> None:
    result = tacit.run(
        made(smooth=True), network.ring(3), method.EXTRA(step=0.1), rounds=100, seed=0
    )
    np.testing.assert_allclose(result.solution, CENTRES.mean(axis=0), atol=1e-4)
    budget = tacit.Privacy(clip=1.0, epsilon=5.0, delta=1e-6)
    private = tacit.run(made(), network.ring(3), tacit.DPSG(step=0.1, privacy=budget), rounds=5)
    assert private.guarantee.worst.status.value == "proved"


def test_a_polyhedron_just_works() -> None:
    """`A x <= b` for everyone, with costs in cvxpy."""
    capping = problem.Polyhedron([[1.0, 1.0]], [3.0])
    found = made(constraint=capping).reference().solution
    np.testing.assert_allclose(found, [2.0, 1.0], atol=1e-6)


@pytest.mark.long
def test_a_polyhedron_just_works_in_a_run() -> None:
    capping = problem.Polyhedron([[1.0, 1.0]], [3.0])

    def squares(x: Any, centre: Any) -> Any:
        return jnp.sum((x - centre) ** 2)

    there = problem.costs(squares, CENTRES, np.zeros(2), constraint=capping, convex=True)
    step = method.GradientDescent(step=0.2)
    found = tacit.run(there, network.Coordinator(3), step, rounds=60, seed=0).solution
    np.testing.assert_allclose(found, [2.0, 1.0], atol=1e-4)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda x, agent: -cp.sum_squares(x),
            "cvxpy cannot see that the cost of agent 0 is convex",
        ),
        (lambda x, agent: x, "must return a scalar cvxpy expression"),
        (lambda x, agent: (cp.sum(x), [1.0]), "must return a scalar cvxpy expression"),
        (lambda x, agent: (cp.sum(x), x >= 0.0), "its constraints are .*put them into a list"),
        (lambda x, agent: (cp.sum(x), None), "its constraints are None; put them into a list"),
        (lambda x, agent: cp.Problem(cp.Minimize(cp.sum(x))), "return the expression to be"),
        (lambda x, agent: cp.Minimize(cp.sum(x)), "is a Minimize; return the expression to be"),
        (lambda x, agent: cp.sum(x) + cp.Variable(boolean=True), "agent 0 has variables that are"),
        (lambda x, agent: cp.sum(x) + cp.Parameter(name="rate"), r"without a value \(rate\)"),
        (lambda x, agent: cp.sum_squares(cp.Variable(2)), "agent 0 does not depend on x"),
        (lambda x, agent: x[5], "could not be built for 2 parameters: IndexError"),
        (3.0, "build is 3.0; give a function"),
        (
            lambda x: cp.sum_squares(x),
            r"takes \(x\), and is called with \(x, agent\): x is a cvxpy variable, shape \(p,\), a",
        ),
    ],
)
def test_costs_that_are_refused(build: Any, message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        made(build)


@pytest.mark.usefixtures("float64")
def test_points_without_a_value_are_named_by_agent() -> None:
    task = made(lambda x, agent: (cp.sum(x), [x >= 1.0] if agent == 1 else []))
    assert task.value([0.0, 2.0]) == np.inf
    ask: Any = jax.jit(lambda cost, x: cost.losses(x))
    with pytest.raises(ProblemError, match=r"agent 1 is infinite.*constraint="), host_errors():
        ask(task.agent(1), jnp.array([0.0, 2.0])).block_until_ready()
    ask = jax.jit(lambda cost, x: cost.gradient(x))
    with pytest.raises(ProblemError, match="the cost of agent 1 has no slope"), host_errors():
        ask(task.agent(1), jnp.array([0.0, 2.0])).block_until_ready()
    endless = made(lambda x, agent: cp.sum(x) + cp.Variable())
    with pytest.raises(ProblemError, match="agent 0 has no lower bound"):
        endless.value([0.0, 2.0])
    empty = made(lambda x, agent: (cp.sum_squares(x), [x >= 1.0, x <= 0.0]))
    ask = jax.jit(lambda cost, x: cost.prox(x, 1.0))
    with pytest.raises(ProblemError, match="has no minimiser near a point"), host_errors():
        ask(empty.agent(0), jnp.zeros(2)).block_until_ready()
    with pytest.raises(ProblemError, match="write regulariser and constraint into the costs"):
        tacit.run(made(regulariser=problem.L1(0.1)), network.ring(3), ADMM(), rounds=1, seed=0)
    with pytest.raises(ProblemError, match="agents=1"):
        problem.convex_costs(distance, 1, [0.0, 0.0])


def test_the_agent_whose_constraints_nothing_meets_is_named() -> None:
    def cost(x: Any, agent: int) -> Any:
        import cvxpy

        bounds = [x <= 0.0, x >= 1.0] if agent == 1 else [x >= float(agent)]
        return cvxpy.sum_squares(x), bounds

    task = problem.convex_costs(cost, 3, x0=[0.0], names=["north", "east", "west"])
    with pytest.raises(ProblemError, match="no point meets the constraints of east"):
        task.reference()

    def apart(x: Any, agent: int) -> Any:
        import cvxpy

        return cvxpy.sum_squares(x), [x == float(agent)]

    with pytest.raises(ProblemError, match="some point satisfies the constraints of all agents"):
        problem.convex_costs(apart, 2, x0=[0.0]).reference()


def test_a_guarantee_says_what_it_takes_for_granted() -> None:
    said = made().objectives.assumptions[0]
    assert "described by data of its own" in said


def test_gradients_of_a_solver_are_not_compared_by_their_distance() -> None:
    """Those of equal costs may differ, so no noise is in proportion to a distance."""
    ring = network.ring(3)
    given: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6}
    bounded = method.DPSG(step=0.1, privacy=tacit.Privacy(clip=1.0, **given))
    stated = tacit.account(made(), ring, bounded, rounds=2).guarantee.worst
    assert stated.status == "proved"
    assert "what others can see of how long its solver takes" in " ".join(stated.assumptions)
    privacy = tacit.Privacy(clip=np.inf, relation="metric", **given)
    with pytest.raises(PrivacyError, match=r"needs exact gradients.*tacit\.problem\.costs"):
        tacit.account(made(), ring, method.DPSG(step=0.1, privacy=privacy), rounds=2)
