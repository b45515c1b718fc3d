"""Interim looks at a running audit, at no cost in confidence.

The runs are evaluated a few times, after numbers of runs that are fixed beforehand, and each look
gets a part of the allowed error. The parts add up to the whole, so by the union bound a true claim
is refuted at any of the looks with at most that probability (docs/proofs/audit.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.audit.estimators import lower_bounds
from tacit.audit.readings import Bound, Scores
from tacit.audit.scores import LearnedScore

Progress = Callable[[int, int], None]
"""Called with (runs a side done, runs a side in all)."""

Pile = Any
"""What runs on one side gave, runs along the first axis."""

Scoring = Callable[[Pile, Pile], tuple[Scores, Scores]]
"""From what runs on D and on D' gave to their scores."""

FEWEST = 20
"""Fewer runs a side than this say nothing."""

LOOKS = ((64, 1 / 8), (16, 1 / 8), (4, 1 / 4), (1, 1 / 2))
"""When the runs are looked at: after this fraction of them, for this share of the error that is
allowed. A claim that is grossly wrong falls at the first look; half is kept for the last."""


@dataclass(frozen=True, eq=False)
class Seen:
    """The result of a look at the runs so far.

    Attributes:
        trials: number of runs made on each side.
        scores: scores of the runs on D that were not used to learn a score.
        others: scores of those on D'.
        bounds: lower bounds on epsilon.
    """

    trials: int
    scores: Scores
    others: Scores
    bounds: tuple[Bound, ...]


def looks(trials: int) -> Iterator[tuple[int, float]]:
    """The numbers of runs after which to look, and their shares of the error (total 1)."""
    left = 0.0
    for fraction, share in LOOKS:
        target = math.ceil(trials / fraction)
        left += share
        if target >= FEWEST:
            yield target, left
            left = 0.0


def attack(
    observe: Callable[[int, int], tuple[Pile, Pile]],
    scoring: Scoring,
    *,
    claim: float,
    when: Sequence[tuple[int, float]],
    batch: int,
    confidence: float,
    settings: Mapping[str, Any],
    progress: Progress | None = None,
) -> Seen:
    """Make runs until the claim is refuted or all are made.

    Args:
        observe: function that makes runs number `first` to `first + count - 1` on both sides.
        scoring: function that scores all runs so far.
        claim: epsilon of the claim, at the delta in `settings`.
        when: looks, as `looks` gives them, or one with the whole error.
        batch: number of runs per side that `observe` makes at a time, always the same.
        confidence: probability with which a true claim is not refuted at any look.
        settings: further arguments of `lower_bounds`.
        progress: function called before the first batch, and after each.
    """
    trials, done = when[-1][0], 0
    piles: tuple[list[Pile], list[Pile]] = ([], [])
    upcoming = iter(when)
    if progress is not None:  # the first batch is compiled, which may take long
        progress(0, trials)
    while True:
        target, share = next(upcoming)
        while done < target:
            count = min(batch, trials - done)
            for pile, found in zip(piles, observe(done, batch), strict=True):
                pile.append(found[:count])
            done += count
            if progress is not None:
                progress(done, trials)
        scores, others = scoring(*(np.concatenate(pile) for pile in piles))
        level = 1.0 - share * (1.0 - confidence)
        bounds = lower_bounds(scores, others, confidence=level, **settings)
        if target == trials or max(bound.epsilon for bound in bounds) > claim:
            return Seen(done, scores, others, bounds)


def learned(rows: Pile, others: Pile) -> tuple[Scores, Scores]:
    """Scores of the second half of the runs, learned from the first half."""
    half = len(rows) // 2
    score = LearnedScore.fit(rows[:half], others[:half])
    return score(rows[half:]), score(others[half:])
