"""Private regressions as estimators: what they say, what they refuse, and what they cost."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from tacit.data import Numeric
from tacit.errors import BudgetExceeded, ConfigError, PrivacyError, ProblemError
from tacit.estimators import (
    PrivacyLeakWarning,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivatePoissonRegressor,
)
from tacit.estimators.classes import classes_of
from tacit.privacy import Masks
from tacit.privacy.ledger import Ledger

SLOPES = np.array([0.05, -0.8])
BOUNDS = ([20, -1], [80, 1])
RECORDS = 4000


def records(seed: int = 0) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Columns, log-odds and sites."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {"age": rng.uniform(20, 80, RECORDS), "dose": rng.uniform(-1, 1, RECORDS)},
    )
    return X, X.to_numpy() @ SLOPES - 2.5, rng.choice(["east", "north", "west"], RECORDS)


def ill(seed: int = 0) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    X, eta, sites = records(seed)
    return (
        X,
        np.where(np.random.default_rng(seed + 1).random(RECORDS) < expit(eta), "yes", "no"),
        (sites),
    )


def logistic(**given: Any) -> PrivateLogisticRegression:
    known: dict[str, Any] = {"bounds": BOUNDS, "classes": ["no", "yes"], "random_state": 0}
    return PrivateLogisticRegression(**(known | given))


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:.* beyond the bounds")
def test_a_classifier_is_what_scikit_learn_expects_of_one() -> None:
    X, y, sites = ill()
    model = logistic(epsilon=2.0)
    assert model.fit(X, y, groups=sites) is model
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.coef_.shape == (1, 2) and model.intercept_.shape == (1,)
    assert model.feature_names_in_.tolist() == ["age", "dose"]
    assert model.table_.names == ("Intercept", "age", "dose")
    far = (model.table_.values - [-2.5, *SLOPES]) / model.table_.standard_errors
    assert 0.0 < np.abs(far).max() < 4.0
    assert [each.owner for each in model.guarantee_] == ["east", "north", "west"]
    worst = model.guarantee_.worst
    assert worst.epsilon == pytest.approx(2.0, rel=1e-6) and worst.status.value == "proved"
    assert not any("read off" in each for each in worst.assumptions)
    eta = X.to_numpy() @ model.coef_[0] + model.intercept_
    np.testing.assert_allclose(model.decision_function(X), eta)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expit(eta))
    assert (model.predict(X) == np.where(eta > 0, "yes", "no")).all()
    assert model.score(X, y) > 0.65
    # a record beyond the bounds is moved to them, as in the fit
    beyond, end = (pd.DataFrame({"age": [age], "dose": [0.0]}) for age in (130.0, 80.0))
    assert model.decision_function(beyond) == model.decision_function(end)
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict(X) == model.predict(X)).all()
    assert again.table_.summary() == model.table_.summary()
    assert str(again.guarantee_) == str(model.guarantee_)


@pytest.mark.long
def test_it_is_a_step_of_a_pipeline_and_can_be_cloned() -> None:
    X, y, sites = ill()
    alone = logistic(epsilon=2.0).fit(X, y, groups=sites)
    unit = FunctionTransformer(lambda frame: frame)
    whole = make_pipeline(unit, clone(alone)).fit(X, y, privatelogisticregression__groups=sites)
    np.testing.assert_array_equal(whole[-1].coef_, alone.coef_)
    assert not hasattr(clone(alone), "coef_")
    other = clone(alone).set_params(random_state=1).fit(X, y, groups=sites)
    assert (other.coef_ != alone.coef_).all()
    drawn = [
        logistic(epsilon=2.0, random_state=None).fit(X, y, groups=sites).coef_ for _ in range(2)
    ]
    assert (drawn[0] != drawn[1]).all()


@pytest.mark.long
def test_what_is_not_declared_is_read_off_and_said() -> None:
    X, y, sites = ill()
    X = X.assign(none=1.0)
    # one constant column is the intercept already
    with pytest.warns(ConvergenceWarning), pytest.warns(PrivacyLeakWarning) as said:
        model = PrivateLogisticRegression(random_state=0, epsilon=None).fit(X, y, groups=sites)
    (leak,) = [each for each in said if each.category is PrivacyLeakWarning]
    for what in (
        "bounds 20.",
        "classes no, yes of column y",
        "bounds 0.5 to 1.5 of column none",
    ):
        assert what in str(leak.message)
    read = [each for each in model.guarantee_.worst.assumptions if "read off" in each]
    assert len(read) == 4 and "column age" in read[0] and "column y" in read[-1]
    apart = np.array([0.0, 0.0, 0.5])
    np.testing.assert_array_equal(model.bounds_, [X.min() - apart, X.max() + apart])


@pytest.mark.long
def test_columns_may_have_the_names_that_the_target_and_the_sites_have() -> None:
    X, y, sites = ill()
    named = logistic().fit(X.set_axis(["y", "site"], axis=1), y, groups=sites)
    assert named.table_.names == ("Intercept", "y", "site")
    other = logistic().fit(X, y, groups=sites)
    np.testing.assert_array_equal(named.coef_, other.coef_)


@pytest.mark.slow
def test_without_groups_records_are_dealt_to_simulated_sites() -> None:
    X, y, _ = ill()
    model = logistic(sites=5).fit(X, y)
    assert len(model.guarantee_) == 5
    given = {"relation": "add_remove", "size": 800, "sites": 5}
    coming = logistic(**given).fit(X, y)
    assert "under add/remove adjacency" in str(coming.guarantee_)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        local = logistic(masks=False, sites=5).fit(X, y).guarantee_.worst
    assert not any("AES" in each for each in local.assumptions)
    with pytest.raises(ProblemError, match="size"):
        logistic(relation="add_remove").fit(X, y)


@pytest.mark.long
def test_too_few_records_are_told_with_what_would_do() -> None:
    X, y, _ = ill()
    with pytest.warns(ConvergenceWarning, match="records at this epsilon would do"):
        model = logistic(epsilon=0.1).fit(X[:500], y[:500])
    assert np.isnan(model.table_.standard_errors).all() and np.isfinite(model.coef_).all()


def budget(path: Path, epsilon: float) -> None:
    with Ledger.create(path) as ledger:
        ledger.set_budget("clinics", "visits", epsilon=epsilon, delta=1e-6)


# the noise is drawn from a key of the ledger: now and then there are no intervals
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.long
def test_every_fit_is_charged_and_refused_when_the_budget_is_spent(tmp_path: Path) -> None:
    budget(tmp_path / "visits.ledger", 1.6)
    X, y, sites = ill()
    charged = logistic(ledger=tmp_path / "visits.ledger", dataset="visits", owner="clinics")
    charged.fit(X, y, groups=sites)
    repeated = clone(charged).fit(X, y, groups=sites)  # the same bits again cost nothing
    np.testing.assert_array_equal(repeated.coef_, charged.coef_)
    charged.set_params(random_state=1).fit(X, y, groups=sites)
    with pytest.raises(BudgetExceeded):
        charged.set_params(random_state=2).fit(X, y, groups=sites)
    # what was fitted before is still there
    assert charged.coef_.shape == (1, 2)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_search_spends_what_its_fits_cost(tmp_path: Path) -> None:
    budget(tmp_path / "visits.ledger", 1.6)
    X, y, _ = ill()
    charged = logistic(ledger=str(tmp_path / "visits.ledger"), dataset="visits", owner="clinics")
    search = GridSearchCV(charged, {"sums": [3, 4]}, cv=3, error_score="raise")
    with pytest.raises(BudgetExceeded):
        search.fit(X, y)
    with Ledger.open(tmp_path / "visits.ledger") as ledger:
        assert 1.0 < ledger.balance("clinics", "visits").spent <= 1.6


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"bounds": (0, 1, 2)}, ConfigError, r"bounds=.*pair"),
        ({"bounds": 3}, ConfigError, r"bounds=.*pair"),
        ({"bounds": (1, 0)}, ConfigError, r"bounds=.*below"),
        ({"bounds": (0, np.inf)}, ConfigError, r"bounds=.*finite"),
        ({"bounds": (0, "a")}, ConfigError, r"bounds=.*numbers"),
        ({"bounds": (0, [1, 2, 3])}, ConfigError, r"bounds=.*2 numbers"),
        ({"classes": ["no"]}, ConfigError, r"classes=.*two"),
        ({"classes": ["no", "no"]}, ConfigError, r"classes=.*different"),
        ({"classes": ["no", "maybe"]}, ValueError, r"y holds .*yes"),
        ({"epsilon": 0}, PrivacyError, "epsilon"),
        ({"epsilon": "1"}, PrivacyError, "epsilon"),
        ({"delta": 2.0}, PrivacyError, "delta"),
        ({"relation": "other"}, PrivacyError, "relation"),
        ({"masks": 2}, ConfigError, "masks"),
        ({"masks": Masks(coalition=4)}, PrivacyError, "coalition"),
        ({"sums": 5}, ConfigError, "sums"),
        ({"covariance": "other"}, ConfigError, "covariance"),
        ({"sites": 1}, ConfigError, "sites"),
        ({"sites": 4.5}, ConfigError, "sites"),
        ({"sites": 9999}, ValueError, "sites"),
        ({"size": 0}, ProblemError, "size"),
        ({"random_state": "a"}, ConfigError, "random_state='a' must be None, a whole"),
        ({"random_state": -1}, ConfigError, "random_state=-1"),
        ({"ledger": 3}, ConfigError, "ledger=.*path"),
        ({"ledger": "none.ledger"}, Exception, "no ledger at none"),
    ],
)
def test_wrong_arguments_are_named(given: Any, error: type[Exception], words: str) -> None:
    X, y, _ = ill()
    with pytest.raises(error, match=words):
        logistic(**given).fit(X, y)


def test_wrong_records_are_named() -> None:
    X, y, sites = ill()
    with pytest.raises(ValueError, match="one class"):
        logistic(classes=None).fit(X, np.full(RECORDS, "no"))
    with pytest.raises(ValueError, match="y holds 3 classes: take PrivateClassifier"):
        logistic(classes=None).fit(X, np.where(X["age"] > 70, "maybe", y))
    with pytest.raises(ConfigError, match="groups has 3999 entries and X 4000 records"):
        logistic().fit(X, y, groups=sites[1:])
    with pytest.raises(ConfigError, match=r"groups is an array of shape \(4000, 1\)"):
        logistic().fit(X, y, groups=sites[:, None])
    with pytest.raises(ValueError, match="contains NaN: fill in or leave out"):
        logistic().fit(X.assign(dose=np.nan), y)
    with pytest.raises(ValueError, match="X and y must be numbers") as caught:
        logistic().fit(X.assign(dose="secret"), y)
    assert "secret" not in str(caught.value)
    with pytest.raises(ValueError, match="X and y must be numbers"):
        PrivatePoissonRegressor(bounds=BOUNDS).fit(X, y)
    with pytest.raises(ProblemError, match="every record needs a site"):
        logistic().fit(X, y, groups=np.where(sites == "east", None, sites))
    with pytest.raises(ValueError, match="at least 0"):
        PrivatePoissonRegressor().fit(X, np.full(RECORDS, -1))
    with pytest.raises(ConfigError, match="target_bounds"):
        PrivateLinearRegression(bounds=BOUNDS, target_bounds=(5, 1)).fit(X, np.ones(RECORDS))


@pytest.mark.slow
def test_regressors_find_the_truth_in_the_units_of_the_data() -> None:
    X, eta, sites = records()
    rng = np.random.default_rng(3)
    for kind, y, ends in (
        (PrivateLinearRegression, 30 + 10 * (eta + rng.normal(size=RECORDS)), (-60, 100)),
        (PrivatePoissonRegressor, rng.poisson(np.exp(eta)), (0, 40)),
    ):
        model: Any = kind(epsilon=4.0, bounds=BOUNDS, target_bounds=ends, random_state=0)
        model.fit(X, y, groups=sites)
        linear = kind is PrivateLinearRegression
        true = np.array([5.0, *10 * SLOPES] if linear else [-2.5, *SLOPES])
        far = (model.table_.values - true) / model.table_.standard_errors
        assert 0.0 < np.abs(far).max() < 4.0
        assert isinstance(model.intercept_, float) and model.coef_.shape == (2,)
        predictor = X.to_numpy() @ model.coef_ + model.intercept_
        np.testing.assert_allclose(model.predict(X), predictor if linear else np.exp(predictor))
        assert model.score(X, y) > 0.3


@pytest.mark.filterwarnings("ignore:.* beyond the bounds")
def test_bounds_of_a_target_that_is_not_declared_are_read_off() -> None:
    y = np.array([-3.0, 0.5, 7.0])
    linear = PrivateLinearRegression()._target(y)
    counts = PrivatePoissonRegressor()._target(np.abs(y))
    assert (linear.read, counts.read) == ("bounds -3 to 7", "bounds 0 to 7")
    assert (linear.feature, counts.feature) == (Numeric(-3.0, 7.0), Numeric(0.0, 7.0))
    assert PrivateLinearRegression(target_bounds=(0, 5))._target(y).read == ""
    assert PrivatePoissonRegressor()._target(np.zeros(3)).feature == Numeric(0.0, 0.5)


@pytest.mark.long
def test_scikit_learn_is_imported_only_by_who_asks() -> None:
    program = """
import sys, tacit
assert tacit.glm and "sklearn" not in sys.modules
sys.modules["sklearn"] = None
try:
    import tacit.estimators
except ModuleNotFoundError as error:
    assert "pip install 'tacit[sklearn]'" in str(error), error
    print("told")
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "told\n"


def test_truth_values_have_two_classes_whatever_the_records_hold() -> None:
    for labels in ([True, False], [True, True]):
        classes, read = classes_of(np.array(labels), None)
        assert classes.tolist() == [False, True] and read == ""
    with pytest.raises(ValueError, match="one class only"):
        classes_of(np.array([1, 1]), None)


def test_weights_of_samples_are_no_sites() -> None:
    X = np.linspace(0.0, 1.0, 40)[:, None]
    y = np.arange(40) % 2
    model = PrivateLogisticRegression(bounds=(0, 1), classes=[0, 1])
    with pytest.raises(ConfigError, match="groups holds numbers that are not whole, as weights"):
        model.fit(X, y, np.linspace(0.1, 2.0, 40))
    pairs = PrivateLogisticRegression(bounds=[(20, 80), (10, 50)], classes=[0, 1])
    with pytest.raises(ConfigError, match="first all lower ones, then all upper ones"):
        pairs.fit(np.column_stack([X, X]), y, groups=y)
