"""Queries for gradients in whitened coordinates: second moments of the features, then gradients.

The coordinates are a function of what was released before, so a clip in them is a clip of vectors
that depend on one record and on earlier releases only. Proof: docs/proofs/clipping.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from tacit.arguments import checked
from tacit.arguments.answers import array_of
from tacit.errors import PrivacyError
from tacit.privacy.blocks import Gram
from tacit.privacy.query import AbstractQuery, Clip, Share, Sums, asked, own, own_public
from tacit.privacy.sensitivity import point_of, sample
from tacit.privacy.statistics import BlockSum
from tacit.ranges import Positive, per_agent
from tacit.types import (
    AbstractDifferentiable,
    AbstractPrivate,
    Context,
    Oracle,
    Params,
    PublicContext,
    Relation,
    State,
)


@checked(PrivacyError)
class FeatureGram(AbstractQuery):
    """Sum of `u u'` over all records, `u` the features of one, over the declared normaliser.

    It is a `BlockSum` with one `Gram` of as many columns as the problem has parameters. Proofs:
    docs/proofs/block_sums.md; of samples, docs/proofs/poisson_sampling.md.

    Attributes:
        point: any vector of parameters, as a function of the method's state, for their number.
        longest: largest l2 norm of a record's features, positive; longer ones are scaled down.
            The root of the number of columns when `None`, which no record exceeds whose features
            are in [-1, 1].
        relation: adjacency under which the answer has the sensitivity 1 over the normaliser.
    """

    sums: ClassVar[Sums] = Sums.RECORDS
    point: Callable[[Any], Params] = eqx.field(static=True)
    longest: Positive | None = None
    relation: Relation = eqx.field(static=True, kw_only=True, default=Relation.REPLACE_ONE)
    rate: Share = eqx.field(static=True, kw_only=True, default=1.0)
    oracle: Oracle = eqx.field(static=True, default=Oracle.ROWS, init=False)
    order: int = eqx.field(static=True, default=2, init=False)

    def __call__(
        self, state: State, objective: AbstractPrivate, context: Context, key: PRNGKeyArray
    ) -> Float[Array, " m"]:
        size = jnp.shape(point_of(self, state, context))[-1]
        return self._of(size)(state, objective, context, key)

    def sensitivity(self, public: PublicContext, relation: Relation) -> float:
        return self._declared(public).sensitivity(public, relation)

    def beside(self, public: PublicContext) -> float:
        return self._declared(public).beside(public)

    def size(self, dimension: int) -> int:
        return dimension * (dimension + 1) // 2

    def evaluations(self, dimension: int) -> int:
        return 1

    def matrix(self, answer: Float[Array, " m"], size: int) -> Float[Array, "p p"]:
        """An answer, or a mean of several, as a matrix.

        Args:
            answer: answer of the query, shape `(size (size + 1) / 2,)`.
            size: number of columns, at least 1.
        """
        return self._of(size).split(answer)[0]

    def _declared(self, public: PublicContext) -> BlockSum:
        if public.dimension is None:
            raise PrivacyError(
                "the matrix has a row for every parameter; give PublicContext.dimension"
            )
        return self._of(public.dimension)

    def _of(self, size: int) -> BlockSum:
        bound = math.sqrt(size) if self.longest is None else self.longest
        return BlockSum((Gram(_features, size, bound),), relation=self.relation, rate=self.rate)


@checked(PrivacyError)
class TransformedGradient(AbstractQuery):
    """Sum of all records' gradients in other coordinates, each clipped there, over the normaliser.

    With `x = M u` the gradient in `u` of a loss of `row' x` is its slope times `M row`. The clip
    bounds the l2 norm of this vector, whatever `M` is. Bounds declared of rows say nothing here.
    Proofs: docs/proofs/clipping.md; of samples, docs/proofs/poisson_sampling.md.

    Attributes:
        point: point `x` at which the gradient is taken, as a function of the method's state.
        matrix: symmetric invertible matrix `M`, shape `(p, p)`, likewise.
        clip: largest l2 norm of one record's gradient in `u`, positive; may differ per agent.
    """

    sums: ClassVar[Sums] = Sums.RECORDS
    point: Callable[[Any], Params] = eqx.field(static=True)
    matrix: Callable[[Any], Any] = eqx.field(static=True)
    clip: Clip = eqx.field(converter=per_agent)
    rate: Share = eqx.field(static=True, kw_only=True, default=1.0)
    oracle: Oracle = eqx.field(static=True, default=Oracle.GRADIENT, init=False)
    order: int = eqx.field(static=True, default=2, init=False)

    def __call__(
        self, state: State, objective: AbstractDifferentiable, context: Context, key: PRNGKeyArray
    ) -> Float[Array, " p"]:
        x = jnp.asarray(point_of(self, state, context))
        square = array_of([len(x), len(x)])
        matrix = jnp.asarray(asked(self, "matrix", state, takes="state", fits=square))
        there = objective.transformed(matrix)
        keep = sample(key, objective.units, self.rate)
        point = jnp.linalg.solve(matrix, x)
        clip = own(self.clip, context.agent)
        return there.clipped_gradient(point, clip, self.order, keep) / self.rate

    def sensitivity(self, public: PublicContext, relation: Relation) -> float:
        if relation is Relation.METRIC:
            return math.inf  # the distance is between gradients in the problem's own coordinates
        factor = 2.0 if relation is Relation.REPLACE_ONE else 1.0
        return factor * own_public(self.clip, public.agent) / (public.normaliser * self.rate)

    def evaluations(self, dimension: int) -> int:
        return 1


def _features(record: Float[Array, " d"], point: Any) -> Float[Array, " p"]:
    """A record without its target."""
    return record[:-1]
