"""The nearest function that is convex enough, smooth enough and not too steep.

Noise on coefficients destroys convexity. What every cost is known to satisfy can be restored from
public numbers alone:

    S = {f : alpha I <= Hessian(x) <= beta I,  ||grad f(x)|| <= u  for all x in the box}

Source: Nozari, Tallapragada, Cortes (2018), section V.A. On quadratics the eigenvalues are clipped.
For Legendre bases up to degree 6 matrix sums of squares certify the bounds on the whole box
(Scherer, Hol 2006).
"""

from __future__ import annotations

import functools
import math
import threading
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from tacit.errors import ConfigError, ProblemError
from tacit.method.functional_basis import AbstractBasis, LegendreBasis, QuadraticBasis, graded
from tacit.problem.projection import clarabel, cvxpy

CERTIFIED_DEGREE = 6
"""Largest degree that sums of squares are used for: their matrices grow with its power."""


class CurvatureBounds(eqx.Module):
    """What every agent's private cost is publicly known to satisfy on the box.

    A wrong bound costs accuracy and no privacy: it is applied to what has been released.

    Args:
        strong_convexity: `alpha`, at least 0, in units of cost over parameter squared.
        smoothness: `beta`, above `alpha`, finite.
        gradient_bound: `u`, positive; infinite for none.

    Raises:
        ConfigError: a number out of its range.
    """

    strong_convexity: float = eqx.field(static=True, converter=float)
    smoothness: float = eqx.field(static=True, converter=float)
    gradient_bound: float = eqx.field(static=True, default=math.inf, converter=float)

    def __check_init__(self) -> None:
        alpha, beta, u = self.strong_convexity, self.smoothness, self.gradient_bound
        if not 0.0 <= alpha < beta < math.inf:
            raise ConfigError(
                f"strong_convexity={alpha!r} and smoothness={beta!r} must satisfy "
                "0 <= strong_convexity < smoothness < inf"
            )
        if not u > 0.0:
            raise ConfigError(f"gradient_bound={u!r} must be positive, or inf for none")

    def nearest(self, basis: AbstractBasis, coefficients: Any) -> Float[Array, " m"]:
        """Coefficients of the function in S that stands for the given one. Traced.

        Args:
            basis: quadratic (closed form, eigenvalues clipped) or Legendre (nearest in L2).
            coefficients: released, shape `(m,)`.
        """
        if isinstance(basis, QuadraticBasis):
            return self._clipped(basis, coefficients)
        assert isinstance(basis, LegendreBasis)
        shape = jax.ShapeDtypeStruct(np.shape(coefficients), jnp.asarray(coefficients).dtype)
        program = _Program(_key(basis), self)
        return jax.pure_callback(program, shape, coefficients, vmap_method="sequential")

    def _clipped(self, basis: QuadraticBasis, coefficients: Any) -> Float[Array, " m"]:
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


@dataclass(frozen=True)
class Violation:
    """By how much a function misses S on a fine grid.

    Attributes:
        lowest: smallest eigenvalue of a Hessian.
        highest: largest eigenvalue of a Hessian.
        steepest: longest gradient.
    """

    lowest: float
    highest: float
    steepest: float

    def beyond(self, bounds: CurvatureBounds) -> float:
        """The largest miss, curvature as a share of beta and slope as a share of u; 0 inside."""
        beta, u = bounds.smoothness, bounds.gradient_bound
        misses = (bounds.strong_convexity - self.lowest) / beta, self.highest / beta - 1.0
        slope = 0.0 if math.isinf(u) else self.steepest / u - 1.0
        return max(0.0, *misses, slope)


def extremes(basis: LegendreBasis, coefficients: Any, per_axis: int = 0) -> Violation:
    """Curvatures and slopes of a function on a regular grid.

    Args:
        basis: Legendre.
        coefficients: shape `(m,)`.
        per_axis: grid points an axis; about 10,000 points in all by default.
    """
    dimension = basis.dimension
    count = per_axis or round(10_000 ** (1.0 / dimension))
    axes = [np.linspace(-1.0, 1.0, count)] * dimension
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, dimension)
    gradient, hessian = derivatives(basis, points)
    curvature = np.linalg.eigvalsh(hessian @ np.asarray(coefficients))
    slopes = np.linalg.norm(gradient @ np.asarray(coefficients), axis=1)
    return Violation(float(curvature.min()), float(curvature.max()), float(slopes.max()))


def derivatives(
    basis: LegendreBasis, unit: Any
) -> tuple[Float[np.ndarray, "n d m"], Float[np.ndarray, "n d d m"]]:
    """Gradients and Hessians of all functions at points in [-1, 1]^d, in the units of `x`."""
    from numpy.polynomial import legendre

    exponents, dimension, degree = np.array(basis.exponents), basis.dimension, basis.degree
    half = (np.asarray(basis.upper) - np.asarray(basis.lower)) / 2.0
    scale = np.sqrt(np.prod((2 * exponents + 1) / 2.0, axis=1) / np.prod(half))
    axes = np.arange(dimension)
    each = [legendre.legder(np.eye(degree + 1), order) for order in range(3)]
    every = [np.moveaxis(legendre.legval(unit, each[order]), 0, -1) for order in range(3)]
    tables = np.stack([table[:, axes, exponents] for table in every])  # (3, n, m, d)

    def product(orders: Any) -> np.ndarray:
        return scale * np.prod(tables[np.asarray(orders), :, :, axes], axis=0)

    unit_orders = np.eye(dimension, dtype=int)
    gradient = np.stack([product(unit_orders[i]) / half[i] for i in axes], axis=1)
    rows = [
        [product(unit_orders[i] + unit_orders[j]) / (half[i] * half[j]) for j in axes] for i in axes
    ]
    hessian = np.stack([np.stack(row, axis=1) for row in rows], axis=1)
    return gradient, hessian


def projected(basis: LegendreBasis, bounds: CurvatureBounds, coefficients: Any) -> np.ndarray:
    """The function in S nearest to the given one in L2 of the box, by convex optimisation.

    The program is in the correction, which may be small beside the function.

    Args:
        basis: Legendre, of degree at most `CERTIFIED_DEGREE`.
        bounds: the set.
        coefficients: shape `(m,)`.

    Raises:
        ConfigError: a higher degree.
        ProblemError: the solver gave up, or cvxpy is missing.
    """
    check_certifiable(basis)
    given = np.asarray(coefficients, dtype=np.float64)
    if not np.isfinite(given).all():
        return np.full_like(given, np.nan)  # divergence is the run's to report
    return given + _certified(_key(basis), bounds).correction(given)


def check_certifiable(basis: AbstractBasis) -> None:
    """Refuse a basis on which bounds of curvature cannot be imposed.

    Raises:
        ConfigError: a Legendre basis of too high a degree.
    """
    if isinstance(basis, LegendreBasis) and basis.degree > CERTIFIED_DEGREE:
        raise ConfigError(
            f"bounds of curvature are imposed up to degree {CERTIFIED_DEGREE}, and this basis has "
            f"degree {basis.degree}; lower it, or leave bounds out"
        )


_Key = tuple[tuple[float, ...], tuple[float, ...], int]


def _key(basis: LegendreBasis) -> _Key:
    low, high = np.asarray(basis.lower), np.asarray(basis.upper)
    return tuple(low.tolist()), tuple(high.tolist()), basis.degree


class _Program(eqx.Module):
    """A callback that is equal to another one of the same set, so that it compiles once."""

    key: _Key = eqx.field(static=True)
    bounds: CurvatureBounds = eqx.field(static=True)

    def __call__(self, coefficients: Any) -> np.ndarray:
        given = np.asarray(coefficients)
        return projected(_basis(self.key), self.bounds, given).astype(given.dtype)


@functools.lru_cache(maxsize=32)
def _basis(key: _Key) -> LegendreBasis:
    return LegendreBasis(*key)


@functools.lru_cache(maxsize=32)
def _certified(key: _Key, bounds: CurvatureBounds) -> _SumOfSquares:
    return _SumOfSquares(_basis(key), bounds)


class _SumOfSquares:
    """`min ||d||^2` subject to matrix sums of squares that show `c + d` to be in S."""

    def __init__(self, basis: LegendreBasis, bounds: CurvatureBounds) -> None:
        cp = cvxpy()
        dimension, beta, u = basis.dimension, bounds.smoothness, bounds.gradient_bound
        self.change, self.given = cp.Variable(basis.size), cp.Parameter(basis.size)
        c, eye = self.change + self.given, np.eye(dimension)
        # a Hessian has two degrees less, a gradient one; squares have even degrees
        frame = _frame(dimension, 2 * math.ceil(max(basis.degree - 2, 0) / 2))
        _, hessian = derivatives(basis, frame.points)
        one = frame.operator @ np.ones(len(frame.points))
        entries = np.einsum("kn,nijm->ijkm", frame.operator, hessian / beta)
        alpha, axes = bounds.strong_convexity / beta, range(dimension)
        lower = [[entries[i, j] @ c - alpha * eye[i, j] * one for j in axes] for i in axes]
        upper = [[eye[i, j] * one - entries[i, j] @ c for j in axes] for i in axes]
        constraints = _sums_of_squares(frame, lower) + _sums_of_squares(frame, upper)
        if not math.isinf(u):
            # [[u I, g], [g', u]] is positive where ||g|| <= u
            frame = _frame(dimension, 2 * math.ceil((basis.degree - 1) / 2))
            gradient, _ = derivatives(basis, frame.points)
            one = frame.operator @ np.ones(len(frame.points))
            size = dimension + 1
            matrix: Any = [[one * float(i == j) for j in range(size)] for i in range(size)]
            for i in axes:
                slope = (frame.operator @ gradient[:, i] / u) @ c
                matrix[i][dimension] = matrix[dimension][i] = slope
            constraints += _sums_of_squares(frame, matrix)
        self.problem = cp.Problem(cp.Minimize(cp.sum_squares(self.change)), constraints)
        self.lock = threading.Lock()

    def correction(self, given: np.ndarray) -> np.ndarray:
        """What to add to the coefficients."""
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
    """In which polynomials of at most this degree on [-1, 1]^d are compared."""
    return LegendreBasis([-1.0] * dimension, [1.0] * dimension, max(degree, 1))


def _sums_of_squares(frame: LegendreBasis, matrix: Any) -> list[Any]:
    """Constraints that a symmetric matrix of polynomials is positive on the box.

        M(x) = Z(x)' Q_0 Z(x) + sum_i (1 - x_i^2) Z_i(x)' Q_i Z_i(x),   Q_0, Q_i positive

    Args:
        frame: in which entries are given, of the degree of the identity.
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
