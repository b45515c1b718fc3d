import math

import numpy as np
import pytest

from tacit.problem.losses import (
    AbstractLinearLoss,
    Hinge,
    Huber,
    Logistic,
    Poisson,
    Quantile,
    Softmax,
    Squared,
)
from tacit.problem.scores import auc, base_rate, base_scores, kept_in_words, scores, share_kept

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


@pytest.mark.parametrize(
    ("loss", "targets"),
    [
        (Squared(), [0.0, 1.0, 5.0]),
        (Huber(0.5), [0.0, 1.0, 5.0, 1.5]),
        (Quantile(0.7), [3.0, 1.0, 5.0, 1.5]),
        (Poisson(), [0.0, 2.0, 4.0]),
        (Logistic(), [0.0, 0.0, 0.0, 1.0]),
        (Hinge(), [0.0, 0.0, 0.0, 1.0]),
        (Softmax(3), [0.0, 2.0, 2.0, 1.0]),
    ],
    ids=lambda each: type(each).__name__,
)
def test_the_base_rate_is_the_best_constant(loss: AbstractLinearLoss, targets: list[float]) -> None:
    learned = np.array(targets)
    best = base_rate(loss, learned)
    least = base_scores(loss, learned, learned)["loss"]
    known = loss.encode(learned, str)
    for change in np.random.default_rng(0).normal(size=(200, *best.shape)):
        for size in (1e-3, 1.0):
            constant = np.broadcast_to(best + size * change, (len(learned), *best.shape))
            assert float(np.mean(np.asarray(loss.value(constant, known)))) >= least - 1e-6


def test_a_class_that_training_lacks_has_a_finite_loss() -> None:
    none = np.zeros(10)
    assert base_scores(Logistic(), none, np.array([1.0]))["loss"] == pytest.approx(math.log(21))
    assert math.isfinite(base_scores(Softmax(3), none, np.array([2.0]))["loss"])
    assert math.isfinite(base_scores(Poisson(), none, np.array([2.0]))["loss"])
    assert float(base_rate(Huber(1.0), np.full(4, 3.0))) == 3.0


def test_the_base_rate_of_ten_per_cent_beats_answering_zero() -> None:
    rare = np.arange(100) < 10
    base = base_scores(Logistic(), rare, rare)
    assert base["accuracy"] == 0.9
    assert base["auc"] == 0.5
    entropy = -0.1 * math.log(0.1) - 0.9 * math.log(0.9)
    assert base["loss"] == pytest.approx(entropy)
    # what answering zero gains nothing of is worth far less than nothing by this yardstick
    zero = scores(Logistic(), np.ones((100, 1)), rare, np.zeros(1))["loss"]
    assert share_kept(zero, 0.9 * entropy, base["loss"], higher=False) == pytest.approx(
        (entropy - math.log(2)) / (0.1 * entropy)
    )


def test_the_share_that_is_kept() -> None:
    assert share_kept(0.6, 0.7, 0.5, higher=True) == pytest.approx(0.5)
    assert share_kept(0.6, 0.4, 0.5, higher=False) == pytest.approx(-1.0)
    assert share_kept(0.6, 0.5, 0.5, higher=False) is None
    assert share_kept(0.6, 0.4, 0.5, higher=True) is None
    assert share_kept(math.nan, 0.7, 0.5, higher=True) is None
    assert share_kept(math.inf, 0.4, 0.5, higher=False) == -math.inf
    assert "no better than the base rate" in kept_in_words(None)
    assert "worse than the base rate" in kept_in_words(-1.88)
    assert "keeps -188%" in kept_in_words(-1.88)
