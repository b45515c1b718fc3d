"""A whole cost per agent, described in cvxpy and evaluated by its solver."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Int

from tacit import checks
from tacit.arguments import checked
from tacit.clipping import clipped
from tacit.errors import ProblemError
from tacit.problem.callback import call_host
from tacit.problem.constraint import FREE, AbstractConstraint
from tacit.problem.problem import Problem, check_public, starting_point
from tacit.problem.projection import Answer, clarabel, cvxpy
from tacit.problem.regularisers import NO_REGULARISER, AbstractRegulariser
from tacit.ranges import Listed
from tacit.types import AbstractDifferentiable, Order, Params, Scalar, Unit


class Programs:
    """The cvxpy programs of all agents, each compiled once; compared by identity.

    Args:
        build: `(x, agent) -> cost`, or `(cost, constraints)`.
        agents: number of agents.
        dimension: number of parameters.

    Raises:
        ProblemError: a cost that cvxpy cannot see to be convex, with the number of the agent.
    """

    def __init__(self, build: Callable[..., Any], agents: int, dimension: int) -> None:
        self.build, self.agents, self.dimension = build, agents, dimension
        self._programs = [_Program(build, agent, dimension) for agent in range(agents)]

    def values(self, points: ArrayLike, agents: ArrayLike) -> Float[np.ndarray, "*batch n"]:
        """The cost at each point, shape `(*batch, 1)`; infinite where constraints are not met."""
        return self._each(lambda program, row: program.value(row), points, agents)

    def slopes(self, points: ArrayLike, agents: ArrayLike) -> Float[np.ndarray, "*batch p"]:
        """A subgradient at each point."""
        return self._each(lambda program, row: program.slope(row), points, agents)

    def prox(self, points: ArrayLike, agents: ArrayLike) -> Float[np.ndarray, "*batch p"]:
        """`argmin_x f(x) + m/2 ||x - v||^2` for each row of `v` and, behind it, `m`."""
        return self._each(lambda program, row: program.prox(row[:-1], row[-1]), points, agents)

    def duals(self, x: np.ndarray) -> list[list[np.ndarray]]:
        """For every agent the multipliers of its constraints, in their order, at `x`."""
        return [program.duals(x) for program in self._programs]

    @staticmethod
    def _flat(
        points: ArrayLike, agents: ArrayLike
    ) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
        size = np.shape(points)[-1]
        batch = np.broadcast_shapes(np.shape(points)[:-1], np.shape(agents))
        rows = np.broadcast_to(np.asarray(points), (*batch, size)).reshape(-1, size)
        return rows, np.broadcast_to(np.asarray(agents), batch).reshape(-1), batch

    def _each(
        self, ask: Callable[[_Program, np.ndarray], np.ndarray], points: Any, agents: Any
    ) -> Any:
        rows, owners, batch = self._flat(points, agents)
        found = [ask(self._programs[int(k)], row) for k, row in zip(owners, rows, strict=True)]
        return np.stack(found).reshape(*batch, -1)


class _Program:
    """One agent's cost: at a fixed point, and with a quadratic around one."""

    def __init__(self, build: Callable[..., Any], agent: int, dimension: int) -> None:
        cp = cvxpy()
        self._agent, self._lock = agent, threading.Lock()
        self._x = cp.Variable(dimension, name="x")
        self._at, self._root = cp.Parameter(dimension), cp.Parameter(pos=True)
        self._centre = cp.Parameter(dimension)
        cost, constraints = described(build, self._x, agent)
        self._constraints = constraints
        self._fixed = self._x == self._at
        self._value = cp.Problem(cp.Minimize(cost), [*constraints, self._fixed])
        near = cp.sum_squares(self._root * self._x - self._centre) / 2
        self._prox = cp.Problem(cp.Minimize(cost + near), constraints)
        if not self._value.is_dcp():
            raise ProblemError(
                f"cvxpy cannot see that the cost of agent {agent} is convex with convex "
                "constraints; write it by the rules of disciplined convex programming "
                "(dcp.stanford.edu)"
            )

    def value(self, x: np.ndarray) -> np.ndarray:
        if not np.isfinite(x).all():
            return np.full(1, np.nan)  # the run reports its divergence
        return np.array([self._at_point(x).value])

    def slope(self, x: np.ndarray) -> np.ndarray:
        if not np.isfinite(x).all():
            return np.full(len(x), np.nan)
        # moving the fixed point by one changes the minimum by minus the multiplier
        return -np.reshape(self._solved(x).duals[self._fixed.id], -1)

    def duals(self, x: np.ndarray) -> list[np.ndarray]:
        found = self._solved(x).duals
        return [np.asarray(found[each.id]) for each in self._constraints]

    def prox(self, v: np.ndarray, modulus: float) -> np.ndarray:
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

    def _solved(self, x: np.ndarray) -> Answer:
        answer = self._at_point(x)
        if answer.point is None:
            raise ProblemError(
                f"the cost of agent {self._agent} has no slope at a point that was asked for, "
                f"because its constraints are not met there (status {answer.status!r}); keep to "
                "the points where all are met by constraint=, or take ADMM, which asks for "
                "proximal points only"
            )
        return answer


def described(build: Callable[..., Any], x: Any, agent: int) -> tuple[Any, list[Any]]:
    """A user's cost and constraints in a cvxpy variable.

    Args:
        build: `(x, agent) -> cost`, or `(cost, constraints)`.
        x: cvxpy variable.
        agent: number of the agent.

    Raises:
        ProblemError: a function that raises, or returns something else.
    """
    cp = cvxpy()
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
    good = isinstance(cost, cp.Expression) and cost.size == 1
    if not good or not all(isinstance(each, cp.Constraint) for each in constraints):
        raise ProblemError(
            f"the cost of agent {agent}: the function must return a scalar cvxpy expression, or "
            "one and a list of cvxpy constraints"
        )
    return cost, list(constraints)


class ConvexCost(AbstractDifferentiable):
    """`f(x) = min_y cost(x, y)` over an agent's own variables and constraints; one unit.

    Attributes:
        normaliser: divisor of the cost, 1.
        agent: index of the agent that owns the cost.
        programs: cvxpy programs, shared by all agents.
        smooth: whether the gradient is continuous, as the user declares.
    """

    normaliser: Float[ArrayLike, "*agents"]
    agent: Int[ArrayLike, "*agents"]
    programs: Programs = eqx.field(static=True)
    smooth: bool = eqx.field(static=True, default=False)
    unit: ClassVar[Unit] = Unit.AGENT

    @property
    def units(self) -> int:
        """1: the cost is the unit."""
        return 1

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the user's function must keep to."""
        return (
            "the cost of each agent is described by data of its own and public values only, and "
            "the solver finds its value and slope wherever it is asked",
        )

    def losses(self, x: Params) -> Float[Array, " n"]:
        """The cost, shape `(1,)`."""
        x = jnp.asarray(x)
        ask = self.programs.values
        return call_host(ask, (1,), x, self.agent, vmap_method="expand_dims")

    def value(self, x: Params) -> Float[Array, ""]:
        """`f(x)`."""
        return self.losses(x)[0] / self.normaliser

    def gradient(self, x: Params) -> Float[Array, " p"]:
        """A subgradient of `f` at `x`: the multiplier of `x` in the solver's solution."""
        return self._slope(x) / self.normaliser

    def clipped_gradient(
        self, x: Params, clip: Scalar, order: Order, keep: Bool[Array, " n"] | None
    ) -> Float[Array, " p"]:
        """The subgradient clipped to norm `clip`; 0 where it is not finite or masked."""
        slope = clipped(self._slope(x)[None], clip, order)[0]
        return (slope if keep is None else slope * keep[0]) / self.normaliser

    def prox(self, v: Params, step: Scalar) -> Float[Array, " p"]:
        """`argmin_x step f(x) + ||x - v||^2 / 2`, by the solver.

        Args:
            v: point, shape `(p,)`.
            step: weight of the cost, positive.
        """
        v = jnp.asarray(v)
        row = jnp.concatenate([v, jnp.reshape(1.0 / jnp.asarray(step, v.dtype), (1,))])
        return call_host(self.programs.prox, v.shape, row, self.agent, vmap_method="expand_dims")

    def duals(self, x: Listed) -> list[list[np.ndarray]]:
        """Multipliers of every agent's constraints at `x`, in the order in which it lists them.

        Args:
            x: point, shape `(p,)`.
        """
        return self.programs.duals(np.asarray(x, dtype=np.float64))

    def _slope(self, x: Params) -> Float[Array, " p"]:
        x = jnp.asarray(x)
        ask = self.programs.slopes
        return call_host(ask, x.shape, x, self.agent, vmap_method="expand_dims")


@checked(ProblemError, own="agents regulariser constraint")
def convex_costs(
    build: Callable[..., Any],
    agents: int,
    x0: Listed,
    *,
    regulariser: AbstractRegulariser = NO_REGULARISER,
    constraint: AbstractConstraint = FREE,
    names: Sequence[str] | None = None,
    parameter_names: Sequence[str] | None = None,
    smooth: bool = False,
) -> Problem:
    """A problem of whole costs in cvxpy: `min_x sum_k f_k(x) + R(x)`. Needs `tacit[convex]`.

    Values come from Clarabel, gradients are multipliers of its solution, and `ADMM` takes proximal
    points. An agent may have variables of its own (`f_k` is the minimum over them) and constraints,
    outside which its cost is infinite.

    Args:
        build: `(x, agent) -> cost`, or `(cost, constraints)`, with `x` a cvxpy variable of shape
            `(p,)` and `cost` a convex scalar expression.
        agents: number of agents, at least 2.
        x0: public starting point, shape `(p,)`.
        regulariser: public penalty; ADMM takes none beside these costs.
        constraint: public convex set; ADMM takes none beside these costs.
        names: names of the agents; "agent 0", ... by default.
        parameter_names: names of the coordinates of `x`; "x0", ... by default.
        smooth: whether all costs have continuous gradients, as you declare.

    Raises:
        ProblemError: fewer than two agents, a cost that cvxpy cannot see to be convex, or a missing
            package cvxpy.

    Example:
        >>> import cvxpy
        >>> def distance(x, agent):
        ...     return cvxpy.sum_squares(x - agent), [x <= 3.0]
        >>> problem = convex_costs(distance, 3, x0=[0.0])
        >>> round(problem.value([1.0]), 6), round(float(problem.reference().solution[0]), 6)
        (2.0, 1.0)
    """
    agents = checks.whole("agents", agents, 2, ProblemError)
    check_public(regulariser, constraint)
    start = starting_point(x0, np.size(x0), constraint)
    return Problem(
        objectives=ConvexCost(
            normaliser=np.ones(agents),
            agent=np.arange(agents),
            programs=Programs(build, agents, len(start)),
            smooth=smooth,
        ),
        x0=start,
        counts=np.ones(agents, dtype=np.int64),
        names=tuple(names or (f"agent {index}" for index in range(agents))),
        parameter_names=tuple(parameter_names or (f"x{index}" for index in range(len(start)))),
        regulariser=regulariser,
        constraint=constraint,
        declared=True,
    )
