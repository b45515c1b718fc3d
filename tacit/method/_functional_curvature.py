"""Slopes and curvatures of polynomials on a box: at points, and everywhere on a grid."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import ArrayLike, Float

from tacit.method.functional_basis import LegendreBasis
from tacit.ranges import Numbers


@dataclass(frozen=True)
class Extremes:
    """Curvature and slope of a function, or limits on them.

    Attributes:
        lowest: smallest eigenvalue of a Hessian.
        highest: largest eigenvalue of a Hessian.
        steepest: largest gradient norm; infinite for no limit.
    """

    lowest: float
    highest: float
    steepest: float

    def beyond(self, allowed: Extremes) -> float:
        """The largest violation, curvature as a share of beta, slope as a share of u; 0 inside."""
        beta, u = allowed.highest, allowed.steepest
        misses = (allowed.lowest - self.lowest) / beta, self.highest / beta - 1.0
        slope = 0.0 if math.isinf(u) else self.steepest / u - 1.0
        return max(0.0, *misses, slope)


def extremes(basis: LegendreBasis, coefficients: Numbers, per_axis: int = 0) -> Extremes:
    """Curvatures and slopes of a function on a regular grid.

    Args:
        basis: Legendre basis.
        coefficients: coefficients, shape `(m,)`.
        per_axis: grid points per axis; about 10,000 points in all by default.
    """
    count = per_axis or round(10_000 ** (1.0 / basis.dimension))
    gradient, hessian = on_grid(basis, coefficients, np.linspace(-1.0, 1.0, count))
    curvature = np.linalg.eigvalsh(hessian)
    slopes = np.linalg.norm(gradient, axis=-1)
    return Extremes(float(curvature.min()), float(curvature.max()), float(slopes.max()))


def on_grid(
    basis: LegendreBasis, coefficients: Numbers, axis: Float[np.ndarray, " n"]
) -> tuple[Float[np.ndarray, "*grid d"], Float[np.ndarray, "*grid d d"]]:
    """Gradients and Hessians of one function on a grid, in the units of `x`.

    Sums over one coordinate after the other, so a fine grid takes milliseconds.

    Args:
        basis: Legendre basis.
        coefficients: coefficients, shape `(m,)`.
        axis: the grid's points in [-1, 1], the same in every coordinate.
    """
    dimension, half = basis.dimension, _half(basis)
    tensor = np.zeros((basis.degree + 1,) * dimension)
    tensor[tuple(np.array(basis.exponents).T)] = _scale(basis) * np.asarray(coefficients)
    tables = _tables(basis.degree, axis)

    def summed(orders: Any) -> np.ndarray:
        values = tensor
        for order in orders:  # the first axis becomes the last: in order again at the end
            values = np.tensordot(values, tables[order], axes=(0, 1))
        return values / np.prod(half**orders)

    once = np.eye(dimension, dtype=int)
    gradient = np.stack([summed(each) for each in once], axis=-1)
    rows = [np.stack([summed(first + second) for second in once], axis=-1) for first in once]
    return gradient, np.stack(rows, axis=-2)


def derivatives(
    basis: LegendreBasis, unit: Float[ArrayLike, "n d"]
) -> tuple[Float[np.ndarray, "n d m"], Float[np.ndarray, "n d d m"]]:
    """Gradients and Hessians of all functions at points in [-1, 1]^d, in the units of `x`."""
    exponents, half, scale = np.array(basis.exponents), _half(basis), _scale(basis)
    axes = np.arange(basis.dimension)
    tables = _tables(basis.degree, unit)[:, :, axes, exponents]  # (3, n, m, d)

    def product(orders: Any) -> np.ndarray:
        return scale * np.prod(tables[orders, :, :, axes], axis=0) / np.prod(half**orders)

    once = np.eye(basis.dimension, dtype=int)
    gradient = np.stack([product(each) for each in once], axis=1)
    rows = [np.stack([product(first + second) for second in once], axis=1) for first in once]
    return gradient, np.stack(rows, axis=1)


def _half(basis: LegendreBasis) -> np.ndarray:
    return (np.asarray(basis.upper) - np.asarray(basis.lower)) / 2.0


def _scale(basis: LegendreBasis) -> np.ndarray:
    """What makes products of Legendre polynomials orthonormal on the box."""
    norms = (2 * np.array(basis.exponents) + 1) / 2.0
    return np.sqrt(np.prod(norms, axis=1) / np.prod(_half(basis)))


def _tables(degree: int, points: Any) -> np.ndarray:
    """Legendre polynomials and two derivatives: `(3, *points, degree + 1)`."""
    from numpy.polynomial import legendre

    each = [legendre.legder(np.eye(degree + 1), order) for order in range(3)]
    return np.stack([np.moveaxis(legendre.legval(points, one), 0, -1) for one in each])
