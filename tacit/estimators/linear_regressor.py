"""A linear regressor fitted by any of tacit's methods."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, no_type_check

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin

from tacit.data.target import NumericTarget
from tacit.errors import ConfigError
from tacit.estimators import bounds as ends
from tacit.estimators.arrays import numbers_of, validated
from tacit.estimators.bounds import Bounds
from tacit.estimators.choices import loss_of
from tacit.estimators.linear import Answers, PrivateLinearModel
from tacit.method.phase import AbstractMethod
from tacit.network.base import AbstractNetwork
from tacit.privacy.caution import DELTA
from tacit.privacy.masked import Masks
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

if TYPE_CHECKING:
    import networkx

_UNIT = (-1.0, 1.0)
"""Where the bounds of a target are moved to, for losses of a residual."""


class PrivateRegressor(RegressorMixin, PrivateLinearModel):
    """Linear regressor over sites, fitted by any of tacit's methods; no intervals.

    Columns and target are moved to [-1, 1] by their bounds, and the mean loss over all records plus
    `penalty * ||w||^2` is minimised, an intercept left out of the penalty.

    Args:
        method: this and the others as in `PrivateClassifier`.
        loss: "squared", "huber" (threshold a tenth of the width of the target's bounds), "quantile"
            (the median) or "poisson" (a count, with log link, and not moved); or a loss with one
            score per record, such as `Quantile(0.9)`, in units of half that width.
        target_bounds: pair (lower, upper) of the target, beyond which values are moved to them. By
            default read off the records, with a warning: they are then assumed public.

    Attributes:
        coef_: coefficients in the units of the data, shape `(n_features,)`; with loss "poisson"
            those of the logarithm of the mean.
        intercept_: intercept.
        bounds_: lower and upper bounds, each of shape `(n_features,)`.
        n_features_in_: number of features.
        feature_names_in_: their names, where `X` had them.
        n_iter_: number of rounds.
        guarantee_: guarantee of this fit, owner by owner.
        method_: the method as it ran, with its arguments and its budget.

    Example:
        >>> from tacit.estimators import PrivateRegressor
        >>> PrivateRegressor(loss="huber", method="dpsg", network="ring", epsilon=2.0)
        PrivateRegressor(epsilon=2.0, loss='huber', method='dpsg', network='ring')
    """

    # scikit-learn reads the parameters from this signature
    @no_type_check
    def __init__(
        self,
        *,
        method: str | AbstractMethod = "gradient-descent",
        method_params: Mapping[str, object] | None = None,
        loss: str | AbstractLinearLoss = "squared",
        epsilon: float | None = 1.0,
        delta: float = DELTA,
        relation: Literal["replace_one", "add_remove"] = "replace_one",
        masks: bool | Masks | Literal["auto"] = "auto",
        clip: float | None = None,
        rounds: int = 100,
        network: str | AbstractNetwork | networkx.Graph[Any] | None = None,
        penalty: float = 1e-4,
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
            method=method,
            method_params=method_params,
            loss=loss,
            epsilon=epsilon,
            delta=delta,
            relation=relation,
            masks=masks,
            clip=clip,
            rounds=rounds,
            network=network,
            penalty=penalty,
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
        tags.target_tags.positive_only = self._counts
        return tags

    @property
    def _counts(self) -> bool:
        """Whether the target is a count, with a log link."""
        if isinstance(self.loss, str):
            return self.loss == "poisson"
        return isinstance(self.loss, Poisson)

    @no_type_check
    def fit(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> PrivateRegressor:
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
        target, low, high = self._target(numbers_of(values))
        (slopes,), (offset,) = self._optimise(rows, target, groups)
        if not self._counts:
            half = (high - low) / 2.0
            slopes, offset = half * slopes, half * offset + (low + high) / 2.0
        self.coef_, self.intercept_ = slopes, float(offset)
        return self

    def _target(self, values: Float[np.ndarray, " n"]) -> tuple[Answers, float, float]:
        """The target, and its bounds in the units of the data."""
        known: dict[str, AbstractLinearLoss] = {
            "squared": Squared(),
            "huber": Huber(0.2),
            "quantile": Quantile(),
            "poisson": Poisson(),
        }
        loss = loss_of(self.loss, known)
        if isinstance(loss, Softmax | Logistic | Hinge):
            raise ConfigError("loss is one of classes, not of numbers; take PrivateClassifier")
        low, high, read = ends.of_target(values, self.target_bounds, 0.0 if self._counts else None)
        declared = NumericTarget("y", low, high, to=None if self._counts else _UNIT)
        seen = (low, high) if self._counts else _UNIT
        return Answers(values, declared, loss, seen, read, "target_bounds=(0, 50)"), low, high

    @no_type_check
    def predict(self, X: ArrayLike) -> Float[np.ndarray, " n"]:
        """What the loss predicts: means, medians or another quantile, or mean counts.

        Args:
            X: records, shape `(n, n_features)`; values beyond the bounds are moved to them.
        """
        scores = self._inside(X) @ self.coef_ + self.intercept_
        return np.exp(scores) if self._counts else scores
