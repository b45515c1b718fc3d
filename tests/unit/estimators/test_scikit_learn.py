"""The estimators are estimators of scikit-learn, by its own checks."""

from typing import Any

import pytest
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from tacit.estimators import (
    PrivateClassifier,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivatePoissonRegressor,
    PrivateRegressor,
)

# scikit-learn's checks draw a few dozen records, too few for intervals, and some far from the
# declared bounds; a warning says either
pytestmark = [
    pytest.mark.filterwarnings("ignore:.* beyond the bounds"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning"),
]

DECLARED: dict[str, Any] = {"bounds": (-20, 20)}
PRIVATE = [
    PrivateLogisticRegression(**DECLARED),
    PrivateLinearRegression(**DECLARED, target_bounds=(-20, 20)),
    PrivatePoissonRegressor(**DECLARED, target_bounds=(0, 20)),
]
EXACT = [type(each)(**(each.get_params() | {"epsilon": None})) for each in PRIVATE]
"""Without noise they are held to the scores of scikit-learn, too."""

GENERAL = [
    PrivateClassifier(**DECLARED),
    PrivateRegressor(**DECLARED, target_bounds=(-20, 20)),
    PrivateClassifier(epsilon=None),
    PrivateRegressor(epsilon=None),
]
"""Bounds that are far from the records would need more rounds for the scores."""

leaks = pytest.mark.filterwarnings("ignore::tacit.estimators.PrivacyLeakWarning")


@pytest.mark.parametrize(
    "check",
    [
        "check_estimator_cloneable",
        "check_estimator_repr",
        "check_no_attributes_set_in_init",
        "check_parameters_default_constructible",
        "check_get_params_invariance",
        "check_set_params",
        "check_valid_tag_types",
        "check_estimators_unfitted",
        "check_do_not_raise_errors_in_init_or_set_params",
        "check_mixin_order",
        "check_estimators_empty_data_messages",
    ],
)
@pytest.mark.parametrize(
    "estimator", [*PRIVATE, *GENERAL[:2]], ids=lambda each: type(each).__name__
)
@leaks
def test_what_needs_no_fit_is_as_scikit_learn_has_it(estimator: Any, check: str) -> None:
    getattr(estimator_checks, check)(type(estimator).__name__, estimator)


@pytest.mark.filterwarnings("ignore:.* beyond the bounds")
@pytest.mark.long
@pytest.mark.parametrize(
    "estimator", [PRIVATE[0], *GENERAL[:2]], ids=lambda each: type(each).__name__
)
@leaks
def test_a_fit_is_as_scikit_learn_has_it(estimator: Any) -> None:
    estimator_checks.check_n_features_in(type(estimator).__name__, estimator)


@pytest.mark.slow
@leaks
@parametrize_with_checks([*PRIVATE, *EXACT, *GENERAL])
def test_scikit_learn_agrees(estimator: Any, check: Any) -> None:
    check(estimator)
