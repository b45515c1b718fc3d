"""Linear and Poisson regression as regressors of scikit-learn."""

from __future__ import annotations

import os
from typing import Any, ClassVar, Literal, TypeVar, no_type_check

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin

from tacit.data.feature import Numeric
from tacit.estimators import bounds as ends
from tacit.estimators.arrays import numbers_of, validated
from tacit.estimators.bounds import Bounds
from tacit.estimators.regression import PrivateRegression, Target
from tacit.privacy.caution import DELTA
from tacit.privacy.masked import Masks

Self = TypeVar("Self", bound="IntervalRegressor")


class IntervalRegressor(RegressorMixin, PrivateRegression):
    """Base of the regressors: a number with bounds as target."""

    _least: ClassVar[float | None] = None

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
        target_bounds: tuple[float, float] | None = None,
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
        self.target_bounds = target_bounds

    # set by fit
    coef_: np.ndarray
    intercept_: float

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = self._poor
        return tags

    @no_type_check
    def fit(self: Self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Fit the model, and spend the whole budget on these records.

        Args:
            X: records, shape `(n, n_features)`.
            y: target of each record, shape `(n,)`.
            groups: site of each record, shape `(n,)`; at least two. Their names are assumed public.

        Raises:
            ValueError: values that are missing or not finite, or a negative count.
            ConfigError: an argument out of range.
            PrivacyError: a budget that cannot be met, or a ledger in which too little is left.
        """
        taken: Any = validated(self, X, y, y_numeric=True)
        rows, values = taken
        found = self._regress(rows, self._target(numbers_of(values)), groups)
        self.coef_, self.intercept_ = found[1:], float(found[0])
        return self

    def _target(self, values: Float[np.ndarray, " n"]) -> Target:
        low, high, read = ends.of_target(values, self.target_bounds, self._least)
        return Target(values, Numeric(low, high), read, "target_bounds=(0, 50)")

    def _predictor(self, X: Any) -> Float[np.ndarray, " n"]:
        return self._inside(X) @ self.coef_ + self.intercept_


class PrivateLinearRegression(IntervalRegressor):
    """Linear regression over sites, with intervals that include the noise.

    Residuals are clipped at two standard deviations and centred, which moves no coefficient where
    errors are normal.

    Args:
        epsilon: this and the others as in `PrivateLogisticRegression`.
        target_bounds: pair (lower, upper) of the target, beyond which values are moved to them. By
            default read off the records, with a warning: they are then assumed public.

    Attributes:
        coef_: coefficients in the units of the data, shape `(n_features,)`.
        intercept_: intercept.
        bounds_: lower and upper bounds, each of shape `(n_features,)`.
        n_features_in_: number of features.
        feature_names_in_: their names, where `X` had them.
        n_iter_: number of private sums.
        guarantee_: guarantee of this fit, owner by owner.
        table_: coefficients with intervals, or without them and the reason.

    Example:
        >>> import numpy as np
        >>> from tacit.estimators import PrivateLinearRegression
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(20, 80, size=(6000, 1))
        >>> y = 100 + 0.5 * X[:, 0] + rng.normal(0, 10, 6000)
        >>> model = PrivateLinearRegression(
        ...     bounds=(20, 80), target_bounds=(50, 200), random_state=0
        ... )
        >>> model.fit(X, y).coef_.round(1).tolist()
        [0.5]
        >>> model.table_.refusal is None
        True
    """

    _family: ClassVar[str] = "gaussian"

    @no_type_check
    def predict(self, X: ArrayLike) -> Float[np.ndarray, " n"]:
        """Means.

        Args:
            X: records, shape `(n, n_features)`; values beyond the bounds are moved to them.
        """
        return self._predictor(X)


class PrivatePoissonRegressor(IntervalRegressor):
    """Poisson regression over sites with a log link, with intervals that include the noise.

    Args:
        epsilon: this and the others as in `PrivateLogisticRegression`.
        target_bounds: pair (lower, upper) of the counts, from 0 and up to 1,000. By default the
            upper one is read off the records, with a warning: it is then assumed public.

    Attributes:
        coef_: coefficients of the logarithm of the mean, in the units of the data, shape
            `(n_features,)`.
        intercept_: intercept.
        bounds_: lower and upper bounds, each of shape `(n_features,)`.
        n_features_in_: number of features.
        feature_names_in_: their names, where `X` had them.
        n_iter_: number of private sums.
        guarantee_: guarantee of this fit, owner by owner.
        table_: coefficients with intervals, or without them and the reason.

    Example:
        >>> import numpy as np
        >>> from tacit.estimators import PrivatePoissonRegressor
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(-1, 1, size=(6000, 1))
        >>> y = rng.poisson(np.exp(0.5 + X[:, 0]))
        >>> model = PrivatePoissonRegressor(bounds=(-1, 1), target_bounds=(0, 20), random_state=0)
        >>> model.fit(X, y).coef_.round(1).tolist()
        [1.0]
    """

    _family: ClassVar[str] = "poisson"
    _least: ClassVar[float | None] = 0.0

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags

    @no_type_check
    def predict(self, X: ArrayLike) -> Float[np.ndarray, " n"]:
        """Mean counts.

        Args:
            X: records, shape `(n, n_features)`; values beyond the bounds are moved to them.
        """
        return np.exp(self._predictor(X))
