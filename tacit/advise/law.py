"""The synthetic law that stands in for a study's records."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import numpy as np
from jaxtyping import Float

from tacit.advise.setting import Setting
from tacit.clipping import row_norms
from tacit.errors import ProblemError
from tacit.problem.losses import Hinge, Logistic, Poisson, Softmax
from tacit.problem.problem import Problem
from tacit.problem.records import empirical_risk
from tacit.problem.regularisers import L2, NoRegulariser

ANCHOR = 1e-3
"""Strength of the ridge that makes the optimum unique where a study has no regulariser."""

_PROBES = 4000
"""Synthetic records from which the length of the gradient at zero is read."""


@dataclass(frozen=True, eq=False)
class Law:
    """Records whose features are unlike in size, and answers that follow a truth.

    Rows have l2 norm `row_norm` exactly, and their features' variances fall as `j^-decay`, as
    principal components of real tables do. The true parameter has coordinates of one size in any
    direction; its scores `s = row @ truth` have standard deviation `signal`, and answers are drawn
    around them as the loss expects them.

    Attributes:
        setting: the declared dimensions.
        truth: the true parameter, shape `(p,)`.
        rng: source of all draws.
    """

    setting: Setting
    truth: Float[np.ndarray, " p"]
    rng: np.random.Generator

    @classmethod
    def of(cls, setting: Setting, seed: int) -> Law:
        """A law with a truth of its own.

        Args:
            setting: the declared dimensions.
            seed: of the truth and of all draws, at least 0.
        """
        rng = np.random.default_rng(seed)
        direction = rng.normal(size=(setting.features, setting.classes))
        power = variances(setting) @ direction**2
        return cls(setting, (setting.signal * direction / np.sqrt(power)).reshape(-1), rng)

    def draw(self, count: int) -> tuple[Float[np.ndarray, "n d"], Float[np.ndarray, " n"]]:
        """Features and answers of so many records."""
        s = self.setting
        rows = self.rng.normal(size=(count, s.features)) * np.sqrt(variances(s))
        rows *= s.row_norm / np.linalg.norm(rows, axis=1, keepdims=True)
        scores = rows @ self.truth.reshape(s.features, s.classes)
        if isinstance(s.loss, Softmax):
            return rows, np.argmax(scores + self.rng.gumbel(size=scores.shape), axis=1).astype(
                float
            )
        mean = scores[:, 0]
        if isinstance(s.loss, Logistic | Hinge):
            return rows, (self.rng.random(count) < 1.0 / (1.0 + np.exp(-mean))).astype(float)
        if isinstance(s.loss, Poisson):
            return rows, self.rng.poisson(np.exp(mean)).astype(float)
        return rows, mean + s.noise * s.signal * self.rng.normal(size=count)

    def problem(self, records: int, agents: int) -> Problem:
        """A problem of the study's shape over fresh records.

        Args:
            records: of one site.
            agents: number of sites.
        """
        s = self.setting
        sites = [self.draw(records) for _ in range(agents)]
        none = isinstance(s.regulariser, NoRegulariser)
        return empirical_risk(
            [rows for rows, _ in sites],
            [answers for _, answers in sites],
            s.loss,
            L2(ANCHOR / s.weight) if none else s.regulariser,
            s.constraint,
            normaliser=records * s.weight,
        )


@dataclass(frozen=True)
class Slopes:
    """Gradients of single records at zero, of one law.

    With variances `L` of the features and truth `b`, the mean gradient at zero, clipped record by
    record, is `-g L b`; the number `g` is what a curvature of the loss is for squared loss.

    Attributes:
        norms: norm of every record's gradient, in the norm of the clip.
        along: every record's part of `g`, shape as `norms`.
        variances: of the coordinates, shape `(p,)`.
        size: root mean square of the truth's coordinates.
    """

    norms: Float[np.ndarray, " n"]
    along: Float[np.ndarray, " n"]
    variances: Float[np.ndarray, " p"]
    size: float

    @classmethod
    def of(cls, setting: Setting) -> Slopes:
        """Drawn from the law of a setting."""
        law = Law.of(setting, seed=0)
        rows, answers = law.draw(_PROBES)
        loss = setting.loss
        targets = loss.encode(answers, "synthetic row {}".format)
        zero = np.zeros((_PROBES, setting.classes))
        with jax.enable_x64(True):
            at = zero if isinstance(loss, Softmax) else zero[:, 0]
            slopes = np.asarray(loss.derivative(at, targets)).reshape(_PROBES, -1)
        order = setting.clip_norm
        norms = row_norms(slopes, order) * row_norms(rows, order)
        truth = law.truth.reshape(setting.features, setting.classes)
        pull = variances(setting)[:, None] * truth
        along = -np.sum(slopes * (rows @ pull), axis=1) / np.sum(pull**2)
        if not float(np.mean(along)) > 0:
            raise ProblemError(
                f"the loss {type(loss).__name__} has no slope at zero towards the truth of the "
                "synthetic records, so there is nothing to measure; take another loss"
            )
        size = float(np.sqrt(np.mean(law.truth**2)))
        return cls(norms, along, np.repeat(variances(setting), setting.classes), size)

    @property
    def typical(self) -> float:
        """Median norm of one record's gradient."""
        return float(np.median(self.norms))

    def clipped(self, clip: float) -> float:
        """The number `g` after clipping."""
        factor = clip / np.maximum(self.norms, clip)
        return float(np.mean(self.along * factor))


def variances(setting: Setting) -> Float[np.ndarray, " d"]:
    """Variance of every synthetic feature; their sum is `row_norm^2`."""
    falling = np.arange(1.0, setting.features + 1) ** -setting.decay
    return setting.row_norm**2 * falling / falling.sum()
