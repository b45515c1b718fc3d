import math

import numpy as np
import pytest

from tacit.evaluate import auc, scores
from tacit.problem.losses import Hinge, Logistic, Poisson, Quantile, Softmax, Squared

X = np.array([[-2.0, 1.0], [-1.0, 1.0], [1.0, 1.0], [2.0, 1.0]])


def test_auc_counts_pairs() -> None:
    rng = np.random.default_rng(0)
    predicted, positive = rng.integers(0, 10, 60).astype(float), rng.random(60) < 0.4
    pairs = [
        1.0 if p > n else 0.5 if p == n else 0.0
        for p in predicted[positive]
        for n in predicted[~positive]
    ]
    assert auc(predicted, positive) == pytest.approx(np.mean(pairs), abs=1e-12)


def test_auc_of_one_class_is_undefined() -> None:
    assert math.isnan(auc(np.arange(3.0), np.ones(3, dtype=bool)))


def test_answering_zero_scores_half() -> None:
    found = scores(Logistic(), X, np.array([0.0, 1.0, 0.0, 1.0]), np.zeros(2))
    assert found["auc"] == 0.5
    assert found["loss"] == pytest.approx(math.log(2))
    assert found["accuracy"] == 0.5


def test_a_tie_counts_as_a_random_decision() -> None:
    mostly = np.array([1.0, 1.0, 1.0, 0.0])
    assert scores(Logistic(), X, mostly, np.zeros(2))["accuracy"] == 0.5
    classes = scores(Softmax(3), X, np.array([0, 0, 0, 1]), np.zeros(6))
    assert classes["accuracy"] == pytest.approx(1 / 3)


def test_yes_or_no() -> None:
    found = scores(Logistic(), X, np.array([0.0, 0.0, 1.0, 1.0]), np.array([1.0, 0.0]))
    assert found["auc"] == found["accuracy"] == 1.0
    assert found["loss"] == pytest.approx(
        np.mean(np.log1p(np.exp(-np.array([2.0, 1.0, 1.0, 2.0]))))
    )


def test_hinge_targets_are_yes_or_no() -> None:
    found = scores(Hinge(), X, np.array([0.0, 0.0, 1.0, 1.0]), np.array([1.0, 0.0]))
    assert found["auc"] == 1.0
    assert found["loss"] == 0.0


def test_classes() -> None:
    # parameters (features, classes): class 0 left, class 1 right
    solution = np.array([-1.0, 1.0, 0.0, 0.0])
    found = scores(Softmax(2), X, np.array([0, 0, 1, 0]), solution)
    assert found["accuracy"] == 0.75
    assert found["error"] == 0.25


def test_numbers() -> None:
    targets = np.array([-2.0, -1.0, 1.0, 4.0])
    found = scores(Squared(), X, targets, np.array([1.0, 0.0]))
    assert found["rmse"] == 1.0
    assert found["loss"] == 1.0
    assert found["r2"] == pytest.approx(1 - 4 / np.sum((targets - targets.mean()) ** 2))
    assert math.isnan(scores(Squared(), X, np.ones(4), np.zeros(2))["r2"])


def test_counts_are_predicted_by_their_mean() -> None:
    found = scores(Poisson(), X, np.ones(4), np.zeros(2))
    assert found["rmse"] == 0.0


def test_quantiles_report_their_coverage() -> None:
    found = scores(Quantile(0.5), X, np.array([-3.0, 0.0, 0.0, 3.0]), np.array([1.0, 0.0]))
    assert found["coverage"] == 0.5
