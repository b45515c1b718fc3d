"""What a setting came to, and what its answers are worth on fresh records."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from tacit.advise.law import Law
from tacit.problem.losses import Hinge, Logistic, Softmax

_HELD_OUT = 2000
"""Synthetic records that scores are taken on, and the seed that draws them."""


@dataclass(frozen=True, eq=False)
class Measured:
    """What a setting came to, on synthetic records that it was not chosen on.

    Attributes:
        method: name in study files.
        clip: of one record's contribution.
        rounds: how many.
        arguments: of the method.
        errors: `sum_k ||b_k - b*||^2 / ||b*||^2 / K` of every trial, shape `(trials,)`; infinite
            for a trial that diverged. Answering zero scores 1.
        scores: mean of `loss` on fresh records (and `accuracy`, for answers in classes), under
            "answer", "zero" and "optimum".
    """

    method: str
    clip: float
    rounds: int
    arguments: dict[str, float]
    errors: Float[np.ndarray, " trials"]
    scores: dict[str, dict[str, float]]

    @property
    def error(self) -> float:
        """Mean over the trials."""
        return float(np.mean(self.errors))

    @property
    def excess(self) -> float:
        """Share of the loss above the optimum's that is left of what answering zero has."""
        if "answer" not in self.scores:
            return math.inf
        answer, zero, optimum = (
            self.scores[kind]["loss"] for kind in ("answer", "zero", "optimum")
        )
        return max(answer - optimum, 0.0) / max(zero - optimum, np.finfo(float).tiny)

    @property
    def remaining(self) -> float:
        """What the verdict rests on: `excess` for answers in classes, else `error`.

        Many parameters of a classifier hardly matter, so that their error says little about it.
        """
        classes = "accuracy" in self.scores["zero"]
        return min(self.excess, self.error) if classes else self.error

    @property
    def spread(self) -> tuple[float, float]:
        """The lowest and the highest trial."""
        return float(np.min(self.errors)), float(np.max(self.errors))


def scores_of(
    law: Law, optimum: Float[np.ndarray, " p"], solutions: Float[np.ndarray, "trials agents p"]
) -> dict[str, dict[str, float]]:
    """Mean loss, and accuracy for classes, on fresh records of a law.

    Args:
        law: of the records.
        optimum: of the problem that was solved, shape `(p,)`.
        solutions: the sites' answers; those of one trial are averaged.

    Returns:
        Under "zero", "optimum" and, if there is any solution, "answer".
    """
    rows, answers = replace(law, rng=np.random.default_rng(_HELD_OUT)).draw(_HELD_OUT)
    loss = law.setting.loss
    targets = loss.encode(answers, "synthetic row {}".format)

    def of(points: Any) -> dict[str, float]:
        made = [_score(loss, rows, targets, point) for point in points]
        return {name: float(np.mean([each[name] for each in made])) for name in made[0]}

    found = {"zero": of([np.zeros_like(optimum)]), "optimum": of([optimum])}
    if len(solutions):
        found["answer"] = of(solutions.mean(axis=1))
    return found


def _score(loss: Any, rows: Any, targets: Any, point: Any) -> dict[str, float]:
    with jax.enable_x64(True):
        scores = np.asarray(rows @ np.asarray(loss.weights(point, rows.shape[1])))
        found = {"loss": float(np.mean(np.asarray(loss.value(scores, targets))))}
    if isinstance(loss, Logistic | Hinge):
        # a tie is no decision: half right
        right = np.sign(scores) * np.where(targets > 0, 1.0, -1.0)
        found["accuracy"] = float(np.mean((1.0 + right) / 2.0))
    elif isinstance(loss, Softmax):
        best = scores == scores.max(axis=1, keepdims=True)
        hit = best[np.arange(len(targets)), targets.astype(int)]
        found["accuracy"] = float(np.mean(hit / best.sum(axis=1)))
    return found


def mean_scores(each: Sequence[dict[str, dict[str, float]]]) -> dict[str, dict[str, float]]:
    """Score by score, of what all of them have."""
    common = [kind for kind in each[0] if all(kind in one for one in each)]
    return {
        kind: {name: float(np.mean([one[kind][name] for one in each])) for name in each[0][kind]}
        for kind in common
    }
