"""Public convex sets that constrain the parameters, with their projections."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, ArrayLike, Float

from tacit.arguments import checked
from tacit.errors import ProblemError
from tacit.problem.callback import call_host
from tacit.problem.polyhedron import LinearRows, rows
from tacit.problem.projection import Builder, project_onto, violation_of
from tacit.ranges import Finite, Listed, Numbers, One, Point, Range, Table
from tacit.types import Params

Ends: TypeAlias = Annotated[Numbers, Range(infinite=True, unset=True, axes=8)]
"""Numbers whose shape is checked where they are used."""


def _numbers(value: Any) -> Any:
    return value if isinstance(value, jax.Array) else np.asarray(value, dtype=np.float64)


@checked(ProblemError)
class AbstractConstraint(eqx.Module):
    """A non-empty closed convex set.

    Attributes:
        exact: whether `project` is exact up to rounding. A solver's projection lengthens distances
            that are shorter than its error, so no bound on a private answer can rest on it.
    """

    exact: ClassVar[bool] = True

    @abc.abstractmethod
    def project(self, v: Params) -> Float[Array, " p"]:
        """The nearest point of the set."""

    @abc.abstractmethod
    def violation(self, x: np.ndarray) -> float:
        """Distance by which `x` misses the set, in the units of the violated bound; 0 inside."""

    def check(self, dimension: int) -> None:
        """Refuse a set that is empty or has another dimension."""
        return None

    def contains(self, x: Listed, tolerance: float = 1e-9) -> bool:
        """Whether `x` is in the set, up to `tolerance`."""
        return self.violation(np.asarray(x, dtype=np.float64)) <= tolerance


class Free(AbstractConstraint):
    """No constraint."""

    def project(self, v: Params) -> Float[Array, " p"]:
        """`v`."""
        return jnp.asarray(v)

    def violation(self, x: np.ndarray) -> float:
        """0."""
        return 0.0


FREE = Free()
"""Default wherever a constraint is taken."""


class Box(AbstractConstraint):
    """`lower <= x <= upper`, coordinate by coordinate.

    Args:
        lower: lower bound, one number or one per coordinate; may be -inf.
        upper: upper bound, one number or one per coordinate; may be inf.

    Example:
        >>> print(Box(0.0, 1.0).project(np.array([-2.0, 0.5, 3.0])))
        [0.  0.5 1. ]
    """

    lower: Ends = eqx.field(converter=_numbers)
    upper: Ends = eqx.field(converter=_numbers)

    def __check_init__(self) -> None:
        if isinstance(self.lower, Tracer) or isinstance(self.upper, Tracer):
            return
        if np.ndim(self.lower) > 1 or np.ndim(self.upper) > 1:
            raise ProblemError("box: lower and upper must be one number or one a coordinate")
        sizes = np.size(self.lower), np.size(self.upper)
        if np.ndim(self.lower) == np.ndim(self.upper) == 1 and sizes[0] != sizes[1]:
            raise ProblemError(f"box: lower has {sizes[0]} entries and upper has {sizes[1]}")
        lower, upper = np.atleast_1d(*np.broadcast_arrays(self.lower, self.upper))
        wrong = ~((lower <= upper) & (lower < np.inf) & (upper > -np.inf))
        if wrong.any():
            index = int(np.argmax(wrong))
            raise ProblemError(
                f"box: lower={lower[index]:g} and upper={upper[index]:g} at coordinate {index} "
                "leave no point; lower must not exceed upper"
            )

    def project(self, v: Params) -> Float[Array, " p"]:
        """Each coordinate clipped."""
        return jnp.clip(jnp.asarray(v), self.lower, self.upper)

    def violation(self, x: np.ndarray) -> float:
        """Largest distance of a coordinate from its interval."""
        return float(np.max(np.maximum(self.lower - x, x - self.upper), initial=0.0))

    def check(self, dimension: int) -> None:
        """Refuse bounds whose length differs from the number of parameters."""
        for name, bound in (("lower", self.lower), ("upper", self.upper)):
            _length("box", name, bound, dimension)


class Ball(AbstractConstraint):
    """`||x - centre|| <= radius`.

    Source of the l1 projection: Duchi, Shalev-Shwartz, Singer, Chandra (2008), Efficient
    projections onto the l1-ball, figure 1.

    Args:
        radius: radius of the ball, positive.
        centre: centre of the ball, shape `(p,)`; the origin by default.
        order: order of the norm, 1 or 2.
    """

    radius: One = eqx.field(converter=_numbers)
    centre: Finite | None = eqx.field(
        default=None, converter=lambda centre: None if centre is None else _numbers(centre)
    )
    order: int = eqx.field(static=True, default=2)

    def __check_init__(self) -> None:
        if self.order not in (1, 2):
            raise ProblemError(f"ball: order={self.order} must be 1 or 2; for infinity use a box")
        _positive("ball", "radius", self.radius)

    def project(self, v: Params) -> Float[Array, " p"]:
        """Towards the centre (order 2), or soft thresholding at the right level (order 1)."""
        centre = 0.0 if self.centre is None else jnp.asarray(self.centre)
        away = jnp.asarray(v) - centre
        if self.order == 2:
            squared = jnp.sum(jnp.square(away))
            outside = squared > jnp.square(self.radius)
            norm = jnp.sqrt(jnp.where(outside, squared, 1.0))
            return centre + away * jnp.where(outside, self.radius / norm, 1.0)
        inside = jnp.sum(jnp.abs(away)) <= self.radius
        on_surface = jnp.sign(away) * _onto_simplex(jnp.abs(away), self.radius)
        return centre + jnp.where(inside, away, on_surface)

    def violation(self, x: np.ndarray) -> float:
        """Distance from the centre beyond the radius."""
        away = x if self.centre is None else x - self.centre
        return float(max(np.linalg.norm(away, ord=self.order) - self.radius, 0.0))

    def check(self, dimension: int) -> None:
        """Refuse a centre whose length differs from the number of parameters."""
        if self.centre is not None:
            _length("ball", "centre", self.centre, dimension)


class Simplex(AbstractConstraint):
    """`x >= 0` and `sum x = total`.

    Args:
        total: sum of the coordinates, positive; 1 for probabilities.

    Example:
        >>> print(Simplex().project(np.array([0.5, 1.0, -1.0])))
        [0.25 0.75 0.  ]
    """

    total: One = eqx.field(default=1.0, converter=_numbers)

    def __check_init__(self) -> None:
        _positive("simplex", "total", self.total)

    def project(self, v: Params) -> Float[Array, " p"]:
        """`max(v - tau, 0)` with the `tau` that gives the total."""
        return _onto_simplex(jnp.asarray(v), self.total)

    def violation(self, x: np.ndarray) -> float:
        """The larger of the most negative coordinate and the error of the total."""
        return float(max(np.max(-x, initial=0.0), abs(np.sum(x) - self.total)))


class Affine(AbstractConstraint):
    """`A x = b`. Rows may be redundant, but must not contradict each other.

    Args:
        matrix: `A`, shape `(m, p)`.
        target: `b`, shape `(m,)`.

    Raises:
        ProblemError: shapes that do not match, or no solution.
    """

    matrix: Annotated[Numbers, Range(axes=2)] = eqx.field(converter=_numbers)
    target: Finite = eqx.field(converter=_numbers)
    inverse: Float[ArrayLike, "p m"]

    def __init__(self, matrix: Table, target: Point) -> None:
        matrix, target = np.asarray(matrix, np.float64), np.asarray(target, np.float64)
        if matrix.ndim != 2 or target.shape != matrix.shape[:1]:
            raise ProblemError(
                f"affine: matrix has shape {matrix.shape} and target {target.shape}; "
                "they must be (m, p) and (m,)"
            )
        if not (np.isfinite(matrix).all() and np.isfinite(target).all()):
            raise ProblemError("affine: matrix and target must be finite numbers")
        self.matrix, self.target = matrix, target
        self.inverse = np.linalg.pinv(matrix)
        miss = np.abs(matrix @ (self.inverse @ target) - target)
        if np.max(miss, initial=0.0) > 1e-8 * (1.0 + np.max(np.abs(target), initial=0.0)):
            row = int(np.argmax(miss))
            raise ProblemError(
                "affine: no x satisfies all rows of A x = b; "
                f"row {row} is missed by {miss[row]:.3g}"
            )

    def project(self, v: Params) -> Float[Array, " p"]:
        """`v - A^+ (A v - b)`."""
        v = jnp.asarray(v)
        return v - self.inverse @ (self.matrix @ v - self.target)

    def violation(self, x: np.ndarray) -> float:
        """Largest residual of a row."""
        return float(np.max(np.abs(self.matrix @ x - self.target), initial=0.0))

    def check(self, dimension: int) -> None:
        """Refuse a matrix whose number of columns differs from the number of parameters."""
        if np.shape(self.matrix)[1] != dimension:
            raise ProblemError(
                f"affine: matrix has {np.shape(self.matrix)[1]} columns, "
                f"but the problem has {dimension} parameters"
            )


class ConvexSet(AbstractConstraint):
    """Any convex set that cvxpy can describe: inequalities `g(x) <= 0` and equations `A x = b`.

    Each projection solves a small convex program on the host, and is not exact: on a half disc it
    was wrong by up to 7e-5, for points up to 300 away. The built-in sets are exact and thousands of
    times faster. Methods that project within a private query (PDOP, PVP) refuse it. Needs
    `tacit[convex]`.

    Args:
        builder: function from a cvxpy variable of shape `(p,)` to a list of cvxpy constraints;
            define it once and keep it, because every new lambda compiles again.

    Example:
        >>> def half_disc(x):
        ...     import cvxpy
        ...     return [cvxpy.sum_squares(x) <= 1.0, x[0] >= 0.0]
        >>> bool(ConvexSet(half_disc).contains(np.array([0.5, 0.5])))
        True
    """

    builder: Builder = eqx.field(static=True)
    exact: ClassVar[bool] = False

    def project(self, v: Params) -> Float[Array, " p"]:
        """The solution of `min ||x - v||^2` over the set."""
        return call_host(_Projection(self.builder), np.shape(v), v)

    def violation(self, x: np.ndarray) -> float:
        """Largest violation of one of its constraints."""
        return violation_of(self.builder, x)

    def check(self, dimension: int) -> None:
        """Refuse a set that cvxpy cannot handle, and an empty one."""
        project_onto(self.builder, np.zeros(dimension))


class Polyhedron(ConvexSet):
    """`G x <= h`, and `A x = b` if equations are given.

    Each projection solves a small quadratic program on the host by active sets, exactly but for
    rounding, and without cvxpy. A box, a simplex and equations alone have classes of their own,
    which are far faster.

    Args:
        matrix: `G`, shape `(m, p)`.
        bound: `h`, shape `(m,)`.
        equations: `A`, shape `(k, p)`; none by default.
        target: `b`, shape `(k,)`; none by default.

    Raises:
        ProblemError: shapes that do not match, numbers that are not finite, or no point inside.

    Example:
        >>> capped = Polyhedron([[1.0, 1.0], [-1.0, 0.0]], [1.0, 0.0])
        >>> np.round(capped.project(np.array([2.0, 2.0])), 6).tolist()
        [0.5, 0.5]
    """

    rows: LinearRows = eqx.field(static=True)

    def __init__(
        self,
        matrix: Table,
        bound: Point,
        equations: Table | None = None,
        target: Point | None = None,
    ) -> None:
        if (equations is None) != (target is None):
            raise ProblemError("polyhedron: give equations and target, or neither")
        inequalities = rows("matrix", matrix, "bound", bound)
        equal = None if equations is None else rows("equations", equations, "target", target)
        if equal is not None and len(equal[0][0]) != len(inequalities[0][0]):
            raise ProblemError(
                f"polyhedron: matrix has {len(inequalities[0][0])} columns and equations "
                f"{len(equal[0][0])}; both need one for each parameter"
            )
        self.rows = LinearRows(inequalities, equal)
        self.builder = self.rows
        if self.rows.empty():
            raise ProblemError(
                "polyhedron: no point satisfies all rows of matrix x <= bound"
                + ("" if equal is None else " and equations x = target")
                + "; correct the signs, or leave rows out"
            )

    def project(self, v: Params) -> Float[Array, " p"]:
        """The nearest point."""
        return call_host(_Nearest(self.rows), np.shape(v), v)

    def violation(self, x: np.ndarray) -> float:
        """Largest violation of a row."""
        return self.rows.violation(x)

    def check(self, dimension: int) -> None:
        """Refuse a matrix whose number of columns differs from the number of parameters."""
        if self.rows.dimension != dimension:
            raise ProblemError(
                f"polyhedron: matrix has {self.rows.dimension} columns, but the problem has "
                f"{dimension} parameters"
            )


@dataclass(frozen=True)
class _Nearest:
    """Equal to any other projection onto the same rows, so that it compiles once."""

    rows: LinearRows

    def __call__(self, v: np.ndarray) -> np.ndarray:
        return self.rows.nearest(v)


@dataclass(frozen=True)
class _Projection:
    """Equal to any other projection onto the same set, so that it compiles once."""

    builder: Builder

    def __call__(self, v: np.ndarray) -> np.ndarray:
        return project_onto(self.builder, v)


CONSTRAINTS: dict[str, type[AbstractConstraint]] = {
    "free": Free,
    "box": Box,
    "ball": Ball,
    "simplex": Simplex,
    "affine": Affine,
    "polyhedron": Polyhedron,
}
"""The constraints that a study file can name; any other `ConvexSet` needs Python."""


def _onto_simplex(v: Array, total: Any) -> Array:
    """Projection onto `x >= 0, sum x = total`, by sorting (Duchi et al. 2008, figure 1)."""
    ordered = jnp.flip(jnp.sort(v))
    excess = (jnp.cumsum(ordered) - total) / jnp.arange(1, v.shape[0] + 1, dtype=v.dtype)
    active = jnp.sum(ordered > excess)
    return jnp.maximum(v - excess[active - 1], 0.0)


def _positive(constraint: str, name: str, value: Any) -> None:
    if isinstance(value, Tracer):
        return
    if np.ndim(value) > 0 or not 0.0 < float(value) < np.inf:
        raise ProblemError(f"{constraint}: {name}={value} must be one positive finite number")


def _length(constraint: str, name: str, value: Any, dimension: int) -> None:
    if np.ndim(value) > 1 or (np.ndim(value) == 1 and len(value) != dimension):
        raise ProblemError(
            f"{constraint}: {name} has shape {np.shape(value)}, "
            f"but the problem has {dimension} parameters"
        )
