"""Mechanisms: what the runtime does to a query and its answer before anything leaves the agent.

A mechanism has two hooks, `before` the query (it may hand it a perturbed objective) and `after` it
(additive noise). Noise scales and events are computed in plain Python from public constants; a
hook receives the scale as an argument. The one mechanism whose noise follows the records as well,
for a paper that prints it so, says it by `local`.
"""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, PRNGKeyArray

from tacit.arguments import checked
from tacit.errors import PrivacyError
from tacit.privacy.event import (
    Event,
    GaussianRelease,
    LaplaceRelease,
    ModelClaim,
    NonPrivate,
    PoissonSampled,
)
from tacit.privacy.sensitivity import AbstractQuery, PerAgent, own_public, per_agent
from tacit.ranges import Unset
from tacit.types import AbstractObjective, Context, PublicContext, Relation, Unit


@checked(PrivacyError)
class AbstractMechanism(eqx.Module):
    """How one release is protected.

    Attributes:
        varying: whether scale and event differ between rounds.
        local: whether the noise has the size of the agent's own records (a local sensitivity),
            which nothing can be proved of; `scale` is then what multiplies that size.
    """

    varying: ClassVar[bool] = False
    local: ClassVar[bool] = False

    def before(
        self, objective: AbstractObjective, scale: Any, context: Context, key: PRNGKeyArray
    ) -> AbstractObjective:
        """The objective that the query will see, given the noise scale."""
        return objective

    @abc.abstractmethod
    def after(self, value: Any, scale: Any, key: PRNGKeyArray) -> Any:
        """What is released, given the query's answer and the noise scale."""

    def added(self, value: Any, scale: Any) -> tuple[Any, Any]:
        """What `after` adds noise to, and of what scale: for audits, which know the answer."""
        return value, scale

    @abc.abstractmethod
    def scale(self, query: AbstractQuery, public: PublicContext, relation: Relation) -> float:
        """Noise scale of this release, from declared constants."""

    @abc.abstractmethod
    def event(self, query: AbstractQuery, public: PublicContext, relation: Relation) -> Event:
        """What an adversary who reads every message learns from this release."""


class NoNoise(AbstractMechanism):
    """Releases the answer as it is. Not private."""

    def after(self, value: Any, scale: Any, key: PRNGKeyArray) -> Any:
        return value

    def scale(self, query: AbstractQuery, public: PublicContext, relation: Relation) -> float:
        return 0.0

    def event(self, query: AbstractQuery, public: PublicContext, relation: Relation) -> Event:
        return NonPrivate()


class Gaussian(AbstractMechanism):
    """Releases `v + z`, `z ~ N(0, s^2 I)` with `s = noise_multiplier * D`.

    `D` is the query's l2 sensitivity. One release is `1/noise_multiplier`-Gaussian-DP
    (Dong, Roth, Su 2022, theorem 1). Proof: docs/proofs/gaussian.md.

    Attributes:
        noise_multiplier: at least 0 (0 is not private); may differ per agent.
    """

    noise_multiplier: Unset = eqx.field(converter=per_agent)

    def after(self, value: Any, scale: Any, key: PRNGKeyArray) -> Any:
        value = jnp.asarray(value)
        return value + scale * jax.random.normal(key, value.shape, value.dtype)

    def scale(self, query: AbstractQuery, public: PublicContext, relation: Relation) -> float:
        return _scale(self.noise_multiplier, query, public, relation, order=2)

    def event(self, query: AbstractQuery, public: PublicContext, relation: Relation) -> Event:
        return _additive(GaussianRelease, self.noise_multiplier, query, public, relation, order=2)


class Laplace(AbstractMechanism):
    """Releases `v + z`, `z_i ~ Lap(b)` independent with `b = noise_multiplier * D`.

    `D` is the query's l1 sensitivity. One release is `1/noise_multiplier`-DP (Dwork, McSherry,
    Nissim, Smith 2006, proposition 1). Proof: docs/proofs/laplace.md.

    Attributes:
        noise_multiplier: at least 0 (0 is not private); may differ per agent.
    """

    noise_multiplier: Unset = eqx.field(converter=per_agent)

    def after(self, value: Any, scale: Any, key: PRNGKeyArray) -> Any:
        value = jnp.asarray(value)
        return value + scale * jax.random.laplace(key, value.shape, value.dtype)

    def scale(self, query: AbstractQuery, public: PublicContext, relation: Relation) -> float:
        return _scale(self.noise_multiplier, query, public, relation, order=1)

    def event(self, query: AbstractQuery, public: PublicContext, relation: Relation) -> Event:
        return _additive(LaplaceRelease, self.noise_multiplier, query, public, relation, order=1)


class L2Laplace(AbstractMechanism):
    """Releases `v + z`, `z` of density proportional to `exp(-||z||_2 / b)`, `b = m D`.

    The direction of `z` is uniform and its length a sum of as many exponential variables of mean
    `b` as `v` has coordinates. `D` is the query's l2 sensitivity and `m` the noise multiplier. One
    release is `1/m`-DP (Chaudhuri, Monteleoni, Sarwate 2011, section 3.1; the K-norm mechanism of
    Hardt, Talwar 2010), and many cost no more than as many of one-dimensional Laplace noise. Proof:
    docs/proofs/laplace.md.

    Attributes:
        noise_multiplier: at least 0 (0 is not private); may differ per agent.
    """

    noise_multiplier: Unset = eqx.field(converter=per_agent)

    def after(self, value: Any, scale: Any, key: PRNGKeyArray) -> Any:
        value = jnp.asarray(value)
        return value + scale * l2_laplace(key, value)

    def scale(self, query: AbstractQuery, public: PublicContext, relation: Relation) -> float:
        return _scale(self.noise_multiplier, query, public, relation, order=2)

    def event(self, query: AbstractQuery, public: PublicContext, relation: Relation) -> Event:
        if relation is Relation.METRIC:
            raise PrivacyError(
                "relation='metric' measures costs in the l1 norm for Laplace noise and in the l2 "
                "norm for Gaussian noise; with 'l2_laplace' it is not offered"
            )
        return _additive(LaplaceRelease, self.noise_multiplier, query, public, relation, order=2)


def l2_laplace(key: PRNGKeyArray, like: Array) -> Array:
    """A draw of density proportional to `exp(-||z||_2)`, of the shape and type of `like`."""
    along, length = jax.random.split(key)
    direction = jax.random.normal(along, like.shape, like.dtype)
    radius = jnp.sum(jax.random.exponential(length, (like.size,), like.dtype))
    return radius * direction / jnp.linalg.norm(jnp.ravel(direction))


class Intrinsic(AbstractMechanism):
    """Adds nothing; states the claim of a method whose own randomness is said to protect.

    Attributes:
        claim: what is claimed for one release, and under which assumption.
    """

    claim: ModelClaim = eqx.field(static=True)

    def after(self, value: Any, scale: Any, key: PRNGKeyArray) -> Any:
        return value

    def scale(self, query: AbstractQuery, public: PublicContext, relation: Relation) -> float:
        return 0.0

    def event(self, query: AbstractQuery, public: PublicContext, relation: Relation) -> Event:
        return self.claim


@checked(PrivacyError)
@dataclass(frozen=True)
class Release:
    """What leaves an agent in one phase, and how it is protected.

    Attributes:
        name: what it is, in words for the table of releases.
        mechanism: what the runtime applies to the query's answer.
        relation: when two data sets are neighbours.
    """

    name: str
    mechanism: AbstractMechanism
    relation: Relation = Relation.REPLACE_ONE


def _scale(
    multiplier: PerAgent,
    query: AbstractQuery,
    public: PublicContext,
    relation: Relation,
    order: int,
) -> float:
    z = own_public(multiplier, public.agent)
    if z == 0.0:
        return 0.0
    return z * _sensitivity(query, public, relation, order)


def _sensitivity(
    query: AbstractQuery, public: PublicContext, relation: Relation, order: int
) -> float:
    """The query's sensitivity, which must be bounded in the norm that the noise is made for."""
    if query.order != order:
        raise PrivacyError(
            f"noise calibrated in the l{order} norm needs a query clipped in that norm; "
            f"{type(query).__name__} bounds l{query.order}. Set order={order}."
        )
    sensitivity = query.sensitivity(public, relation)
    if not math.isfinite(sensitivity) and relation is Relation.METRIC:
        raise PrivacyError(
            f"{type(query).__name__} has no bound in terms of the distance between costs; ask for "
            f"a gradient, unclipped (clip=inf) or clipped in the l{order} norm"
        )
    if not math.isfinite(sensitivity):
        raise PrivacyError(
            f"{type(query).__name__} of agent {public.agent} has no finite sensitivity, so no "
            "amount of noise gives a guarantee. Set a finite clip, or declare bounds of the "
            "records that imply one."
        )
    return sensitivity


def _additive(
    release: type[GaussianRelease] | type[LaplaceRelease],
    multiplier: PerAgent,
    query: AbstractQuery,
    public: PublicContext,
    relation: Relation,
    order: int,
) -> Event:
    z = own_public(multiplier, public.agent)
    if z == 0.0:
        return NonPrivate()
    if public.unit is Unit.AGENT and relation is Relation.ADD_REMOVE:
        raise PrivacyError(
            "an agent's whole cost cannot be added or removed without everybody noticing; "
            "use relation='replace_one'"
        )
    if public.unit is not Unit.AGENT and relation is Relation.METRIC:
        raise PrivacyError(
            "relation='metric' measures the distance between whole costs, and this problem "
            f"protects a {public.unit.value}; use relation='replace_one'"
        )
    # An event is a claim: without a bounded query there is nothing to claim.
    _sensitivity(query, public, relation, order)
    if query.rate >= 1.0:
        return release(z)
    if relation is not Relation.ADD_REMOVE:
        raise PrivacyError(
            f"Poisson sampling (rate {query.rate:g}) is accounted under add/remove only; "
            "set relation='add_remove' or take every record (rate 1)"
        )
    return PoissonSampled(query.rate, release(z))
