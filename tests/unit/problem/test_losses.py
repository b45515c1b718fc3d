"""Losses: values known by hand, derivatives against automatic ones, stability, refused targets."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tacit.clipping import ORDERS, row_norms
from tacit.errors import ProblemError
from tacit.problem.losses import (
    LOSSES,
    Hinge,
    Huber,
    JaxLoss,
    Logistic,
    Poisson,
    Quantile,
    Softmax,
    Squared,
)

SCALAR = [
    (Squared(), np.array([0.3, -2.0, 5.0])),
    (Logistic(), np.array([0.0, 1.0, 1.0])),
    (Huber(0.7), np.array([0.3, -2.0, 5.0])),
    (Hinge(), np.array([-1.0, 1.0, 1.0])),
    (Quantile(0.2), np.array([0.3, -2.0, 5.0])),
    (Poisson(), np.array([0.0, 3.0, 7.0])),
]
SCORES = np.array([0.5, -1.5, 2.5])


def row(index: int) -> str:
    return f"row {index} of 'north'"


@pytest.mark.parametrize(("loss", "targets"), SCALAR)
def test_derivative_is_that_of_the_value(loss, targets, float64):
    automatic = jax.grad(lambda scores: jnp.sum(loss.value(scores, targets)))(jnp.array(SCORES))
    np.testing.assert_allclose(loss.derivative(SCORES, targets), automatic, atol=1e-14)


@pytest.mark.parametrize(("loss", "targets"), SCALAR)
def test_curvature_bounds_the_slope_of_the_derivative(loss, targets, float64):
    if np.isinf(loss.curvature):
        return
    grid = np.linspace(-6.0, 6.0, 2001)
    slopes = np.diff(loss.derivative(grid, targets[0])) / np.diff(grid)
    assert np.max(np.abs(slopes)) <= loss.curvature * (1 + 1e-6)
    assert np.max(np.abs(slopes)) >= loss.curvature * (1 - 1e-3)


@pytest.mark.parametrize(
    ("loss", "score", "target", "value"),
    [
        (Squared(), 3.0, 1.0, 4.0),
        (Logistic(), 0.0, 1.0, np.log(2.0)),
        (Huber(1.0), 0.5, 0.0, 0.125),
        (Huber(1.0), -3.0, 0.0, 2.5),
        (Hinge(), 0.25, 1.0, 0.75),
        (Hinge(), 1.5, 1.0, 0.0),
        (Quantile(0.9), 1.0, 3.0, 1.8),
        (Quantile(0.9), 3.0, 1.0, 0.2),
        (Poisson(), 0.0, 5.0, 1.0),
    ],
)
def test_values_by_hand(loss, score, target, value, float64):
    assert float(loss.value(score, target)) == pytest.approx(value, rel=1e-14)


def test_subderivative_is_0_on_the_kinks(float64):
    assert float(Quantile(0.3).derivative(2.0, 2.0)) == 0.0
    assert float(Hinge().derivative(1.0, 1.0)) == 0.0


@pytest.mark.parametrize("score", [-1e4, 1e4])
def test_logistic_and_softmax_stay_finite_at_large_scores(score, float64):
    assert float(Logistic().value(score, 1.0)) == max(-score, 0.0)
    assert float(Logistic().derivative(score, 1.0)) == (-1.0 if score < 0 else 0.0)
    scores = np.array([[score, 0.0, -score]])
    assert float(Softmax(3).value(scores, np.array([1.0]))[0]) == pytest.approx(1e4)
    assert np.isfinite(Softmax(3).derivative(scores, np.array([1.0]))).all()


def test_softmax_with_two_classes_is_logistic(float64):
    targets = np.array([0.0, 1.0, 1.0])
    scores = np.stack([np.zeros(3), SCORES], axis=1)
    np.testing.assert_allclose(
        Softmax(2).value(scores, targets), Logistic().value(SCORES, targets), rtol=1e-14
    )
    np.testing.assert_allclose(
        Softmax(2).derivative(scores, targets)[:, 1], Logistic().derivative(SCORES, targets)
    )


@pytest.mark.parametrize("loss", [Logistic(), Hinge()])
def test_both_codings_of_yes_and_no_are_one(loss):
    np.testing.assert_array_equal(
        loss.encode(np.array([0.0, 1.0]), row), loss.encode(np.array([-1.0, 1.0]), row)
    )


@pytest.mark.parametrize(
    ("loss", "targets", "words"),
    [
        (Logistic(), [0.0, 2.0], ["row 1 of 'north'", "is 2", "0 or 1"]),
        (Logistic(), [-1.0, 0.0, 1.0], ["row 1", "is 0"]),
        (Hinge(), [1.0, 0.5], ["hinge", "row 1", "is 0.5"]),
        (Softmax(3), [0.0, 3.0], ["row 1", "is 3", "0 .. 2"]),
        (Softmax(3), [1.5], ["row 0", "is 1.5"]),
        (Poisson(), [0.0, -1.0], ["row 1", "is -1", "negative"]),
    ],
)
def test_targets_without_meaning_are_refused(loss, targets, words):
    with pytest.raises(ProblemError) as caught:
        loss.encode(np.array(targets), row)
    assert all(word in str(caught.value) for word in words)


@pytest.mark.parametrize(
    ("build", "word"),
    [
        (lambda: Softmax(1), "classes=1"),
        (lambda: Huber(0.0), "threshold=0"),
        (lambda: Huber(np.inf), "threshold=inf"),
        (lambda: Quantile(1.0), "level=1"),
        (lambda: Quantile(np.nan), "level=nan"),
    ],
)
def test_settings_out_of_range_are_refused(build, word):
    with pytest.raises(ProblemError, match=word):
        build()


def test_dimensions():
    assert Squared().dimension(4) == 4
    assert Softmax(3).dimension(4) == 12
    assert JaxLoss(jnp.dot, 7).dimension(4) == 7


def test_registry_names_every_loss_without_code():
    assert set(LOSSES) == {
        "squared",
        "logistic",
        "softmax",
        "huber",
        "hinge",
        "quantile",
        "poisson",
    }


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("loss", [Logistic(), Huber(0.7), Hinge(), Quantile(0.2), Softmax(3)])
def test_slope_bounds_hold_and_are_reached(loss, order, float64):
    wide = np.concatenate([-np.geomspace(1e3, 1e-3, 40), np.geomspace(1e-3, 1e3, 40)])
    if isinstance(loss, Softmax):
        # the own class has no chance, and one other all of it
        scores, targets = np.array([[0.0, 1e3, 0.0], [1.0, 2.0, 3.0]]), np.array([0.0, 2.0])
        slopes = np.asarray(loss.derivative(scores, targets))
    else:
        targets = np.array([-1.0, 1.0]) if isinstance(loss, Hinge) else np.array([0.0, 1.0])
        slopes = np.asarray(loss.derivative(wide[:, None], targets)).reshape(-1, 1)
    norms = row_norms(slopes, order)
    assert np.max(norms) == pytest.approx(loss.slope_bound(order), rel=1e-9)
    assert np.all(norms <= loss.slope_bound(order) * (1 + 1e-12))


@pytest.mark.parametrize("loss", [Squared(), Poisson()])
def test_a_slope_without_a_bound_has_none(loss):
    assert loss.slope_bound(2) == np.inf
