"""From the sums of a private Cox regression to hazards, steps and an estimate: post-processing."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from tacit.method._glm_steps import raised

_LONGEST = 1.5
"""Largest step of a coefficient or a log hazard."""

_SEEN = 2.0
"""Standard deviations of noise above which a piece has a rate of its own at the start."""

_FAR = 0.35
"""Largest last step, in root mean square of the log hazard, before which a sum is pooled."""


def start(
    events: Float[Array, " pieces"],
    exposures: Float[Array, " pieces"],
    noise: Any,
    columns: int,
) -> Float[Array, " k"]:
    """The first point: no effects, and the rate of each piece that stands out of the noise.

    Args:
        events: noised events by piece.
        exposures: noised exposures by piece.
        noise: standard deviation of the noise in each of both, shape `(2,)`.
        columns: number of effects.
    """
    root = jnp.sqrt(1.0 * len(events))
    whole = jnp.maximum(jnp.sum(events), _SEEN * noise[0] * root + 1.0)
    rate = whole / jnp.maximum(jnp.sum(exposures), _SEEN * noise[1] * root + 1.0)
    seen = (events > _SEEN * noise[0] + 1.0) & (exposures > _SEEN * noise[1] + 1e-9)
    own = events / jnp.where(seen, exposures, 1.0)
    base = jnp.log(jnp.where(seen, own, rate))
    return jnp.concatenate([jnp.zeros(columns, base.dtype), base])


def step(score: Array, information: Array, noise: Any) -> Array:
    """A Newton step, shortened where it is long.

    Args:
        score: score.
        information: information.
        noise: standard deviation of the noise on its diagonal.
    """
    moved = jnp.linalg.solve(raised(information, noise), score)
    return moved * jnp.minimum(1.0, _LONGEST / jnp.maximum(jnp.max(jnp.abs(moved)), 1e-9))


class Sum(NamedTuple):
    """One sum: its point, score and information, and the noise in these two."""

    point: Any
    score: Any
    information: Any
    score_noise: float
    information_noise: float


class Estimate(NamedTuple):
    """An estimate with its covariance, and what the rule for intervals is about.

    Attributes:
        values: effects of the scaled columns, then log hazards by piece.
        sampling: covariance of the sampling error.
        privacy: covariance of the error due to the noise.
        curvature: noise of the information, as an operator, over its smallest eigenvalue.
        moved: mean square of the last step, per event.
        allowed: largest `moved` at which intervals are printed.
    """

    values: Float[np.ndarray, " k"]
    sampling: Float[np.ndarray, "k k"]
    privacy: Float[np.ndarray, "k k"]
    curvature: float
    moved: float
    allowed: float


def estimate(both: tuple[Sum, Sum], shares: tuple[float, float], columns: int) -> Estimate:
    """The estimate from the last two sums, pooled as those of other regressions are.

    Args:
        both: last two sums.
        shares: their shares of the budget.
        columns: number of effects.
    """
    parts = np.array(shares) / sum(shares)
    if not both[0].score_noise:  # nothing to average, and the last one is nearest
        parts = np.array([0.0, 1.0])
    found = _pooled(both, parts, columns)
    if found.moved > _FAR**2:  # a point that far away has another information
        found = _pooled(both, np.array([0.0, 1.0]), columns)
    return found


def _pooled(both: tuple[Sum, Sum], parts: Float[np.ndarray, " 2"], columns: int) -> Estimate:
    size = len(both[0].score)
    matrix = parts[0] * both[0].information + parts[1] * both[1].information
    noise = float(
        np.hypot(*(f * each.information_noise for f, each in zip(parts, both, strict=True)))
    )
    known, hazards = (
        np.asarray(raised(jnp.asarray(each), jnp.asarray(noise)))
        for each in (matrix, matrix[columns:, columns:])
    )
    inverse = np.linalg.inv(known)
    # a piece with hardly any event tells little, and effects need none of it: what is left for
    # them without the hazards is judged, as it was released
    between = matrix[:columns, columns:]
    left = matrix[:columns, :columns] - between @ np.linalg.solve(hazards, between.T)
    least = float(np.linalg.eigvalsh(left)[0])
    curvature = noise * np.sqrt(2.0 * columns) / least if least > 0.0 else np.inf
    moves = [inverse @ each.score for each in both]
    omega = np.array([0.0, 1.0])
    if parts[0] > 0.0 and all(each.score_noise for each in both):
        omega = np.array(
            [
                each.score_noise**2 + noise**2 * float(move @ move)
                for each, move in zip(both, moves, strict=True)
            ]
        )
        omega = (1.0 / omega) / np.sum(1.0 / omega)
    pairs = list(zip(omega, both, moves, strict=True))
    values = sum((w * (each.point + move) for w, each, move in pairs), np.zeros(size))
    last = omega[0] * moves[0] + omega[1] * moves[1]
    spread = float(np.sum((omega * [each.score_noise for each in both]) ** 2))
    shaken = spread * np.eye(size)
    # the noise of a symmetric matrix, half as large beside the diagonal, times the last step
    shaken += 0.5 * noise**2 * ((last @ last) * np.eye(size) + np.outer(last, last))
    privacy = inverse @ shaken @ inverse
    events = max(float(np.trace(known[columns:, columns:])), 1.0)
    error = np.sqrt(max(float(np.trace((inverse + privacy) @ known)), 0.0) / events)
    moved = float(moves[1] @ known @ moves[1]) / events
    return Estimate(values, inverse, privacy, float(curvature), moved, 0.5 * float(error))
