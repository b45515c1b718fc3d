"""Empirical risk: gradients against automatic ones, clipping against one record at a time."""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tacit.errors import ProblemError
from tacit.problem.erm import EmpiricalRisk
from tacit.problem.losses import (
    AbstractLoss,
    Hinge,
    Huber,
    JaxLoss,
    Logistic,
    Poisson,
    Quantile,
    Softmax,
    Squared,
)
from tacit.types import Unit


def square(x, row, target):
    return jnp.square(row @ x - target)


def fragile(x, row, target):
    return jnp.log(row @ row) * jnp.sum(x**2)


LOSSES = [
    Squared(),
    Logistic(),
    Softmax(3),
    Huber(0.5),
    Hinge(),
    Quantile(0.3),
    Poisson(),
    JaxLoss(square),
]
RNG = np.random.default_rng(3)
ROWS = RNG.normal(size=(6, 4))
REAL = 5  # the last row fills up


def risk(loss, normaliser=2.5, rows=ROWS):
    targets = {Hinge: np.array([-1.0, 1.0] * 3), Softmax: np.array([0.0, 1.0, 2.0] * 2)}.get(
        type(loss), np.array([0.0, 1.0] * 3)
    )
    mask = (np.arange(6) < REAL).astype(float)
    return EmpiricalRisk(
        normaliser=np.array(normaliser),
        features=rows * mask[:, None],
        targets=targets * mask,
        mask=mask,
        loss=loss,
    )


def point(loss):
    return np.random.default_rng(4).normal(size=loss.dimension(4))


def record_gradients(objective, x):
    return np.asarray(jax.jacrev(objective.losses)(jnp.asarray(x)))


@pytest.mark.parametrize(
    "loss", [LOSSES[0], *(pytest.param(e, marks=pytest.mark.long) for e in LOSSES[1:])]
)
@pytest.mark.parametrize("order", [1, 2, np.inf])
def test_norms_are_those_of_each_records_gradient(loss, order, float64):
    objective, x = risk(loss), point(loss)
    norms = np.linalg.norm(record_gradients(objective, x), ord=order, axis=1)
    np.testing.assert_allclose(objective.gradient_norms(x, order), norms, rtol=1e-12)
    assert objective.gradient_norms(x, order)[REAL:].tolist() == [0.0]


@pytest.mark.long
@pytest.mark.parametrize("loss", LOSSES, ids=lambda each: type(each).__name__)
def test_gradient_is_that_of_the_value(loss, float64):
    objective, x = risk(loss), point(loss)
    np.testing.assert_allclose(
        objective.gradient(x), jax.grad(objective.value)(jnp.asarray(x)), rtol=1e-12, atol=1e-14
    )


@pytest.mark.long
@pytest.mark.parametrize("loss", LOSSES, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("order", [1, 2, np.inf])
def test_clipping_is_that_of_one_record_after_the_other(loss, order, float64):
    objective, x, clip = risk(loss), point(loss), 0.8
    keep = jnp.array([True, False, True, True, True, True])
    expected = np.zeros_like(x)
    clipped = 0
    for gradient, kept in zip(record_gradients(objective, x), keep, strict=True):
        norm = np.linalg.norm(gradient, ord=order)
        clipped += norm > clip
        expected += kept * gradient * min(1.0, clip / max(norm, 1e-300))
    assert clipped > 0
    np.testing.assert_allclose(
        objective.clipped_gradient(x, clip, order, keep), expected / 2.5, rtol=1e-12, atol=1e-14
    )


@pytest.mark.parametrize("loss", LOSSES, ids=lambda each: type(each).__name__)
def test_infinite_clip_changes_nothing(loss, float64):
    objective, x = risk(loss), point(loss)
    np.testing.assert_allclose(
        objective.clipped_gradient(x, np.inf, 2, None), objective.gradient(x), rtol=1e-13
    )


@pytest.mark.parametrize("loss", LOSSES, ids=lambda each: type(each).__name__)
def test_filled_up_rows_count_for_nothing(loss, float64):
    objective, x = risk(loss), point(loss)
    assert objective.units == 6
    losses = np.asarray(objective.losses(x))
    assert losses[REAL] == 0.0
    assert float(objective.value(x)) == pytest.approx(losses[:REAL].sum() / 2.5, rel=1e-13)


def test_one_record_moves_the_clipped_gradient_by_no_more_than_the_sensitivity(float64):
    x, clip = point(Squared()), 0.3
    base = np.asarray(risk(Squared()).clipped_gradient(x, clip, 2, None))
    for outlier in (1e3, -1e8, 1e200, -1e300):
        rows = ROWS.copy()
        rows[2] = outlier
        moved = np.asarray(risk(Squared(), rows=rows).clipped_gradient(x, clip, 2, None))
        assert np.linalg.norm(moved - base) <= 2.0 * clip / 2.5 * (1 + 1e-12)


@pytest.mark.parametrize("mask", [[5.0], [-1.0], [np.nan]])
def test_weights_in_the_place_of_a_mask_are_refused_for_they_lengthen_what_was_clipped(mask):
    given = {"features": np.ones((1, 2)), "targets": np.ones(1), "loss": Squared()}
    EmpiricalRisk(normaliser=1.0, mask=np.ones(1), **given)
    with pytest.raises(ProblemError, match="mask holds other numbers than 1 for a record"):
        EmpiricalRisk(normaliser=1.0, mask=np.array(mask), **given)
    for divisor in (-6.0, 0.0, np.nan, np.inf, 1e20):
        with pytest.raises(ProblemError, match=r"normaliser=.* must be positive and at most 9e"):
            EmpiricalRisk(normaliser=divisor, mask=np.ones(1), **given)


def test_a_tiny_row_with_a_huge_target_does_not_slip_through_the_clip(float64):
    objective = EmpiricalRisk(
        normaliser=np.array(1.0),
        features=np.array([[1e-200, 1e-200]]),
        targets=np.array([1e290]),
        mask=np.ones(1),
        loss=Squared(),
    )
    clipped = np.asarray(objective.clipped_gradient(np.zeros(2), 1.0, 2, None))
    assert np.linalg.norm(clipped) == pytest.approx(1.0)


@pytest.mark.parametrize("order", [1, 2, np.inf])
@pytest.mark.parametrize("target", [0.0, 1.0])
def test_slopes_and_rows_at_both_ends_of_the_range_are_clipped(order, target, float64):
    for score, huge in ((195.0, 1e175), (400.0, 1e280), (700.0, 1e300), (720.0, 1.7e308)):
        objective = EmpiricalRisk(
            normaliser=np.array(1.0),
            features=np.array([[score, huge, -huge]]),
            targets=np.array([target]),
            mask=np.ones(1),
            loss=Softmax(3),
        )
        x = np.array([1.0, -1.0, 0.5, *[0.0] * 6])
        clipped = np.asarray(objective.clipped_gradient(x, 1e-2, order, None))
        assert np.linalg.norm(clipped, order) <= 1e-2 * (1.0 + 1e-12)


@pytest.mark.long
@pytest.mark.parametrize("loss", [Logistic(), Softmax(2), JaxLoss(square)])
@pytest.mark.parametrize(
    "order", [2, *(pytest.param(other, marks=pytest.mark.long) for other in (1, np.inf))]
)
def test_a_row_that_overflows_in_float32_counts_for_nothing(loss, order):
    rows = ROWS.copy()
    rows[1, 2] = 1e39
    with jax.enable_x64(False), np.errstate(over="ignore"):
        narrow = jax.tree.map(jnp.asarray, risk(loss, rows=rows))
        x = jnp.zeros(loss.dimension(4))
        without = narrow.clipped_gradient(x, 0.5, order, jnp.arange(6) != 1)
        assert np.isfinite(without).all()
        np.testing.assert_array_equal(narrow.clipped_gradient(x, 0.5, order, None), without)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_features_that_are_no_numbers_are_refused(value):
    rows = ROWS.copy()
    rows[1, 2] = value
    with pytest.raises(ProblemError, match="missing or infinite"):
        risk(Squared(), rows=rows)


def test_only_a_loss_that_could_mix_records_is_taken_on_trust():
    class Own(Squared):
        pass

    assert all(risk(loss).assumptions == () for loss in LOSSES)
    (assumption,) = risk(Own()).assumptions
    assert "of each record from that record only" in assumption and "Own encodes" in assumption


def test_row_norms_are_the_same_in_numpy_and_in_compiled_code(float64):
    compiled = jax.jit(lambda rows: risk(Squared(), rows=rows).norms)(jnp.asarray(ROWS))
    np.testing.assert_allclose(compiled, risk(Squared()).norms, rtol=1e-15)
    np.testing.assert_allclose(compiled[1, :5], np.linalg.norm(ROWS[:5], axis=1), rtol=1e-15)


@pytest.mark.parametrize("loss", [Poisson(), JaxLoss(fragile)])
def test_gradients_that_are_not_finite_count_for_nothing(loss, float64):
    rows = ROWS.copy()
    rows[1] = 1e4 if isinstance(loss, Poisson) else 0.0
    x = np.ones(4)
    objective = risk(loss, rows=rows)
    assert not np.isfinite(record_gradients(objective, x)[1]).all()
    others = risk(loss, rows=rows).clipped_gradient(x, 0.5, 2, jnp.arange(6) != 1)
    np.testing.assert_array_equal(objective.clipped_gradient(x, 0.5, 2, None), others)


def test_filled_up_rows_cannot_break_a_users_loss(float64):
    objective = risk(JaxLoss(fragile))
    assert np.isfinite(objective.gradient(np.ones(4))).all()
    assert np.isfinite(objective.clipped_gradient(np.ones(4), 1.0, 2, None)).all()


def test_a_users_loss_agrees_with_the_built_in_one(float64):
    x = point(Squared())
    np.testing.assert_allclose(
        risk(JaxLoss(square)).gradient(x), risk(Squared()).gradient(x), rtol=1e-13
    )


def test_unit_is_the_record():
    assert EmpiricalRisk.unit is Unit.RECORD


def test_a_loss_of_neither_kind_is_refused(float64):
    class Odd(AbstractLoss):
        smooth: ClassVar[bool] = True
        convex: ClassVar[bool] = True

        def dimension(self, features):
            return features

        def encode(self, targets, where):
            return targets

    with pytest.raises(TypeError, match="Odd is neither"):
        risk(Odd()).losses(np.ones(4))


@pytest.mark.long
@pytest.mark.parametrize("records", [pytest.param(1000, marks=pytest.mark.long), 1234])
@pytest.mark.parametrize("loss", [pytest.param(Logistic(), marks=pytest.mark.long), Softmax(3)])
def test_blocks_of_records_in_float32_add_up_to_all_at_once(loss, records):
    rng = np.random.default_rng(4)
    whole = EmpiricalRisk(
        normaliser=np.float64(records),
        features=rng.normal(size=(records, 5)),
        targets=rng.integers(0, 2, records).astype(float),
        mask=np.ones(records),
        loss=loss,
    )
    x, keep = rng.normal(size=loss.dimension(5)), rng.random(records) < 0.7
    with jax.enable_x64(True):
        exact = np.asarray(whole.clipped_gradient(x, 0.5, 2, jnp.asarray(keep)))
    with jax.enable_x64(False):
        narrow = jax.tree.map(jnp.asarray, whole)
        blocks = jax.jit(lambda risk, x: risk.clipped_gradient(x, 0.5, 2, jnp.asarray(keep)))
        loops = str(jax.make_jaxpr(blocks)(narrow, jnp.asarray(x))).count("scan[")
        np.testing.assert_allclose(blocks(narrow, jnp.asarray(x)), exact, rtol=1e-4, atol=1e-7)
    assert loops == 1
