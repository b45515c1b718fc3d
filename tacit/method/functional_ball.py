"""The smallest ball that holds the weighted coefficients of all possible records.

Clipping around its centre costs half of the noise of the farthest pair's distance on either side,
which is the least that replacing a record can need. No guarantee rests on it: the clip is enforced.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jaxtyping import ArrayLike, Float

from tacit.arguments import checked
from tacit.errors import ConfigError
from tacit.method.functional_basis import AbstractBasis
from tacit.method.functional_distance import PossibleRecords
from tacit.problem.losses import AbstractScalarLoss

_TOLERANCE = 5e-3
"""How much larger the ball may be than the smallest one."""

_MOST = 4096
"""Largest number of records examined."""


@dataclass(frozen=True)
class RecordBall:
    """A ball around the coefficients of all possible records.

    Attributes:
        centre: coefficients without the constant, shape `(m - 1,)`: `FunctionalPerturbation`'s.
        radius: largest weighted l1 distance of an examined record from the centre: the clip.
    """

    centre: Float[np.ndarray, " m"]
    radius: float


@checked(ConfigError)
def record_ball(
    basis: AbstractBasis,
    loss: AbstractScalarLoss,
    lower: Sequence[float] | Float[ArrayLike, " low"],
    upper: Sequence[float] | Float[ArrayLike, " high"],
    targets: Sequence[float],
    *,
    exponent: float = 0.55,
) -> RecordBall:
    """A public centre to clip records around, and how far records get from it in the l1 norm.

    Examines records with every feature at an end or in the middle (with many features, a limited
    number of these). A record in between may be farther away; it is then clipped, at a cost in
    accuracy but not in privacy. Nothing private is read.

    Args:
        basis: basis of the released coefficients.
        loss: loss of one record.
        lower: smallest value of every feature; equal to `upper` for an intercept.
        upper: largest value of every feature.
        targets: every value that a target may take, as the loss stores it, or the two ends.
        exponent: exponent `p` of the method.

    Raises:
        ConfigError: an argument out of range.

    Example:
        >>> from tacit.method import LegendreBasis, record_ball, record_distance
        >>> from tacit.problem import Logistic
        >>> basis = LegendreBasis([-1.0, -1.0], [1.0, 1.0], degree=6)
        >>> records = Logistic(), [0.0, 0.0], [1.0, 1.0], [0.0, 1.0]
        >>> ball = record_ball(basis, *records)
        >>> round(2 * ball.radius / record_distance(basis, *records).lower, 2)
        1.0
    """
    space = PossibleRecords(basis, loss, lower, upper, targets, exponent, 1, False)
    weighted = space.weighted(*space.lattice(_MOST))
    centre, radius = _smallest_ball(weighted)
    with jax.enable_x64(True):
        weights = np.asarray(basis.weights(exponent))[1:]
    return RecordBall(centre / weights, radius)


def _smallest_ball(points: Float[np.ndarray, "n m"]) -> tuple[Float[np.ndarray, " m"], float]:
    """Centre and radius in the l1 norm: a linear program in the few points that are farthest."""
    chosen = [0, int(np.argmax(np.abs(points - points[0]).sum(axis=1)))]
    while True:
        centre, radius = _ball_of(points[chosen])
        distances = np.abs(points - centre).sum(axis=1)
        worst = int(np.argmax(distances))
        if distances[worst] <= radius * (1.0 + _TOLERANCE) or worst in chosen:
            return centre, float(distances[worst])
        chosen.append(worst)


def _ball_of(points: Float[np.ndarray, "n m"]) -> tuple[Float[np.ndarray, " m"], float]:
    """`min r` subject to `|v_jk - c_k| <= t_jk` and `sum_k t_jk <= r`."""
    from scipy import sparse
    from scipy.optimize import linprog

    count, size = points.shape
    both: Any = sparse.kron(np.ones((count, 1)), sparse.eye(size))
    slack: Any = -sparse.eye(count * size)
    sums: Any = sparse.kron(sparse.eye(count), np.ones((1, size)))
    rows: Any = sparse.bmat(
        [[both, slack, None], [-both, slack, None], [None, sums, -np.ones((count, 1))]],
        format="csr",
    )
    sides = np.concatenate([points.ravel(), -points.ravel(), np.zeros(count)])
    cost = np.zeros(rows.shape[1])
    cost[-1] = 1.0
    free = [(None, None)] * size + [(0.0, None)] * (count * size + 1)
    found: Any = linprog(cost, A_ub=rows, b_ub=sides, bounds=free)
    if found.x is None:
        raise ConfigError(f"no centre was found for the coefficients: {found.message}")
    return found.x[:size], float(found.fun)
