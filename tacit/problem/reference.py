"""The centralised reference: what one computer with all agents' data would find.

It sees all private data, so it belongs to simulations and never to a deployment.

* SciPy's L-BFGS-B: differentiable losses with no, l1, l2 or elastic net penalty, free or in a box.
* Clarabel through cvxpy (`tacit[convex]`): every other combination of the built-in parts.
* Proximal gradients: a user's own differentiable loss where the proximal map is exact.

Newton's method then adds the last digits wherever second derivatives exist.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import jax
import numpy as np
from jaxtyping import Float

from tacit.arguments import checked
from tacit.errors import ProblemError
from tacit.problem.composite import Composite, composite, total, value_and_gradient
from tacit.problem.constraint import Box, ConvexSet, Free
from tacit.problem.convex_cost import ConvexCost
from tacit.problem.cost import Cost
from tacit.problem.descent import proximal_gradient, quasi_newton
from tacit.problem.erm import EmpiricalRisk
from tacit.problem.losses import AbstractLinearLoss, Poisson, Squared
from tacit.problem.newton import LARGEST, Polished, polish
from tacit.problem.problem import Problem
from tacit.problem.regularisers import L1, L2, NoRegulariser

_RELATIVE = 1e-6
"""Relative difference that another machine, precision or solver may make."""

_ROUNDING = 1e-10
"""Difference over the objective elsewhere, that another order of sums may make."""


class GapKind(StrEnum):
    """How far the gap of a reference can be trusted."""

    CERTIFIED = "certified"
    SOLVER = "solver"
    ESTIMATE = "estimate"
    NONE = "none"


@dataclass(frozen=True)
class Reference:
    """A centralised solution and how far from the minimum it can be.

    Attributes:
        solution: parameters, shape `(p,)`.
        value: objective at the solution, `F(solution)`.
        gap: upper bound of `value - min F` (see `gap_kind`); infinite if unknown.
        gap_kind: "certified" (a lower bound proved from convexity at the solution), "solver" (the
            dual value that the interior-point solver reports), "estimate" (what one more Newton
            step would gain) or "none" (nothing is known, e.g. because the problem was not declared
            convex: then the solution is a stationary point).
        solver: algorithms that found it.
    """

    solution: Float[np.ndarray, " p"]
    value: float
    gap: float
    gap_kind: GapKind
    solver: str

    def of(self, problem: Problem) -> bool:
        """Whether the problem has this value at the solution, as that which was solved has.

        Args:
            problem: problem with as many parameters.
        """
        if self is vars(problem).get("_reference"):
            return True
        found = problem.value(self.solution)
        apart = abs(found - self.value)
        if apart <= _RELATIVE * max(abs(found), abs(self.value)):
            return True
        # losses that cancel or vanish are as exact as they are large elsewhere, and costs of which
        # each is a program as its solver finds them
        solved = self.gap if self.gap_kind is GapKind.SOLVER else 0.0
        return bool(apart <= max(solved, _ROUNDING * abs(problem.value(problem.start()))))


@checked(ProblemError)
def solve(problem: Problem) -> Reference:
    """Minimise the sum of all objectives with all data in one place.

    Raises:
        ProblemError: values only, a loss that no solver here accepts with this regulariser and
            constraint, no finite minimiser, or a missing package cvxpy where it is needed.

    Example:
        >>> from tacit.problem import Squared, empirical_risk
        >>> problem = empirical_risk([[[1.0]], [[1.0]]], [[1.0], [3.0]], Squared())
        >>> solve(problem).solution.round(12)
        array([2.])
    """
    if isinstance(problem.objectives, ConvexCost):
        return _by_solver(problem, problem.objectives)
    with jax.enable_x64(True):
        smooth, convex = _promises(problem)
        whole = composite(problem)
        start, bound, solver = _first_stage(problem, whole, smooth)
        polished = None
        if smooth and _can_polish(problem, whole):
            polished = polish(whole, start)
            start, solver = polished.x, f"{solver}, Newton"
            if not polished.converged:
                raise ProblemError(
                    "no minimiser was found: the objective keeps falling as the parameters grow "
                    f"(their norm reached {np.linalg.norm(start):.3g}), as for classes that a "
                    "hyperplane separates. Add a regulariser or a bounded constraint."
                )
        value = total(whole, start)
        if not np.isfinite(value):
            raise ProblemError("the objective is not finite at the best point that was found")
        gap, kind = _gap(whole, start, value, bound, polished) if convex else (np.inf, GapKind.NONE)
        rounding = np.finfo(np.float64).eps * max(abs(value), np.finfo(np.float64).tiny)
        return Reference(start, value, float(max(gap, rounding)), kind, solver)


def _by_solver(problem: Problem, costs: ConvexCost) -> Reference:
    """All costs in one program."""
    from tacit.problem.conic import interior_point

    point, bound = interior_point(problem, costs)
    value = problem.value(point)
    # the costs are evaluated one by one, each to the solver's accuracy
    gap = max(value - bound, 1e-8 * max(abs(value), 1.0))
    return Reference(point, value, gap, GapKind.SOLVER, "Clarabel (cvxpy)")


def _promises(problem: Problem) -> tuple[bool, bool]:
    """Whether all objectives are differentiable, and convex."""
    objectives = problem.objectives
    if isinstance(objectives, EmpiricalRisk):
        return objectives.loss.smooth, objectives.loss.convex
    if isinstance(objectives, Cost):
        return objectives.smooth, objectives.convex
    raise ProblemError(
        f"this problem ({type(objectives).__name__}) gives values only, so there is no reference "
        "solution; compare with a problem whose losses are written out, or with your own solution: "
        "reference=[...]"
    )


def _first_stage(problem: Problem, whole: Composite, smooth: bool) -> tuple[np.ndarray, float, str]:
    """A first solution, a lower bound of the minimum (or -inf), and the solver's name."""
    start, objectives = np.asarray(problem.x0, dtype=np.float64), problem.objectives
    split = isinstance(whole.rest.regulariser, NoRegulariser | L1)
    if smooth and split and isinstance(problem.constraint, Free | Box):
        return quasi_newton(whole, start), -np.inf, "L-BFGS-B (SciPy)"
    if isinstance(objectives, EmpiricalRisk) and isinstance(objectives.loss, AbstractLinearLoss):
        from tacit.problem.conic import interior_point

        point, bound = interior_point(problem, objectives)
        return point, bound, "Clarabel (cvxpy)"
    if smooth and whole.rest.exact:
        return proximal_gradient(whole, start), -np.inf, "proximal gradient"
    what = "is not differentiable" if not smooth else "has no exact proximal map here"
    raise ProblemError(
        f"no reference solver takes a loss of your own that {what} with "
        f"{type(problem.regulariser).__name__} and {type(problem.constraint).__name__}; "
        "use a built-in loss or another regulariser or constraint"
    )


def _can_polish(problem: Problem, whole: Composite) -> bool:
    size = problem.dimension * problem.objectives.units * problem.agents
    projected = isinstance(problem.constraint, ConvexSet)
    return whole.rest.exact and not projected and size <= LARGEST and problem.dimension <= 1000


def _gap(
    whole: Composite, x: np.ndarray, value: float, bound: float, polished: Polished | None
) -> tuple[float, GapKind]:
    """The smallest known gap; a proved one takes precedence over an estimate."""
    known = [(value - _lower_bound(whole, x), GapKind.CERTIFIED), (value - bound, GapKind.SOLVER)]
    if polished is not None and _quadratic(whole):
        known.append((polished.decrease, GapKind.CERTIFIED))
    smallest = min(known, key=lambda pair: pair[0])
    if np.isfinite(smallest[0]):
        return smallest
    return (np.inf, GapKind.NONE) if polished is None else (polished.decrease, GapKind.ESTIMATE)


def _not_negative(whole: Composite) -> bool:
    """Whether every loss is known to be at least 0."""
    risk = whole.objectives
    return (
        isinstance(risk, EmpiricalRisk)
        and isinstance(risk.loss, AbstractLinearLoss)
        and not isinstance(risk.loss, Poisson)
    )


def _quadratic(whole: Composite) -> bool:
    """Whether `F` is a quadratic function without constraint: Newton's decrease is then exact."""
    risk = whole.objectives
    return (
        isinstance(risk, EmpiricalRisk)
        and isinstance(risk.loss, Squared)
        and isinstance(whole.rest.regulariser, NoRegulariser)
        and isinstance(whole.rest.constraint, Free)
    )


def _lower_bound(whole: Composite, x: np.ndarray) -> float:
    """A lower bound over all feasible points, from convexity of the losses at `x`.

    With `g` the gradient of the losses, `sum_k f_k(y) >= sum_k f_k(x) + g @ (y - x)`; the right
    side plus the regulariser has a minimum over a box that is known coordinate by coordinate.
    """
    constraint, rest, ridge = whole.rest.constraint, whole.rest.regulariser, whole.ridge
    if not isinstance(constraint, Free | Box) or not isinstance(rest, NoRegulariser | L1):
        return -np.inf
    value, gradient = (np.asarray(each) for each in value_and_gradient(whole, x))
    slope = gradient - np.asarray(ridge.gradient(x))
    linear, quadratic = np.zeros_like(x), np.zeros_like(x)
    if isinstance(rest, L1):
        linear[:] = rest.strength
        linear[list(rest.unpenalised)] = 0.0
    if isinstance(ridge, L2):
        quadratic[:] = ridge.strength
        quadratic[list(ridge.unpenalised)] = 0.0
    lower, upper = np.full_like(x, -np.inf), np.full_like(x, np.inf)
    if _not_negative(whole):
        # linear |y| <= F(y), and no minimiser has F above the value reached here.
        reach = value + float(rest.value(x))
        upper = np.divide(reach, linear, out=upper, where=linear > 0)
        lower = -upper
    if isinstance(constraint, Box):
        lower, upper = np.maximum(lower, constraint.lower), np.minimum(upper, constraint.upper)
    lowest = _lowest(slope, linear, quadratic, lower, upper)
    return float(value - ridge.value(x) - slope @ x + lowest)


def _lowest(
    slope: np.ndarray,
    linear: np.ndarray,
    quadratic: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
) -> float:
    """`min sum_i slope_i y_i + linear_i |y_i| + quadratic_i y_i^2` over `lower <= y <= upper`."""
    pull = -np.sign(slope) * np.maximum(np.abs(slope) - linear, 0.0)
    far = np.where(pull > 0, np.inf, np.where(pull < 0, -np.inf, 0.0))
    curved = quadratic > 0
    free = np.where(curved, pull / (2.0 * np.where(curved, quadratic, 1.0)), far)
    best = np.clip(free, lower, upper)
    if not np.isfinite(best).all():
        return -np.inf
    return float(np.sum(slope * best + linear * np.abs(best) + quadratic * best**2))
