"""Whole costs: gradients, clipping of the whole, refused parameters."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tacit.errors import ProblemError
from tacit.problem import L2, costs
from tacit.types import Unit

CENTRES = np.array([[0.0, 2.0], [4.0, 0.0], [1.0, 1.0]])


def distance(x, own):
    return own["weight"] * jnp.sum((x - own["centre"]) ** 2)


def problem(**options):
    own = {"centre": CENTRES, "weight": np.array([1.0, 2.0, 3.0])}
    return costs(distance, own, np.zeros(2), **options)


def test_gradient_and_value_are_the_agents_own(float64):
    own = problem().agent(1)
    x = np.array([1.0, 1.0])
    assert float(own.value(x)) == 20.0
    np.testing.assert_allclose(own.gradient(x), [-12.0, 4.0])
    np.testing.assert_allclose(own.losses(x), [20.0])


@pytest.mark.parametrize("order", [1, 2])
def test_the_whole_gradient_is_clipped(order, float64):
    own = problem().agent(1)
    clipped = np.asarray(own.clipped_gradient(np.array([1.0, 1.0]), 0.5, order, None))
    assert np.linalg.norm(clipped, ord=order) == pytest.approx(0.5)
    assert clipped[0] / clipped[1] == pytest.approx(-3.0)


def test_a_cost_that_is_left_out_or_not_finite_counts_for_nothing(float64):
    own = problem().agent(1)
    left_out = own.clipped_gradient(np.ones(2), 0.5, 2, jnp.array([False]))
    np.testing.assert_array_equal(left_out, np.zeros(2))
    nowhere = own.clipped_gradient(np.array([np.nan, 0.0]), 0.5, 2, None)
    np.testing.assert_array_equal(nowhere, np.zeros(2))


def test_problem_of_costs():
    whole = problem(regulariser=L2(1.0), names=["a", "b", "c"], convex=True)
    assert (whole.agents, whole.dimension, whole.unit) == (3, 2, Unit.AGENT)
    assert whole.objectives.units == 1
    assert whole.counts.tolist() == [1, 1, 1]
    assert whole.parameter_names == ("x0", "x1")
    weights = np.array([1.0, 2.0, 3.0])
    expected = weights @ CENTRES / (weights.sum() + 1.0)
    np.testing.assert_allclose(whole.reference().solution, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("parameters", "word"),
    [
        ((np.zeros(2), np.zeros(3)), r"\[2, 3\]"),
        (np.array([0.0, np.nan]), "finite"),
        (np.array(["a", "b"]), "finite numbers"),
        ((), "one entry an agent"),
        (1.0, "single number, and each agent has its own; give arrays"),
        (np.zeros((0, 2)), "0 agents;"),
        (np.zeros(1), "1 agent"),
    ],
)
def test_wrong_parameters_are_refused(parameters, word):
    with pytest.raises(ProblemError, match=word):
        costs(distance, parameters, np.zeros(2))


@pytest.mark.parametrize(
    "flat",
    [
        lambda x, own: jnp.sum(jnp.round(x)) + 0.0 * jnp.sum(own),
        lambda x, own: jnp.sum((x > own) * 1.0),
        lambda x, own: jnp.sum(jnp.floor(x / 3.0)),
        lambda x, own: jnp.sum(jnp.sign(x - own)),
    ],
)
def test_a_cost_without_a_slope_anywhere_is_refused(flat):
    with pytest.raises(ProblemError, match="the function of the costs has slope 0 everywhere"):
        costs(flat, CENTRES, np.zeros(2))


@pytest.mark.parametrize(
    "sloped",
    [
        lambda x, own: 3.0 * x[0],
        lambda x, own: 0.0 * jnp.sum(x),
        lambda x, own: jnp.sum(jnp.maximum(0.0, jnp.abs(x - own) - 1e6)),
        lambda x, own: jnp.sum(jnp.round(x)) + jnp.sum(x**2),
        lambda x, own: jax.lax.while_loop(lambda s: s < 9.0, lambda s: 2.0 * s, 1.0 + x[0] ** 2),
    ],
)
def test_a_cost_that_may_have_one_is_taken(sloped):
    assert costs(sloped, CENTRES, np.zeros(2)).agents == 3


def test_a_function_that_fails_is_told_what_it_takes():
    with pytest.raises(ProblemError, match=r"\(x, parameters\) .*; here x has shape \(2,\), param"):
        costs(lambda x, own: x @ own[:1], CENTRES, np.zeros(2))
