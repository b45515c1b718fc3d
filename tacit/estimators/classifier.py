"""Logistic regression as a classifier of scikit-learn."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, no_type_check

import numpy as np
from jaxtyping import Float, Shaped
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from tacit.data.feature import Boolean
from tacit.estimators.arrays import validated
from tacit.estimators.bounds import Bounds
from tacit.estimators.classes import classes_of
from tacit.estimators.regression import PrivateRegression, Target
from tacit.privacy.caution import DELTA
from tacit.privacy.masked import Masks


class PrivateLogisticRegression(ClassifierMixin, PrivateRegression):
    """Logistic regression of two classes over sites, with intervals that include the noise.

    The fit is that of `tacit.glm`: three or four private sums, without a penalty. Runs in this
    process with simulated noise, to see what it would give between sites.

    Args:
        epsilon: privacy budget of one whole fit, positive; `None` for no privacy.
        delta: probability of a larger loss, in [1e-12, 1).
        relation: adjacency, "replace_one" or "add_remove".
        masks: secure aggregation against one colluding site; `False` for local noise, or
            `Masks(...)` for another coalition.
        sums: number of sums, 3 or 4.
        covariance: "model", or "robust" for a sandwich.
        bounds: pair (lower, upper) for all columns; each a number, or an array of shape
            `(n_features,)`. Values beyond are moved to them, in `fit` and in `predict`. By default
            read off the records, with a warning: they are then assumed public.
        classes: both classes, the second of which counts as 1. By default read off the records,
            with a warning unless they are false and true.
        sites: public number of simulated sites, at least 2, to which records are dealt where `fit`
            has no groups.
        size: declared public number near the number of records of a site; needed under
            "add_remove", where it is private.
        random_state: seed or generator of the simulated noise, or `None` for one that nobody knows.
            A seed that is known can be used to subtract the noise.
        ledger: path of a ledger that every fit is charged to, or refused if its budget is spent.
        dataset: name of the dataset in the ledger.
        owner: owner in the ledger who is charged for all sites together; needed without groups.

    Attributes:
        coef_: coefficients in the units of the data, shape `(1, n_features)`.
        intercept_: intercept, shape `(1,)`.
        classes_: both classes, in order, shape `(2,)`.
        bounds_: lower and upper bounds, each of shape `(n_features,)`.
        n_features_in_: number of features.
        feature_names_in_: their names, where `X` had them.
        n_iter_: number of private sums.
        guarantee_: guarantee of this fit, owner by owner.
        table_: coefficients with intervals, or without them and the reason.

    Example:
        >>> import numpy as np
        >>> from tacit.estimators import PrivateLogisticRegression
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(-1, 1, size=(20_000, 2))
        >>> y = rng.random(20_000) < 1 / (1 + np.exp(-2 * X[:, 0]))
        >>> clinics = rng.choice(["a", "b", "c"], 20_000)
        >>> model = PrivateLogisticRegression(epsilon=1.0, bounds=(-1, 1), random_state=0)
        >>> model.fit(X, y, groups=clinics).coef_.shape
        (1, 2)
        >>> model.coef_[0, 0].round(1)
        np.float64(2.0)
        >>> model.predict([[0.9, 0.0], [-0.9, 0.0]]).tolist()
        [True, False]
        >>> model.guarantee_.worst.status.value
        'proved'
    """

    _family: ClassVar[str] = "binomial"

    # scikit-learn reads the parameters from this signature, so the base's are listed again
    @no_type_check
    def __init__(
        self,
        *,
        epsilon: float | None = 1.0,
        delta: float = DELTA,
        relation: Literal["replace_one", "add_remove"] = "replace_one",
        masks: bool | Masks = True,
        sums: int = 4,
        covariance: Literal["model", "robust"] = "model",
        bounds: Bounds | None = None,
        classes: Sequence[object] | None = None,
        sites: int = 4,
        size: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        ledger: str | os.PathLike[str] | None = None,
        dataset: str = "",
        owner: str | None = None,
    ) -> None:
        super().__init__(
            epsilon=epsilon,
            delta=delta,
            relation=relation,
            masks=masks,
            sums=sums,
            covariance=covariance,
            bounds=bounds,
            sites=sites,
            size=size,
            random_state=random_state,
            ledger=ledger,
            dataset=dataset,
            owner=owner,
        )
        self.classes = classes

    # set by fit
    classes_: np.ndarray
    coef_: np.ndarray
    intercept_: np.ndarray

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = self._poor
        return tags

    @no_type_check
    def fit(
        self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None
    ) -> PrivateLogisticRegression:
        """Fit the model, and spend the whole budget on these records.

        Args:
            X: records, shape `(n, n_features)`.
            y: class of each record, shape `(n,)`.
            groups: site of each record, shape `(n,)`; at least two. Their names are assumed public.

        Raises:
            ValueError: values that are missing or not finite, or other than two classes.
            ConfigError: an argument out of range.
            PrivacyError: a budget that cannot be met, or a ledger in which too little is left.
        """
        taken: Any = validated(self, X, y)
        rows, labels = taken
        check_classification_targets(labels)
        kind = type_of_target(labels, input_name="y", raise_unknown=True)
        if kind != "binary":
            raise ValueError(
                # scikit-learn's checks ask for these words
                f"Only binary classification is supported. The type of the target is {kind}. y "
                f"holds {len(np.unique(labels))} classes: take PrivateClassifier for several"
            )
        self.classes_, read = classes_of(labels, self.classes, only_two=True)
        target = Target(labels == self.classes_[1], Boolean(), read, "classes=[0, 1]")
        values = self._regress(rows, target, groups)
        self.coef_, self.intercept_ = values[None, 1:], values[:1]
        return self

    @no_type_check
    def decision_function(self, X: ArrayLike) -> Float[np.ndarray, " n"]:
        """Log-odds of the second class.

        Args:
            X: records, shape `(n, n_features)`; values beyond the bounds are moved to them.
        """
        rows = self._inside(X)
        return rows @ self.coef_[0] + self.intercept_[0]

    @no_type_check
    def predict_proba(self, X: ArrayLike) -> Float[np.ndarray, "n 2"]:
        """Probability of both classes.

        Args:
            X: as in `decision_function`.
        """
        second = expit(self.decision_function(X))
        return np.column_stack([1.0 - second, second])

    @no_type_check
    def predict(self, X: ArrayLike) -> Shaped[np.ndarray, " n"]:
        """The more probable class.

        Args:
            X: as in `decision_function`.
        """
        second = self.decision_function(X) > 0.0
        return self.classes_[second.astype(int)]
