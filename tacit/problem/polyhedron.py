"""Rows of linear inequalities and equations, and the nearest point that satisfies them.

That point is found by least distance programming (Lawson and Hanson 1974, Solving least squares
problems, chapter 23): nonnegative least squares of its dual.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Float

from tacit.errors import ProblemError

Rows: TypeAlias = tuple[tuple[tuple[float, ...], ...], tuple[float, ...]]
"""A matrix and a vector with one entry per row, in a form that can be compared."""

_INFEASIBLE = 2
"""Status of SciPy's linear programs."""


@dataclass(frozen=True)
class LinearRows:
    """`G x <= h`, and `A x = b` if there are equations; equal ones compile once.

    Attributes:
        inequalities: `G` and `h`.
        equations: `A` and `b`, or `None`.
    """

    inequalities: Rows
    equations: Rows | None

    def __call__(self, x: Any) -> list[Any]:
        """The constraints on a cvxpy variable."""
        matrix, bound = map(np.asarray, self.inequalities)
        found = [matrix @ x <= bound]
        if self.equations is not None:
            matrix, target = map(np.asarray, self.equations)
            found.append(matrix @ x == target)
        return found

    @property
    def dimension(self) -> int:
        """Number of parameters."""
        return len(self.inequalities[0][0])

    def empty(self) -> bool:
        """Whether a linear program finds that there is no point inside."""
        from scipy.optimize import linprog

        matrix, bound = self.inequalities
        rows, target = self.equations or (None, None)
        zero = np.zeros(self.dimension)
        found = linprog(zero, matrix, bound, rows, target, bounds=(None, None))
        return found.status == _INFEASIBLE

    def violation(self, x: Float[np.ndarray, " p"]) -> float:
        """Largest violation of a row at `x`."""
        matrix, bound = self._together
        return float(np.max(matrix @ x - bound, initial=0.0))

    def nearest(self, v: Float[np.ndarray, " p"]) -> Float[np.ndarray, " p"]:
        """The nearest point to `v`; NaN where `v` is not finite.

        It is `v + z`, `z` the shortest with `-G z >= G v - h`. By duality `z` follows from the
        residual of a nonnegative least squares problem, which an active-set method solves exactly
        but for rounding, however far `v` is.

        Raises:
            ProblemError: rows that cannot be told apart from ones without a solution.
        """
        from scipy.optimize import nnls

        if not np.isfinite(v).all():
            return np.full_like(v, np.nan)  # the run reports its divergence
        matrix, bound = self._together
        over = matrix @ v - bound
        if not (over > 0.0).any():
            return v
        unit = np.abs(over).max()
        whole, wanted = np.vstack([-matrix.T, over / unit]), np.append(np.zeros_like(v), 1.0)
        try:
            weights, _ = nnls(whole, wanted)
        except RuntimeError as error:
            raise self._lost(v, str(error)) from error
        rest = whole @ weights - wanted
        if not rest[-1] < 0.0:
            raise self._lost(v, "its rows are within rounding of having no solution")
        return np.asarray(v - unit * rest[:-1] / rest[-1])

    def _lost(self, v: np.ndarray, why: str) -> ProblemError:
        return ProblemError(
            f"polyhedron: the nearest point to one of size {np.abs(v).max():.3g} was not found "
            f"({why}); scale the rows of matrix to similar lengths, or leave rows out"
        )

    @cached_property
    def _together(self) -> tuple[np.ndarray, np.ndarray]:
        """All rows as inequalities, an equation as two."""
        matrix, bound = map(np.asarray, self.inequalities)
        if self.equations is None:
            return matrix, bound
        equal, target = map(np.asarray, self.equations)
        return np.vstack([matrix, equal, -equal]), np.concatenate([bound, target, -target])


def rows(name: str, matrix: Any, vector_name: str, vector: Any) -> Rows:
    """A matrix and a vector of finite numbers, with one entry per row.

    Raises:
        ProblemError: shapes that do not match, or numbers that are not finite.
    """
    matrix, vector = np.asarray(matrix, np.float64), np.asarray(vector, np.float64)
    if matrix.ndim != 2 or not matrix.size or vector.shape != matrix.shape[:1]:
        raise ProblemError(
            f"polyhedron: {name} has shape {matrix.shape} and {vector_name} {vector.shape}; they "
            "must be (m, p) and (m,)"
        )
    if not (np.isfinite(matrix).all() and np.isfinite(vector).all()):
        raise ProblemError(f"polyhedron: {name} and {vector_name} must be finite numbers")
    return tuple(map(tuple, matrix.tolist())), tuple(vector.tolist())
