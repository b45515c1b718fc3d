"""Public coins: every agent that knows the public key draws the same values."""

from __future__ import annotations

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Int, PRNGKeyArray, UInt32

from tacit import checks
from tacit.errors import NetworkError
from tacit.network.base import AbstractNetwork

_BITS = 24
"""Random bits of a coin."""


def heads_of(probability: float | Float[np.ndarray, ""]) -> UInt32[np.ndarray, ""]:
    """How many of the 2^24 values of a coin are true, for a probability in [0, 1], rounded up.

    Counted on the host: a run in single precision would round the probability, so that somebody
    takes part whom the accountant, which is always in double precision, counts as missing.
    """
    return np.asarray(math.ceil(float(probability) * 2.0**_BITS), dtype=np.uint32)


def coins(
    public_key: PRNGKeyArray,
    round: Int[ArrayLike, ""],
    ids: Int[ArrayLike, " ids"],
    heads: UInt32[ArrayLike, ""],
) -> Bool[Array, " ids"]:
    """One independent coin for every id and round, the same in any precision.

    Each coin folds in its own id, so that one of them can be drawn without the others.

    Args:
        public_key: key that everybody knows.
        round: number of the round.
        ids: numbers of the coins.
        heads: number of the values of a coin that are true, by `heads_of`.
    """
    key = jax.random.fold_in(public_key, round)

    def draw(id: Int[Array, ""]) -> UInt32[Array, ""]:
        return jax.random.bits(jax.random.fold_in(key, id), dtype=jnp.uint32)

    bits = jax.vmap(draw)(jnp.asarray(ids))
    return (bits >> (32 - _BITS)) < jnp.asarray(heads)


def as_probability(value: object, what: str) -> Float[np.ndarray, ""]:
    """Check a probability in (0, 1].

    Raises:
        NetworkError: any other value.
    """
    checks.real(what, value, NetworkError)
    array = np.asarray(value, dtype=np.float64)
    if array.ndim or not 0.0 < array <= 1.0:
        raise NetworkError(f"{what}={value} must be a number above 0 and at most 1")
    return array


def count_participations(
    network: AbstractNetwork, rounds: int, public_key: PRNGKeyArray
) -> Int[np.ndarray, " agents"]:
    """Count the rounds of a network in which each agent takes part."""
    with jax.enable_x64(True):
        return np.asarray(_count(network, jnp.asarray(rounds), public_key))


@eqx.filter_jit
def _count(
    network: AbstractNetwork, rounds: Int[Array, ""], public_key: PRNGKeyArray
) -> Int[Array, " agents"]:
    def add(round: Int[Array, ""], counts: Int[Array, " agents"]) -> Int[Array, " agents"]:
        return counts + jnp.asarray(network.mixing(round, public_key).participates)

    return jax.lax.fori_loop(0, rounds, add, jnp.zeros(network.agents, dtype=int))
