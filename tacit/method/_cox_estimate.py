"""The estimate of a private Cox regression from its last two sums, and when there is none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from tacit.method._collinear import collinear, least_of
from tacit.method._cox_steps import Eliminated, Information, Sum, eliminated, moves
from tacit.method._glm_steps import raised
from tacit.method.answer import Refused
from tacit.method.coefficients import CURVATURE

_FAR = 0.35
"""Largest last step, in root mean square of the log hazard, before which a sum is pooled."""

_LEFT = 0.5
"""Largest share of the standard error that the step from the earlier sum may leave, where it is
pooled; half of it comes to be left, since `moved` is twice what is."""

TESTED = 0.5
"""Largest noise of the information over its smallest eigenvalue at which effects of periods are
compared: more makes their joint test reject too often."""


class Estimate(NamedTuple):
    """An estimate with its covariance, and what the rule for intervals is about.

    Attributes:
        effects: effects of the scaled columns in each period, shape `(p, d)`.
        hazards: log hazards of the cells.
        sampling: covariance of the sampling error of the effects, shape `(p, d, d)`; those of
            different periods are independent.
        privacy: covariance of their error due to the noise, likewise.
        joint: covariance of the effects of all periods and of the log hazards together, for both
            errors, shape `(p d + cells, p d + cells)`.
        curvature: noise of the information, as an operator, over its smallest eigenvalue.
        moved: twice what the last step leaves of the log hazard, which is about its mean square.
        allowed: largest `moved` at which intervals are printed.
        earlier: what `moved` is of the step from the earlier sum, times its weight.
        left: information on the effects of each period, shape `(p, d, d)`.
        least: its smallest eigenvalue in each period, 0 where that is rounding.
        events: number of events that the model expects in these records.
    """

    effects: Float[np.ndarray, "p d"]
    hazards: Float[np.ndarray, " cells"]
    sampling: Float[np.ndarray, "p d d"]
    privacy: Float[np.ndarray, "p d d"]
    joint: Float[np.ndarray, "k k"]
    curvature: float
    moved: float
    allowed: float
    earlier: float
    left: Float[np.ndarray, "p d d"]
    least: Float[np.ndarray, " p"]
    events: float


def estimate(both: tuple[Sum, Sum], shares: tuple[float, float], members: Any) -> Estimate:
    """The estimate from the last two sums, pooled as those of other regressions are.

    Args:
        both: last two sums.
        shares: their shares of the budget.
        members: 1 for the cells of each period, else 0, shape `(p, cells)`.
    """
    parts = np.array(shares) / sum(shares)
    if not both[0].score_noise:  # nothing to average, and the last one is nearest
        parts = np.array([0.0, 1.0])
    found = _pooled(both, parts, members)
    # a point that far away has another information, and its step leaves a bias of one sign
    if found.moved > _FAR**2 or found.earlier > _LEFT * found.allowed:
        found = _pooled(both, np.array([0.0, 1.0]), members)
    return found


def _pooled(both: tuple[Sum, Sum], parts: Float[np.ndarray, " 2"], members: Any) -> Estimate:
    whole = Information(
        *(
            sum(f * part for f, part in zip(parts, each, strict=True))
            for each in zip(both[0].information, both[1].information, strict=True)
        )
    )
    noise = Information(
        *(
            float(np.hypot(parts[0] * one, parts[1] * two))
            for one, two in zip(both[0].noise, both[1].noise, strict=True)
        )
    )
    found = Eliminated(*map(np.asarray, eliminated(whole, noise, members)))
    d, left = len(found.means), np.asarray(jax.vmap(raised)(found.left, found.noise))
    sizes = np.trace(np.asarray(whole.effects), axis1=1, axis2=2)
    least = np.array([least_of(*each) for each in zip(found.left, sizes, strict=True)])
    far = found.noise * np.sqrt(2.0 * d) / np.where(least > 0.0, least, np.nan)
    stepped = [tuple(map(np.asarray, moves(each, found, members))) for each in both]
    omega = np.array([0.0, 1.0])
    if parts[0] > 0.0 and all(each.score_noise for each in both):
        omega = np.array(
            [
                each.score_noise**2
                + (noise.effects**2 * np.sum(one**2) + noise.crossed**2 * np.sum(two**2))
                / len(members)
                for each, (one, two) in zip(both, stepped, strict=True)
            ]
        )
        omega = (1.0 / omega) / np.sum(1.0 / omega)
    size = len(members) * d
    effects, hazards = (
        sum(
            w * (place + move[i])
            for w, place, move in zip(
                omega,
                (np.split(np.asarray(each.point), [size])[i] for each in both),
                [(one.ravel(), two) for one, two in stepped],
                strict=True,
            )
        )
        for i in range(2)
    )
    one, two = (omega[0] * stepped[0][i] + omega[1] * stepped[1][i] for i in range(2))
    spread = float(np.sum((omega * [each.score_noise for each in both]) ** 2))
    inverse = np.linalg.inv(left)
    shaken = np.stack(
        [
            _shaken(each, two, here, found, noise, spread)
            for each, here in zip(one, members, strict=True)
        ]
    )
    privacy = inverse @ shaken @ inverse
    events = max(float(found.hazards.sum()), 1.0)
    error = np.sqrt(max(float(np.einsum("pik,pki->", inverse + privacy, left)), 0.0) / events)
    earlier, moved = (_left(each[0], each[1], found, left, events) for each in stepped)
    curvature = float(np.max(far)) if np.isfinite(far).all() else np.inf
    return Estimate(
        np.asarray(effects).reshape(-1, d),
        np.asarray(hazards),
        inverse,
        privacy,
        _joint(one, two, found, noise, spread, inverse, members),
        curvature,
        moved,
        float(error),
        float(omega[0]) * earlier,
        found.left,
        least,
        float(found.hazards.sum()),
    )


def _left(
    effects: Float[np.ndarray, "p d"],
    hazards: Float[np.ndarray, " cells"],
    found: Eliminated,
    left: Float[np.ndarray, "p d d"],
    events: float,
) -> float:
    """Twice what a step leaves: half a square of effects, and these times the move of hazards."""
    square = float(np.einsum("pi,pik,pk->", effects, left, effects)) / events
    mean = float(found.hazards @ hazards) / events
    return square + 2.0 * math.sqrt(max(square, 0.0)) * abs(mean)


def _shaken(
    one: Float[np.ndarray, " d"],
    two: Float[np.ndarray, " cells"],
    here: Float[np.ndarray, " cells"],
    found: Eliminated,
    noise: Information,
    spread: float,
) -> Float[np.ndarray, "d d"]:
    """Covariance of the noise in a period's score without hazards: its own, and that of the step.

    Args:
        one: last step of its effects.
        two: last step of the log hazards.
        here: 1 for its cells, else 0.
        found: the information without hazards.
        noise: noise in the information.
        spread: variance of the noise in each entry of the score.
    """
    means, unsure = found.means * here, found.unsure * here
    # the noise of a symmetric matrix, half as large beside the diagonal, times the step
    square = noise.effects**2 * (one @ one * np.eye(len(one)) + np.outer(one, one))
    shaken = spread * np.eye(len(one)) + 0.5 * square + np.diag(unsure @ two**2)
    each = spread + one**2 @ unsure + (noise.hazards * two) ** 2
    shaken += (means * each) @ means.T
    both = ((unsure * one[:, None]) * two) @ means.T
    return shaken - both - both.T


def _joint(
    one: Float[np.ndarray, "p d"],
    two: Float[np.ndarray, " cells"],
    found: Eliminated,
    noise: Information,
    spread: float,
    inverse: Float[np.ndarray, "p d d"],
    members: Float[np.ndarray, "p cells"],
) -> Float[np.ndarray, "k k"]:
    """Covariance of effects and log hazards, whose information is `[[left + M h M', M h], [., h]]`.

    The noise in the score is its own and that of the information times the last step; the part that
    it has in the effects alone is `_shaken`.

    Args:
        one: last step of the effects of each period.
        two: last step of the log hazards.
        found: the information without hazards.
        noise: noise in the information.
        spread: variance of the noise in each entry of the score.
        inverse: inverse of the information on the effects of each period.
        members: 1 for the cells of each period, else 0.
    """
    periods, d = one.shape
    size, cells = periods * d, len(two)
    by_score = np.zeros((size + cells, size + cells))
    noisy = np.diag(np.full(size + cells, spread))
    noisy[size:, size:] += np.diag((noise.hazards * two) ** 2)
    by_score[size:, size:] = np.diag(1.0 / found.hazards)
    for p, here in enumerate(members):
        own, means, unsure = slice(p * d, (p + 1) * d), found.means * here, found.unsure * here
        crossed = -inverse[p] @ means
        by_score[own, own], by_score[own, size:], by_score[size:, own] = (
            inverse[p],
            crossed,
            crossed.T,
        )
        by_score[size:, size:] -= means.T @ crossed
        square = noise.effects**2 * (one[p] @ one[p] * np.eye(d) + np.outer(one[p], one[p]))
        noisy[own, own] += 0.5 * square + np.diag(unsure @ two**2)
        noisy[own, size:] = unsure * one[p][:, None] * two
        noisy[size:, own] = noisy[own, size:].T
        noisy[size:, size:] += np.diag(one[p] ** 2 @ unsure)
    return by_score + by_score @ noisy @ by_score


def refused(found: Estimate, names: Sequence[str], private: bool) -> Refused | None:
    """Why there are no intervals, and what would do; `None` if there are.

    Args:
        found: the estimate.
        names: names of the scaled columns.
        private: whether noise was added.
    """
    if not private and found.events < 1.0:
        return Refused(
            "hardly anybody has the event: not one is expected in these records",
            "see how the event is coded, or give records with more of them",
        )
    if not private and not found.least.all():
        return collinear(found.left[np.argmin(found.least)], names)
    if not found.curvature <= CURVATURE:
        times = found.curvature / CURVATURE if math.isfinite(found.curvature) else math.inf
        wanted = f"about {math.ceil(times)} times" if times < 20.0 else "many times"
        ratio = f"{found.curvature:.2g}" if math.isfinite(found.curvature) else "without bound"
        return Refused(
            "the noise hides the direction in which the records say the least (noise over "
            f"smallest eigenvalue of the information {ratio}, at most {CURVATURE:g})",
            f"{wanted} the records or the epsilon would do, or fewer columns, pieces or strata, "
            "unless a column says nothing that the others do not, or hardly any record has some "
            "level: leave such a one out; or hardly anybody has the event",
        )
    if not found.moved <= found.allowed:
        return Refused(
            "Newton's method has not converged (its last step moved log hazards by a mean "
            f"square of {found.moved:.2g}, at most {found.allowed:.2g})",
            f"give more records, {'a larger epsilon, ' * private}or fewer columns, pieces or "
            "strata",
        )
    return None
