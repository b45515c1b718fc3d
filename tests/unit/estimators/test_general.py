"""A linear classifier and regressor by any method: what they fit, cost and refuse."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from tacit import network
from tacit.errors import BudgetExceeded, ConfigError, NetworkError, PrivacyError
from tacit.estimators import PrivacyLeakWarning, PrivateClassifier, PrivateRegressor
from tacit.estimators.choices import Made, Named, entry_of
from tacit.method import DPSG, GradientDescent
from tacit.privacy import Masks, Privacy
from tacit.privacy.ledger import Ledger
from tacit.problem import Hinge, Huber, JaxLoss, Logistic, Quantile, Softmax, Squared

RECORDS = 6000
SITES = np.array(["east", "north", "west"])[np.arange(RECORDS) % 3]
"""As many records and sites as in the examples of the classes: one program serves both."""

BOUNDS = ([20, -1], [80, 1])


def records() -> tuple[pd.DataFrame, np.ndarray]:
    """Columns and log-odds."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.uniform(20, 80, RECORDS), "dose": rng.uniform(-1, 1, RECORDS)})
    return X, X.to_numpy() @ [0.05, -1.2] - 2.5


def ill() -> tuple[pd.DataFrame, np.ndarray]:
    X, eta = records()
    return X, np.where(np.random.default_rng(1).random(RECORDS) < expit(eta), "yes", "no")


def classifier(**given: Any) -> PrivateClassifier:
    known: dict[str, Any] = {"bounds": BOUNDS, "classes": ["no", "yes"], "random_state": 0}
    return PrivateClassifier(**(known | given))


@pytest.mark.filterwarnings("ignore:.* beyond the bounds")
def test_a_classifier_is_what_scikit_learn_expects_of_one() -> None:
    X, y = ill()
    model = classifier(epsilon=2.0)
    assert model.fit(X, y, groups=SITES) is model
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.coef_.shape == (1, 2) and model.intercept_.shape == (1,)
    assert model.feature_names_in_.tolist() == ["age", "dose"] and model.n_iter_ == 100
    pooled = LogisticRegression(C=np.inf).fit(X.to_numpy(), y)
    # in the units of the data, and with noise
    far = (model.decision_function(X) - pooled.decision_function(X.to_numpy())).std()
    assert 0.0 < far < 0.15 * pooled.decision_function(X.to_numpy()).std()
    assert model.coef_[0, 0] == pytest.approx(0.05, abs=0.01)
    assert [each.owner for each in model.guarantee_] == ["east", "north", "west"]
    worst = model.guarantee_.worst
    assert worst.epsilon == pytest.approx(2.0, rel=1e-6) and worst.status.value == "proved"
    assert not any("read off" in each for each in worst.assumptions)
    assert isinstance(model.method_, GradientDescent) and model.method_.average
    assert model.method_.privacy is not None and model.method_.privacy.masks == Masks()
    eta = X.to_numpy() @ model.coef_[0] + model.intercept_
    np.testing.assert_allclose(model.decision_function(X), eta)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expit(eta))
    assert (model.predict(X) == np.where(eta > 0, "yes", "no")).all()
    beyond, end = (pd.DataFrame({"age": [age], "dose": [0.0]}) for age in (130.0, 80.0))
    assert model.decision_function(beyond) == model.decision_function(end)
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict(X) == model.predict(X)).all()
    assert str(again.guarantee_) == str(model.guarantee_)
    # a step of a pipeline, cloned, and declared in the other order
    unit = FunctionTransformer(lambda frame: frame)
    whole = make_pipeline(unit, clone(model)).fit(X, y, privateclassifier__groups=SITES)
    np.testing.assert_array_equal(whole[-1].coef_, model.coef_)
    turned = clone(model).set_params(classes=["yes", "no"]).fit(X, y, groups=SITES)
    assert (turned.predict(X) == model.predict(X)).mean() > 0.95


def test_what_is_not_declared_is_read_off_and_said(tmp_path: Path) -> None:
    X, y = ill()
    with Ledger.create(tmp_path / "visits.ledger") as ledger:
        ledger.set_budget("clinics", "visits", epsilon=1.1, delta=1e-6)
    open_ = PrivateClassifier(
        random_state=0, ledger=tmp_path / "visits.ledger", dataset="visits", owner="clinics"
    )
    with pytest.warns(PrivacyLeakWarning, match="bounds 20.* classes no, yes of column y"):
        open_.fit(X, y, groups=SITES)
    read = [each for each in open_.guarantee_.worst.assumptions if "read off" in each]
    assert len(read) == 3 and "column age" in read[0] and "classes" in read[-1]
    # the next fit is charged, too
    with pytest.warns(PrivacyLeakWarning), pytest.raises(BudgetExceeded):
        open_.set_params(random_state=1).fit(X, y, groups=SITES)


@pytest.mark.long
def test_a_regressor_finds_the_line_in_the_units_of_the_data() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(20, 80, size=(RECORDS, 1))
    y = 100 + 0.5 * X[:, 0] + rng.normal(0, 10, RECORDS)
    model = PrivateRegressor(bounds=(20, 80), target_bounds=(50, 200), random_state=0)
    model.fit(X, y)
    assert model.coef_.shape == (1,) and isinstance(model.intercept_, float)
    assert model.coef_ == pytest.approx([0.5], abs=0.03)
    assert model.intercept_ == pytest.approx(100, abs=2.0)
    np.testing.assert_allclose(model.predict(X), X[:, 0] * model.coef_[0] + model.intercept_)
    assert model.score(X, y) > 0.4
    assert len(model.guarantee_) == 4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loss", "truth"),
    [("huber", "mean"), ("quantile", "mean"), (Quantile(0.9), "above"), ("poisson", "log")],
)
def test_losses_of_numbers(loss: Any, truth: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(RECORDS, 1))
    if truth == "log":
        y, ends, line = rng.poisson(np.exp(1 + X[:, 0])), (0, 20), (1.0, 1.0)
    else:
        y, ends = 3 + 2 * X[:, 0] + 0.5 * rng.normal(size=RECORDS), (-1, 7)
        line = (3.0 + 0.64 * (truth == "above"), 2.0)
    model = PrivateRegressor(
        loss=loss, bounds=(-1, 1), target_bounds=ends, rounds=300, epsilon=4.0, random_state=0
    ).fit(X, y)
    assert (model.intercept_, model.coef_[0]) == pytest.approx(line, abs=0.15)


@pytest.mark.slow
def test_several_classes() -> None:
    rng = np.random.default_rng(0)
    centres = np.array([[0.6, 0.0], [-0.4, 0.5], [-0.4, -0.5]])
    y = rng.integers(3, size=3000)
    X = centres[y] + 0.15 * rng.normal(size=(3000, 2))
    names = np.array(["c", "a", "b"])[y]
    model = PrivateClassifier(bounds=(-1, 1), classes=["a", "b", "c"], random_state=0)
    model.fit(X, names)
    assert model.coef_.shape == (3, 2) and model.intercept_.shape == (3,)
    assert model.score(X, names) > 0.95
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert not hasattr(model.set_params(loss="hinge"), "predict_proba")
    # two classes by softmax are one score
    two = model.set_params(loss="softmax", classes=["a", "b"]).fit(X[y > 0], names[y > 0])
    assert two.coef_.shape == (1, 2) and two.score(X[y > 0], names[y > 0]) > 0.95
    assert two.decision_function(X).shape == (3000,)


OTHERS: list[Any] = [
    ({"method": "dp-fedsgd", "network": network.ExactSum(network.ring(4))}, "proved", True),
    ({"method": "masked-gossip"}, "model", False),
    ({"method": "d-zoa-star"}, "proved", True),
    ({"method": "extra", "epsilon": None, "network": "ring"}, "none", False),
    (
        {"method": "fedavg", "method_params": {"release": "update"}, "epsilon": 200.0},
        "proved",
        True,
    ),
    ({"relation": "add_remove", "size": 1500}, "proved", True),
    (
        {
            "method": DPSG(step=1.0, privacy=Privacy(clip=2.0, epsilon=1.0, delta=1e-6)),
            "network": nx.path_graph(4),
        },
        "proved",
        False,
    ),
]


@pytest.mark.parametrize(
    ("given", "status", "masked"),
    [
        pytest.param({"method": "dpsg"}, "proved", False, marks=pytest.mark.long),
        pytest.param(
            {"method": "preconditioned-descent", "rounds": 12},
            "proved",
            True,
            marks=pytest.mark.long,
        ),
        *(pytest.param(*each, marks=pytest.mark.slow) for each in OTHERS),
    ],
)
def test_methods_and_networks(given: Any, status: str, masked: bool) -> None:
    X, y = ill()
    model = classifier(**given).fit(X, y)
    worst = model.guarantee_.worst
    assert worst.status.value == status
    assert any("AES" in each for each in worst.assumptions) == masked
    assert model.score(X, y) > 0.65


def test_clip_and_step_follow_from_the_shape_alone() -> None:
    star = network.Coordinator(4)
    small, large = (Made(d, 4, Logistic(), (-1.0, 1.0)).slopes(star) for d in (3, 30))
    plain, whitened = (
        Named(entry_of(name), None) for name in ("gradient-descent", "preconditioned-descent")
    )
    assert plain.clip(small) < plain.clip(large) < whitened.clip(large)
    assert small.clipped(1.0) < large.clipped(1.0)


@pytest.mark.parametrize(("loss", "step"), [(Logistic(), 4.0), (Squared(), 0.5), (Huber(), 1.0)])
def test_a_whitened_step_is_the_longest_that_the_loss_allows(loss: Any, step: float) -> None:
    made = Made(3, 4, loss, (-1.0, 1.0))
    named = Named(entry_of("preconditioned-descent"), None)
    slopes = made.slopes(network.Coordinator(4))
    assert named.arguments(made, slopes, 1.0, 12, 4.0) == {"step": step, "average": True}


SOME = {
    "own": DPSG(step=1.0, privacy=Privacy(clip=1.0, epsilon=8.0)),
    "masked": GradientDescent(step=1.0, privacy=Privacy(clip=1.0, epsilon=1.0, masks=Masks())),
}


def quartic(x: Any, row: Any, target: Any) -> Any:
    return (row @ x - target) ** 4


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"method": "dpgs"}, ConfigError, "did you mean 'dpsg'"),
        ({"method": 3}, ConfigError, "method=3"),
        ({"method": DPSG}, ConfigError, "method="),
        ({"method": "glm"}, ConfigError, "PrivateLogisticRegression"),
        ({"method": "dgd"}, ConfigError, "epsilon=None"),
        ({"method": "dpsg", "epsilon": None}, ConfigError, "needs a budget"),
        ({"method": "fedprox"}, ConfigError, r"method_params=\{'proximal'"),
        ({"method_params": {"stepp": 1}}, ConfigError, "no argument 'stepp'; it has step"),
        ({"method_params": {"privacy": 1}}, ConfigError, "no argument 'privacy'"),
        ({"method_params": {"step": -1.0}}, ConfigError, "step"),
        ({"method_params": [1]}, ConfigError, "method_params"),
        ({"method": SOME["own"]}, ConfigError, "epsilon=8.0.*epsilon=1.0"),
        ({"method": GradientDescent(step=1.0)}, ConfigError, "no budget"),
        ({"method": SOME["masked"], "masks": False}, ConfigError, "masks"),
        ({"method": SOME["masked"], "clip": 2.0}, ConfigError, "clip=1.0.*clip=2.0"),
        ({"method": SOME["masked"], "method_params": {}}, ConfigError, "method_params"),
        ({"method": "dpsg", "masks": True}, PrivacyError, "masks"),
        ({"loss": "squared"}, ConfigError, "loss='squared' is not one of 'logistic'"),
        ({"loss": JaxLoss(quartic)}, ConfigError, "one score per record"),
        ({"loss": Softmax(3)}, ConfigError, "3 classes"),
        ({"network": "star wars"}, ConfigError, "network='star wars' is not one of"),
        ({"network": "ring"}, NetworkError, "Coordinator"),
        ({"network": network.Coordinator(3)}, NetworkError, "3 agents"),
        ({"rounds": 0}, ConfigError, "rounds"),
        ({"rounds": 1.5}, ConfigError, "rounds"),
        ({"penalty": "a"}, ConfigError, "penalty"),
        ({"penalty": -1.0}, ConfigError, "penalty=-1.0"),
        ({"clip": "a"}, PrivacyError, "clip"),
        ({"clip": 0.0}, PrivacyError, "clip"),
        ({"epsilon": 0}, PrivacyError, "epsilon"),
        ({"delta": 2.0}, PrivacyError, "delta"),
        ({"masks": 2}, ConfigError, "masks"),
        ({"masks": "yes"}, ConfigError, "masks"),
        ({"relation": "add_remove"}, ConfigError, "size="),
        ({"size": 0}, ConfigError, "size"),
        ({"classes": ["no"]}, ConfigError, "classes="),
        ({"classes": ["no", "no"]}, ConfigError, "classes="),
        ({"classes": ["no", "maybe"]}, ValueError, "y holds .*yes"),
        ({"bounds": (1, 0)}, ConfigError, "bounds="),
        ({"sites": 1}, ConfigError, "sites"),
        ({"ledger": 3}, ConfigError, "ledger=.*path"),
    ],
)
def test_wrong_arguments_are_named(given: Any, error: type[Exception], words: str) -> None:
    X, y = ill()
    with pytest.raises(error, match=words):
        classifier(**given).fit(X[:90], y[:90])


def test_wrong_targets_are_named() -> None:
    X, y = ill()
    with pytest.raises(ValueError, match="one class"):
        classifier(classes=None).fit(X, np.full(RECORDS, "no"))
    with pytest.raises(ValueError, match="multiclass"):
        classifier(classes=None, loss=Hinge()).fit(X, np.where(X["age"] > 70, "maybe", y))
    with pytest.raises(ValueError, match="at least 0"):
        PrivateRegressor(loss="poisson").fit(X, np.full(RECORDS, -1))
    with pytest.raises(ConfigError, match="counts"):
        PrivateRegressor(loss="poisson", target_bounds=(-1, 2)).fit(X, np.ones(RECORDS))
    with pytest.raises(ConfigError, match="target_bounds"):
        PrivateRegressor(bounds=BOUNDS, target_bounds=(5, 1)).fit(X, np.ones(RECORDS))
    with pytest.raises(ConfigError, match="PrivateClassifier"):
        PrivateRegressor(loss=Logistic()).fit(X, np.ones(RECORDS))


def test_losses_see_the_target_within_bounds() -> None:
    values = np.array([0.0, 5.0, 10.0])
    for loss, kind in (("squared", Squared), ("huber", Huber)):
        target, low, high = PrivateRegressor(loss=loss)._target(values)
        assert isinstance(target.loss, kind) and (low, high) == (0.0, 10.0)
        assert target.bounds == (-1.0, 1.0) and target.read == "bounds 0 to 10"
    counts, _, high = PrivateRegressor(loss="poisson", target_bounds=(0, 20))._target(values)
    assert counts.bounds == (0.0, 20.0) and counts.read == "" and high == 20.0
