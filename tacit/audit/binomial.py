"""Exact binomial tails and the confidence limits that follow from them."""

from __future__ import annotations

import numpy as np
from jaxtyping import ArrayLike, Float


def tail(count: ArrayLike, trials: ArrayLike, rate: ArrayLike) -> Float[np.ndarray, "*shape"]:
    """`P(Bin(trials, rate) >= count)`; 1 for a count of at most 0.

    Args:
        count: number of successes; it need not be a whole number, for planning.
        trials: number of trials, at least 0.
        rate: probability of success, in [0, 1].
    """
    from scipy.special import betainc

    count, trials = np.asarray(count, dtype=float), np.asarray(trials, dtype=float)
    inside = betainc(np.maximum(count, 1e-9), np.maximum(trials - count + 1.0, 1e-9), rate)
    return np.asarray(np.where(count <= 0.0, 1.0, np.where(count > trials, 0.0, inside)))


def at_least(count: ArrayLike, runs: int, error: float) -> Float[np.ndarray, "*shape"]:
    """Clopper-Pearson: a lower limit of a rate, which fails with probability at most `error`.

    Args:
        count: number of times it happened; it need not be a whole number, for planning.
        runs: number of runs.
        error: allowed probability of error, in (0, 1).
    """
    from scipy.special import betaincinv

    happened = np.clip(np.asarray(count, dtype=float), 0.0, runs)
    inside = betaincinv(np.maximum(happened, 1e-9), runs - happened + 1.0, error)
    return np.asarray(np.where(happened > 0.0, inside, 0.0))


def at_most(count: ArrayLike, runs: int, error: float) -> Float[np.ndarray, "*shape"]:
    """Clopper-Pearson: an upper limit of a rate, which fails with probability at most `error`."""
    return np.asarray(1.0 - at_least(runs - np.asarray(count, dtype=float), runs, error))
