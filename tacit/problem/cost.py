"""A whole cost per agent, written in JAX: the cost is protected, not a record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float

from tacit.arguments import checked
from tacit.clipping import clipped
from tacit.errors import ProblemError
from tacit.problem.constraint import FREE, AbstractConstraint
from tacit.problem.jax_function import check_one_number
from tacit.problem.problem import Problem, check_public, starting_point
from tacit.problem.regularisers import NO_REGULARISER, AbstractRegulariser
from tacit.ranges import Listed
from tacit.types import AbstractDifferentiable, Order, Params, Scalar, Unit


@checked(ProblemError)
class Cost(AbstractDifferentiable):
    """`f(x) = function(x, parameters)`, one unit whose gradient is clipped as a whole.

    Attributes:
        normaliser: divisor of the cost, 1.
        function: `(x, parameters) -> scalar` in JAX, the same for all agents.
        parameters: this agent's own arrays; with many agents every array has a leading agent axis.
        smooth: whether the gradient is continuous, as the user declares.
        convex: whether the cost is convex in `x`, as the user declares.
    """

    normaliser: Float[ArrayLike, "*agents"]
    function: Callable[..., Any] = eqx.field(static=True)
    parameters: Any
    smooth: bool = eqx.field(static=True, default=True, kw_only=True)
    convex: bool = eqx.field(static=True, default=False, kw_only=True)
    unit: ClassVar[Unit] = Unit.AGENT

    @property
    def units(self) -> int:
        """1: the cost is the unit."""
        return 1

    def losses(self, x: Params) -> Float[Array, " n"]:
        """The cost, shape `(1,)`."""
        return jnp.reshape(self.function(jnp.asarray(x), self.parameters), (1,))

    def value(self, x: Params) -> Float[Array, ""]:
        """`f(x)`."""
        return self.losses(x)[0] / self.normaliser

    def gradient(self, x: Params) -> Float[Array, " p"]:
        """`f'(x)`, by JAX."""
        return self._slope(x) / self.normaliser

    def clipped_gradient(
        self, x: Params, clip: Scalar, order: Order, keep: Bool[Array, " n"] | None
    ) -> Float[Array, " p"]:
        """The gradient clipped to norm `clip`; 0 where it is not finite or the unit is masked."""
        slope = clipped(self._slope(x)[None], clip, order)[0]
        return (slope if keep is None else slope * keep[0]) / self.normaliser

    def _slope(self, x: Params) -> Float[Array, " p"]:
        return jax.grad(lambda point: self.losses(point)[0])(jnp.asarray(x))


@checked(ProblemError, own="regulariser constraint")
def costs(
    function: Callable[..., Any],
    parameters: Any,
    x0: Listed,
    *,
    regulariser: AbstractRegulariser = NO_REGULARISER,
    constraint: AbstractConstraint = FREE,
    names: Sequence[str] | None = None,
    parameter_names: Sequence[str] | None = None,
    smooth: bool = True,
    convex: bool = False,
) -> Problem:
    """A problem of whole costs: `min_x sum_k function(x, parameters_k) + R(x)`.

    Args:
        function: `(x, parameters) -> scalar` in JAX; define it once and keep it.
        parameters: any nest of numeric arrays, each with one entry per agent along its first axis.
        x0: public starting point, shape `(p,)`.
        regulariser: public penalty.
        constraint: public convex set.
        names: names of the agents; "agent 0", ... by default.
        parameter_names: names of the coordinates of `x`; "x0", ... by default.
        smooth: whether `function` has a continuous gradient in `x`, as you declare.
        convex: whether `function` is convex in `x`, as you declare.

    Raises:
        ProblemError: arrays of different lengths, values that are not finite numbers, or a
            function that fails or returns anything but one number.

    Example:
        >>> def distance(x, centre):
        ...     return jnp.sum((x - centre) ** 2)
        >>> problem = costs(distance, np.array([[0.0, 2.0], [4.0, 0.0]]), np.zeros(2))
        >>> problem.value([2.0, 1.0])
        10.0
    """
    check_public(regulariser, constraint)
    leaves, structure = jax.tree.flatten(parameters)
    arrays = [np.asarray(leaf) for leaf in leaves]
    if any(not array.ndim and array.dtype.kind in "biuf" for array in arrays):
        raise ProblemError(
            "costs: parameters has a single number, and each agent has its own; give arrays with "
            "one entry an agent along their first axis, such as parameters=np.arange(3.0)"
        )
    lengths = {array.shape[0] if array.ndim else 0 for array in arrays}
    if len(lengths) != 1:
        raise ProblemError(
            f"costs: the arrays in parameters have {sorted(lengths)} entries along their first "
            "axis; each needs one entry an agent"
        )
    for array in arrays:
        if array.dtype.kind not in "biuf" or not np.isfinite(array).all():
            raise ProblemError("costs: parameters must be finite numbers throughout")
    agents = lengths.pop()
    floats = [array.astype(np.float64) if array.dtype.kind == "f" else array for array in arrays]
    start = starting_point(x0, np.size(x0), constraint)
    problem = Problem(
        objectives=Cost(
            normaliser=np.ones(agents),
            function=function,
            parameters=jax.tree.unflatten(structure, floats),
            smooth=smooth,
            convex=convex,
        ),
        x0=start,
        counts=np.ones(agents, dtype=np.int64),
        names=tuple(names or (f"agent {index}" for index in range(agents))),
        parameter_names=tuple(parameter_names or (f"x{index}" for index in range(len(start)))),
        regulariser=regulariser,
        constraint=constraint,
        declared=True,
    )
    own = [jax.ShapeDtypeStruct(array.shape[1:], array.dtype) for array in floats]
    check_one_number(
        "the function of the costs",
        function,
        "(x, parameters)",
        start,
        jax.tree.unflatten(structure, own),
    )
    return problem
