"""Scores on held-out records: for simulations only, none of them is private.

The yardstick is the *base rate*: the best constant answer, learned on the sites' own records. The
value of a model is its gain over the base rate.
"""

from __future__ import annotations

import math
from typing import Annotated, Any

import jax
import numpy as np
from jaxtyping import Float, Shaped

from tacit.arguments import checked
from tacit.errors import ConfigError
from tacit.problem.losses import (
    AbstractLinearLoss,
    Hinge,
    Logistic,
    Poisson,
    Quantile,
    Softmax,
    Squared,
)
from tacit.ranges import Listed, Range, Real

SCORES = {
    "auc": "AUC",
    "accuracy": "accuracy",
    "r2": "R²",
    "rmse": "root mean squared error",
    "error": "error rate",
    "coverage": "coverage",
    "loss": "mean loss",
}
"""Scores by name, in order of preference for the headline."""


@checked(ConfigError)
def scores(
    loss: AbstractLinearLoss,
    features: Float[np.ndarray, "n d"],
    targets: Shaped[np.ndarray, " n"],
    solution: Annotated[Listed, Range(infinite=True, unset=True)],
) -> dict[str, float]:
    """Scores of a solution on records that it was not fitted to.

    Args:
        loss: loss that was minimised; it determines the kind of answer.
        features: features of the held-out records, shape `(n, d)`.
        targets: true answers of these records, shape `(n,)`: 0 or 1 for yes/no, class numbers, or
            numbers.
        solution: the parameters, shape `(p,)`.

    Returns:
        The mean `loss`, and by kind: `auc` and `accuracy` (yes/no), `accuracy` and `error`
        (classes), `rmse` and `r2` (numbers), `coverage` (quantiles). A tie is not a decision: it
        counts as one drawn at random. A score that these records do not define, such as the AUC
        of a single class, is NaN.

    Example:
        >>> import numpy as np
        >>> from tacit.problem.losses import Logistic
        >>> x = np.array([[-2.0], [-1.0], [1.0], [2.0]])
        >>> scores(Logistic(), x, np.array([0.0, 1.0, 0.0, 1.0]), np.array([1.0]))["auc"]
        0.75
    """
    if len(features) != len(targets):
        raise ConfigError(
            f"features has {len(features)} rows and targets {len(targets)}; give one for each "
            "record"
        )
    if np.shape(solution) != (size := loss.dimension(features.shape[1]),):
        raise ConfigError(f"solution has shape {np.shape(solution)}; it must be ({size},)")
    # parameters of a run that diverged give infinite scores, which are correct
    with jax.enable_x64(True), np.errstate(over="ignore", invalid="ignore"):
        weights = loss.weights(np.asarray(solution, dtype=np.float64), features.shape[1])
        return _scores(loss, np.asarray(features @ np.asarray(weights)), targets)


@checked(ConfigError)
def base_rate(
    loss: AbstractLinearLoss, learned_on: Shaped[np.ndarray, " m"]
) -> Float[np.ndarray, "*scores"]:
    """The constant score with the smallest mean loss: the best answer without any features.

    The mean for squared loss, the log-odds of the classes for a likelihood, the majority for hinge
    loss, the quantile for quantile loss. A class that does not occur counts as half a record, so
    that its log-odds are finite.

    Args:
        loss: loss that is minimised.
        learned_on: targets of the records that it is learned on, at least one, shape `(m,)`. The
            answer is computed from them without noise: simulation only, unless they are public.

    Returns:
        One number, or one per class for softmax, shape `()` or `(classes,)`.

    Example:
        >>> import numpy as np
        >>> from tacit.problem.losses import Logistic
        >>> round(float(base_rate(Logistic(), np.array([1.0, 0.0, 0.0, 0.0]))), 6)  # log(1 / 3)
        -1.098612
    """
    targets = loss.encode(np.asarray(learned_on, dtype=np.float64), "training row {}".format)
    if isinstance(loss, Softmax):
        counts = np.bincount(targets.astype(int), minlength=loss.classes)
        return np.log(np.maximum(counts, 0.5) / len(targets))
    if isinstance(loss, Logistic):
        yes = float(np.sum(targets))
        return np.asarray(math.log(max(yes, 0.5)) - math.log(max(len(targets) - yes, 0.5)))
    if isinstance(loss, Hinge):
        return np.asarray(1.0 if np.mean(targets) >= 0.0 else -1.0)
    if isinstance(loss, Poisson):
        return np.asarray(math.log(max(float(np.sum(targets)), 0.5) / len(targets)))
    if isinstance(loss, Quantile):
        return np.asarray(np.quantile(targets, float(loss.level), method="inverted_cdf"))
    if isinstance(loss, Squared):
        return np.asarray(np.mean(targets))
    return _located(loss, targets)


@checked(ConfigError)
def base_scores(
    loss: AbstractLinearLoss,
    learned_on: Shaped[np.ndarray, " m"],
    targets: Shaped[np.ndarray, " n"],
) -> dict[str, float]:
    """Scores of the base rate on held-out records, as measured by `scores`.

    Args:
        loss: loss that is minimised.
        learned_on: targets of the records that the base rate is learned on, shape `(m,)`.
        targets: targets of the held-out records, shape `(n,)`.
    """
    constant = base_rate(loss, learned_on)
    with jax.enable_x64(True):
        return _scores(loss, np.broadcast_to(constant, (len(targets), *constant.shape)), targets)


@checked(ConfigError)
def share_kept(agreed: Real, pooled: Real, base: Real, *, higher: bool) -> float | None:
    """The share of the pooled fit's gain over the base rate that the agreed model keeps.

    Args:
        agreed: score of the agreed model.
        pooled: score of the fit to the pooled records without privacy.
        base: score of the base rate.
        higher: whether a higher score is better.

    Returns:
        1 where the agreed model is as good as the pooled fit, 0 where it is as good as the base
        rate, negative where it is worse; `None` where the pooled fit gains nothing.

    Example:
        >>> share_kept(0.60, 0.58, 0.62, higher=False)
        0.5
    """
    gain = pooled - base if higher else base - pooled
    if not (math.isfinite(gain) and gain > 0.0) or math.isnan(agreed):
        return None
    return (agreed - base if higher else base - agreed) / gain


@checked(ConfigError)
def kept_in_words(share: Real | None) -> str:
    """The share that is kept, in a sentence without its full stop.

    Example:
        >>> kept_in_words(0.912)
        'the agreed model keeps 91% of what the pooled fit gains over the base rate'
    """
    if share is None:
        return "the pooled fit itself is no better than the base rate"
    if share < 0.0:
        return (
            "the agreed model is worse than the base rate: it keeps "
            f"{share:,.0%} of what the pooled fit gains over it"
        )
    return f"the agreed model keeps {share:.0%} of what the pooled fit gains over the base rate"


def _located(loss: AbstractLinearLoss, targets: Float[np.ndarray, " m"]) -> Float[np.ndarray, ""]:
    """The best constant of a convex loss of the residual: it lies between the targets."""
    from scipy.optimize import minimize_scalar

    low, high = float(np.min(targets)), float(np.max(targets))
    if low == high:
        return np.asarray(low)
    with jax.enable_x64(True):
        found: Any = minimize_scalar(
            lambda constant: float(np.mean(np.asarray(loss.value(constant, targets)))),
            bounds=(low, high),
            method="bounded",
            options={"xatol": 1e-9 * (high - low)},
        )
    return np.asarray(float(found.x))


def _scores(
    loss: AbstractLinearLoss,
    predicted: Float[np.ndarray, "n ..."],
    targets: Shaped[np.ndarray, " n"],
) -> dict[str, float]:
    """The scores from the records' scores instead of a solution; float64 is on."""
    targets = loss.encode(np.asarray(targets, dtype=np.float64), "row {} held out".format)
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


@checked(ConfigError)
def auc(predicted: Float[np.ndarray, " n"], positive: Shaped[np.ndarray, " n"]) -> float:
    """Area under the ROC curve: the chance that a positive record scores above a negative one.

    The Mann-Whitney statistic (Hanley, McNeil 1982); ties count one half.

    Args:
        predicted: scores, shape `(n,)`.
        positive: whether each record is positive, shape `(n,)`.

    Returns:
        Area in [0, 1]; NaN when all records are of one kind.
    """
    from scipy.stats import rankdata

    if len(predicted) != len(positive):
        raise ConfigError(
            f"predicted has {len(predicted)} entries and positive {len(positive)}; give one for "
            "each record"
        )
    yes = int(np.sum(positive))
    no = len(positive) - yes
    if yes == 0 or no == 0:
        return float("nan")
    ranks = rankdata(predicted)
    return float((ranks[positive.astype(bool)].sum() - yes * (yes + 1) / 2) / (yes * no))
