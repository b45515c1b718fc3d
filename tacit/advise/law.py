"""The law of synthetic records: columns as declared, answers that follow a truth."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jaxtyping import Float, Int

from tacit.advise.columns import Table
from tacit.advise.setting import GAIN, PREVALENCE, Setting
from tacit.clipping import row_norms
from tacit.problem.losses import Huber, Poisson, Softmax
from tacit.problem.problem import Problem
from tacit.problem.records import empirical_risk
from tacit.problem.regularisers import L2, NoRegulariser
from tacit.problem.scores import base_rate

ANCHOR = 1e-3
"""Strength of the ridge that makes the optimum unique where a study has no regulariser."""

_PROBES = 4000
"""Number of rows used to fit the truth and to sample gradients."""

_MIDDLE, _DEVIATION = 0.4, 0.22
"""Mean and standard deviation of a numeric answer, in widths of its bounds."""

_COUNT, _RATE = 0.15, 0.5
"""Mean of a count in widths of its bounds, and standard deviation of its log-rate."""

_FLOOR = 0.05
"""Directions whose variance is a smaller fraction than this matter less."""

_STEEPEST = 60.0


class Law:
    """Synthetic records of a study's shape.

    Features follow their declarations (`columns`). The truth is a random direction. If a fit gains
    little, rare combinations of features matter as much to it as common ones; the more it gains,
    the more of the gain comes from common ones, along which records differ most. The steepness of
    the truth follows from the gain, and its level from the prevalence or the bounds of the answer.

    Args:
        setting: declared dimensions of the study.
        seed: seed of everything that differs between laws, and of all draws, at least 0. Numbers
            fill their bounds if it is even, and only a part of them if it is odd.
    """

    def __init__(self, setting: Setting, seed: int) -> None:
        self.setting = setting
        self.rng = np.random.default_rng(seed)
        self.table = Table(
            setting.made_of, setting.intercept, setting.row_norm, self.rng, seed % 2 == 0
        )
        rows = self.table.draw(_PROBES, self.rng)
        self.mean = rows.mean(axis=0)
        direction = self.rng.normal(size=(setting.features, setting.classes))
        self.truth = _truth(rows, direction, _gain(setting))
        power = ((rows - self.mean) @ self.truth).std(axis=0)
        self.truth /= np.where(power > 0.0, power, 1.0)
        self.level, self.slope = _placed(setting, (rows - self.mean) @ self.truth)

    def draw(self, count: int, seed: int | None = None) -> tuple[Any, Any]:
        """Features and answers of synthetic records.

        Args:
            count: number of records.
            seed: seed of these records alone; without one the law continues its own draws.
        """
        rng = self.rng if seed is None else np.random.default_rng(seed)
        rows = self.table.draw(count, rng)
        return rows, self._answers((rows - self.mean) @ self.truth, rng)

    def _answers(self, signal: Any, rng: np.random.Generator) -> Any:
        s = self.setting
        if isinstance(s.loss, Softmax):
            noisy = self.slope * signal + rng.gumbel(size=signal.shape)
            return np.argmax(noisy, axis=1).astype(float)
        signal = signal[:, 0]
        if s.binary:
            return (rng.random(len(signal)) < _sigmoid(self.level + self.slope * signal)).astype(
                float
            )
        low, high = s.target
        if isinstance(s.loss, Poisson):
            return np.clip(rng.poisson(np.exp(self.level + self.slope * signal)), max(low, 0), high)
        noise = math.sqrt(1.0 - self.slope**2) * rng.normal(size=len(signal))
        answers = self.level + _DEVIATION * (high - low) * (self.slope * signal + noise)
        return np.clip(answers, low, high)

    def problem(self, counts: Int[np.ndarray, " sites"], divisors: Any) -> Problem:
        """A problem of the study's shape over fresh records.

        Args:
            counts: number of records of every site.
            divisors: divisor of every site's sum of losses.
        """
        s = self.setting
        sites = [self.draw(int(count)) for count in counts]
        regulariser = s.regulariser
        if isinstance(regulariser, NoRegulariser):
            regulariser = L2(ANCHOR * float(np.mean(counts / divisors)))
        if s.intercept:
            own = s.classes
            regulariser = regulariser.sparing(range(s.parameters - own, s.parameters))
        return empirical_risk(
            [rows for rows, _ in sites],
            [answers for _, answers in sites],
            s.loss,
            regulariser,
            s.constraint,
            normaliser=divisors,
        )


class Slopes:
    """Gradients of single records of a law if only the base rate is learned.

    Args:
        setting: declared dimensions of the study.

    Attributes:
        norms: norm of every record's gradient, in the norm of the clip, shape `(n,)`.
        curvature: largest curvature of the mean loss of records.
        length: root mean square of the rows' l2 norms.
        width: number of entries of a row.
    """

    def __init__(self, setting: Setting) -> None:
        law = Law(setting, seed=0)
        rows, answers = law.draw(_PROBES)
        loss = setting.loss
        targets = loss.encode(answers, "made-up row {}".format)
        constant = base_rate(loss, answers)
        at = np.broadcast_to(constant, (_PROBES, *constant.shape))
        apart = max(float(np.std(targets)), 1e-3) if loss.curvature == 2.0 else 1.0
        with jax.enable_x64(True):
            slopes = np.asarray(loss.derivative(at, targets)).reshape(_PROBES, -1)
            ends = [np.asarray(loss.derivative(at + h, targets)) for h in (-apart, apart)]
        budget = setting.budget
        order = budget.order if budget.clip_norm is None else budget.clip_norm
        self.norms = row_norms(slopes, order) * row_norms(rows, order)
        self.width = rows.shape[1]
        self.length = float(np.sqrt(np.mean(row_norms(rows, 2) ** 2)))
        if isinstance(loss, Softmax):
            bend = 1.0 / setting.classes
        elif isinstance(loss, Huber):
            # no declaration tells how many answers are within the threshold of a fit
            bend = float(loss.curvature)
        else:
            bend = float(np.mean(ends[1] - ends[0])) / (2.0 * apart)
        spread = rows.T @ rows / _PROBES
        self.curvature = max(bend, 1e-6) * float(np.linalg.eigvalsh(spread)[-1])

    @property
    def typical(self) -> float:
        """Root mean square of the norms: if few answers are yes, those few matter most."""
        return max(float(np.sqrt(np.mean(self.norms**2))), 1e-12)

    def clipped(self, clip: float) -> float:
        """Curvature that remains under clipping: their mean shortening times it."""
        return self.curvature * float(np.mean(clip / np.maximum(self.norms, clip)))


def _truth(rows: Any, direction: Any, gain: float) -> Any:
    """Weights of the features.

    If almost nothing is gained, all principal components matter about equally; if everything is,
    they have about the same weight.
    """
    scale = rows.std(axis=0)
    alive = scale > 1e-9
    standard = (rows[:, alive] - rows[:, alive].mean(axis=0)) / scale[alive]
    values, vectors = np.linalg.eigh(standard.T @ standard / len(rows))
    weights = vectors @ (direction[alive] / ((values + _FLOOR) ** ((1.0 - gain) / 2.0))[:, None])
    found = np.zeros_like(direction)
    found[alive] = weights / scale[alive][:, None]
    return found


def _placed(setting: Setting, signal: Float[np.ndarray, "n c"]) -> tuple[float, float]:
    """Level and steepness of the truth, so that the best fit has the stated gain."""
    gain = _gain(setting)
    low, high = setting.target
    if isinstance(setting.loss, Softmax):
        base = math.log(setting.classes)

        def entropy(slope: float) -> float:
            scores = slope * signal
            scores = scores - scores.max(axis=1, keepdims=True)
            log = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
            return -float(np.mean((np.exp(log) * log).sum(axis=1)))

        return 0.0, _solved(lambda slope: 1.0 - entropy(slope) / base, gain)
    if setting.binary:
        share = PREVALENCE if setting.prevalence is None else setting.prevalence
        base = _entropy(np.array([share]))

        def level(slope: float) -> float:
            return _bisected(
                lambda at: float(np.mean(_sigmoid(at + slope * signal[:, 0]))) - share,
                -300.0,
                300.0,
            )

        def gained(slope: float) -> float:
            return 1.0 - _entropy(_sigmoid(level(slope) + slope * signal[:, 0])) / base

        slope = _solved(gained, gain)
        return level(slope), slope
    if isinstance(setting.loss, Poisson):
        mean = max(low, 0.0) + _COUNT * (high - max(low, 0.0))
        return math.log(max(mean, 1e-3)) - _RATE**2 / 2.0, _RATE
    return low + _MIDDLE * (high - low), math.sqrt(gain)


def _gain(setting: Setting) -> float:
    return GAIN if setting.gain is None else setting.gain


def _solved(gained: Callable[[float], float], gain: float) -> float:
    """The steepness with this gain, or the steepest that is tried."""
    if gained(_STEEPEST) <= gain:
        return _STEEPEST
    return _bisected(lambda slope: gained(slope) - gain, 0.0, _STEEPEST)


def _bisected(rising: Callable[[float], float], low: float, high: float) -> float:
    for _ in range(50):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if rising(middle) > 0.0 else (middle, high)
    return 0.5 * (low + high)


def _sigmoid(scores: Any) -> Any:
    return 0.5 * (1.0 + np.tanh(0.5 * scores))


def _entropy(shares: Any) -> float:
    kept = np.clip(shares, 1e-12, 1.0 - 1e-12)
    return -float(np.mean(kept * np.log(kept) + (1.0 - kept) * np.log(1.0 - kept)))
