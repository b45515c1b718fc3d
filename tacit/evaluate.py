"""Scores on records that were held out: for simulations only, none of them is private."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jaxtyping import Float, Shaped

from tacit.problem.losses import (
    AbstractLinearLoss,
    Hinge,
    Logistic,
    Poisson,
    Quantile,
    Softmax,
)


def scores(
    loss: AbstractLinearLoss,
    features: Float[np.ndarray, "n d"],
    targets: Shaped[np.ndarray, " n"],
    solution: Any,
) -> dict[str, float]:
    """What a solution is worth on records that it was not fitted to.

    Args:
        loss: that was minimised; it says what kind of answer is expected.
        features: of the records held out, shape `(n, d)`.
        targets: their true answers, shape `(n,)`: 0 or 1 for yes/no, class numbers, or numbers.
        solution: the parameters, shape `(p,)`.

    Returns:
        The mean `loss`, and by kind: `auc` and `accuracy` (yes/no), `accuracy` and `error`
        (classes), `rmse` and `r2` (numbers), `coverage` (quantiles). A tie is no decision: it
        counts as one drawn at random. A score that these records do not define, such as the AUC
        of a single class, is NaN.

    Example:
        >>> import numpy as np
        >>> from tacit.problem.losses import Logistic
        >>> x = np.array([[-2.0], [-1.0], [1.0], [2.0]])
        >>> scores(Logistic(), x, np.array([0.0, 1.0, 0.0, 1.0]), np.array([1.0]))["auc"]
        0.75
    """
    targets = loss.encode(np.asarray(targets, dtype=np.float64), "row {} held out".format)
    # parameters of a run that diverged give infinite scores, which are right
    with jax.enable_x64(True), np.errstate(over="ignore", invalid="ignore"):
        weights = loss.weights(np.asarray(solution, dtype=np.float64), features.shape[1])
        predicted = np.asarray(features @ np.asarray(weights))
        found = {"loss": float(np.mean(np.asarray(loss.value(predicted, targets))))}
        if isinstance(loss, Logistic | Hinge):
            found["auc"] = auc(predicted, targets > 0.0)
            agrees = np.sign(predicted) * np.where(targets > 0.0, 1.0, -1.0)
            found["accuracy"] = float(np.mean((1.0 + agrees) / 2.0))
        elif isinstance(loss, Softmax):
            best = predicted == predicted.max(axis=1, keepdims=True)
            hit = best[np.arange(len(targets)), targets.astype(int)]
            found["accuracy"] = float(np.mean(hit / best.sum(axis=1)))
            found["error"] = 1.0 - found["accuracy"]
        else:
            mean = np.exp(predicted) if isinstance(loss, Poisson) else predicted
            residual = targets - mean
            spread = float(np.mean((targets - targets.mean()) ** 2))
            found["rmse"] = float(np.sqrt(np.mean(residual**2)))
            found["r2"] = 1.0 - float(np.mean(residual**2)) / spread if spread > 0 else float("nan")
            if isinstance(loss, Quantile):
                found["coverage"] = float(np.mean(targets <= predicted))
    return found


def auc(predicted: Float[np.ndarray, " n"], positive: Shaped[np.ndarray, " n"]) -> float:
    """Area under the ROC curve: the chance that a positive record scores above a negative one.

    Source: Hanley, McNeil (1982), the Mann-Whitney statistic; ties count one half.

    Args:
        predicted: scores, shape `(n,)`.
        positive: which records are positive, shape `(n,)`.

    Returns:
        In [0, 1]; NaN when all records are of one kind.
    """
    from scipy.stats import rankdata

    yes = int(np.sum(positive))
    no = len(positive) - yes
    if yes == 0 or no == 0:
        return float("nan")
    ranks = rankdata(predicted)
    return float((ranks[positive.astype(bool)].sum() - yes * (yes + 1) / 2) / (yes * no))
