"""Costs as a few coefficients: polynomial bases on a box, whose coefficients follow from values.

A basis queries a cost for its values at public points and maps them linearly to coefficients. Parts
of the cost that it cannot represent are dropped by that map itself, so they cannot leak.
"""

from __future__ import annotations

import abc
import itertools
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int

from tacit.arguments import checked
from tacit.errors import ConfigError
from tacit.ranges import Corner, Numbers
from tacit.types import Params, Vector


def graded(dimension: int, degree: int) -> Int[np.ndarray, "m d"]:
    """Exponents of all monomials up to a total degree, in an order that is frozen.

    Lower total degrees come first; within one, the powers of the first coordinate decrease. The
    noise of a coefficient depends on its position, so another order would be another mechanism.

    Args:
        dimension: number of coordinates, at least 1.
        degree: total degree, at least 0.

    Example:
        >>> graded(2, 2).tolist()
        [[0, 0], [1, 0], [0, 1], [2, 0], [1, 1], [0, 2]]
        >>> [len(graded(2, degree)) for degree in (4, 6, 14)]
        [15, 28, 120]
    """
    rows: list[tuple[int, ...]] = []
    for total in range(degree + 1):
        chosen = itertools.combinations_with_replacement(range(dimension), total)
        rows += [tuple(each.count(axis) for axis in range(dimension)) for each in chosen]
    return np.array(rows, dtype=np.int64).reshape(-1, dimension)


def box(lower: Corner, upper: Corner) -> tuple[np.ndarray, np.ndarray]:
    """Both corners of a box as arrays of shape `(d,)`, checked.

    Raises:
        ConfigError: `lower` and `upper` are not corners of a box.
    """
    low, high = (np.atleast_1d(np.asarray(end, dtype=np.float64)) for end in (lower, upper))
    if low.shape != high.shape or low.ndim != 1 or not np.all(np.isfinite(high - low)):
        raise ConfigError(
            f"lower={lower!r} and upper={upper!r} must be corners of a box: finite numbers, one a "
            "coordinate"
        )
    if not np.all(low < high):
        raise ConfigError(f"lower={lower!r} must be below upper={upper!r} in every coordinate")
    return low, high


@checked(ConfigError)
class AbstractBasis(eqx.Module):
    """Finitely many functions on a box, the first of which is constant.

    Attributes:
        lower: corner of the box, shape `(d,)`.
        upper: opposite corner.
        points: public points at which a cost is evaluated, shape `(n, d)`.
        operator: matrix that maps those values to the coefficients, shape `(m, n)`.
        degree: total degree of the functions as polynomials.
    """

    lower: eqx.AbstractVar[Float[ArrayLike, " d"]]
    upper: eqx.AbstractVar[Float[ArrayLike, " d"]]
    points: eqx.AbstractVar[Float[ArrayLike, "n d"]]
    operator: eqx.AbstractVar[Float[ArrayLike, "m n"]]
    degree: eqx.AbstractVar[int]

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return np.shape(self.points)[1]

    @property
    def size(self) -> int:
        """Number of functions."""
        return np.shape(self.operator)[0]

    def project(self, values: Float[ArrayLike, "n ..."]) -> Float[Array, "m ..."]:
        """Coefficients of the functions whose values at `points` these are."""
        return jnp.tensordot(jnp.asarray(self.operator), jnp.asarray(values), 1)

    def unitbox(self, x: Params) -> Vector:
        """`x` in the coordinates in which the box is [-1, 1]^d."""
        lower, upper = jnp.asarray(self.lower), jnp.asarray(self.upper)
        return (2.0 * jnp.asarray(x) - lower - upper) / (upper - lower)

    @abc.abstractmethod
    def functions(self, x: Params) -> Float[Array, " m"]:
        """All functions at `x`."""

    @abc.abstractmethod
    def weights(self, p: Numbers) -> Float[Array, " m"]:
        """Weight of each coefficient; its noise is proportional to the inverse."""


class LegendreBasis(AbstractBasis):
    """Orthonormal polynomials on a box: products of Legendre polynomials, in graded order.

    Gram-Schmidt of the monomials in this order gives exactly these functions, up to sign.
    Coefficients are inner products in L2 of the box, by Gauss quadrature.

    Source: Nozari, Tallapragada, Cortes (2018), section II-B; section VII. Coefficient `k` counts
    from 1.

    Args:
        lower: corner of the box, shape `(d,)`, d at most 3.
        upper: opposite corner, shape `(d,)`, above `lower` in every coordinate.
        degree: total degree, 1 to 20; 2, 6, 10, 14 suit costs that are even up to a linear part.
        points_per_axis: quadrature points per axis, above `degree`; `degree + 10` by default.

    Raises:
        ConfigError: an argument out of range.

    Example:
        >>> import jax
        >>> basis = LegendreBasis([-1.0], [1.0], degree=2)
        >>> values = basis.points[:, 0] ** 2
        >>> with jax.enable_x64(True):
        ...     print(np.asarray(basis.project(values)).round(6) + 0.0)
        [0.471405 0.       0.421637]
    """

    points: Float[ArrayLike, "n d"]
    operator: Float[ArrayLike, "m n"]
    corners: tuple[tuple[float, ...], tuple[float, ...]] = eqx.field(static=True)
    exponents: tuple[tuple[int, ...], ...] = eqx.field(static=True)
    degree: int = eqx.field(static=True)

    def __init__(
        self, lower: Corner, upper: Corner, degree: int, points_per_axis: int | None = None
    ) -> None:
        low, high = box(lower, upper)
        # static, because a projection on the host must know them while a run is compiled
        self.corners = tuple(low.tolist()), tuple(high.tolist())
        dimension = len(low)
        if dimension > 3:
            raise ConfigError(
                f"a Legendre basis in {dimension} dimensions has too many coefficients and "
                "quadrature points; take QuadraticBasis above 3"
            )
        if not 1 <= degree <= 20:
            raise ConfigError(f"degree={degree!r} must be between 1 and 20")
        count = degree + 10 if points_per_axis is None else points_per_axis
        if count <= degree:
            raise ConfigError(
                f"points_per_axis={count!r} must be above the degree, {degree}: with fewer points "
                "the functions are not orthonormal"
            )
        self.degree = degree
        exponents = graded(dimension, degree)
        self.exponents = tuple(map(tuple, exponents.tolist()))
        nodes, shares = np.polynomial.legendre.leggauss(count)
        unit = np.stack(np.meshgrid(*[nodes] * dimension, indexing="ij"), -1).reshape(-1, dimension)
        share = np.prod(np.stack(np.meshgrid(*[shares] * dimension, indexing="ij"), -1), axis=-1)
        half = (high - low) / 2.0
        self.points = (high + low) / 2.0 + half * unit
        table = np.polynomial.legendre.legvander(unit, degree)  # (n, d, degree + 1)
        scale = np.sqrt(np.prod((2 * exponents + 1) / 2.0, axis=1) / np.prod(half))
        axes = np.arange(dimension)
        functions = scale[:, None] * np.prod(table[:, axes, exponents[:, axes]].T, axis=0).reshape(
            len(exponents), -1
        )
        self.operator = functions * (share.reshape(-1) * np.prod(half))

    @property
    def lower(self) -> Float[np.ndarray, " d"]:
        """Corner of the box."""
        return np.array(self.corners[0])

    @property
    def upper(self) -> Float[np.ndarray, " d"]:
        """Opposite corner."""
        return np.array(self.corners[1])

    @property
    def volume(self) -> float:
        """Volume of the box."""
        return float(np.prod(np.asarray(self.upper) - np.asarray(self.lower)))

    def functions(self, x: Params) -> Float[Array, " m"]:
        """All functions at `x`, by the three-term recurrence."""
        unit = self.unitbox(x)
        table = [jnp.ones_like(unit), unit]
        for n in range(1, self.degree):
            table.append(((2 * n + 1) * unit * table[n] - n * table[n - 1]) / (n + 1))
        exponents = np.array(self.exponents)
        values = jnp.stack(table)[exponents, np.arange(self.dimension)]
        half = (jnp.asarray(self.upper) - jnp.asarray(self.lower)) / 2.0
        scale = jnp.sqrt(np.prod((2 * exponents + 1) / 2.0, axis=1) / jnp.prod(half))
        return scale * jnp.prod(values, axis=1)

    def weights(self, p: Numbers) -> Float[Array, " m"]:
        """`k^p`, k = 1, 2, ...: later coefficients get less noise, as in the paper."""
        return jnp.arange(1.0, self.size + 1.0) ** p


class QuadraticBasis(AbstractBasis):
    """`1`, `t_i` and `t_i t_j` in the coordinates `t` in which the box is [-1, 1]^d.

    A cost is replaced by a quadratic through its values at the middle and at points around it, by
    least squares: exact for quadratics, in any dimension, from `1 + 2 d^2` values. It is the
    functional mechanism of Zhang, Zhang, Xiao, Yang, Winslett (2012), with values in place of a
    Taylor expansion.

    Args:
        lower: corner of the box, shape `(d,)`.
        upper: opposite corner, shape `(d,)`, above `lower` in every coordinate.
        reach: distance of the points from the middle, as a share of half the width, in (0, 1].
            Near 0 the quadratic is the Taylor expansion at the middle; a wide one is farther from
            the cost near the minimiser, but more robust to noisy values and kinks.
        weight_of_products: weight of `t_i t_j` in a record's norm, where `t_i` counts 1, above 0.
            The coefficients of products, most of all coefficients in many dimensions, get noise `1
            / weight_of_products` times as large; a weight below 1 allows a smaller clip, so that
            the slope gets less noise. .05 to .2 is best where a minimiser lies near the middle of
            the box.

    Raises:
        ConfigError: an argument out of range.

    Example:
        >>> QuadraticBasis([-1.0] * 10, [1.0] * 10).size
        66
    """

    lower: Float[ArrayLike, " d"]
    upper: Float[ArrayLike, " d"]
    points: Float[ArrayLike, "n d"]
    operator: Float[ArrayLike, "m n"]
    weight_of_products: float = eqx.field(static=True)
    degree: ClassVar[int] = 2

    def __init__(
        self, lower: Corner, upper: Corner, reach: float = 0.2, weight_of_products: float = 1.0
    ) -> None:
        self.lower, self.upper = box(lower, upper)
        if not 0.0 < reach <= 1.0:
            raise ConfigError(f"reach={reach!r} must be in (0, 1]")
        if not 0.0 < weight_of_products < np.inf:
            raise ConfigError(
                f"weight_of_products={weight_of_products!r} must be above 0 and finite; 1 counts "
                "products as much as the slope"
            )
        self.weight_of_products = float(weight_of_products)
        dimension = len(self.lower)
        axes = np.eye(dimension)
        pairs = [
            (axes[i] + sign * axes[j])
            for i, j in itertools.combinations(range(dimension), 2)
            for sign in (1.0, -1.0)
        ]
        directions = np.array([*axes, *pairs])
        unit = reach * np.concatenate([np.zeros((1, dimension)), directions, -directions])
        self.points = (self.upper + self.lower) / 2.0 + (self.upper - self.lower) / 2.0 * unit
        exponents = graded(dimension, 2)
        table = np.prod(unit[:, None, :] ** exponents[None], axis=2)
        self.operator = np.linalg.pinv(table)

    def functions(self, x: Params) -> Float[Array, " m"]:
        """All functions at `x`."""
        unit = self.unitbox(x)
        first, second = np.triu_indices(self.dimension)
        return jnp.concatenate([jnp.ones(1, unit.dtype), unit, unit[first] * unit[second]])

    def weights(self, p: Numbers) -> Float[Array, " m"]:
        """1, and `weight_of_products` for products, whatever `p`."""
        products = jnp.full(self.size - self.dimension - 1, self.weight_of_products)
        return jnp.concatenate([jnp.ones(1 + self.dimension, products.dtype), products])

    def hessian(self, coefficients: Numbers) -> Float[Array, "d d"]:
        """Second derivatives, in the coordinates of `x`."""
        half = (jnp.asarray(self.upper) - jnp.asarray(self.lower)) / 2.0
        upper = (
            jnp.zeros((self.dimension, self.dimension))
            .at[np.triu_indices(self.dimension)]
            .set(jnp.asarray(coefficients)[1 + self.dimension :])
        )
        return (upper + upper.T) / jnp.outer(half, half)

    def with_hessian(self, coefficients: Numbers, hessian: Numbers) -> Float[Array, " m"]:
        """The coefficients with other second derivatives, value and gradient at the middle kept."""
        half = (jnp.asarray(self.upper) - jnp.asarray(self.lower)) / 2.0
        whole = jnp.asarray(hessian) * jnp.outer(half, half)
        parts = whole / (1.0 + jnp.eye(self.dimension))
        first = jnp.asarray(coefficients)[: 1 + self.dimension]
        return jnp.concatenate([first, parts[np.triu_indices(self.dimension)]])
