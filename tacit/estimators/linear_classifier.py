"""A linear classifier fitted by any of tacit's methods."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, no_type_check

import numpy as np
from jaxtyping import Float, Shaped
from numpy.typing import ArrayLike
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from tacit.data.target import ClassTarget
from tacit.errors import ConfigError
from tacit.estimators.arrays import validated
from tacit.estimators.bounds import Bounds
from tacit.estimators.choices import loss_of
from tacit.estimators.classes import classes_of
from tacit.estimators.linear import Answers, PrivateLinearModel
from tacit.method.phase import AbstractMethod
from tacit.network.base import AbstractNetwork
from tacit.privacy.caution import DELTA
from tacit.privacy.masked import Masks
from tacit.problem.losses import AbstractLinearLoss, Hinge, Logistic, Softmax

if TYPE_CHECKING:
    import networkx


def _probable(model: PrivateClassifier) -> bool:
    """Whether the loss gives probabilities."""
    return isinstance(model.loss, Logistic | Softmax) or (
        isinstance(model.loss, str) and model.loss in ("logistic", "softmax")
    )


class PrivateClassifier(ClassifierMixin, PrivateLinearModel):
    """Linear classifier over sites, fitted by any of tacit's methods; no intervals.

    Columns are moved to [-1, 1] by their bounds, and the mean loss over all records plus
    `penalty * ||w||^2` is minimised, an intercept left out of the penalty. Runs in this process
    with simulated noise, to see what it would give between sites.

    Args:
        method: name of a method, as in studies, or a method with its arguments and its budget; the
            latter must have the epsilon, delta and relation given here.
        method_params: arguments of a method by its name, such as `{"step": 0.5}`. By default
            those that advice tries first, from the numbers of columns, classes and sites alone.
        loss: "logistic", which with more than two classes is softmax, "softmax" or "hinge"; or a
            loss with one score per record, for two classes.
        epsilon: privacy budget of one whole fit, positive; `None` for no privacy.
        delta: probability of a larger loss, in [1e-12, 1).
        relation: adjacency, "replace_one" or "add_remove".
        masks: secure aggregation against one colluding site; `False` for local noise, or
            `Masks(...)` for another coalition. "auto" takes it where the method and the network
            let it hide something.
        clip: largest l2 norm of one record's gradient, positive; by default twice the typical
            norm for made-up records of this shape.
        rounds: number of rounds, at least 1.
        network: network of the sites, in the order of their names: "coordinator", "ring",
            "complete", ..., or an object of tacit or NetworkX. By default a coordinator, or the
            complete graph where the method runs between peers.
        penalty: strength of the penalty, at least 0.
        bounds: pair (lower, upper) for all columns; each a number, or an array of shape
            `(n_features,)`. Values beyond are moved to them, in `fit` and in `predict`. By default
            read off the records, with a warning: they are then assumed public.
        classes: all classes, at least two. By default read off the records, with a warning unless
            they are false and true.
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
        coef_: coefficients of the scores in the units of the data, shape `(1, n_features)`, or
            `(n_classes, n_features)` for more than two classes.
        intercept_: intercepts, shape `(1,)` or `(n_classes,)`.
        classes_: the classes, in order.
        bounds_: lower and upper bounds, each of shape `(n_features,)`.
        n_features_in_: number of features.
        feature_names_in_: their names, where `X` had them.
        n_iter_: number of rounds.
        guarantee_: guarantee of this fit, owner by owner.
        method_: the method as it ran, with its arguments and its budget.

    Example:
        >>> import numpy as np
        >>> from tacit.estimators import PrivateClassifier
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(-1, 1, size=(6000, 2))
        >>> y = rng.random(6000) < 1 / (1 + np.exp(-4 * X[:, 0]))
        >>> clinics = np.array(["a", "b", "c"])[np.arange(6000) % 3]
        >>> model = PrivateClassifier(epsilon=1.0, bounds=(-1, 1), random_state=0)
        >>> model.fit(X, y, groups=clinics).predict([[0.9, 0.0], [-0.9, 0.0]]).tolist()
        [True, False]
        >>> model.guarantee_.worst.status.value
        'proved'
    """

    # scikit-learn reads the parameters from this signature
    @no_type_check
    def __init__(
        self,
        *,
        method: str | AbstractMethod = "gradient-descent",
        method_params: Mapping[str, object] | None = None,
        loss: str | AbstractLinearLoss = "logistic",
        epsilon: float | None = 1.0,
        delta: float = DELTA,
        relation: Literal["replace_one", "add_remove"] = "replace_one",
        masks: bool | Masks | Literal["auto"] = "auto",
        clip: float | None = None,
        rounds: int = 100,
        network: str | AbstractNetwork | networkx.Graph[Any] | None = None,
        penalty: float = 1e-4,
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
        self.classes = classes

    # set by fit
    classes_: np.ndarray
    coef_: np.ndarray
    intercept_: np.ndarray

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        many = isinstance(self.loss, str) and self.loss in ("logistic", "softmax")
        tags.classifier_tags.multi_class = many
        tags.classifier_tags.poor_score = self._poor
        return tags

    @no_type_check
    def fit(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> PrivateClassifier:
        """Fit the model, and spend the whole budget on these records.

        Args:
            X: records, shape `(n, n_features)`.
            y: class of each record, shape `(n,)`.
            groups: site of each record, shape `(n,)`; at least two. Their names are assumed public.

        Raises:
            ValueError: values that are missing or not finite, or classes that do not fit the loss.
            ConfigError: an argument out of range.
            PrivacyError: a budget that cannot be met, or a ledger in which too little is left.
        """
        taken: Any = validated(self, X, y)
        rows, labels = taken
        check_classification_targets(labels)
        self.classes_, read = classes_of(labels, self.classes)
        order = np.argsort(self.classes_)
        codes = order[np.searchsorted(self.classes_, labels, sorter=order)]
        declared = ClassTarget("y", [str(k) for k in range(len(self.classes_))])
        target = Answers(codes, declared, self._loss(), (-1.0, 1.0), read, "classes=[0, 1]")
        slopes, offsets = self._optimise(rows, target, groups)
        if len(slopes) == 2:  # softmax of two classes is logistic in their difference
            slopes, offsets = slopes[1:] - slopes[:1], offsets[1:] - offsets[:1]
        self.coef_, self.intercept_ = slopes, offsets
        return self

    def _loss(self) -> AbstractLinearLoss:
        count = len(self.classes_)
        many = Softmax(count)
        known: dict[str, AbstractLinearLoss] = {
            "logistic": Logistic() if count == 2 else many,
            "softmax": many,
            "hinge": Hinge(),
        }
        loss = loss_of(self.loss, known)
        if isinstance(loss, Softmax) and loss.classes != count:
            raise ConfigError(f"loss has {loss.classes} classes, and the records have {count}")
        if count > 2 and not isinstance(loss, Softmax):
            raise ValueError(
                "Only binary classification is supported by this loss. The type of the target is "
                "multiclass; take loss='logistic'."
            )
        return loss

    @no_type_check
    def decision_function(self, X: ArrayLike) -> Float[np.ndarray, "n ..."]:
        """Score of the second class, shape `(n,)`, or of each class, shape `(n, n_classes)`.

        Args:
            X: records, shape `(n, n_features)`; values beyond the bounds are moved to them.
        """
        scores = self._inside(X) @ self.coef_.T + self.intercept_
        return scores[:, 0] if scores.shape[1] == 1 else scores

    @available_if(_probable)
    @no_type_check
    def predict_proba(self, X: ArrayLike) -> Float[np.ndarray, "n c"]:
        """Probability of every class; only with a loss that has probabilities.

        Args:
            X: as in `decision_function`.
        """
        scores = self.decision_function(X)
        if scores.ndim == 2:
            return softmax(scores, axis=1)
        second = expit(scores)
        return np.column_stack([1.0 - second, second])

    @no_type_check
    def predict(self, X: ArrayLike) -> Shaped[np.ndarray, " n"]:
        """The class of the largest score.

        Args:
            X: as in `decision_function`.
        """
        scores = self.decision_function(X)
        best = np.argmax(scores, axis=1) if scores.ndim == 2 else (scores > 0.0).astype(int)
        return self.classes_[best]
