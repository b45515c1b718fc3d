"""The public form of a private cost once it is released: a polynomial with public coefficients."""

from __future__ import annotations

from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Bool, Float

from tacit.clipping import ORDERS, clipped
from tacit.method.functional_basis import AbstractBasis
from tacit.types import AbstractDifferentiable, Order, Params, Scalar, Unit


class PublicPolynomial(AbstractDifferentiable):
    """A cost given by public coefficients in a basis: the form a cost takes once released.

    Attributes:
        normaliser: always 1.
        basis: basis functions.
        coefficients: one coefficient per function; with many agents a leading agent axis.
    """

    normaliser: Float[ArrayLike, "*agents"]
    basis: AbstractBasis
    coefficients: Float[ArrayLike, "*agents m"]
    unit: ClassVar[Unit] = Unit.AGENT

    @property
    def units(self) -> int:
        """1: the cost is the unit."""
        return 1

    def losses(self, x: Params) -> Float[Array, " n"]:
        """The cost, shape `(1,)`."""
        return self.value(x)[None] * self.normaliser

    def value(self, x: Params) -> Float[Array, ""]:
        """`f(x)`."""
        return jnp.asarray(self.coefficients) @ self.basis.functions(x)

    def gradient(self, x: Params) -> Float[Array, " p"]:
        """`f'(x)`, by JAX."""
        return jax.grad(self.value)(jnp.asarray(x))

    def clipped_gradient(
        self, x: Params, clip: Scalar, order: Order, keep: Bool[Array, " n"] | None
    ) -> Float[Array, " p"]:
        """The gradient clipped to norm `clip`; 0 where the unit is left out."""
        assert order in ORDERS
        slope = clipped(self.gradient(x)[None], clip, order)[0]
        return slope if keep is None else slope * keep[0]
