"""The distance between two costs, or two records, in the released coefficients.

Noise on coefficients is calibrated to a distance. The paper's is a norm of the difference of two
whole costs, and leaves open how far one record moves it; `record_distance` computes that.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import jax
import numpy as np
from jaxtyping import ArrayLike, Float

from tacit.arguments import checked
from tacit.errors import ConfigError
from tacit.method.functional_basis import AbstractBasis, LegendreBasis
from tacit.problem.losses import AbstractScalarLoss
from tacit.ranges import Corner, Numbers

_ROOM = 1.0 + 1e-9
"""Rounding error of float64 sums with one term per point of a basis."""


def weighted_norm(coefficients: Numbers, q: float) -> float:
    """`sqrt(sum_k (k^q c_k)^2)`, the norm of the space V_q.

    Source: Nozari, Tallapragada, Cortes (2018), section V-B, eq (13).

    Args:
        coefficients: coefficients, shape `(m,)`, in the fixed order.
        q: exponent of the norm, above 1 in the paper.

    Example:
        >>> weighted_norm([3.0, 1.0], q=2.0)
        5.0
    """
    values = np.asarray(coefficients, dtype=np.float64)
    places = np.arange(1.0, values.shape[-1] + 1.0)
    return float(math.sqrt(np.sum((places**q * values) ** 2)))


@checked(ConfigError)
def metric_epsilon(basis: LegendreBasis, scale: float, q: float, p: float) -> float:
    r"""Epsilon between two costs at distance 1 in V_q, when coefficient k gets `Lap(scale / k^p)`.

    By Cauchy and Schwarz

    .. math::

        \sum_k k^p \lvert c_k - c'_k\rvert
            \le \sqrt{\sum_k k^{2(p - q)}} \, \lVert f - f'\rVert_{V_q}

    over the released coefficients: a part of the printed zeta(2(q-p)), which it approaches as the
    degree grows (proof: docs/proofs/functional.md). Costs at distance d need d times that epsilon.

    Source: Nozari, Tallapragada, Cortes (2018), section V-B, theorem V.2, eqs (14), (15).

    Args:
        basis: basis of the released coefficients, without its constant.
        scale: noise scale `gamma`, positive.
        q: exponent of the norm, above `p`.
        p: exponent of the noise.

    Raises:
        ConfigError: a number out of its range.

    Example:
        >>> basis = LegendreBasis([-5.0, -5.0], [5.0, 5.0], degree=6)
        >>> round(metric_epsilon(basis, scale=1.0, q=1.1, p=0.55), 2)  # zeta: 3.25
        1.56
    """
    if not 0.0 < scale < math.inf or not 0.0 <= p < q:
        raise ConfigError(
            f"scale={scale!r} must be positive, and p={p!r} at least 0 and below q={q!r}"
        )
    places = np.arange(2.0, basis.size + 1.0)
    return float(math.sqrt(np.sum(places ** (2.0 * (p - q)))) / scale)


_Pair: TypeAlias = tuple[tuple[tuple[float, ...], float], tuple[tuple[float, ...], float]]


@dataclass(frozen=True)
class RecordDistance:
    """Bounds on the distance between the weighted coefficients of two records.

    Attributes:
        lower: distance of the two records in `pair`.
        upper: upper bound on the distance of any two records (proof: docs/proofs/functional.md).
        pair: features and target of both.
    """

    lower: float
    upper: float
    pair: _Pair

    def epsilon(self, scale: float, normaliser: float = 1.0) -> float:
        """Pure epsilon when one record is replaced and coefficient `k` gets `Lap(scale / k^p)`.

        For distances with `order=1` and the same `p` as exponent.

        Args:
            scale: noise scale `gamma`, positive.
            normaliser: divisor of the sum over records; 1 for the sum, as in the paper.
        """
        return self.upper / (_positive("scale", scale) * _positive("normaliser", normaliser))

    def scale(self, epsilon: float, normaliser: float = 1.0) -> float:
        """The `gamma` that makes replacing one record cost `epsilon`.

        Args:
            epsilon: epsilon of replacing one record, positive.
            normaliser: divisor of the sum over records.
        """
        return self.upper / (_positive("epsilon", epsilon) * _positive("normaliser", normaliser))


@checked(ConfigError)
def record_distance(
    basis: AbstractBasis,
    loss: AbstractScalarLoss,
    lower: Sequence[float] | Float[ArrayLike, " low"],
    upper: Sequence[float] | Float[ArrayLike, " high"],
    targets: Sequence[float],
    *,
    exponent: float = 0.55,
    order: Literal[1, 2] = 1,
    constant: bool = False,
    tolerance: float = 0.01,
    cells: int = 4096,
) -> RecordDistance:
    """`sup ||k^exponent (c_k(record) - c_k(record'))||` over all pairs of possible records.

    With `exponent=p` and `order=1` it is the epsilon of replacing one record under
    `Lap(gamma / k^p)`, times `gamma`; with `exponent=q` and `order=2` the distance of the paper.
    Nothing private is read: it depends only on the set of possible records. Features are covered by
    boxes, which are halved until no pair of boxes can hold records that are farther apart than the
    farthest pair found, to `tolerance`. Within a box the coefficients move by at most their slope
    at its middle and a remainder bounded by the curvature of the loss (proof:
    docs/proofs/functional.md).

    Args:
        basis: basis of the released coefficients.
        loss: loss of one record, with bounded curvature.
        lower: smallest value of every feature; equal to `upper` for an intercept.
        upper: largest value of every feature.
        targets: every value that a target may take, as the loss stores it; for `Squared`, in which
            a target moves coefficients linearly, the two ends of an interval suffice.
        exponent: exponent of the weights, at least 0.
        order: order of the norm, 1 or 2.
        constant: whether the coefficient of the constant counts; it is not released.
        tolerance: largest excess of `upper` over `lower`, as a share of `lower`; positive.
        cells: largest number of boxes held; beyond it `upper` remains a bound, but `tolerance` is
            missed.

    Raises:
        ConfigError: an argument out of range, or a loss of unbounded curvature.

    Example:
        >>> from tacit.problem import Logistic
        >>> basis = LegendreBasis([-1.0, -1.0], [1.0, 1.0], degree=6)
        >>> found = record_distance(basis, Logistic(), [0.0, 0.0], [1.0, 1.0], [0.0, 1.0])
        >>> round(found.lower, 1), found.upper < 3.9
        (3.8, True)
        >>> round(found.scale(epsilon=1.0), 1)  # gamma for one record
        3.8
    """
    space = PossibleRecords(basis, loss, lower, upper, targets, exponent, order, constant)
    if not tolerance > 0.0 or cells < 1:
        raise ConfigError(f"tolerance={tolerance!r} and cells={cells!r} must be positive")
    corners = space.corners()
    best, pair = _farthest(space.distances(*corners), *corners)
    middles, halves, labels = space.whole()
    while True:
        distances, reach = space.distances(middles, labels), space.reach(middles, halves, labels)
        best, pair = max((best, pair), _farthest(distances, middles, labels))
        bounds = np.max(distances + reach[None, :], axis=1) + reach
        # a box too near to all others holds no record of a farther pair, and is dropped for good
        kept = bounds > (1.0 + tolerance) * best
        if not kept.any() or 2 * np.sum(kept) > cells:
            most = max((1.0 + tolerance) * best, float(np.max(bounds[kept], initial=0.0)))
            return RecordDistance(best, most * _ROOM, pair)
        middles, halves, labels = space.halved(middles[kept], halves[kept], labels[kept])


class PossibleRecords:
    """All possible records, and bounds on their weighted coefficients."""

    def __init__(
        self,
        basis: AbstractBasis,
        loss: AbstractScalarLoss,
        lower: Corner,
        upper: Corner,
        targets: Sequence[float],
        exponent: float,
        order: int,
        constant: bool,
    ) -> None:
        self.low, self.high = (np.asarray(end, dtype=np.float64) for end in (lower, upper))
        self.targets = np.asarray(targets, dtype=np.float64)
        shape = (basis.dimension,)
        if self.low.shape != shape or self.high.shape != shape or np.any(self.low > self.high):
            raise ConfigError(
                f"lower={lower!r} and upper={upper!r} must be the least and largest value of the "
                f"{basis.dimension} features that the basis has coordinates for"
            )
        if self.targets.ndim != 1 or not self.targets.size:
            raise ConfigError(f"targets={targets!r} must list the values that a target may take")
        if not 0.0 <= exponent < math.inf or order not in (1, 2):
            raise ConfigError(
                f"exponent={exponent!r} must be at least 0, and order={order!r} 1 or 2"
            )
        if not loss.curvature < math.inf:
            raise ConfigError(
                f"{type(loss).__name__} has no bound on its curvature, and a grid of records says "
                "nothing of those between; take a smooth loss such as Logistic or Huber"
            )
        self.loss, self.order = loss, order
        self.points = np.asarray(basis.points)
        with jax.enable_x64(True):
            weights = np.asarray(basis.weights(exponent))
        first = 0 if constant else 1
        self.operator = (weights[:, None] * np.asarray(basis.operator))[first:]

    def whole(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """One box for each target: middle, half widths, target."""
        count = len(self.targets)
        middle, half = (self.low + self.high) / 2.0, (self.high - self.low) / 2.0
        return np.tile(middle, (count, 1)), np.tile(half, (count, 1)), self.targets

    def corners(self) -> tuple[np.ndarray, np.ndarray]:
        """Records with every feature at an end; the middle where these would be too many."""
        ends = np.stack([self.low, self.high])
        if len(self.low) > 8:
            ends = np.mean(ends, axis=0, keepdims=True)
        rows = np.array(list(itertools.product(*ends.T)))
        return np.repeat(rows, len(self.targets), axis=0), np.tile(self.targets, len(rows))

    def halved(
        self, middles: np.ndarray, halves: np.ndarray, labels: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Every box cut in two across its widest side."""
        side = np.eye(middles.shape[1])[np.argmax(halves, axis=1)]
        halves = halves * (1.0 - side / 2.0)
        step = halves * side
        return (
            np.concatenate([middles - step, middles + step]),
            np.concatenate([halves, halves]),
            np.concatenate([labels, labels]),
        )

    def lattice(self, most: int) -> tuple[np.ndarray, np.ndarray]:
        """Records with every feature at an end or in the middle, at most `most` of them."""
        middle = (self.low + self.high) / 2.0
        count = 3 ** len(self.low)
        if count * len(self.targets) <= most:
            rows = np.array(list(itertools.product(*np.stack([self.low, middle, self.high]).T)))
        else:  # all features at an end together, and others drawn from a fixed seed
            drawn = np.random.default_rng(0).integers(
                0, 2, (most // len(self.targets), len(middle))
            )
            rows = np.where(drawn, self.high, self.low)
            rows[:3] = self.low, middle, self.high
        return np.repeat(rows, len(self.targets), axis=0), np.tile(self.targets, len(rows))

    def weighted(self, rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Weighted coefficients of records, shape `(records, m)`."""
        with jax.enable_x64(True):
            values = self.loss.value(rows @ self.points.T, labels[:, None])
        return np.asarray(values) @ self.operator.T

    def distances(self, rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Distances between the weighted coefficients of all records given."""
        from scipy.spatial.distance import cdist

        weighted = self.weighted(rows, labels)
        return cdist(weighted, weighted, "cityblock" if self.order == 1 else "euclidean")

    def reach(self, middles: np.ndarray, halves: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Upper bound on the distance of each box's records from its middle.

        `|v_k(a + h) - v_k(a)| <= sum_j |dv_k/da_j| |h_j| + B/2 sum_x |A_kx| (|h|' |x|)^2`.
        """
        with jax.enable_x64(True):
            slopes = np.asarray(self.loss.derivative(middles @ self.points.T, labels[:, None]))
        moved = np.zeros((len(middles), len(self.operator)))
        for axis in range(middles.shape[1]):
            turned = (slopes * self.points[:, axis]) @ self.operator.T
            moved += np.abs(turned) * halves[:, axis, None]
        swing = np.square(halves @ np.abs(self.points).T)
        moved += self.loss.curvature / 2.0 * swing @ np.abs(self.operator).T
        return np.linalg.norm(moved, ord=self.order, axis=1)


def _farthest(distances: np.ndarray, rows: np.ndarray, labels: np.ndarray) -> tuple[float, _Pair]:
    """The largest distance, and the two records that have it."""
    i, j = np.unravel_index(np.argmax(distances), distances.shape)
    one, other = ((tuple(rows[k].tolist()), float(labels[k])) for k in (i, j))
    return float(distances[i, j]), (one, other)


def _positive(name: str, value: float) -> float:
    if not 0.0 < value < math.inf:
        raise ConfigError(f"{name}={value!r} must be a positive finite number")
    return value
