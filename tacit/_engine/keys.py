"""The randomness of a run: one secret per agent, folded with round, phase and step.

Four independent keys are derived from it: the method's own (known to query and message, such as
random directions), and those of the record sample, the noise and a perturbed objective, which no
method ever receives. Nor does a method see the secret that two agents share for masks.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Key, PRNGKeyArray

from tacit.method.phase import MOST_PHASES
from tacit.types import Index

_PURPOSES = 4
"""Keys of one phase, in the order of `PhaseKeys`."""

_PUBLIC = 0xFFFFFFFF

_PAIRS = 0xFFFFFFFE
"""Not the number of any agent, so secrets of pairs never equal those of agents."""


class PhaseKeys(NamedTuple):
    """The keys of one agent for one phase of one round."""

    method: PRNGKeyArray
    sample: PRNGKeyArray
    noise: PRNGKeyArray
    objective: PRNGKeyArray


def seeded_key(seed: int) -> PRNGKeyArray:
    """The key of a seed below 2^64, of which `jax.random.key` takes 32 bits in float32."""
    words = jnp.array([seed >> 32, seed & 0xFFFFFFFF], dtype=jnp.uint32)
    return jax.random.wrap_key_data(words)


def trial_key(seed: int, trial: Index) -> PRNGKeyArray:
    """Root of one trial's randomness: the same however many trials are batched."""
    return jax.random.fold_in(seeded_key(seed), trial)


def rekeyed(roots: Key[Array, " trials"], secret: bytes) -> Key[Array, " trials"]:
    """Root keys that also depend on a secret, 4 bytes of it at a time."""
    for first in range(0, len(secret), 4):
        word = int.from_bytes(secret[first : first + 4], "big")
        roots = jax.vmap(lambda root, word=word: jax.random.fold_in(root, word))(roots)
    return roots


def public_key(seed: int) -> PRNGKeyArray:
    """Randomness that everybody shares, in all trials: who is awake, which links fail."""
    return jax.random.fold_in(seeded_key(seed), _PUBLIC)


def agent_secret(root: PRNGKeyArray, agent: Index) -> PRNGKeyArray:
    """An agent's own secret in a simulation; the server is agent number `agents`."""
    return jax.random.fold_in(root, agent)


def pair_secret(root: PRNGKeyArray, first: Index, second: Index) -> PRNGKeyArray:
    """The secret that only two agents know in a simulation; `first` is the smaller number."""
    pairs = jax.random.fold_in(root, _PAIRS)
    return jax.random.fold_in(jax.random.fold_in(pairs, first), second)


def phase_keys(secret: PRNGKeyArray, round: Index, phase: int, step: Index) -> PhaseKeys:
    """Keys of (round, phase, step); a `once` phase has round -1.

    They differ for up to 2^32 - 1 rounds of `MOST_PHASES` phases with `MOST_REPEAT` steps each.
    """
    base = jax.random.fold_in(secret, round + 1)
    number = _PURPOSES * (phase + MOST_PHASES * step)
    return PhaseKeys(*(jax.random.fold_in(base, number + i) for i in range(_PURPOSES)))
