"""The nearest function that is convex enough, smooth enough and not too steep.

Noise on coefficients destroys convexity. What every cost is known to satisfy can be restored from
public numbers alone:

    S = {f : alpha I <= Hessian(x) <= beta I,  ||grad f(x)|| <= u  for all x in the box}

Source: Nozari, Tallapragada, Cortes (2018), section VI-A2, proposition VI.2. On quadratics the
eigenvalues are clipped. For Legendre bases up to degree 6 matrix sums of squares certify the bounds
on the whole box (Scherer, Hol 2006); above, they are imposed on a grid and checked between its
points.
"""

from __future__ import annotations

import functools
import math
import threading
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from tacit.arguments import checked
from tacit.errors import ConfigError, ProblemError
from tacit.method._functional_curvature import Extremes, derivatives
from tacit.method._functional_grid import TOLERANCE, nearest_on_grid
from tacit.method.functional_basis import AbstractBasis, LegendreBasis, QuadraticBasis, graded
from tacit.problem.callback import call_host
from tacit.problem.projection import clarabel, cvxpy
from tacit.ranges import Numbers, One

CERTIFIED_DEGREE = 6
"""Largest degree that sums of squares are used for: their matrices grow with its powers."""


@checked(ConfigError)
class CurvatureBounds(eqx.Module):
    """Bounds that every agent's private cost is publicly known to satisfy on the box.

    A wrong bound costs accuracy but no privacy: it is applied to released values.

    Source: Nozari, Tallapragada, Cortes (2018), section VI-A2, proposition VI.2.

    Args:
        strong_convexity: modulus `alpha`, at least 0, in units of cost over parameter squared.
        smoothness: largest curvature `beta`, above `alpha`, finite.
        gradient_bound: largest gradient norm `u`, positive; infinite for no bound.
        tolerance: for a Legendre basis, largest violation left between the points of a grid, as a
            share of `beta` and of `u`, 1e-9 to 0.1. By default none up to degree 6, where sums of
            squares prove that there is none, and 1e-6 above.

    Raises:
        ConfigError: a number out of its range.
    """

    strong_convexity: One = eqx.field(static=True, converter=float)
    smoothness: One = eqx.field(static=True, converter=float)
    gradient_bound: One = eqx.field(static=True, default=math.inf, converter=float)
    tolerance: float | None = eqx.field(static=True, default=None)

    def __check_init__(self) -> None:
        alpha, beta, u = self.strong_convexity, self.smoothness, self.gradient_bound
        if not 0.0 <= alpha < beta < math.inf:
            raise ConfigError(
                f"strong_convexity={alpha!r} and smoothness={beta!r} must satisfy "
                "0 <= strong_convexity < smoothness < inf"
            )
        if not u > 0.0:
            raise ConfigError(f"gradient_bound={u!r} must be positive, or inf for none")
        if self.tolerance is not None and not 1e-9 <= self.tolerance <= 0.1:
            raise ConfigError(
                f"tolerance={self.tolerance!r} must be between 1e-9 and 0.1; leave it out for the "
                "exact projection"
            )

    @property
    def allowed(self) -> Extremes:
        """The same numbers, as limits to compare a function with."""
        return Extremes(*map(float, (self.strong_convexity, self.smoothness, self.gradient_bound)))

    def check(self, basis: AbstractBasis) -> None:
        """Refuse bounds that no function of the basis satisfies.

        Raises:
            ProblemError: there is none, or cvxpy is missing.
        """
        if isinstance(basis, LegendreBasis):
            _tried(_Program(_key(basis), self))

    def nearest(self, basis: AbstractBasis, coefficients: Numbers) -> Float[Array, " m"]:
        """Coefficients of the function in S that replaces the given one. Traced.

        Args:
            basis: quadratic (closed form, eigenvalues clipped) or Legendre (nearest in L2).
            coefficients: released coefficients, shape `(m,)`.
        """
        if isinstance(basis, QuadraticBasis):
            return self._clipped(basis, coefficients)
        assert isinstance(basis, LegendreBasis)
        return call_host(_Program(_key(basis), self), np.shape(coefficients), coefficients)

    def _clipped(self, basis: QuadraticBasis, coefficients: Numbers) -> Float[Array, " m"]:
        values, vectors = jnp.linalg.eigh(basis.hessian(coefficients))
        values = jnp.clip(values, self.strong_convexity, self.smoothness)
        repaired = basis.with_hessian(coefficients, (vectors * values) @ vectors.T)
        if math.isinf(self.gradient_bound):
            return repaired
        half = (jnp.asarray(basis.upper) - jnp.asarray(basis.lower)) / 2.0
        slice_ = slice(1, 1 + basis.dimension)
        slope = repaired[slice_] / half
        length = jnp.linalg.norm(slope)
        share = jnp.minimum(1.0, self.gradient_bound / jnp.maximum(length, 1e-300))
        return repaired.at[slice_].multiply(share)


def projected(basis: LegendreBasis, bounds: CurvatureBounds, coefficients: Numbers) -> np.ndarray:
    """The function in S nearest to the given one in L2 of the box, by convex optimisation.

    Up to degree `CERTIFIED_DEGREE` sums of squares prove that it is in S; above, a grid and a
    search between its points find it in S to `functional_grid.TOLERANCE`. The programs optimise
    the correction, which may be small compared with the function.

    Args:
        basis: Legendre basis.
        bounds: bounds that define the set S.
        coefficients: coefficients, shape `(m,)`.

    Raises:
        ProblemError: no function is in S, the solver gave up, or cvxpy is missing.
    """
    given = np.asarray(coefficients, dtype=np.float64)
    if not np.isfinite(given).all():
        return np.full_like(given, np.nan)  # divergence is the run's to report
    if bounds.tolerance is not None or basis.degree > CERTIFIED_DEGREE:
        return nearest_on_grid(basis, bounds.allowed, given, bounds.tolerance or TOLERANCE)
    return given + _certified(_key(basis), bounds).correction(given)


_Key = tuple[tuple[float, ...], tuple[float, ...], int]


def _key(basis: LegendreBasis) -> _Key:
    return *basis.corners, basis.degree


@dataclass(frozen=True)
class _Program:
    """The projection; programs of the same set are equal, so that each compiles once."""

    key: _Key
    bounds: CurvatureBounds

    def __call__(self, coefficients: np.ndarray) -> np.ndarray:
        return projected(_basis(self.key), self.bounds, coefficients)


@functools.lru_cache(maxsize=32)
def _tried(program: _Program) -> None:
    program(np.zeros(_basis(program.key).size))


@functools.lru_cache(maxsize=32)
def _basis(key: _Key) -> LegendreBasis:
    return LegendreBasis(*key)


@functools.lru_cache(maxsize=32)
def _certified(key: _Key, bounds: CurvatureBounds) -> _SumOfSquares:
    return _SumOfSquares(_basis(key), bounds)


class _SumOfSquares:
    """`min ||d||^2` subject to matrix sums of squares that prove `c + d` to be in S."""

    def __init__(self, basis: LegendreBasis, bounds: CurvatureBounds) -> None:
        cp = cvxpy()
        dimension, beta, u = basis.dimension, bounds.smoothness, bounds.gradient_bound
        self.change, self.given = cp.Variable(basis.size), cp.Parameter(basis.size)
        c, eye = self.change + self.given, np.eye(dimension)
        # a Hessian has two degrees less, a gradient one; squares have even degrees
        frame = _frame(dimension, 2 * math.ceil(max(basis.degree - 2, 0) / 2))
        _, hessian = derivatives(basis, frame.points)
        one = frame.operator @ np.ones(np.shape(frame.points)[0])
        entries = np.einsum("kn,nijm->ijkm", frame.operator, hessian / beta)
        alpha, axes = bounds.strong_convexity / beta, range(dimension)
        lower = [[entries[i, j] @ c - alpha * eye[i, j] * one for j in axes] for i in axes]
        upper = [[eye[i, j] * one - entries[i, j] @ c for j in axes] for i in axes]
        constraints = _sums_of_squares(frame, lower) + _sums_of_squares(frame, upper)
        if not math.isinf(u):
            # [[u I, g], [g', u]] is positive where ||g|| <= u
            frame = _frame(dimension, 2 * math.ceil((basis.degree - 1) / 2))
            gradient, _ = derivatives(basis, frame.points)
            one = frame.operator @ np.ones(np.shape(frame.points)[0])
            size = dimension + 1
            matrix: Any = [[one * float(i == j) for j in range(size)] for i in range(size)]
            for i in axes:
                slope = (frame.operator @ gradient[:, i] / u) @ c
                matrix[i][dimension] = matrix[dimension][i] = slope
            constraints += _sums_of_squares(frame, matrix)
        self.problem = cp.Problem(cp.Minimize(cp.sum_squares(self.change)), constraints)
        self.lock = threading.Lock()

    def correction(self, given: np.ndarray) -> np.ndarray:
        """The correction to add to the coefficients."""
        with self.lock:
            self.given.value = given
            answer = clarabel(self.problem, self.change)
        if answer.point is None:
            raise ProblemError(
                f"the projection of a released cost ended with status {answer.status!r}; "
                "widen its bounds of curvature and slope"
            )
        return answer.point


def _frame(dimension: int, degree: int) -> LegendreBasis:
    """The basis in which polynomials of at most this degree on [-1, 1]^d are compared."""
    return LegendreBasis([-1.0] * dimension, [1.0] * dimension, max(degree, 1))


def _sums_of_squares(frame: LegendreBasis, matrix: Any) -> list[Any]:
    """Constraints that a symmetric matrix of polynomials is positive on the box.

        M(x) = Z(x)' Q_0 Z(x) + sum_i (1 - x_i^2) Z_i(x)' Q_i Z_i(x),   Q_0, Q_i positive

    Args:
        frame: basis of the entries, of the degree of the identity.
        matrix: entries as coefficient vectors in the frame, affine in a cvxpy variable.
    """
    cp = cvxpy()
    size, unit = len(matrix), np.asarray(frame.points)
    multipliers = [np.ones(len(unit))]
    if frame.degree >= 2:
        multipliers += [1.0 - unit[:, axis] ** 2 for axis in range(frame.dimension)]
    totals: list[list[Any]] = [[0.0] * size for _ in range(size)]
    for index, multiplier in enumerate(multipliers):
        exponents = graded(frame.dimension, frame.degree // 2 - (index > 0))
        factors = np.polynomial.legendre.legvander(unit, frame.degree)
        axes = np.arange(frame.dimension)
        columns = np.prod(factors[:, axes, exponents], axis=2)
        products = np.einsum("kn,n,na,nb->kab", frame.operator, multiplier, columns, columns)
        products = products.reshape(frame.size, -1)
        count = len(exponents)
        gram = cp.Variable((size * count, size * count), PSD=True)
        for i in range(size):
            for j in range(i, size):
                block = gram[i * count : (i + 1) * count, j * count : (j + 1) * count]
                totals[i][j] = totals[i][j] + products @ cp.vec(block, order="C")
    return [matrix[i][j] == totals[i][j] for i in range(size) for j in range(i, size)]
