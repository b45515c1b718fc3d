"""The private query of PDOP: one projected gradient step from a public point."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from tacit.clipping import clipped
from tacit.method._oracle import iterate
from tacit.privacy.budget import Privacy
from tacit.privacy.query import AbstractQuery, own, own_public
from tacit.privacy.sensitivity import ClippedGradient
from tacit.ranges import Numbers
from tacit.types import AbstractObjective, Context, Oracle, Order, PublicContext, Relation, State

_NOTHING_DECLARED = (math.inf, math.inf, math.inf)


class ProjectedStep(AbstractQuery):
    """`P_X[x - gamma_t g(x)]` at the public point `x = state.x`, with `g` the clipped gradient.

    Only `g` depends on private data, and it moves by at most `D` between neighbours
    (docs/proofs/clipping.md, docs/proofs/agent_level.md, docs/proofs/metric.md). So the answer
    moves by at most `gamma_t D` in the l2 norm, because a projection (and a proximal map) increases
    no l2 distance. In the l1 norm the same holds coordinate by coordinate on a box. On a general
    set of dimension `n` the smaller of two bounds holds: `sqrt(n)` times that in the l2 norm, and
    `(1 + sqrt(n)) / 2` times that in the l1 norm. Proof: docs/methods/pdop.md.

    Attributes:
        gradient: query for the clipped gradient, whose bound is enforced.
        step: first step size, `c`.
        ratio: factor `q`: the step of round `t` is `c q^t`.
        known: public curvature `h`: `h x` is subtracted before the clip and added back; 0 for none.
        coordinatewise: whether projection and proximal map act on each coordinate separately.
    """

    projects: ClassVar[bool] = True
    unbounded: ClassVar[str] = (
        "a step from the iterate is rounded in proportion to the iterate, and no public number "
        "bounds how large that becomes. Take dpsg, whose answers are gradients, or simulate it"
    )
    gradient: ClippedGradient
    step: Numbers
    ratio: Numbers
    known: Numbers
    coordinatewise: bool = eqx.field(static=True, kw_only=True)
    order: int = eqx.field(static=True, kw_only=True)
    rate: float = eqx.field(static=True, kw_only=True)
    oracle: Oracle = eqx.field(static=True, kw_only=True, default=Oracle.GRADIENT)
    centred: bool = eqx.field(static=True, kw_only=True, default=False)

    @property
    def clip_norm(self) -> Order:
        return self.gradient.clip_norm

    def __call__(
        self, state: State, objective: AbstractObjective, context: Context, key: PRNGKeyArray
    ) -> Float[Array, " p"]:
        x = jnp.asarray(iterate(state))
        asked = self._centred if self.centred else self.gradient
        gradient = asked(state, objective, context, key)
        gamma = self.step * self.ratio ** jnp.asarray(context.round, dtype=x.dtype)
        return context.public.descend(x, gradient, gamma)

    def sensitivity(self, public: PublicContext, relation: Relation) -> float:
        gamma = own_public(self.step, 0) * own_public(self.ratio, 0) ** public.round
        if self.centred:
            # declared bounds hold for the gradient, and here something is subtracted from it
            public = dataclasses.replace(public, gradient_bounds=_NOTHING_DECLARED)
        moved = self.gradient.sensitivity(public, relation)
        if self.order == 2 or self.coordinatewise:
            return gamma * moved
        if public.dimension is None:
            raise TypeError("a general set expands the l1 norm by an amount that needs a dimension")
        root = math.sqrt(public.dimension)
        bounds = [(1.0 + root) / 2.0 * moved]
        if relation is not Relation.METRIC:
            # the same clip, measured in the l2 norm
            euclidean = dataclasses.replace(
                self.gradient, order=2, norm=self.clip_norm
            ).sensitivity(public, relation)
            bounds.append(root * euclidean)
        return gamma * min(bounds)

    def evaluations(self, dimension: int) -> int:
        return 1

    def _centred(
        self, state: Any, objective: Any, context: Context, key: PRNGKeyArray
    ) -> Float[Array, " p"]:
        """The whole cost's gradient with `h x` subtracted before the clip and added back after."""
        x = jnp.asarray(iterate(state))
        private = objective.normaliser * objective.gradient(x) - self.known * x
        clip = own(self.gradient.clip, context.agent)
        inside = clipped(private[None], clip, self.clip_norm)[0]
        return (inside + self.known * x) / objective.normaliser


def projected_step(
    privacy: Privacy,
    step: Numbers,
    ratio: Numbers,
    *,
    known: Numbers,
    centred: bool,
    coordinatewise: bool,
) -> ProjectedStep:
    """The query that a budget asks for: its clip, the norm of its noise, its sampling."""
    return ProjectedStep(
        ClippedGradient.of(privacy, iterate),
        step,
        ratio,
        known,
        coordinatewise=coordinatewise,
        order=privacy.order,
        rate=privacy.sampling,
        centred=centred,
    )
