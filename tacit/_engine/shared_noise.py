"""Masks shared by pairs of agents: for all agents at once, or for one agent from what it knows.

Both draw the same numbers, since a mask depends on the secret of its pair, the round, the phase and
the step. The agent with the smaller number adds it and the other subtracts it; here masks have
standard deviation 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, PRNGKeyArray

from tacit._engine.keys import pair_secret, phase_keys
from tacit._engine.plan import Plan

Place: TypeAlias = tuple[Any, int, Any]
"""Round, number of the phase in the table, and step."""

_AT_ONCE = 64
"""Minimum number of masks in memory at once; the number of agents if that is larger."""


def masks_of_all(
    root: PRNGKeyArray, pairs: Int[np.ndarray, "pairs 2"], like: Array, place: Place
) -> Float[Array, "agents ..."]:
    """What the masks of a phase add to every agent's release.

    Args:
        root: root key of the trial's randomness.
        pairs: pairs of agents that share a mask.
        like: answers of all agents, leading axis = agent.
        place: position in the run.
    """

    def add(total: Array, first: Array, second: Array, drawn: Array) -> Array:
        return total.at[first].add(drawn).at[second].add(-drawn)

    weights = jnp.ones(len(pairs), like.dtype)
    return _fold(add, like, root, pairs, weights, like, place)


def weighted_masks(
    root: PRNGKeyArray,
    pairs: Int[np.ndarray, "pairs 2"],
    weights: Float[Array, " pairs"],
    like: Array,
    place: Place,
) -> Array:
    """A weighted sum of the masks of a phase, for audits.

    Args:
        root: root key of the trial's randomness.
        pairs: pairs of agents that share a mask.
        weights: weights, one for each pair.
        like: answers of all agents, leading axis = agent.
        place: position in the run.
    """

    def add(total: Array, first: Array, second: Array, drawn: Array) -> Array:
        return total + jnp.sum(drawn, axis=0)

    return _fold(add, like[0], root, pairs, weights, like, place)


class PairSecrets(eqx.Module):
    """What one agent knows about masks.

    Attributes:
        secrets: secrets, one for each agent that it shares masks with.
        signs: signs of the masks: 1 where its number is the smaller one, else -1.
    """

    secrets: Key[Array, " others"]
    signs: Int[Array, " others"]

    @classmethod
    def of(cls, root: PRNGKeyArray, pairs: Int[np.ndarray, "pairs 2"], agent: int) -> PairSecrets:
        """The secrets of an agent in a simulation."""
        mine = pairs[(pairs == agent).any(axis=1)]
        secrets = jax.vmap(pair_secret, in_axes=(None, 0, 0))(root, mine[:, 0], mine[:, 1])
        return cls(secrets, jnp.asarray(np.where(mine[:, 0] == agent, 1, -1)))

    def mask(self, like: Array, place: Place) -> Array:
        """What its masks of a phase add to its release, which has the shape of `like`."""
        drawn = jax.vmap(lambda one: _mask(one, like, place))(self.secrets)
        return jnp.tensordot(self.signs.astype(like.dtype), drawn, 1)


def pair_secrets(plan: Plan, root: PRNGKeyArray, agent: int) -> PairSecrets | None:
    """What an agent shares with others in a simulation; `None` if the method has no such noise.

    Args:
        plan: plan of the run.
        root: root key of the trial's randomness.
        agent: number of the agent.
    """
    for phase in plan.method.phases():
        pairs = phase.hides.pairs(plan.agents)
        if pairs is not None:
            return PairSecrets.of(root, pairs, agent)
    return None


def _fold(
    add: Callable[[Array, Array, Array, Array], Array],
    total: Array,
    root: PRNGKeyArray,
    pairs: Int[np.ndarray, "pairs 2"],
    weights: Float[Array, " pairs"],
    like: Array,
    place: Place,
) -> Array:
    """Weighted masks, summed part by part in an array such as `total`."""
    agents = like.shape[0]
    rows = min(max(_AT_ONCE, agents), len(pairs))
    missing = -len(pairs) % rows
    parts = jnp.asarray(np.pad(pairs, ((0, missing), (0, 0))).reshape(-1, rows, 2))
    weights = jnp.pad(weights, (0, missing)).reshape(-1, rows)

    def draw(total: Array, part: tuple[Array, Array]) -> tuple[Array, None]:
        (first, second), weight = part[0].T, part[1]
        secrets = jax.vmap(pair_secret, in_axes=(None, 0, 0))(root, first, second)
        drawn = jax.vmap(lambda one: _mask(one, like[0], place))(secrets)
        return add(total, first, second, drawn * weight.reshape(-1, *(1,) * like[0].ndim)), None

    return jax.lax.scan(draw, jnp.zeros_like(total), (parts, weights))[0]


def _mask(secret: PRNGKeyArray, like: Array, place: Place) -> Array:
    round, phase, step = place
    return jax.random.normal(phase_keys(secret, round, phase, step).noise, like.shape, like.dtype)
