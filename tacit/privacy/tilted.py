"""An objective with a random linear term, for mechanisms whose noise is not in the answer."""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Bool, Float, PRNGKeyArray

from tacit.privacy.laws import Law
from tacit.ranges import Numbers
from tacit.types import AbstractDifferentiable, Order, Params, Scalar, Unit, Vector


class Tilted(AbstractDifferentiable):
    """An objective plus a random linear term `v'x`, the same in every query.

    Attributes:
        normaliser: normaliser of the objective.
        base: objective without the term.
        scale: scale of `v`.
        key: random key from which `v` is drawn.
        law: law of `v`.
    """

    normaliser: Float[ArrayLike, "*agents"]
    base: AbstractDifferentiable
    scale: Numbers
    key: PRNGKeyArray
    law: Law = eqx.field(static=True)
    unit: ClassVar[Unit] = Unit.RECORD

    @property
    def units(self) -> int:
        """Number of units of the objective."""
        return self.base.units

    def term(self, like: Vector) -> Vector:
        """`v`, with the shape and type of `like`."""
        return self.law.sample(self.key, like) * self.scale

    def losses(self, x: Params) -> Float[Array, " n"]:
        """Losses of the objective, without the linear term, which belongs to no unit."""
        return self.base.losses(x)

    def value(self, x: Params) -> Float[Array, ""]:
        """`f(x) + v'x`."""
        return self.base.value(x) + jnp.asarray(x) @ self.term(jnp.asarray(x))

    def gradient(self, x: Params) -> Float[Array, " p"]:
        """`grad f(x) + v`."""
        return self.base.gradient(x) + self.term(jnp.asarray(x))

    def clipped_gradient(
        self, x: Params, clip: Scalar, order: Order, keep: Bool[Array, " n"] | None
    ) -> Float[Array, " p"]:
        """Clipped gradient of the objective plus `v`."""
        return self.base.clipped_gradient(x, clip, order, keep) + self.term(jnp.asarray(x))
