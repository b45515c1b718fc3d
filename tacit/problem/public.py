"""What every agent knows about the problem: its share of the regulariser, and the constraint."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from tacit.problem.constraint import AbstractConstraint, Ball, Box, Free
from tacit.problem.regularisers import (
    L1,
    L2,
    AbstractRegulariser,
    ElasticNet,
    GroupL1,
    NoRegulariser,
)
from tacit.types import Params, Scalar


class Public(eqx.Module):
    """One agent's share of the regulariser together with the constraint.

    Attributes:
        regulariser: one agent's share.
        constraint: convex set that constrains the parameters.

    Example:
        >>> Public(L1(1.0), Box(0.0, 1.0)).exact, Public(L1(1.0), Ball(1.0, [1.0, 0.0])).exact
        (True, False)
    """

    regulariser: AbstractRegulariser
    constraint: AbstractConstraint

    @property
    def exact(self) -> bool:
        """Whether `project(prox(v))` is the proximal map of regulariser plus constraint.

        Proved cases:
            * no regulariser, or no constraint;
            * a sum over coordinates on a box: each coordinate minimises a convex function of one
              variable on an interval, so its minimiser is the free one, clipped;
            * `strength ||x||^2` on any set: completing the square leaves a distance to `prox(v)`;
            * l1 and group l1 on a Euclidean ball around 0: with `y = c x`, `0 < c <= 1`,
              subgradients at `x` are subgradients at `y`, and `x - y` is normal to the ball (Yu
              2013, On decomposing the proximal map); the elastic net is l1 at a scaled point.
        """
        regulariser, constraint = self.regulariser, self.constraint
        if isinstance(constraint, Free) or isinstance(regulariser, NoRegulariser):
            return True
        if isinstance(constraint, Box):
            return regulariser.separable
        if isinstance(regulariser, L2) and not regulariser.unpenalised:
            return True
        if isinstance(constraint, Ball) and constraint.order == 2 and constraint.centre is None:
            return isinstance(regulariser, L1 | GroupL1) or (
                isinstance(regulariser, ElasticNet) and not regulariser.unpenalised
            )
        return False

    def value(self, x: Params) -> Float[Array, ""]:
        """The regulariser share at `x`."""
        return self.regulariser.value(x)

    def gradient(self, x: Params) -> Float[Array, " p"]:
        """A subgradient of the regulariser share."""
        return self.regulariser.gradient(x)

    def prox(self, v: Params, step: Scalar) -> Float[Array, " p"]:
        """`argmin_{x in X} step * R(x) + ||x - v||^2 / 2` where `exact`; else feasible only."""
        return self.constraint.project(self.regulariser.prox(v, step))

    def project(self, v: Params) -> Float[Array, " p"]:
        """The nearest point of the constraint set."""
        return self.constraint.project(v)

    def descend(self, x: Params, direction: Params, step: Scalar) -> Float[Array, " p"]:
        """One step against `direction`: proximal where `exact`, else projected subgradient."""
        x, direction = jnp.asarray(x), jnp.asarray(direction)
        if self.exact:
            return self.prox(x - step * direction, step)
        return self.project(x - step * (direction + self.gradient(x)))
