"""Queries: the only things that see private data, each with the bound it enforces.

The sensitivity of a query is derived here, from the clip that the query itself applies; there is no
place to type one in. With per-unit vectors clipped to norm `C` and their sum divided by a declared
`n`, replacing one unit moves the result by at most `2C/n` and adding or removing one by `C/n`, in
the norm of the clip. An l2 bound `D` in `p` dimensions gives the l1 bound `sqrt(p) D`; an l1 bound
is an l2 bound as it stands.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from tacit.clipping import clipped
from tacit.errors import PrivacyError
from tacit.types import (
    AbstractDifferentiable,
    AbstractObjective,
    Context,
    Oracle,
    Params,
    PublicContext,
    Relation,
)

PerAgent = Any
"""A number for all agents, or one a agent as an array of shape `(agents,)`."""


def per_agent(value: PerAgent) -> PerAgent:
    """A list or tuple of one number an agent as an array; anything else as it is."""
    return np.asarray(value, dtype=float) if isinstance(value, list | tuple) else value


def own(value: PerAgent, agent: Any) -> Any:
    """The agent's own entry of a number that may differ per agent."""
    return value if jnp.ndim(value) == 0 else jnp.asarray(value)[agent]


def own_public(value: PerAgent, agent: int) -> float:
    """`own` in plain Python, for accounting."""
    array = np.asarray(value, dtype=float)
    return float(array if array.ndim == 0 else array[agent])


class AbstractQuery(eqx.Module):
    """One question to a private objective.

    Attributes:
        oracle: what it asks of the objective.
        order: norm in which its sensitivity is bounded, 1 or 2.
        rate: probability with which each unit is sampled, 1 for all of them.
    """

    oracle: eqx.AbstractVar[Oracle]
    order: eqx.AbstractVar[int]
    rate: eqx.AbstractVar[float]

    @abc.abstractmethod
    def __call__(
        self, state: Any, objective: AbstractObjective, context: Context, key: PRNGKeyArray
    ) -> Any:
        """The private answer. `key` draws the sample of records and reaches nothing else."""

    @abc.abstractmethod
    def sensitivity(self, public: PublicContext, relation: Relation) -> float:
        """Largest movement of the answer between neighbours, in norm `order`; may be infinite."""

    @abc.abstractmethod
    def evaluations(self, dimension: int) -> int:
        """Function values (or gradients) asked of each unit in one call."""


class Exact(AbstractQuery):
    """Any function of the private objective, with no bound: its sensitivity is infinite."""

    function: Callable[[Any, Any, Context], Any]
    oracle: Oracle = eqx.field(static=True, kw_only=True, default=Oracle.GRADIENT)
    points: int = eqx.field(static=True, default=1)
    order: int = eqx.field(static=True, kw_only=True, default=2)
    rate: float = eqx.field(static=True, kw_only=True, default=1.0)

    def __call__(
        self, state: Any, objective: AbstractObjective, context: Context, key: PRNGKeyArray
    ) -> Any:
        return self.function(state, objective, context)

    def sensitivity(self, public: PublicContext, relation: Relation) -> float:
        return math.inf

    def evaluations(self, dimension: int) -> int:
        return self.points


class ClippedGradient(AbstractQuery):
    """Sum of per-unit gradients, each clipped to `clip`, over the declared normaliser.

    Attributes:
        point: where the gradient is taken, a function of the method's state.
        clip: largest norm of one unit's gradient, positive; may differ per agent.
    """

    point: Callable[[Any], Params] = eqx.field(static=True)
    clip: PerAgent = eqx.field(converter=per_agent)
    order: int = eqx.field(static=True, kw_only=True, default=2)
    rate: float = eqx.field(static=True, kw_only=True, default=1.0)
    oracle: Oracle = eqx.field(static=True, kw_only=True, default=Oracle.GRADIENT)

    def __call__(
        self, state: Any, objective: AbstractObjective, context: Context, key: PRNGKeyArray
    ) -> Float[Array, " p"]:
        if not isinstance(objective, AbstractDifferentiable):
            raise PrivacyError(
                f"{type(objective).__name__} gives values only, and this method asks for "
                "gradients. Use a zeroth-order method such as DZOA."
            )
        keep = sample(key, objective.units, self.rate)
        clip = own(self.clip, context.agent)
        return objective.clipped_gradient(self.point(state), clip, self.order, keep) / self.rate

    def sensitivity(self, public: PublicContext, relation: Relation) -> float:
        return _clipped_sensitivity(self.clip, self.rate, public, relation)

    def evaluations(self, dimension: int) -> int:
        return 1


class ClippedDifferences(AbstractQuery):
    """Sum of per-unit forward differences, clipped, over the declared normaliser.

    For each unit `j` the vector `((loss_j(x + u d_i) - loss_j(x)) / u)_i` over the directions `d_i`
    is clipped to norm `clip`. The directions are known to everybody; only function values are asked
    of the objective.

    Attributes:
        point: where, a function of the method's state.
        directions: `(state, context) -> array of shape (m, p)`.
        count: `m`, the number of directions, or `None` for the dimension of the problem.
        smoothing: the step `u`, positive.
        clip: largest norm of one unit's vector of differences, positive; may differ per agent.
    """

    point: Callable[[Any], Params] = eqx.field(static=True)
    directions: Callable[[Any, Context], Float[Array, "m p"]] = eqx.field(static=True)
    smoothing: Any
    clip: PerAgent = eqx.field(converter=per_agent)
    count: int | None = eqx.field(static=True, default=None)
    order: int = eqx.field(static=True, kw_only=True, default=2)
    rate: float = eqx.field(static=True, kw_only=True, default=1.0)
    oracle: Oracle = eqx.field(static=True, kw_only=True, default=Oracle.VALUE)

    def __call__(
        self, state: Any, objective: AbstractObjective, context: Context, key: PRNGKeyArray
    ) -> Float[Array, " m"]:
        x = jnp.asarray(self.point(state))
        moves = self.smoothing * self.directions(state, context)
        points = x + jnp.concatenate([jnp.zeros_like(moves[:1]), moves])
        losses = jax.vmap(objective.losses)(points)
        slopes = (losses[1:] - losses[0]) / self.smoothing
        inside = clipped(slopes.T, own(self.clip, context.agent), self.order)
        keep = sample(key, objective.units, self.rate)
        if keep is not None:
            inside = inside * keep[:, None]
        return jnp.sum(inside, axis=0) / (objective.normaliser * self.rate)

    def sensitivity(self, public: PublicContext, relation: Relation) -> float:
        return _clipped_sensitivity(self.clip, self.rate, public, relation)

    def evaluations(self, dimension: int) -> int:
        return 1 + (dimension if self.count is None else self.count)


def sample(key: PRNGKeyArray, units: int, rate: float) -> Bool[Array, " n"] | None:
    """Which units take part: each with probability `rate`, independently; `None` for all."""
    return None if rate >= 1.0 else jax.random.bernoulli(key, rate, (units,))


def _clipped_sensitivity(
    clip: PerAgent, rate: float, public: PublicContext, relation: Relation
) -> float:
    factor = 2.0 if relation is Relation.REPLACE_ONE else 1.0
    return factor * own_public(clip, public.agent) / (public.normaliser * rate)
