"""Empirical risk: the loss of an agent's records, with fast gradients clipped record by record."""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float

from tacit.clipping import clip_factor, clipped
from tacit.problem.losses import AbstractLinearLoss, AbstractLoss, JaxLoss
from tacit.types import AbstractDifferentiable, Params, Scalar, Unit


class EmpiricalRisk(AbstractDifferentiable):
    """`f(x) = sum_j loss(x; row_j, target_j) / normaliser` over one agent's records.

    With many agents every array has a leading agent axis. Agents with fewer records than the
    largest are filled up with rows of zeros whose `mask` is 0: they count for nothing in any sum.

    Attributes:
        normaliser: declared public number that the sum is divided by, positive.
        features: shape `(n, d)`.
        targets: shape `(n,)`, as the loss encodes them.
        mask: 1 for a record, 0 for a filled-up row, shape `(n,)`.
        loss: of one record.
        norms: l1 and l2 norm of every row of `features`, shape `(2, n)`. Clipping rests on them, so
            they are computed here and other rows need another object: never replace `features` in
            an existing one.
    """

    normaliser: Float[ArrayLike, "*agents"]
    features: Float[ArrayLike, "*agents n d"]
    targets: Float[ArrayLike, "*agents n"]
    mask: Float[ArrayLike, "*agents n"]
    loss: AbstractLoss
    norms: Float[ArrayLike, "*agents 2 n"]
    unit: ClassVar[Unit] = Unit.RECORD

    def __init__(
        self,
        *,
        normaliser: Float[ArrayLike, "*agents"],
        features: Float[ArrayLike, "*agents n d"],
        targets: Float[ArrayLike, "*agents n"],
        mask: Float[ArrayLike, "*agents n"],
        loss: AbstractLoss,
    ) -> None:
        self.normaliser = normaliser
        self.features = features
        self.targets = targets
        self.mask = mask
        self.loss = loss
        self.norms = _row_norms(features)

    @property
    def units(self) -> int:
        """Number of rows, filled-up ones included."""
        return np.shape(self.features)[-2]

    def losses(self, x: Params) -> Float[Array, " n"]:
        """Loss of every record at `x`; exactly 0 for filled-up rows."""
        if isinstance(self.loss, AbstractLinearLoss):
            values = self.loss.value(self._scores(self.loss, x), self.targets)
        else:
            values = self._each(_function(self.loss), x)
        return jnp.where(jnp.asarray(self.mask) > 0, values, 0.0)

    def value(self, x: Params) -> Float[Array, ""]:
        """`f(x)`."""
        return jnp.sum(self.losses(x)) / self.normaliser

    def gradient(self, x: Params) -> Float[Array, " p"]:
        """`sum_j derivative_j row_j / normaliser`."""
        if isinstance(self.loss, AbstractLinearLoss):
            slopes = self.loss.derivative(self._scores(self.loss, x), self.targets)
            return self._pull(slopes, jnp.asarray(self.mask)) / self.normaliser
        gradients = self._each(jax.grad(_function(self.loss)), x)
        return jnp.asarray(self.mask) @ gradients / self.normaliser

    def clipped_gradient(
        self, x: Params, clip: Scalar, order: int, keep: Bool[Array, " n"] | None
    ) -> Float[Array, " p"]:
        """Sum over the kept records of their clipped gradients, over `normaliser`.

        With a linear loss the gradient of a record is an outer product, so that its norm is the
        product of two norms and no gradient is ever stored. A gradient that is not finite counts 0.
        """
        counted = jnp.asarray(self.mask) * (1.0 if keep is None else keep)
        if isinstance(self.loss, AbstractLinearLoss):
            slopes = self.loss.derivative(self._scores(self.loss, x), self.targets)
            sizes = jnp.abs(slopes) if slopes.ndim == 1 else _norms(slopes, order)
            norms = sizes * jnp.asarray(self.norms)[order - 1]
            finite = jnp.isfinite(norms)
            slopes = jnp.where(finite.reshape(-1, *[1] * (slopes.ndim - 1)), slopes, 0.0)
            return self._pull(slopes, counted * clip_factor(norms, clip)) / self.normaliser
        gradients = clipped(self._each(jax.grad(_function(self.loss)), x), clip, order)
        return counted @ gradients / self.normaliser

    def _scores(self, loss: AbstractLinearLoss, x: Params) -> Array:
        features = jnp.asarray(self.features)
        return features @ loss.weights(x, features.shape[-1])

    def _pull(self, slopes: Array, weights: Array) -> Float[Array, " p"]:
        """`sum_j weight_j slope_j row_j`, laid out as a parameter vector."""
        weighted = slopes * weights.reshape(-1, *[1] * (slopes.ndim - 1))
        return (jnp.asarray(self.features).T @ weighted).reshape(-1)

    def _each(self, function: Any, x: Params) -> Array:
        """`function(x, row, target)` for every record; filled-up rows repeat the first record.

        They are masked afterwards; a row of zeros could be where a user's loss is not finite.
        """
        mask, features, targets = (
            jnp.asarray(array) for array in (self.mask, self.features, self.targets)
        )
        features = jnp.where(mask[:, None] > 0, features, features[0])
        targets = jnp.where(mask > 0, targets, targets[0])
        return jax.vmap(function, in_axes=(None, 0, 0))(jnp.asarray(x), features, targets)


def _function(loss: AbstractLoss) -> Any:
    if not isinstance(loss, JaxLoss):
        raise TypeError(f"{type(loss).__name__} is neither a linear loss nor a JaxLoss")
    return loss.function


def _row_norms(features: Any) -> Any:
    """l1 and l2 norms of rows, stacked before the axis of rows; NumPy stays NumPy.

    Rows are scaled to their largest entry first: squares of tiny entries would vanish, and a norm
    that comes out too small would let a record through the clip.
    """
    xp = jnp if isinstance(features, jax.Array) else np
    sizes = xp.abs(features)
    largest = xp.max(sizes, axis=-1, keepdims=True, initial=0.0)
    with np.errstate(over="ignore"):  # a norm that overflows makes the record count 0
        ratios = sizes / xp.where(largest > 0.0, largest, 1.0)
        norms = [xp.sum(ratios, axis=-1), xp.sqrt(xp.sum(ratios**2, axis=-1))]
        return xp.stack([largest[..., 0] * norm for norm in norms], axis=-2)


def _norms(rows: Array, order: int) -> Array:
    if order == 1:
        return jnp.sum(jnp.abs(rows), axis=-1)
    return jnp.sqrt(jnp.sum(jnp.square(rows), axis=-1))
