"""Tests between groups whose statistics and null distributions include the noise.

Levels: the quadratic form of Kifer and Rogers (2017) in the deviations from a pooled distribution,
with the covariance of sampling and of the noise. Without noise it is Pearson's. Where counts are
few, its distribution is drawn by Monte Carlo, as Gaboardi et al. (2016) do. Numbers: Welch's
analysis of variance, the t-test for two groups, where the noise adds to the variance of the means.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from tacit.method._table_margins import Cells
from tacit.method._table_statistics import COUNT, FIRST, ratio, variance

DRAWS = 1999
"""Tables drawn by a Monte Carlo test."""

EXPECTED = 5.0
"""Expected count of a level in a group below which its null distribution is drawn."""

_SEEN = 3.0
"""Smallest number of records of a group that is tested, in standard deviations of its noise."""

_SEED = 20160620
"""Public seed of the drawn tables: the same release gives the same p-value."""


class Found(NamedTuple):
    """The outcome of a test.

    Attributes:
        statistic: value of the statistic.
        p_value: probability of a larger one if the groups do not differ.
        how: name of the test; where there is none, the reason.
    """

    statistic: float
    p_value: float
    how: str


def _none(reason: str) -> Found:
    return Found(math.nan, math.nan, f"no test: {reason}")


_FEW = "the noise hides how many records a group has"


def _seen(counts: Float[np.ndarray, " groups"], deviation: float) -> bool:
    return bool(np.all(counts > _SEEN * deviation) and np.all(counts > 1.0))


def levels_differ(cells: Cells) -> Found:
    """Whether the distribution over levels differs between groups.

    Args:
        cells: cells of the levels, without the missing ones.
    """
    from scipy.stats import chi2

    values, noise = cells.values, cells.noise
    counts = values.sum(axis=1)
    if not _seen(counts, math.sqrt(max(float(noise.sum()), 0.0))):
        return _none(_FEW)
    if not noise.any():
        used = values.sum(axis=0) > 0.0  # a level that nobody has says nothing
        values, noise = values[:, used], noise[np.ix_(used, used)]
    groups, levels = values.shape
    if levels < 2:
        return _none("all records have one level")
    found = float(_statistic(values[None], noise)[0])
    pooled = _pooled(values[None])[0]
    if float(np.outer(counts, pooled).min()) >= EXPECTED:
        return Found(found, float(chi2.sf(found, (groups - 1) * (levels - 1))), "chi-squared")
    rng = np.random.default_rng(_SEED)
    sizes = np.rint(counts).astype(int)
    drawn = np.stack([rng.multinomial(each, pooled, DRAWS) for each in sizes], axis=1)
    drawn = drawn + rng.normal(size=drawn.shape) @ _root(noise)
    larger = np.count_nonzero(_statistic(drawn, noise) >= found * (1.0 - 1e-9))
    return Found(found, (1 + larger) / (DRAWS + 1), "chi-squared, Monte Carlo")


def _pooled(tables: Float[np.ndarray, "draws groups levels"]) -> Float[np.ndarray, "draws levels"]:
    shares = np.maximum(tables.sum(axis=1), 0.0)
    return shares / shares.sum(axis=1, keepdims=True)


def _statistic(
    tables: Float[np.ndarray, "draws groups levels"], noise: Float[np.ndarray, "levels levels"]
) -> Float[np.ndarray, " draws"]:
    """The quadratic form of every table."""
    levels = tables.shape[2]
    p = _pooled(tables)
    n = np.maximum(tables.sum(axis=2), 1.0)[..., None]
    # the noise of x_g - n_g p, where n_g is the sum of x_g
    moved = np.eye(levels) - p[:, :, None]
    added = moved @ noise @ moved.swapaxes(1, 2)
    sampled = p[:, :, None] * np.eye(levels) - p[:, :, None] * p[:, None, :]
    whole = n[..., None] * sampled[:, None] + added[:, None]
    weights = _inverse(whole, bool(noise.any()))
    # the distribution that fits all groups best, with weights that need no fit
    right = np.einsum("bgij,bgj->bi", weights * n[..., None], tables - n * p[:, None])
    step = _inverse(np.sum(weights * n[..., None] ** 2, axis=1), bool(noise.any()))
    q = p + np.einsum("bij,bj->bi", step, right)
    rest = tables - n * q[:, None]
    return np.einsum("bgi,bgij,bgj->b", rest, weights, rest)


def _inverse(matrices: Float[np.ndarray, "*draws m m"], noised: bool) -> np.ndarray:
    """Inverses for vectors that add up to 0, of matrices that map a constant vector to 0.

    With noise no other vector is mapped to 0, and filling in that direction is fastest.
    """
    if not noised:
        return np.linalg.pinv(matrices, rcond=1e-10, hermitian=True)
    size = matrices.shape[-1]
    filled = np.trace(matrices, axis1=-2, axis2=-1)[..., None, None] / size**2
    return np.linalg.inv(matrices + filled)


def _root(noise: Float[np.ndarray, "m m"]) -> Float[np.ndarray, "m m"]:
    values, vectors = np.linalg.eigh(noise)
    return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T


class _Means(NamedTuple):
    counts: Float[np.ndarray, " groups"]
    values: Float[np.ndarray, " groups"]
    noise: Float[np.ndarray, " groups"]
    variances: Float[np.ndarray, " groups"]


def _means(cells: Cells) -> _Means:
    """Number of records, mean of `z`, its noise and the variance of `z`, of every group."""
    of = [ratio(each, cells.noise, FIRST, COUNT) for each in cells.values]
    return _Means(
        cells.values @ COUNT,
        np.array([each.value for each in of]),
        np.array([each.error**2 for each in of]),
        np.array([variance(each, cells.noise).value for each in cells.values]),
    )


def means_differ(cells: Cells) -> Found:
    """Whether the mean of a number differs between groups.

    Args:
        cells: cells of the number, without the missing one.
    """
    from scipy.stats import f

    counts = cells.values @ COUNT
    if not _seen(counts, math.sqrt(max(float(COUNT @ cells.noise @ COUNT), 0.0))):
        return _none(_FEW)
    found = _means(cells)
    if not np.all(found.variances > 0.0):
        return _none("the variance of a group is not positive")
    sampled = found.variances / counts
    squares = sampled + found.noise
    weights = 1.0 / squares
    share = weights / weights.sum()
    centre = float(share @ found.values)
    more = len(counts) - 1
    # the noise's variance is known: only that of the sampling is estimated
    lost = float(np.sum((1.0 - share) ** 2 * (sampled / squares) ** 2 / (counts - 1.0)))
    factor = 1.0 + 2.0 * (more - 1) / (more * (more + 2)) * lost
    statistic = float(weights @ (found.values - centre) ** 2) / more / factor
    degrees = more * (more + 2) / (3.0 * lost)
    how = "Welch's t-test" if more == 1 else "Welch's analysis of variance"
    return Found(statistic, float(f.sf(statistic, more, degrees)), how)


def mean_difference(cells: Cells) -> float:
    """Standardised difference of the means of a number, the mean over all pairs of groups.

    What the noise adds to a squared difference on average is subtracted.
    """
    found = _means(cells)
    if not (np.all(found.variances > 0.0) and np.isfinite(found.values).all()):
        return math.nan
    each: list[float] = []
    for i, j in combinations(range(len(found.counts)), 2):
        square = (found.values[i] - found.values[j]) ** 2 - found.noise[i] - found.noise[j]
        pooled = 0.5 * (found.variances[i] + found.variances[j])
        each.append(math.sqrt(max(square, 0.0) / pooled))
    return float(np.mean(each))


def level_difference(cells: Cells) -> float:
    """Standardised difference of the distributions over levels, the mean over all pairs of groups.

    That of Yang and Dalton (2012), a Mahalanobis distance, less what the noise adds on average.
    """
    size = cells.values.shape[1]
    counts = cells.values.sum(axis=1)
    deviation = math.sqrt(max(float(cells.noise.sum()), 0.0))
    if size < 2 or not _seen(counts, deviation):
        return math.nan
    ones, unit = np.ones(size), np.eye(size)
    shares = cells.values / counts[:, None]
    # a share below its own noise is not known, and would be divided by
    errors = [[ratio(row, cells.noise, each, ones).error for each in unit] for row in cells.values]
    floored = np.maximum(shares, np.array(errors))
    floored = floored / floored.sum(axis=1, keepdims=True)
    moved = [(unit - row[:, None]) / n for row, n in zip(shares, counts, strict=True)]
    noises = [each @ cells.noise @ each.T for each in moved]
    each: list[float] = []
    for i, j in combinations(range(len(counts)), 2):
        spread = 0.5 * sum(np.diag(floored[g]) - np.outer(floored[g], floored[g]) for g in (i, j))
        inverse = np.linalg.pinv(spread, rcond=1e-10, hermitian=True)
        apart = shares[i] - shares[j]
        square = apart @ inverse @ apart - float(np.trace(inverse @ (noises[i] + noises[j])))
        each.append(math.sqrt(max(float(square), 0.0)))
    return float(np.mean(each))
