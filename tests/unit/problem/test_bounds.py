"""Declared bounds are enforced on the data, and what they imply of gradients."""

import math
from typing import Any

import numpy as np
import pytest

from tacit.clipping import ORDERS, row_norms
from tacit.errors import ProblemError
from tacit.problem import Hinge, JaxLoss, Logistic, RecordBounds, Softmax, Squared, empirical_risk

ROWS = np.array([[0.6, 0.8], [3.0, 4.0], [0.0, 0.0], [1e308, 1e308], [-1e-300, 0.0]])


def square(x, row, target):
    return (row @ x - target) ** 2


@pytest.mark.parametrize("order", ORDERS)
def test_longer_rows_are_scaled_down_and_others_stay(order):
    inside = RecordBounds(row=2.0, order=order, beyond="clip").on_rows(ROWS, "north")
    assert np.all(row_norms(inside, order) <= 2.0 * (1 + 1e-12))
    np.testing.assert_array_equal(inside[[0, 2, 4]], ROWS[[0, 2, 4]])
    # what is scaled keeps its direction and reaches the bound
    np.testing.assert_allclose(row_norms(inside, order)[[1, 3]], 2.0)
    np.testing.assert_allclose(inside[1] / inside[1, 1], [0.75, 1.0])
    assert ROWS[1, 0] == 3.0


def test_a_row_beyond_its_bound_is_named_and_its_values_are_not():
    with pytest.raises(ProblemError, match="south: row 1 has an l2 norm above the declared") as no:
        empirical_risk(
            [[[1.0, 0.0]], [[1.0, 0.0], [0.0, 7.25]]],
            [[0.0], [0.0, 1.0]],
            Squared(),
            names=["north", "south"],
            bounds=RecordBounds(row=1.0),
        )
    assert "7.25" not in str(no.value)


def test_the_intercept_counts_and_rounding_does_not():
    tables, targets = [[[0.6, 0.8]], [[0.8, 0.6]]], [[0.0], [1.0]]
    bounds = RecordBounds(row=math.sqrt(2.0))
    task = empirical_risk(tables, targets, Logistic(), intercept=True, bounds=bounds)
    assert np.asarray(task.objectives.features).shape == (2, 1, 3)
    with pytest.raises(ProblemError, match="row 0"):
        empirical_risk(tables, targets, Logistic(), intercept=True, bounds=RecordBounds(row=1.0))


def test_targets_are_cut_or_refused():
    cut = RecordBounds(target=2.0, beyond="clip").on_targets(np.array([1.0, -5.0, 3.0]), "north")
    np.testing.assert_array_equal(cut, [1.0, -2.0, 2.0])
    with pytest.raises(ProblemError, match="north: the target in row 1 is larger than the decl"):
        RecordBounds(target=2.0).on_targets(np.array([1.0, -5.0, 3.0]), "north")


def test_what_bounds_imply_of_gradients():
    assert RecordBounds(row=3.0).of_gradient(Hinge(), 4) == (6.0, 3.0, 3.0)
    assert RecordBounds(row=3.0, order=1).of_gradient(Logistic(), 4) == (3.0, 3.0, 3.0)
    assert RecordBounds(row=3.0, order=math.inf).of_gradient(Logistic(), 4) == (12.0, 6.0, 3.0)
    softmax = RecordBounds(row=1.0).of_gradient(Softmax(3), 4)
    assert softmax == pytest.approx((4.0, math.sqrt(2.0), 1.0))
    assert RecordBounds(row=3.0).of_gradient(Squared(), 4) == (math.inf,) * 3
    assert RecordBounds(row=3.0).of_gradient(JaxLoss(square), 4) == (math.inf,) * 3
    assert RecordBounds(target=3.0).of_gradient(Logistic(), 4) == (math.inf,) * 3


@pytest.mark.parametrize("order", ORDERS)
def test_a_problem_carries_them_and_has_none_by_default(order, float64):
    tables, targets = [[[0.6, 0.8]], [[0.8, 0.6]]], [[0.0], [1.0]]
    task = empirical_risk(tables, targets, Logistic(), bounds=RecordBounds(row=1.5))
    expected = RecordBounds(row=1.5).of_gradient(Logistic(), 2)[ORDERS.index(order)]
    np.testing.assert_allclose(task.objectives.gradient_bound(order), [expected] * 2)
    bare = empirical_risk(tables, targets, Logistic())
    np.testing.assert_array_equal(bare.objectives.gradient_bound(order), [np.inf] * 2)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"row": 0.0}, "row=0.0 must be positive"),
        ({"row": math.nan}, "row=nan must be positive"),
        ({"target": -1.0}, "target=-1.0 must be positive"),
        ({"order": 3}, "order=3 must be 1, 2 or math.inf"),
    ],
)
def test_wrong_bounds_are_refused(wrong, message):
    with pytest.raises(ProblemError, match=message):
        RecordBounds(**wrong)


@pytest.mark.parametrize("slope", [math.nan, -1.0])
def test_a_slope_bound_that_is_none_bounds_no_gradient(slope: float) -> None:
    class Odd(Squared):
        def slope_bound(self, order: Any) -> float:
            return slope

    assert RecordBounds(row=1.0).of_gradient(Odd(), 1) == (math.inf,) * 3
