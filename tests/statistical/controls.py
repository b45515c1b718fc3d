"""Mechanisms with a well-known mistake, and the same mechanisms without it.

Each gives the outputs of many runs at once on D or on the neighbouring D', its claim, and the score
of an attacker who reads every output. `correct=True` makes the mechanism that the claim is about.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.audit.estimators import lower_bounds
from tacit.audit.scores import exposure, gaussian_log_ratio, laplace_log_ratio
from tacit.audit.sequential import learned
from tacit.privacy.gaussian_dp import mu_from_epsilon

EPSILON, DELTA, DIMENSION = 1.0, 1e-5, 5
"""Of every claim about Gaussian noise: for the whole run."""

Outputs = Callable[[np.random.Generator, int, int, bool], Any]
"""From generator, runs, side (0 for D, 1 for D') and correctness to outputs, runs first."""


@dataclass(frozen=True)
class Control:
    """A mistake and how to find it.

    Attributes:
        outputs: the mechanism.
        trials: runs a side in which it is refuted with a probability of at least 0.95.
        score: from outputs to one number a run; learned from half of the runs if `None`.
        epsilon: of the claim.
        delta: of the claim.
        gaussian: whether the claim is about Gaussian noise.
    """

    outputs: Outputs
    trials: int
    score: Callable[[Any], Any] | None = None
    epsilon: float = EPSILON
    delta: float = DELTA
    gaussian: bool = True

    def refuted(self, rng: np.random.Generator, *, correct: bool) -> bool:
        """Whether one audit refutes the claim."""
        rows, others = (
            self.outputs(rng, self.trials, side, correct).astype(float) for side in (0, 1)
        )
        if self.score is None:
            scores = learned(rows.reshape(len(rows), -1), others.reshape(len(others), -1))
        else:
            scores = self.score(rows), self.score(others)
        bounds = lower_bounds(*scores, delta=self.delta, gaussian=self.gaussian)
        return max(bound.epsilon for bound in bounds) > self.epsilon


def scale(rounds: int, sensitivity: float = 1.0) -> float:
    """Standard deviation that makes so many releases cost `EPSILON` at `DELTA` together."""
    return sensitivity * math.sqrt(rounds) / mu_from_epsilon(EPSILON, DELTA)


def answers(rounds: int, length: float = 1.0) -> tuple[Any, Any]:
    """What neighbours would answer in every round: `length` apart in the first coordinate."""
    mean = np.zeros((rounds, DIMENSION))
    mean[:, 0] = length
    return mean, np.zeros_like(mean)


def _noise(rng: np.random.Generator, runs: int, rounds: int) -> Any:
    return rng.normal(size=(runs, rounds, DIMENSION))


def _ratio(rounds: int) -> Callable[[Any], Any]:
    mean, other = answers(rounds)
    return lambda y: gaussian_log_ratio(y, mean, other, scale(rounds))


def halved_noise(rng: np.random.Generator, runs: int, side: int, correct: bool) -> Any:
    """Half of the noise that is accounted for."""
    return answers(8)[side] + scale(8) * (1.0 if correct else 0.5) * _noise(rng, runs, 8)


def reused_noise(rng: np.random.Generator, runs: int, side: int, correct: bool) -> Any:
    """One draw of noise for all rounds, while the record's share changes its sign."""
    turns = np.where(np.arange(8) % 2 == 0, 1.0, -1.0)[:, None]
    noise = _noise(rng, runs, 8)
    return turns * answers(8)[side] + scale(8) * (noise if correct else noise[:, :1])


def forgotten_round(rng: np.random.Generator, runs: int, side: int, correct: bool) -> Any:
    """Two releases, of which one is accounted for."""
    return answers(2)[side] + scale(2 if correct else 1) * _noise(rng, runs, 2)


def no_clip(rng: np.random.Generator, runs: int, side: int, correct: bool) -> Any:
    """Noise for a clip of 1 that nobody applies, and a record of length 3."""
    return answers(8, 1.0 if correct else 3.0)[side] + scale(8) * _noise(rng, runs, 8)


ROWS = np.concatenate([np.full(9, 0.2), [1.0]]), np.full(10, 0.2)
"""Ten values in [0, 1], of which the last is replaced."""


def data_scale(rng: np.random.Generator, runs: int, side: int, correct: bool) -> Any:
    """The sum of values, with noise for the largest that happens to be there."""
    rows = ROWS[side]
    largest = 1.0 if correct else rows.max()
    return rows.sum() + scale(1, largest) * rng.normal(size=(runs, 1, 1))


def noise_before_clip(rng: np.random.Generator, runs: int, side: int, correct: bool) -> Any:
    """A long gradient, noised for the clip of 1 and clipped afterwards."""
    gradient = np.array([20.0 if side == 0 else -20.0, *[0.0] * (DIMENSION - 1)])
    if correct:
        return _clipped(gradient) + scale(8, 2.0) * _noise(rng, runs, 8)
    return _clipped(gradient + scale(8, 2.0) * _noise(rng, runs, 8))


def _clipped(vector: Any) -> Any:
    return vector / np.maximum(np.linalg.norm(vector, axis=-1, keepdims=True), 1.0)


def dropped_noise(rng: np.random.Generator, runs: int, side: int, correct: bool) -> Any:
    """One message in a hundred leaves without its noise."""
    kept = rng.random((runs, 8, 1)) >= (0.0 if correct else 0.01)
    return answers(8)[side] + scale(8) * kept * _noise(rng, runs, 8)


PDOP = {"step": 0.5, "ratio": 0.1, "noise_ratio": 0.5, "rounds": 8}


def printed_pdop(rng: np.random.Generator, runs: int, side: int, correct: bool) -> Any:
    """Huang, Mitra, Vaidya (2015), eq (8): the noise of round t hides the step of round t - 1.

    Costs on the line with gradients 1 and -1, so `C2 = 1`; given the messages, the two iterates
    differ by the last step only. With the printed scale the run costs `epsilon / noise_ratio`.
    """
    steps, noise = _pdop(correct)
    public = np.zeros(len(steps))  # what mixing makes of the messages, known to the attacker
    iterate = public - steps * (1.0 if side == 0 else -1.0)
    return iterate + noise * rng.laplace(size=(runs, len(steps)))


def _pdop(correct: bool) -> tuple[Any, Any]:
    c, q, p, rounds = PDOP["step"], PDOP["ratio"], PDOP["noise_ratio"], PDOP["rounds"]
    t = np.arange(1, int(rounds) + 1)
    steps = c * q ** (t - 1)
    # the step of round t leaves with the noise of round t + 1, which is p times smaller
    after = 2.0 * c * p ** (t + 1) / (EPSILON * (p - q))
    return steps, after / p if correct else after


def _pdop_score(y: Any) -> Any:
    steps, noise = _pdop(correct=False)
    return laplace_log_ratio(y, -steps, steps, noise)


CLASSES, FEATURES, LOCAL = 10, 8, 0.05


def local_sensitivity(rng: np.random.Generator, runs: int, side: int, correct: bool) -> Any:
    """Ryu, Kim (2021), eq (20): noise for the largest of the agent's own samples.

    One iteration from zero of softmax regression; the longest record is there or not. The noise
    gives it away, in whichever direction the gradient points.
    """
    gradient, largest = _first_gradient(side)
    # a record of ones in [0, 1]^8 is the longest that there can be
    bound = largest if not correct else FEATURES * _gap()
    return gradient + bound / LOCAL * rng.laplace(size=(runs, gradient.size))


def _gap() -> float:
    """`||h - y||_1` at zero, where every class has the same probability."""
    return 2.0 * (1.0 - 1.0 / CLASSES)


def _first_gradient(side: int) -> tuple[Any, float]:
    records = np.random.default_rng(5).uniform(0.0, 0.5, size=(20, FEATURES))
    labels = np.arange(20) % CLASSES
    if side == 0:
        records, labels = np.vstack([records, np.ones(FEATURES)]), np.append(labels, 0)
    residuals = np.full((len(labels), CLASSES), 1.0 / CLASSES) - np.eye(CLASSES)[labels]
    lengths = np.abs(records).sum(axis=1) * np.abs(residuals).sum(axis=1)
    return (records.T @ residuals).ravel(), float(lengths.max())


def _local_score(y: Any) -> Any:
    (mean, largest), (other, less) = _first_gradient(0), _first_gradient(1)
    return laplace_log_ratio(y, mean, other, largest / LOCAL, less / LOCAL)


CONTROLS: dict[str, Control] = {
    "halved noise": Control(halved_noise, 1000, _ratio(8)),
    "reused noise": Control(reused_noise, 400),
    "a forgotten round": Control(forgotten_round, 5000, _ratio(2)),
    "sensitivity without the clip": Control(no_clip, 400, _ratio(8)),
    "noise scale taken from the data": Control(data_scale, 400),
    "noise added before the clip": Control(noise_before_clip, 100),
    "noise dropped on one message in a hundred": Control(
        dropped_noise, 1400, lambda y: exposure(y, *answers(8))
    ),
    "printed PDOP schedule": Control(
        printed_pdop, 400, _pdop_score, epsilon=EPSILON, delta=0.0, gaussian=False
    ),
    "local sensitivity of DP-IADMM": Control(
        local_sensitivity, 100, _local_score, epsilon=LOCAL, delta=0.0, gaussian=False
    ),
}
