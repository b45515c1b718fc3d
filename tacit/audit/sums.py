"""What the adversary of a masked sum reads of one release: the noise of all honest agents.

A message under masks tells nothing to whoever does not know them, and they cancel in the sum. Of
the sum the adversary takes off what its coalition added, and, since it knows all other data, what
the other honest agents answered. The owner's answer is left, with the noise of every honest agent
(docs/proofs/masks.md); that noise is taken from what they released, not drawn from its law.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from tacit.privacy.masked import SecureSum
from tacit.runtime.agent import ask
from tacit.runtime.simulation import Observation
from tacit.types import AbstractObjective


def left_of_sum(
    owner: Any, seen: Observation, objectives: AbstractObjective
) -> tuple[Array, Float[Array, ""]]:
    """What is left of the sum of a round, as if the owner had released it by itself.

    A sum that is given up because somebody is missing is not read: its masks do not cancel. The
    accountant charges it as if it were, since a message that is only late would complete it; with
    dropouts the audit therefore stays below the claim.

    Args:
        owner: number of the audited agent, which is honest.
        seen: a phase with masks.
        objectives: of all agents; those of the owner do not matter.

    Returns:
        The owner's release with the noise of all honest agents, and the scale of that noise.
    """
    phase = seen.phase
    assert isinstance(phase.hides, SecureSum)
    everybody = jnp.arange(len(seen.awake))
    behind = (everybody - owner) % len(everybody)
    # settled before the run; scales are equal, so where nobody sleeps any coalition is the worst
    corrupted = (behind > 0) & (behind <= phase.hides.masks.coalition)
    honest = seen.awake & ~corrupted

    def noise(agent: Any) -> Array:
        at = (seen.states, objectives, seen.released)
        state, objective, released = jax.tree.map(lambda leaf: leaf[agent], at)
        answer = ask(phase, state, objective, *seen.known(agent), seen.scale[agent])
        return jnp.asarray(released - answer)

    noises = jax.vmap(noise)(everybody)
    others = (honest & (behind > 0)).reshape(-1, *(1,) * (noises.ndim - 1))
    summed = seen.released[owner] + jnp.sum(jnp.where(others, noises, 0.0), axis=0)
    return summed, jnp.sqrt(jnp.sum(jnp.where(honest, jnp.square(seen.scale), 0.0)))
