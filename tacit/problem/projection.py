"""Projection onto a convex set described in cvxpy, set up once and solved many times."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tacit.errors import ProblemError

Builder = Callable[..., Sequence[Any]]
"""Takes a cvxpy variable of shape `(p,)`, returns the list of its cvxpy constraints."""

TIGHT = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}
"""Settings of Clarabel; it reports the accuracy it reached where it cannot reach these."""


def cvxpy() -> Any:
    """The package cvxpy, or an error that says how to install it."""
    try:
        import cvxpy
    except ImportError as error:
        raise ProblemError(
            "this needs the package cvxpy, which is not installed: pip install 'tacit[convex]'"
        ) from error
    return cvxpy


def project_onto(builder: Builder, v: np.ndarray) -> np.ndarray:
    """The nearest point to `v` of the set that `builder` describes.

    Raises:
        ProblemError: an empty set, one that is not convex, or a solver that gave up.
    """
    return _program(builder, v.shape[0]).nearest(v)


def violation_of(builder: Builder, x: np.ndarray) -> float:
    """Largest violation at `x` of a constraint of the set that `builder` describes."""
    return _program(builder, x.shape[0]).violation(x)


class _Program:
    """`min ||x - v||^2` over the set, compiled once with `v` as a parameter."""

    def __init__(self, builder: Builder, dimension: int) -> None:
        cp = cvxpy()
        self.name = getattr(builder, "__name__", "ConvexSet")
        self.lock = threading.Lock()
        self.variable = cp.Variable(dimension)
        self.point = cp.Parameter(dimension)
        try:
            self.constraints = list(builder(self.variable))
            objective = cp.Minimize(cp.sum_squares(self.variable - self.point))
            self.problem = cp.Problem(objective, self.constraints)
        except Exception as error:
            raise ProblemError(
                f"{self.name}: could not build the set for {dimension} parameters: {error}"
            ) from error
        for index, constraint in enumerate(self.constraints):
            if not constraint.is_dcp():
                raise ProblemError(
                    f"{self.name}: cvxpy cannot see that constraint {index} is convex: {constraint}"
                )

    def nearest(self, v: np.ndarray) -> np.ndarray:
        if not np.isfinite(v).all():
            return np.full_like(v, np.nan)  # divergence is the run's to report
        cp = cvxpy()
        with self.lock:
            self.point.value = v
            try:
                self.problem.solve(solver=cp.CLARABEL, **TIGHT)
            except cp.SolverError as error:
                raise ProblemError(f"{self.name}: the projection failed: {error}") from error
            if self.problem.status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
                raise ProblemError(
                    f"{self.name}: the projection ended with status {self.problem.status!r}; "
                    "an infeasible set has no point that satisfies all its constraints"
                )
            return np.array(self.variable.value, dtype=np.float64)

    def violation(self, x: np.ndarray) -> float:
        with self.lock:
            self.variable.value = x
            misses = [np.max(np.abs(each.violation()), initial=0.0) for each in self.constraints]
        return float(max(misses, default=0.0))


@functools.lru_cache(maxsize=32)
def _program(builder: Builder, dimension: int) -> _Program:
    return _Program(builder, dimension)
