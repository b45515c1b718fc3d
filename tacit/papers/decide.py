"""Whether one method's errors are below another's, as far as the methods' own noise can tell."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit.report.reproduction import Verdict

CONFIDENCE = 0.995
"""Confidence of each comparison, one-sided: that of 2.6 standard errors over many trials."""


def below(first: Sequence[float], second: Sequence[float]) -> bool | None:
    """Whether the mean of `first` is below that of `second`; `None` if the spread is inconclusive.

    Welch's test at `CONFIDENCE`. The spread is that of the methods' noise, over seeds on data that
    all runs share; a single trial has no spread, so it decides nothing. Values that are not finite,
    as after a divergence, count as infinite.

    Args:
        first: numbers of the first method, one per trial.
        second: numbers of the second method, one per trial.

    Example:
        >>> below([1.0, 1.2, 1.1], [2.0, 2.2, 2.1]), below([1.0, 2.0], [1.4, 2.4])
        (True, None)
        >>> below([1.0], [2.0]) is None
        True
    """
    from scipy import stats

    ours, theirs = (np.asarray(values, dtype=float) for values in (first, second))
    diverged, behind = (not np.isfinite(values).all() for values in (ours, theirs))
    if diverged or behind:
        return None if diverged and behind else not diverged
    if min(len(ours), len(theirs)) < 2:
        return None
    # the squares of values that have diverged to 1e200 are not finite
    largest = max(float(np.abs(ours).max()), float(np.abs(theirs).max())) or 1.0
    ours, theirs = ours / largest, theirs / largest
    gap = float(theirs.mean() - ours.mean())
    shares = [float(values.var(ddof=1)) / len(values) for values in (ours, theirs)]
    error = float(np.sqrt(sum(shares)))
    if error <= 1e-12 * abs(gap):
        return gap > 0.0 if gap else None
    freedom = sum(shares) ** 2 / sum(
        share**2 / (len(values) - 1) for share, values in zip(shares, (ours, theirs), strict=True)
    )
    if abs(gap) <= float(stats.t.ppf(CONFIDENCE, freedom)) * error:
        return None
    return gap > 0.0


def ratio_above(factor: float, first: Sequence[float], second: Sequence[float]) -> bool | None:
    """Whether `first` is more than `factor` times `second`; `None` if the spread is inconclusive.

    Welch's test on a logarithmic scale, on which errors of iterations spread evenly. The means must
    agree: where a few trials dominate a mean, nothing is decided against it.

    Args:
        factor: factor to compare with, positive.
        first: positive numbers of the first method, one per trial.
        second: positive numbers of the second method, one per trial.

    Example:
        >>> ratio_above(10.0, [1.0, 1.2, 1.1], [0.01, 0.02, 0.01])
        True
        >>> ratio_above(1.0, [1.0, 1.2, 1.1, 1.0], [0.01, 0.02, 0.01, 9.0]) is None
        True
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        small = np.log(np.asarray(second, dtype=float) * factor)
        told = below(small.tolist(), np.log(np.asarray(first, dtype=float)).tolist())
    if told is None:
        return None
    large, other = (
        np.nan_to_num(each, nan=np.inf, posinf=np.inf).mean() for each in (first, second)
    )
    return told if bool(large > factor * other) is told else None


def smaller(first: Sequence[float], second: Sequence[float]) -> bool | None:
    """Whether `first` is below `second` on a logarithmic scale: the reverse of `ratio_above`."""
    return ratio_above(1.0, second, first)


def every(told: Sequence[bool | None]) -> Verdict:
    """Verdict on a claim that has to hold in every case; `None` marks an undecided case."""
    if False in told:
        return Verdict.NOT_REPRODUCED
    return Verdict.UNDECIDED if None in told else Verdict.REPRODUCED
