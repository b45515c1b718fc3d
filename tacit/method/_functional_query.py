"""The query of functional perturbation: a private cost's coefficients, clipped unit by unit."""

from __future__ import annotations

import math
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from tacit.clipping import clipped, row_norms
from tacit.method.functional_basis import AbstractBasis
from tacit.privacy.query import AbstractQuery, PerAgent, Sums, own, own_public
from tacit.ranges import Numbers
from tacit.ranges import per_agent as one_or_each
from tacit.types import AbstractObjective, Context, Index, Oracle, PublicContext, Relation, State

_ROOM = 1.0 + 1e-5
"""For weights in float32."""


class WeightedCoefficients(AbstractQuery):
    """`sum_j (w a + clip(w c(loss_j) - w a)) / normaliser`: the coefficients of all records.

    The coefficients of every record, without the constant's, are weighted by `w_k = k^p`, so that
    equal noise on the answer is the noise of the paper, and clipped around the public centre `a` to
    a distance of `clip` in the l1 norm. Proof: docs/proofs/functional.md.

    Attributes:
        basis: basis, including the public points at which costs are evaluated.
        clip: largest l1 distance from the weighted centre; may differ between agents.
        p: exponent of the weights; may differ between agents.
        centre: public centre `a`, shape `(m - 1,)`; 0 when `None`.
    """

    sums: ClassVar[Sums] = Sums.RECORDS
    basis: AbstractBasis
    clip: PerAgent = eqx.field(converter=one_or_each)
    p: PerAgent = eqx.field(converter=one_or_each)
    centre: Numbers | None = None
    order: int = eqx.field(static=True, kw_only=True, default=1)
    rate: float = eqx.field(static=True, kw_only=True, default=1.0)
    oracle: Oracle = eqx.field(static=True, kw_only=True, default=Oracle.VALUE)

    def __call__(
        self, state: State, objective: AbstractObjective, context: Context, key: PRNGKeyArray
    ) -> Float[Array, " m"]:
        away, centre = self._from_centre(objective, context.agent)
        inside = centre + clipped(away, own(self.clip, context.agent), 1)
        if self.centre is not None:  # else padding is 0 as it is
            inside = jnp.where(objective.present[:, None], inside, 0.0)
        return jnp.sum(inside, axis=0) / objective.normaliser

    def lengths(self, objective: AbstractObjective, agent: Index) -> Float[Array, " n"]:
        """What the clip is held against, of every record: private, for simulations only."""
        return row_norms(self._from_centre(objective, agent)[0], 1)

    def _from_centre(
        self, objective: AbstractObjective, agent: Index
    ) -> tuple[Float[Array, "n m"], Numbers]:
        """Weighted coefficients of every record from the weighted centre, and that centre."""
        values = jax.vmap(objective.losses)(jnp.asarray(self.basis.points))
        weights = self.basis.weights(own(self.p, agent))[1:]
        weighted = self.basis.project(values)[1:].T * weights
        centre = 0.0 if self.centre is None else jnp.asarray(self.centre) * weights
        return weighted - centre, centre

    def sensitivity(self, public: PublicContext, relation: Relation) -> float:
        if relation is Relation.METRIC:
            return math.inf  # the metric is between gradients, and these are values
        clip = own_public(self.clip, public.agent)
        if relation is Relation.ADD_REMOVE:  # what comes or goes is as large as its distance from 0
            return (clip + self._length(public.agent)) / public.normaliser
        return 2.0 * clip / public.normaliser

    def beside(self, public: PublicContext) -> float:
        return self._length(public.agent) / public.normaliser

    def size(self, dimension: int) -> int:
        return self.basis.size - 1

    def _length(self, agent: int) -> float:
        """l1 norm of the weighted centre, rounded up."""
        if self.centre is None:
            return 0.0
        weights = np.asarray(self.basis.weights(own_public(self.p, agent)))[1:]
        return float(np.abs(np.asarray(self.centre) * weights).sum() * _ROOM)

    def evaluations(self, dimension: int) -> int:
        return np.shape(self.basis.points)[0]
