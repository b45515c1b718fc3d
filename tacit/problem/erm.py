"""Empirical risk: the loss over an agent's records, with fast gradients clipped per record."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, ArrayLike, Bool, Float

from tacit.clipping import ORDERS, clip_factor, clipped, row_norms
from tacit.errors import ProblemError
from tacit.problem.losses import (
    LOSSES,
    AbstractLinearLoss,
    AbstractLoss,
    AbstractScalarLoss,
    JaxLoss,
)
from tacit.problem.normaliser import check_normaliser
from tacit.types import AbstractDifferentiable, Order, Params, Scalar, Unit

_BLOCK = 500
"""Number of records per block in float32: with 784 features 1.5 MB of them."""


class EmpiricalRisk(AbstractDifferentiable):
    """`f(x) = sum_j loss(x; row_j, target_j) / normaliser` over one agent's records.

    With many agents every array has a leading agent axis. Agents with fewer records than the
    largest are padded with rows of zeros whose `mask` is 0, which count for nothing in any sum.

    Attributes:
        normaliser: declared public number that the sum is divided by, positive.
        features: feature table, shape `(n, d)`.
        targets: targets as the loss encodes them, shape `(n,)`.
        mask: 1 for a record, 0 for a padding row, shape `(n,)`.
        loss: loss of one record.
        gradient_bounds: largest l1, l2 and linf norm of one record's gradient that follow from
            declared bounds (`RecordBounds.of_gradient`), shape `(3,)`; infinite without any. A
            query clips to them, so that a wrong bound costs accuracy and never privacy.
        norms: l1, l2 and linf norm of every row of `features`, shape `(3, n)`. Clipping rests on
            them, so they are computed here and other rows need another object: never replace
            `features` in an existing one.

    Raises:
        ProblemError: a feature that is not a finite number, a mask value other than 0 and 1 (a
            weight would lengthen what is clipped), or a normaliser that is not positive.
    """

    normaliser: Float[ArrayLike, "*agents"]
    features: Float[ArrayLike, "*agents n d"]
    targets: Float[ArrayLike, "*agents n"]
    mask: Float[ArrayLike, "*agents n"]
    loss: AbstractLoss
    gradient_bounds: Float[ArrayLike, "*agents 3"]
    norms: Float[ArrayLike, "*agents 3 n"]
    unit: ClassVar[Unit] = Unit.RECORD

    def __init__(
        self,
        *,
        normaliser: Float[ArrayLike, "*agents"],
        features: Float[ArrayLike, "*agents n d"],
        targets: Float[ArrayLike, "*agents n"],
        mask: Float[ArrayLike, "*agents n"],
        loss: AbstractLoss,
        gradient_bounds: Float[ArrayLike, "*agents 3"] | None = None,
    ) -> None:
        self.normaliser = normaliser
        self.features = features
        self.targets = targets
        self.mask = mask
        self.loss = loss
        self.gradient_bounds = (
            np.full((*np.shape(normaliser), 3), np.inf)
            if gradient_bounds is None
            else gradient_bounds
        )
        self.norms = _norms(features)
        if not isinstance(mask, Tracer) and not np.isin(mask, (0.0, 1.0)).all():
            raise ProblemError(
                "mask holds other numbers than 1 for a record and 0 for none. Weights would "
                "lengthen gradients after the clip; give a JaxLoss, with the weight in a column"
            )
        check_normaliser(normaliser)

    @property
    def units(self) -> int:
        """Number of rows, padding included."""
        return np.shape(self.features)[-2]

    @property
    def present(self) -> Bool[Array, " n"]:
        """Which rows are records."""
        return jnp.asarray(self.mask) > 0

    def rows(self, function: Callable[[Any], Any]) -> Float[Array, "n ..."]:
        """The values of a function of every record: its features, then its target."""
        targets = jnp.asarray(self.targets)[:, None]
        return jax.vmap(function)(jnp.concatenate([jnp.asarray(self.features), targets], axis=1))

    @property
    def assumptions(self) -> tuple[str, ...]:
        """That a user's own linear loss, which receives all records at once, keeps them apart.

        The losses of this package do, and a `JaxLoss` receives one record at a time.
        """
        kind = type(self.loss)
        if kind is JaxLoss or kind in LOSSES.values():
            return ()
        return (
            f"the loss {kind.__name__} encodes the target and computes value and derivative of "
            "each record from that record only",
        )

    def losses(self, x: Params) -> Float[Array, " n"]:
        """Loss of every record at `x`; exactly 0 for padding rows."""
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

    def gradient_norms(self, x: Params, order: Order) -> Float[Array, " n"]:
        """Norm of every record's gradient before any clip; 0 for padding rows."""
        if isinstance(self.loss, AbstractLinearLoss):
            slopes = self.loss.derivative(self._scores(self.loss, x), self.targets)
            sizes = jnp.abs(slopes) if slopes.ndim == 1 else row_norms(slopes, order)
            norms = sizes * jnp.asarray(self.norms)[ORDERS.index(order)]
        else:
            norms = row_norms(self._each(jax.grad(_function(self.loss)), x), order)
        return jnp.where(jnp.asarray(self.mask) > 0, norms, 0.0)

    def gradient_bound(self, order: Order) -> Float[ArrayLike, "*agents"]:
        """Largest norm of one record's gradient that follows from declared bounds."""
        return jnp.asarray(self.gradient_bounds)[..., ORDERS.index(order)]

    def clipped_gradient(
        self, x: Params, clip: Scalar, order: Order, keep: Bool[Array, " n"] | None
    ) -> Float[Array, " p"]:
        """Sum over the kept records of their clipped gradients, over `normaliser`.

        With a linear loss the gradient of a record is an outer product, so that its norm is the
        product of two norms and no gradient is ever stored. A gradient that is not finite counts as
        0. So does, with a linear loss, the gradient of a record whose own norm is not finite (in
        float32, features above 3e38).
        """
        counted = jnp.asarray(self.mask) * (1.0 if keep is None else keep)
        if isinstance(self.loss, AbstractLinearLoss):
            features = jnp.asarray(self.features)
            weights = self.loss.weights(x, features.shape[-1])
            norms = jnp.asarray(self.norms)[ORDERS.index(order)]
            total = _in_blocks(
                partial(_clipped_sum, self.loss, weights, clip, order),
                (features, jnp.asarray(self.targets), counted, norms),
            )
            return total.T.reshape(-1) / self.normaliser
        gradients = clipped(self._each(jax.grad(_function(self.loss)), x), clip, order)
        return counted @ gradients / self.normaliser

    def shortened(self, longest: Scalar) -> EmpiricalRisk:
        """The same records, with every row longer than `longest` scaled to that l2 length.

        Each row is scaled by itself alone, so one record still changes one summand only.
        """
        norms = jnp.asarray(self.norms)
        factor = jnp.minimum(1.0, longest / jnp.maximum(norms[1], jnp.finfo(norms.dtype).tiny))
        rows = jnp.asarray(self.features) * factor[:, None]
        # a length whose square overflowed is infinite, and its row is 0 now
        lengths = jnp.where(factor > 0.0, norms * factor, 0.0)
        return eqx.tree_at(lambda e: (e.features, e.norms), self, (rows, lengths))

    def transformed(self, matrix: Float[Array, "p p"]) -> EmpiricalRisk:
        """The same cost in other coordinates: every row is multiplied by the matrix.

        Each row is multiplied by itself alone, and a row that overflows is 0.
        """
        if not isinstance(self.loss, AbstractScalarLoss):
            raise TypeError(f"{type(self.loss).__name__} has no single score per record")
        rows = jnp.asarray(self.features) @ matrix
        rows = jnp.where(jnp.all(jnp.isfinite(rows), axis=1)[:, None], rows, 0.0)
        norms = _norms(rows)
        finite = jnp.isfinite(norms[1])  # a length may overflow where no entry does
        return eqx.tree_at(
            lambda e: (e.features, e.norms, e.gradient_bounds),
            self,
            (
                jnp.where(finite[:, None], rows, 0.0),
                jnp.where(finite, norms, 0.0),
                jnp.full_like(jnp.asarray(self.gradient_bounds), jnp.inf),
            ),
        )

    def _scores(self, loss: AbstractLinearLoss, x: Params) -> Array:
        features = jnp.asarray(self.features)
        return features @ loss.weights(x, features.shape[-1])

    def _pull(self, slopes: Array, weights: Array) -> Float[Array, " p"]:
        """`sum_j weight_j slope_j row_j`, laid out as a parameter vector."""
        weighted = slopes * weights.reshape(-1, *[1] * (slopes.ndim - 1))
        # with the records on the right: the other way round XLA multiplies at half the speed
        return (weighted.T @ self._finite_rows()).T.reshape(-1)

    def _finite_rows(self) -> Array:
        """The features, with 0 for rows that overflowed: their weight of 0 would make them NaN.

        In float64 none overflows, because `__init__` refuses such rows, and the copy is saved.
        """
        features = jnp.asarray(self.features)
        if features.dtype == jnp.float64:
            return features
        return jnp.where(jnp.isfinite(jnp.asarray(self.norms)[1])[:, None], features, 0.0)

    def _each(self, function: Any, x: Params) -> Array:
        """`function(x, row, target)` for every record; padding rows repeat the first record.

        They are masked afterwards; at a row of zeros a user's loss might not be finite.
        """
        mask, features, targets = (
            jnp.asarray(array) for array in (self.mask, self.features, self.targets)
        )
        features = jnp.where(mask[:, None] > 0, features, features[0])
        targets = jnp.where(mask > 0, targets, targets[0])
        return jax.vmap(function, in_axes=(None, 0, 0))(jnp.asarray(x), features, targets)


def _clipped_sum(
    loss: AbstractLinearLoss, weights: Any, clip: Any, order: Order, records: Any
) -> Array:
    """`sum_j counted_j clip(slope_j row_j)` with one row per score.

    Args:
        loss: loss of one record.
        weights: the parameters, as they multiply a row.
        clip: largest norm of one record's gradient.
        order: order of that norm.
        records: rows, targets, whether each counts, and the norms of the rows.
    """
    rows, targets, counted, lengths = records
    slopes = loss.derivative(rows @ weights, targets)
    sizes = jnp.abs(slopes) if slopes.ndim == 1 else row_norms(slopes, order)
    # Numbers below the smallest normal one may be taken for 0 here and not in the product.
    tiny = jnp.finfo(sizes.dtype).tiny
    norms = jnp.maximum(sizes, tiny) * jnp.maximum(lengths, tiny)
    finite, each = jnp.isfinite(norms), (-1, *[1] * (slopes.ndim - 1))
    weighted = jnp.where(finite.reshape(each), slopes, 0.0)
    weighted = weighted * (counted * clip_factor(norms, clip)).reshape(each)
    if rows.dtype != jnp.float64:
        # a row that overflowed is 0: its weight of 0 would make it NaN; none does in float64
        rows = jnp.where(jnp.isfinite(lengths)[:, None], rows, 0.0)
    return weighted.T @ rows


def _in_blocks(function: Callable[[Any], Array], records: tuple[Array, ...]) -> Array:
    """`function` of all records, as a sum over blocks that stay in the cache.

    Intermediate results of a block are then not written to memory, and its rows are read once. In
    float64, whose answers must not depend on the number of records, all records are one block.
    """
    count = records[0].shape[0]
    whole = 0 if records[0].dtype == jnp.float64 else count - count % _BLOCK
    if whole == 0:
        return function(records)
    blocks = tuple(each[:whole].reshape(-1, _BLOCK, *each.shape[1:]) for each in records)
    shape = jax.eval_shape(function, tuple(each[0] for each in blocks))
    first = jnp.zeros(shape.shape, shape.dtype)
    total, _ = jax.lax.scan(lambda sum, block: (sum + function(block), None), first, blocks)
    return total if whole == count else total + function(tuple(each[whole:] for each in records))


def _function(loss: AbstractLoss) -> Any:
    if not isinstance(loss, JaxLoss):
        raise TypeError(f"{type(loss).__name__} is neither a linear loss nor a JaxLoss")
    return loss.function


def _norms(features: Any) -> Any:
    """l1, l2 and linf norms of rows, stacked before the axis of rows; NumPy stays NumPy."""
    xp = jnp if isinstance(features, jax.Array) else np
    if not isinstance(features, Tracer) and not xp.all(xp.isfinite(features)):
        raise ProblemError(
            "features hold a number that is missing or infinite; fill it in or drop the record"
        )
    return xp.stack([row_norms(features, order) for order in ORDERS], axis=-2)
