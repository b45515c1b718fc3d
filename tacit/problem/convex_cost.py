"""A whole cost per agent, described in cvxpy and evaluated by its solver."""

from __future__ import annotations

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
from tacit.problem.convex_program import Program
from tacit.problem.problem import Problem, check_public, starting_point
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
        self._programs = [Program(build, agent, dimension) for agent in range(agents)]

    def values(self, points: ArrayLike, agents: ArrayLike) -> Float[np.ndarray, "*batch n"]:
        """The cost at each point, shape `(*batch, 1)`; an error where constraints are not met."""
        return self._each(lambda program, row: program.value(row), points, agents)

    def measured(self, points: ArrayLike, agents: ArrayLike) -> Float[np.ndarray, "*batch n"]:
        """The cost at each point, shape `(*batch, 1)`; infinite where constraints are not met."""
        return self._each(lambda program, row: program.measured(row), points, agents)

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
        self, ask: Callable[[Program, np.ndarray], np.ndarray], points: Any, agents: Any
    ) -> Any:
        rows, owners, batch = self._flat(points, agents)
        found = [ask(self._programs[int(k)], row) for k, row in zip(owners, rows, strict=True)]
        return np.stack(found).reshape(*batch, -1)


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
            "the solver finds a finite value and a slope wherever it is asked",
            "what others can see of how long its solver takes tells nothing of the costs",
        )

    def losses(self, x: Params) -> Float[Array, " n"]:
        """The cost, shape `(1,)`."""
        x = jnp.asarray(x)
        ask = self.programs.values
        return call_host(ask, (1,), x, self.agent, vmap_method="expand_dims")

    def value(self, x: Params) -> Float[Array, ""]:
        """`f(x)`."""
        return self.losses(x)[0] / self.normaliser

    def measured(self, x: Params) -> Float[Array, ""]:
        """`f(x)`, infinite where the agent's constraints are not met."""
        x, ask = jnp.asarray(x), self.programs.measured
        found = call_host(ask, (1,), x, self.agent, vmap_method="expand_dims")
        return found[0] / self.normaliser

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
    outside which its cost is infinite. Budgets with `relation="metric"` are refused, because the
    solver's gradients are not exact enough.

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
