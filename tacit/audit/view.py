"""What the worst coalition sees of one release: one agent's answer and the remaining noise."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from tacit._engine.batched import Observation
from tacit._engine.step import ask
from tacit.types import AbstractPrivate, Index


def left(
    owner: Index, seen: Observation, objectives: AbstractPrivate
) -> tuple[Array, Float[Array, ""]]:
    """The owner's release as if it were alone, and the scale of the noise in it.

    What hides the owner determines the weights of the others' noise (`AbstractHiding.view`). Noise
    is taken from the releases, not drawn from its law.

    Args:
        owner: index of the audited agent, which is honest.
        seen: observation of a phase that releases something.
        objectives: objectives of all agents; those of the owner do not matter.
    """
    phase = seen.phase
    view = phase.hides.view(owner, seen.awake, seen.scale)
    if view is None:
        return seen.released[owner], seen.scale[owner]

    def noise(agent: Any) -> Array:
        at = (seen.states, objectives, seen.released)
        state, objective, released = jax.tree.map(lambda leaf: leaf[agent], at)
        answer = ask(phase, state, objective, *seen.known(agent), seen.scale[agent])
        return jnp.asarray(released - answer)

    everybody = jnp.arange(len(seen.awake))
    noises = jax.vmap(noise)(everybody)
    others = jnp.where(everybody == owner, 0.0, view.weights)
    used = (others != 0.0).reshape(-1, *(1,) * (noises.ndim - 1))  # the absent may have any number
    found = seen.released[owner] + jnp.tensordot(others, jnp.where(used, noises, 0.0), 1)
    return (found if view.known is None else found - seen.shared(view.known)), view.scale
