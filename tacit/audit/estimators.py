"""From two sets of scores to lower bounds on epsilon.

Every run on D and on D' has a score, higher where D is likelier. The scores are read in several
ways (`tacit.audit.readings`), and the allowed error is divided among them in proportions fixed
beforehand: the bounds hold simultaneously, so the largest of them may be quoted. Where the claim
covers more than one pair of epsilon and delta, the reading that uses it gets most of the error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import numpy as np

from tacit.arguments import checked
from tacit.audit.readings import (
    AbstractReading,
    Bound,
    ClopperPearson,
    GaussianDP,
    HockeyStick,
    Scores,
    TradeOffCurve,
    without_last_digits,
)
from tacit.errors import ConfigError
from tacit.ranges import Range

FOR_GAUSSIAN = 0.94
"""Part of the error that the Gaussian reading of a Gaussian claim gets."""

FOR_COUNTS = 0.8
"""Part that the hockey-stick reading gets where the claim is one pair of epsilon and delta."""

_FEWEST = 10
"""Fewer scores a side than this say nothing."""

_MOST = 10_000_000

Curve = Callable[[float, float], float]
"""From a total variation distance and a delta to the epsilon of releases that reach it."""


@checked(ConfigError)
def lower_bounds(
    scores: Scores,
    others: Scores,
    *,
    delta: Annotated[float, Range(least=0.0, below=1.0)],
    confidence: Annotated[float, Range(above=0.0, below=1.0)] = 0.95,
    gaussian: bool = False,
    curve: Curve | None = None,
) -> tuple[Bound, ...]:
    """Lower bounds on epsilon that hold simultaneously with the stated confidence.

    Args:
        scores: scores of at least 10 runs on D.
        others: scores of at least 10 runs on D'.
        delta: delta of the claim, in [0, 1).
        confidence: probability with which all bounds hold, in (0, 1).
        gaussian: whether the claim is one of Gaussian-DP, for which a sharper bound is known.
        curve: function made by `tacit.audit.family.scaled`, which gives a sharper bound for other
            claims about releases of a known kind.

    Raises:
        ConfigError: too few scores, one that is no number, or an argument out of its range.

    Example:
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> scores, others = rng.normal(1.0, size=20_000), rng.normal(size=20_000)
        >>> found = lower_bounds(scores, others, delta=1e-5, gaussian=True)
        >>> 4.2 < max(bound.epsilon for bound in found) < 4.3772  # what such a release costs
        True
    """
    _check("scores", scores)
    _check("others", others)
    readings = _readings(delta, gaussian, curve)
    scores, others = without_last_digits(scores, others)
    return tuple(
        reading.bound(scores, others, delta, (1.0 - confidence) * reading.weight)
        for reading in readings
    )


@checked(ConfigError)
def trials_to_reject(
    scores: Scores,
    others: Scores,
    claim: Annotated[float, Range(least=0.0, infinite=True)],
    *,
    delta: Annotated[float, Range(least=0.0, below=1.0)],
    confidence: Annotated[float, Range(above=0.0, below=1.0)] = 0.95,
    gaussian: bool = False,
    curve: Curve | None = None,
) -> int | None:
    """The number of runs per side that would refute a claim, if the scores are representative.

    Args:
        scores: scores of runs on D.
        others: scores of runs on D'.
        claim: epsilon that is to be refuted, such as half of the true one.
        delta: delta of the claim.
        confidence: confidence of the bounds.
        gaussian: as for `lower_bounds`.
        curve: as for `lower_bounds`.

    Returns:
        The number of runs with which most audits refute the claim; `None` if ten million are too
        few.
    """
    readings = _readings(delta, gaussian, curve)
    scores, others = without_last_digits(scores, others)

    def refutes(runs: int) -> bool:
        return any(
            reading.planned(scores, others, delta, (1.0 - confidence) * reading.weight, runs)
            > claim
            for reading in readings
        )

    return least(refutes)


def _check(name: str, scores: Scores) -> None:
    if len(scores) < _FEWEST:
        raise ConfigError(
            f"{name} has {len(scores)} entries; give those of at least {_FEWEST} runs"
        )
    if np.isnan(scores).any():
        raise ConfigError(f"{name}[{int(np.isnan(scores).argmax())}] is NaN; give one number a run")


def least(refutes: Callable[[int], bool]) -> int | None:
    """The smallest number of runs that refutes, within 2 %; `None` where ten million do not."""
    high = 8
    while not refutes(high):
        high *= 2
        if high > _MOST:
            return None
    low = high // 2
    while high > 1.02 * low + 1:
        middle = (low + high) // 2
        low, high = (low, middle) if refutes(middle) else (middle, high)
    return high


def _readings(delta: float, gaussian: bool, curve: Curve | None) -> tuple[AbstractReading, ...]:
    """The readings and their shares of the error, which add up to 1."""
    if gaussian and delta > 0.0:
        rest = (1.0 - FOR_GAUSSIAN) / 2.0
        return ClopperPearson(rest), HockeyStick(rest), GaussianDP(FOR_GAUSSIAN)
    if curve is not None:
        return ClopperPearson(0.1), HockeyStick(0.3), TradeOffCurve(0.6, curve)
    return ClopperPearson(1.0 - FOR_COUNTS), HockeyStick(FOR_COUNTS)
