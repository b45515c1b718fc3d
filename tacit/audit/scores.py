"""Scores: how much likelier an output is on D than on D', exactly where that is known, or learned.

All take the outputs of many runs at once, runs along the first axis, and give one number per run,
higher where D is likelier. Means and scales broadcast against the output of one run; numbers that
are equal on both sides cancel before anything is squared or divided.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

import numpy as np
from jaxtyping import Float

from tacit.arguments import checked
from tacit.audit.game import play
from tacit.errors import ConfigError
from tacit.ranges import Listed, PositiveOne, Range, Values

Scale: TypeAlias = Annotated[Listed, Range(above=0.0, axes=8)]
"""Positive numbers in an array of any shape."""

_MOST_QUADRATIC = 300
"""Features above which curvature is not learned: their products are too many."""

_LEARNING = 0.75

_LAST_DIGITS = 1e-12
"""Share of a number that rounding may change."""


@checked(ConfigError)
def gaussian_log_ratio(
    outputs: Float[np.ndarray, "runs ..."], mean: Values, other: Values, scale: Scale
) -> Float[np.ndarray, " runs"]:
    """Exact log-likelihood ratio of outputs with Gaussian noise around one mean or another.

    `sum (||y - m'||^2 - ||y - m||^2) / (2 s^2)`, every term factored as `(m - m') (2y - m - m')`.

    Args:
        outputs: outputs of many runs, any shape after the first axis (rounds, coordinates).
        mean: expected output on D.
        other: expected output on D'.
        scale: standard deviation of the noise, positive; one number, or one per entry.

    Example:
        >>> gaussian_log_ratio(np.array([[1.0], [0.5]]), mean=1.0, other=0.0, scale=0.5)
        array([2., 0.])
    """
    _fitting(outputs, mean=mean, other=other, scale=scale)
    mean, other = np.asarray(mean, dtype=float), np.asarray(other, dtype=float)
    terms = (mean - other) * (2.0 * outputs - mean - other) / (2.0 * np.square(scale))
    return _summed(terms)


@checked(ConfigError)
def laplace_log_ratio(
    outputs: Float[np.ndarray, "runs ..."],
    mean: Values,
    other: Values,
    scale: Scale,
    other_scale: Scale | None = None,
) -> Float[np.ndarray, " runs"]:
    """Exact log-likelihood ratio of outputs with Laplace noise, `sum (|y - m'| - |y - m|) / b`.

    Args:
        outputs: outputs of many runs, any shape after the first axis.
        mean: expected output on D.
        other: expected output on D'.
        scale: scale of the noise on D, positive; one number, or one per entry.
        other_scale: scale of the noise on D', where the noise itself differs.

    Example:
        >>> laplace_log_ratio(np.array([[3.0], [0.5]]), mean=1.0, other=0.0, scale=2.0)
        array([0.5, 0. ])
    """
    _fitting(outputs, mean=mean, other=other, scale=scale, other_scale=other_scale)
    mean, other = np.asarray(mean, dtype=float), np.asarray(other, dtype=float)
    if other_scale is None:
        # the difference of distances, written so that outputs beyond both means score the same to
        # the last bit: rounding errors there would tell apart what the exact mechanism does not
        gap = mean - other
        between = np.clip(2.0 * outputs - mean - other, -np.abs(gap), np.abs(gap))
        return _summed(np.sign(gap) * between / scale)
    near, far = np.abs(outputs - mean), np.abs(outputs - other)
    terms = far / other_scale - near / scale + np.log(np.asarray(other_scale) / scale)
    return _summed(np.broadcast_to(terms, outputs.shape))


@checked(ConfigError)
def sampled_gaussian_log_ratio(
    outputs: Float[np.ndarray, "runs rounds ..."],
    base: Values,
    shift: Values,
    rate: Annotated[float, Range(above=0.0, below=1.0, axes=0)],
    scale: PositiveOne,
) -> Float[np.ndarray, " runs"]:
    """Exact log-likelihood ratio where a record takes part in each round by chance.

    On D a round's output is `base + shift + noise` with probability `rate` and `base + noise`
    otherwise; on D', which lacks the record, always the latter.

    Args:
        outputs: outputs of many runs; rounds along the second axis.
        base: expected output without the record.
        shift: amount by which the record moves the output.
        rate: rate of the Poisson sample, in (0, 1).
        scale: standard deviation of the noise, positive.

    Example:
        >>> there = sampled_gaussian_log_ratio(np.array([[5.0]]), 0.0, 5.0, rate=0.5, scale=1.0)
        >>> bool(there[0] > 10)
        True
    """
    _fitting(outputs, base=base, shift=shift)
    base, shift = np.asarray(base, dtype=float), np.asarray(shift, dtype=float)
    terms = shift * (2.0 * (outputs - base) - shift) / (2.0 * scale**2)
    drawn = terms.sum(axis=tuple(range(2, terms.ndim)))
    return _summed(np.logaddexp(np.log1p(-rate), np.log(rate) + drawn))


@checked(ConfigError)
def exposure(
    outputs: Float[np.ndarray, "runs rounds ..."], mean: Values, other: Values
) -> Float[np.ndarray, " runs"]:
    """How close some round comes to its exact answer: for noise that is sometimes missing.

    The logarithm of the smallest distance to the answers on D', divided by that to the answers on
    D. A likelihood ratio assumes that the noise is present, and does not notice a missing one.

    Args:
        outputs: outputs of many runs; rounds along the second axis.
        mean: answers on D, which broadcast against one run.
        other: answers on D'.

    Example:
        >>> float(exposure(np.array([[3.0, 1.0]]), mean=1.0, other=0.0)[0]) > 100
        True
    """
    _fitting(outputs, mean=mean, other=other)

    def least(answer: Listed) -> Float[np.ndarray, " runs"]:
        apart = np.square(outputs - np.asarray(answer))
        each = np.sqrt(apart.sum(axis=tuple(range(2, apart.ndim))))
        return np.log(np.maximum(each.min(axis=1), np.finfo(float).tiny))

    return least(other) - least(mean)


@dataclass(frozen=True, eq=False)
class LearnedScore:
    """A score learned from examples: Fisher's linear discriminant, or a quadratic one.

    Attributes:
        weights: weights `w` of the features, shape `(features,)`.
        curvature: matrix `C` of a quadratic score `d' C d + w' d`; `None` for a linear one.
        centre: point from which `d` is measured.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> one, other = rng.normal(size=(2, 500, 3))
        >>> score = LearnedScore.fit(one + [2.0, 0.0, 0.0], other)
        >>> int(np.argmax(np.abs(score.weights)))
        0
    """

    weights: Float[np.ndarray, " features"]
    curvature: Float[np.ndarray, "features features"] | None = None
    centre: Float[np.ndarray, " features"] | float = 0.0

    @classmethod
    @checked(ConfigError)
    def fit(
        cls, rows: Float[np.ndarray, "runs features"], others: Float[np.ndarray, "runs features"]
    ) -> LearnedScore:
        """Learn from runs on D and on D'.

        Covariances are shrunk towards a multiple of the identity, more strongly the fewer runs
        there are per feature; a feature that is the same in all runs gets no weight. The
        quadratic score is taken if it guesses clearly better on runs that it was not fitted to.

        Args:
            rows: features of runs on D.
            others: features of runs on D'.

        Raises:
            ConfigError: no runs, or other features on one side than on the other.
        """
        runs, features = rows.shape
        if others.shape[1:] != (features,) or 0 in (*rows.shape, len(others)):
            raise ConfigError(
                f"rows and others have the shapes {rows.shape} and {others.shape}; give both at "
                "least one run, and the same features, one in each column"
            )
        if features <= min(_MOST_QUADRATIC, runs // 4):
            some = int(_LEARNING * runs)
            both = [_fitted(rows[:some], others[:some], curved=curved) for curved in (False, True)]
            right = [play(each(rows[some:]), each(others[some:]), 1.0) for each in both]
            chance = np.sqrt(right[0].made) / 2.0
            if right[1].correct > right[0].correct + chance:
                return _fitted(rows, others, curved=True)
        return _fitted(rows, others, curved=False)

    def __call__(self, rows: Float[np.ndarray, "runs features"]) -> Float[np.ndarray, " runs"]:
        """One score per run, higher where D is likelier."""
        apart = rows - self.centre
        line = apart @ self.weights
        if self.curvature is None:
            return line
        return line + np.einsum("ij,ij->i", apart @ self.curvature, apart)


def _fitted(
    rows: Float[np.ndarray, "runs features"],
    others: Float[np.ndarray, "runs features"],
    *,
    curved: bool,
) -> LearnedScore:
    """Gaussians with a common covariance, or separate ones, fitted to the two sets of points."""
    spread = np.sqrt((rows.var(axis=0) + others.var(axis=0)) / 2.0)
    # what is constant on either side but differs tells the sides apart: the gap is its unit
    gap = np.abs(rows.mean(axis=0) - others.mean(axis=0))
    size = np.maximum(np.abs(rows).max(axis=0), np.abs(others).max(axis=0))
    gap = np.where(gap > _LAST_DIGITS * size, gap, np.inf)
    scale = np.where(spread > _LAST_DIGITS * size, spread, gap)
    centre = (rows.mean(axis=0) + others.mean(axis=0)) / 2.0
    clouds = [(side - centre) / scale for side in (rows, others)]
    means = [cloud.mean(axis=0) for cloud in clouds]
    runs = len(rows)
    covariances = [
        (cloud - mean).T @ (cloud - mean) / runs for cloud, mean in zip(clouds, means, strict=True)
    ]
    common = _shrunk((covariances[0] + covariances[1]) / 2.0, 2 * runs)
    line = np.linalg.solve(common, means[0] - means[1])
    if not curved:
        return LearnedScore(line / scale, None, centre)
    root = np.linalg.cholesky(common)

    def whitened(matrix: Float[np.ndarray, "f g"]) -> Float[np.ndarray, "f g"]:
        return np.linalg.solve(root, matrix)

    precisions = [np.linalg.inv(_shrunk(whitened(whitened(each).T), runs)) for each in covariances]
    ends = [
        precision @ whitened(mean[:, None])[:, 0]
        for precision, mean in zip(precisions, means, strict=True)
    ]
    weights = np.linalg.solve(root.T, ends[0] - ends[1])
    bent = np.linalg.solve(root.T, (precisions[1] - precisions[0]) / 2.0)
    curvature = np.linalg.solve(root.T, bent.T)
    return LearnedScore(weights / scale, curvature / scale / scale[:, None], centre)


def _shrunk(covariance: Float[np.ndarray, "f f"], runs: int) -> Float[np.ndarray, "f f"]:
    """Shrunk towards the identity, more strongly the fewer runs there are per feature."""
    features = len(covariance)
    part = features / (features + runs)
    return (1.0 - part) * covariance + part * np.eye(features)


def _summed(terms: Float[np.ndarray, "runs ..."]) -> Float[np.ndarray, " runs"]:
    return np.asarray(terms.reshape(len(terms), -1).sum(axis=1))


def _fitting(outputs: np.ndarray, **others: Any) -> None:
    """Refuse arrays that do not broadcast against one run."""
    for name, each in others.items():
        shape = np.shape(0.0 if each is None else each)
        try:
            fits = np.broadcast_shapes(shape, outputs.shape[1:]) == outputs.shape[1:]
        except ValueError:
            fits = False
        if not fits:
            raise ConfigError(
                f"{name} has shape {shape}, which does not fit the outputs of one run, shape "
                f"{outputs.shape[1:]}"
            )
