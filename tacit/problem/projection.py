"""Projection onto a convex set described in cvxpy, set up once and solved many times."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tacit.checks import shown
from tacit.errors import ProblemError
from tacit.problem.takes import check_takes

Builder = Callable[..., Sequence[Any]]
"""Takes a cvxpy variable of shape `(p,)`, returns the list of its cvxpy constraints."""

TIGHT = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}
"""Settings of Clarabel; it reports the accuracy reached where it cannot meet these."""


def cvxpy() -> Any:
    """The package cvxpy, or an error that says how to install it."""
    try:
        import cvxpy
    except ImportError as error:
        raise ProblemError(
            "this needs the package cvxpy, which is not installed: pip install 'tacit[convex]'"
        ) from error
    return cvxpy


@dataclass(frozen=True)
class Answer:
    """The result that Clarabel found.

    Attributes:
        status: status as named by cvxpy.
        point: value of the variable, or `None` without a solution.
        bound: dual value, a lower bound of the minimum up to the solver's tolerances.
        value: the minimum.
        duals: multipliers, by the number that cvxpy gives each constraint.
    """

    status: str
    point: np.ndarray | None
    bound: float
    value: float = float("inf")
    duals: Mapping[int, Any] = field(default_factory=dict)


def clarabel(program: Any, variable: Any) -> Answer:
    """Solve a cvxpy program as accurately as Clarabel can.

    Raises:
        ProblemError: a program that cvxpy does not recognise as convex, or a solver failure.
    """
    cp = cvxpy()
    try:
        data, chain, inverse = program.get_problem_data(cp.CLARABEL, solver_opts=dict(TIGHT))
        raw = chain.solve_via_data(program, data, solver_opts=dict(TIGHT))
    except cp.error.DCPError as error:
        raise ProblemError(f"cvxpy cannot see that the problem is convex: {error}") from error
    except cp.SolverError as error:
        raise ProblemError(f"the solver failed: {error}") from error
    solution = chain.invert(raw, inverse)
    point = solution.primal_vars.get(variable.id) if solution.primal_vars else None
    if point is None:
        return Answer(solution.status, None, -np.inf)
    bound = solution.opt_val + raw.obj_val_dual - raw.obj_val
    point = np.reshape(np.asarray(point, dtype=np.float64), variable.shape)
    value = float(solution.opt_val)
    return Answer(solution.status, point, float(bound), value, dict(solution.dual_vars))


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
        check_takes(self.name, builder, x="a cvxpy variable, shape (p,)")
        try:
            found: Any = builder(self.variable)
            self.constraints = list(found) if isinstance(found, Iterable) else [found]
        except Exception as error:
            raise ProblemError(
                f"{self.name}: could not build the set for {dimension} parameters: {error}"
            ) from error
        if not (
            isinstance(found, Iterable)
            and all(isinstance(each, cp.Constraint) for each in self.constraints)
        ):
            raise ProblemError(
                f"{self.name}: the function of the set returned {shown(found)}; it must return a "
                "list of cvxpy constraints and of nothing else, such as [x >= 0.0, x[0] <= 1.0]"
            )
        objective = cp.Minimize(cp.sum_squares(self.variable - self.point))
        self.problem = cp.Problem(objective, self.constraints)
        for index, constraint in enumerate(self.constraints):
            if not constraint.is_dcp():
                raise ProblemError(
                    f"{self.name}: cvxpy cannot see that constraint {index} is convex: "
                    f"{constraint}; write it by the rules of disciplined convex programming "
                    "(dcp.stanford.edu), or leave it out"
                )

    def nearest(self, v: np.ndarray) -> np.ndarray:
        if not np.isfinite(v).all():
            return np.full_like(v, np.nan)  # the run reports its divergence
        with self.lock:
            self.point.value = v
            answer = clarabel(self.problem, self.variable)
        if answer.point is None:
            raise ProblemError(
                f"{self.name}: the projection ended with status {answer.status!r}; "
                "an infeasible set has no point that satisfies all its constraints"
            )
        return answer.point

    def violation(self, x: np.ndarray) -> float:
        with self.lock:
            self.variable.value = x
            misses = [np.max(np.abs(each.violation()), initial=0.0) for each in self.constraints]
        return float(max(misses, default=0.0))


@functools.lru_cache(maxsize=32)
def _program(builder: Builder, dimension: int) -> _Program:
    return _Program(builder, dimension)
