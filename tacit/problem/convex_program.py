"""One agent's cost in cvxpy: what a user's function describes, and what its solver finds."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from tacit import checks
from tacit.errors import ProblemError
from tacit.problem.answers import place
from tacit.problem.projection import Answer, clarabel, cvxpy
from tacit.problem.takes import check_takes


class Program:
    """One agent's cost: at a fixed point, and with a quadratic around one.

    Args:
        build: `(x, agent) -> cost`, or `(cost, constraints)`.
        agent: number of the agent.
        dimension: number of parameters.

    Raises:
        ProblemError: a cost that cannot be taken, with the number of the agent.
    """

    def __init__(self, build: Callable[..., Any], agent: int, dimension: int) -> None:
        cp = cvxpy()
        self._agent, self._lock = agent, threading.Lock()
        self._x = cp.Variable(dimension, name="x")
        self._at, self._root = cp.Parameter(dimension), cp.Parameter(pos=True)
        self._centre = cp.Parameter(dimension)
        cost, constraints = described(build, self._x, agent)
        self._constraints = constraints
        self._fixed = self._x == self._at
        _check(cp.Problem(cp.Minimize(cost), constraints), self._x, agent)
        self._value = cp.Problem(cp.Minimize(cost), [*constraints, self._fixed])
        near = cp.sum_squares(self._root * self._x - self._centre) / 2
        self._prox = cp.Problem(cp.Minimize(cost + near), constraints)

    def value(self, x: np.ndarray) -> np.ndarray:
        """The cost at `x`, shape `(1,)`; NaN where `x` is not finite.

        Raises:
            ProblemError: it is not finite at `x`.
        """
        if not np.isfinite(x).all():
            return np.full(1, np.nan)  # the run reports its divergence
        return np.array([self._solved(x, "is infinite").value])

    def measured(self, x: np.ndarray) -> np.ndarray:
        """As `value`, but infinite where the constraints are not met."""
        if not np.isfinite(x).all():
            return np.full(1, np.nan)
        return np.array([self._at_point(x).value])

    def slope(self, x: np.ndarray) -> np.ndarray:
        """A subgradient at `x`; NaN where `x` is not finite.

        Raises:
            ProblemError: the cost is not finite at `x`.
        """
        if not np.isfinite(x).all():
            return np.full(len(x), np.nan)
        # moving the fixed point by one changes the minimum by minus the multiplier
        return -np.reshape(self._solved(x).duals[self._fixed.id], -1)

    def duals(self, x: np.ndarray) -> list[np.ndarray]:
        """The multipliers of the constraints at `x`.

        Raises:
            ProblemError: the cost is not finite at `x`.
        """
        found = self._solved(x).duals
        return [np.asarray(found[each.id]) for each in self._constraints]

    def prox(self, v: np.ndarray, modulus: float) -> np.ndarray:
        """`argmin_x f(x) + modulus/2 ||x - v||^2`.

        Raises:
            ProblemError: there is none.
        """
        if not (np.isfinite(v).all() and np.isfinite(modulus)):
            return np.full(len(v), np.nan)
        with self._lock:
            self._root.value = modulus**0.5
            self._centre.value = modulus**0.5 * v
            answer = clarabel(self._prox, self._x)
        if answer.point is None:
            raise ProblemError(
                f"the cost of agent {self._agent} has no minimiser near a point: the solver ended "
                f"with status {answer.status!r}; check that some x meets all its constraints"
            )
        return answer.point

    def _at_point(self, x: np.ndarray) -> Answer:
        with self._lock:
            self._at.value = x
            answer = clarabel(self._value, self._x)
        if answer.status in (cvxpy().UNBOUNDED, cvxpy().UNBOUNDED_INACCURATE):
            raise ProblemError(
                f"the cost of agent {self._agent} has no lower bound in the agent's own variables; "
                "bound them"
            )
        return answer

    def _solved(self, x: np.ndarray, lacks: str = "has no slope") -> Answer:
        answer = self._at_point(x)
        if answer.point is None:
            raise ProblemError(
                f"the cost of agent {self._agent} {lacks} at {place(x)}, because its constraints "
                f"are not met there (status {answer.status!r}); give them to all agents as "
                "constraint= instead, or take ADMM, which asks for proximal points only"
            )
        return answer


def described(build: Callable[..., Any], x: Any, agent: int) -> tuple[Any, list[Any]]:
    """A user's cost and constraints in a cvxpy variable.

    Args:
        build: `(x, agent) -> cost`, or `(cost, constraints)`.
        x: cvxpy variable.
        agent: number of the agent.

    Raises:
        ProblemError: a function that takes other arguments, raises, or returns something else.
    """
    cp = cvxpy()
    check_takes(
        "the function of the costs",
        build,
        x="a cvxpy variable, shape (p,)",
        agent="the number of the agent, from 0",
    )
    try:
        found = build(x, agent)
    except Exception as error:
        raise ProblemError(
            f"the cost of agent {agent} could not be built for {x.size} parameters: "
            f"{type(error).__name__}: {error}"
        ) from error
    pair = isinstance(found, tuple) and len(found) == 2
    cost: Any = found[0] if pair else found
    constraints: Any = found[1] if pair else []
    if isinstance(cost, cp.Problem | cp.Minimize | cp.Maximize):
        raise ProblemError(
            f"the cost of agent {agent} is {checks.shown(cost)}; return the expression to be "
            "minimised itself, and constraints in a list behind it: cost, [x >= 0]"
        )
    if isinstance(constraints, cp.Constraint) or constraints is None:
        raise ProblemError(
            f"the cost of agent {agent}: its constraints are {checks.shown(constraints)}; put them "
            "into a list: cost, [x >= 0], or leave it out if there are none"
        )
    good = isinstance(cost, cp.Expression) and cost.size == 1
    listed = isinstance(constraints, list | tuple)
    if not (good and listed and all(isinstance(each, cp.Constraint) for each in constraints)):
        raise ProblemError(
            f"the cost of agent {agent}: the function must return a scalar cvxpy expression, or "
            "one and a list of cvxpy constraints"
        )
    return cost, list(constraints)


def _check(program: Any, x: Any, agent: int) -> None:
    """Refuse what no solver here could take, or what was not meant."""
    if program.is_mixed_integer():
        raise ProblemError(
            f"the cost of agent {agent} has variables that are whole numbers (boolean or integer); "
            "costs in cvxpy must be convex, without them: write such a cost as a black box"
        )
    if not program.is_dcp():
        raise ProblemError(
            f"cvxpy cannot see that the cost of agent {agent} is convex with convex "
            "constraints; write it by the rules of disciplined convex programming "
            "(dcp.stanford.edu)"
        )
    unset = [each.name() for each in program.parameters() if each.value is None]
    if unset:
        raise ProblemError(
            f"the cost of agent {agent} has a cvxpy parameter without a value ({unset[0]}); set "
            "its value in the function that builds the cost"
        )
    if all(each.id != x.id for each in program.variables()):
        raise ProblemError(
            f"the cost of agent {agent} does not depend on x: use the variable that the function "
            "is given, not one of its own; add 0 * cvxpy.sum(x) if that is meant"
        )
