"""The nearest function within limits of slope and curvature, of any degree, by cutting planes.

That the Hessian at `x` is at least alpha means `v' H(x) v >= alpha` for every unit vector `v`, and
for a given `x` and `v` this is one linear inequality on the coefficients. So the program

    min ||d||^2   subject to   c + d within the limits at every point of the box

has infinitely many linear inequalities, of which few are active. They are generated where they are
violated: look on a Chebyshev grid, refine between its points, add the worst, solve again
(Blankenship, Falk 1976). Each program is a least-distance problem, solved by non-negative least
squares (Lawson, Hanson 1974, chapter 23).
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from jaxtyping import Float

from tacit.errors import ProblemError
from tacit.method._functional_curvature import Extremes, derivatives, on_grid
from tacit.method.functional_basis import LegendreBasis
from tacit.ranges import Numbers

TOLERANCE = 1e-6
"""Remaining violation, curvature as a share of beta and slope as a share of u."""

ROUNDS = 200
"""Number of programs after which the search is abandoned."""

_NEAR = 0.01
"""Amount by which a violation between the grid's points may exceed the nearest peak on the grid."""

_ZOOMS = 8
"""Number of times a peak's neighbourhood is halved; peaks are flat, so this finds their height."""

_PEAKS = 100
"""Largest number of peaks followed at a time; a plateau is made of peaks."""

_POINTS = {1: 32, 2: 16, 3: 4}
"""Points per axis for every degree of the basis, by dimension."""

_SLACK = 1e-3
"""Inequalities further from being active, as a share of beta or u, are dropped."""

_IMPOSSIBLE = (
    "no function of this basis satisfies the bounds of curvature and slope together; widen "
    "gradient_bound, which must exceed strong_convexity times half the diagonal of the box, or "
    "take a higher degree"
)


def nearest_on_grid(
    basis: LegendreBasis, allowed: Extremes, coefficients: Numbers, tolerance: float = TOLERANCE
) -> Float[np.ndarray, " m"]:
    """The function within the limits that is nearest to the given one in L2 of the box.

    Checked on `16 degree + 1` Chebyshev points per axis (32 on a line, 4 in three dimensions) and
    between them by local search: this is a check, whereas sums of squares up to degree 6 are a
    proof.

    Args:
        basis: Legendre basis of any degree.
        allowed: limits alpha, beta and u.
        coefficients: finite coefficients, shape `(m,)`.
        tolerance: largest remaining violation, as a share of beta and of u; at least 1e-9.

    Raises:
        ProblemError: no function of the basis is within the limits, or `ROUNDS` programs did not
            reach the tolerance; the message states the remaining violation.
    """
    given, margin = np.asarray(coefficients, dtype=np.float64), tolerance / 2.0
    grid = _Grid(basis, allowed)
    correction = np.zeros_like(given)
    rows, sides = np.zeros((0, given.size)), np.zeros(0)
    worst = math.inf
    for _ in range(ROUNDS):
        new, wanted, worst = grid.cuts(given + correction, margin)
        if worst <= margin:
            return given + correction
        # require slightly more than the limits, as the search may miss the very top of a peak
        rows, sides = np.concatenate([rows, new]), np.concatenate([sides, wanted + margin])
        correction, kept = _least_distance(rows, sides - rows @ given, correction)
        # inactive cuts may be dropped: the distance still grows with every program
        rows, sides = rows[kept], sides[kept]
    raise ProblemError(
        f"after {ROUNDS} programs the nearest function still misses its bounds by {worst:.2g} "
        f"(a share of smoothness or gradient_bound; {tolerance:g} is asked); widen the bounds or "
        "lower the degree"
    )


class _Grid:
    """Finds where a function leaves the limits."""

    def __init__(self, basis: LegendreBasis, allowed: Extremes) -> None:
        self.basis, self.allowed = basis, allowed
        count = _POINTS[basis.dimension] * basis.degree
        self.axis = np.cos(np.pi * np.arange(count + 1) / count)
        self.spacing = np.pi / count
        steps = itertools.product((-1.0, 0.0, 1.0), repeat=basis.dimension)
        self.neighbours = np.array(list(steps))

    def cuts(
        self, coefficients: np.ndarray, tolerance: float
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Rows and sides of `row @ c >= side` violated at the worst points, and the worst miss."""
        rows, sides, worst = [], [], 0.0
        everywhere = self._misses(*on_grid(self.basis, coefficients, self.axis))
        for kind in range(3):
            points, misses = self._refined(coefficients, everywhere[kind], kind)
            worst = max(worst, misses.max(initial=0.0))
            points = points[misses > tolerance / 2.0]
            gradient, hessian = derivatives(self.basis, points)
            if kind == 2:
                row, side = self._slope_cuts(coefficients, gradient)
            else:
                row, side = self._curvature_cuts(coefficients, hessian, kind)
            rows.append(row)
            sides.append(side)
        return np.concatenate(rows), np.concatenate(sides), float(worst)

    def _misses(self, gradient: np.ndarray, hessian: np.ndarray) -> np.ndarray:
        """Curvature too low, too high, slope too steep: positive where a limit is violated."""
        alpha, beta, u = self.allowed.lowest, self.allowed.highest, self.allowed.steepest
        curvature = np.linalg.eigvalsh(hessian)
        slope = np.linalg.norm(gradient, axis=-1)
        low, high = (alpha - curvature[..., 0]) / beta, curvature[..., -1] / beta - 1.0
        return np.stack([low, high, slope / u - 1.0])

    def _refined(
        self, coefficients: np.ndarray, misses: np.ndarray, kind: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """The peaks near or above 0, moved to where they are highest between the grid's points."""
        from scipy.ndimage import maximum_filter

        peaks = (maximum_filter(misses, size=3, mode="nearest") == misses) & (misses > -_NEAR)
        worst = np.argsort(-misses[peaks], kind="stable")[:_PEAKS]
        points, best = self.axis[np.argwhere(peaks)][worst], misses[peaks][worst]
        step = self.spacing
        for _ in range(_ZOOMS):
            around = np.clip(points[:, None] + step * self.neighbours, -1.0, 1.0)
            gradient, hessian = derivatives(self.basis, around.reshape(-1, self.basis.dimension))
            found = self._misses(gradient @ coefficients, hessian @ coefficients)[kind]
            found = found.reshape(len(points), len(self.neighbours))
            chosen = np.arange(len(points)), found.argmax(axis=1)
            points, best, step = around[chosen], found[chosen], step / 2.0
        return points, best

    def _curvature_cuts(
        self, coefficients: np.ndarray, hessian: np.ndarray, kind: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """`v' H v >= alpha`, or `<= beta`, for every eigenvector whose eigenvalue is outside."""
        beta = self.allowed.highest
        sign, limit = ((1.0, self.allowed.lowest), (-1.0, beta))[kind]
        values, vectors = np.linalg.eigh(hessian @ coefficients)
        point, which = np.nonzero(sign * (values - limit) < 0.0)
        v = vectors[point, :, which]
        rows = sign * np.einsum("ni,nijm,nj->nm", v, hessian[point], v) / beta
        return rows, np.full(len(rows), sign * limit / beta)

    def _slope_cuts(
        self, coefficients: np.ndarray, gradient: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """`g @ v <= u` in the direction `v` of the gradient `g`."""
        slope = gradient @ coefficients
        v = slope / np.linalg.norm(slope, axis=-1, keepdims=True)
        rows = -np.einsum("ni,nim->nm", v, gradient) / self.allowed.steepest
        return rows, np.full(len(rows), -1.0)


def _least_distance(
    rows: np.ndarray, wanted: np.ndarray, last: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The shortest `d` with `rows @ d >= wanted`, and the rows that are active or nearly so."""
    from scipy.optimize import nnls

    lengths = np.linalg.norm(rows, axis=1)
    if not lengths.all():
        raise ProblemError(_IMPOSSIBLE)  # a plane does not curve
    sides = wanted / lengths
    scale = max(float(np.linalg.norm(last)), float(sides.max()))  # near the length of the answer
    system = np.concatenate([(rows / lengths[:, None]).T, sides[None] / scale])
    target = np.zeros(len(system))
    target[-1] = 1.0
    try:
        multipliers, _ = nnls(system, target, maxiter=30 * len(rows))
    except RuntimeError as error:
        raise ProblemError(f"the nearest function was not found: {error}") from error
    residual = system @ multipliers - target
    if residual[-1] > -1e-9:
        raise ProblemError(_IMPOSSIBLE)
    d = -scale * residual[:-1] / residual[-1]
    return d, (multipliers > 0.0) | (rows @ d < wanted + _SLACK)
