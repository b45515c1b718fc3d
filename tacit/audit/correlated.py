"""What a coalition reads of releases whose noise pairs of agents share.

It takes off the masks that it knows, and, since it knows all other data, what the other honest
agents answered. Their noises are correlated with the owner's (`N(0, S)`, docs/proofs/masks.md), so
they tell a part of it: `sum_j P_ij w_j / P_ii`, `P = S^-1`, is the owner's answer with noise of the
variance `1 / P_ii`, and nothing else says more. Noise is taken from what was released, not drawn
from its law.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from tacit.privacy.correlated import PairMasks, PairNoise
from tacit.privacy.masks import masked_mu
from tacit.runtime.agent import ask
from tacit.runtime.simulation import Observation
from tacit.types import AbstractObjective


class Worst(NamedTuple):
    """The coalition that learns most of each owner, and how it weighs what it sees.

    Attributes:
        corrupted: row `i`, who is in the coalition against agent `i`.
        weights: row `i`, `P_ij / P_ii` of the honest agents `j`, else 0.
        spread: `1 / sqrt(P_ii)`, with own noise of scale 1.
    """

    corrupted: Bool[np.ndarray, "agents agents"]
    weights: Float[np.ndarray, "agents agents"]
    spread: Float[np.ndarray, " agents"]


def left_of_masks(
    owner: int | Array, seen: Observation, objectives: AbstractObjective
) -> tuple[Array, Float[Array, ""]]:
    """What all releases of a phase say of the owner's answer, as if it stood by itself.

    Args:
        owner: number of the audited agent, which is honest.
        seen: a phase with correlated noise.
        objectives: of all agents; those of the owner do not matter.

    Returns:
        The answer with what is left of the noise, and the scale of that.
    """
    phase = seen.phase
    assert isinstance(phase.hides, PairNoise)
    masks, agents = phase.hides.masks, len(seen.awake)
    worst, pairs = worst_coalitions(masks, agents), masks.among(agents)
    corrupted, weights = jnp.asarray(worst.corrupted)[owner], jnp.asarray(worst.weights)[owner]

    def noise(agent: Array) -> Array:
        at = (seen.states, objectives, seen.released)
        state, objective, released = jax.tree.map(lambda leaf: leaf[agent], at)
        answer = ask(phase, state, objective, *seen.known(agent), seen.scale[agent])
        return jnp.asarray(released - answer)

    everybody = jnp.arange(agents)
    noises = jnp.where((everybody == owner)[:, None], seen.released, jax.vmap(noise)(everybody))
    first, second = pairs[:, 0], pairs[:, 1]
    known = weights[first] * corrupted[second] - weights[second] * corrupted[first]
    scale = seen.scale[owner]
    left = weights @ noises - masks.size(agents) * scale * seen.shared(known)
    return left, scale * jnp.asarray(worst.spread)[owner]


@lru_cache(maxsize=32)
def worst_coalitions(masks: PairMasks, agents: int) -> Worst:
    """Which coalition learns most of each agent; the first of several."""
    graph, size = masks.graph(agents), masks.size(agents)
    corrupted = np.zeros((agents, agents), dtype=bool)
    weights, spread = np.zeros((agents, agents)), np.zeros(agents)
    for owner in range(agents):
        others = np.roll(np.arange(agents), -owner)[1:].tolist()
        # where all share masks, all coalitions are alike
        tried = combinations(others[: masks.coalition] if masks.pairs is None else others,
                             masks.coalition)  # fmt: skip
        coalition = max(tried, key=lambda some: masked_mu(graph, some, size)[owner])
        corrupted[owner, list(coalition)] = True
        honest = np.flatnonzero(~corrupted[owner])
        among = graph[np.ix_(honest, honest)].astype(float)
        laplacian = np.diag(among.sum(axis=1)) - among
        row = np.linalg.inv(np.eye(len(honest)) + size**2 * laplacian)[honest == owner][0]
        weights[owner, honest] = row / row[honest == owner]
        spread[owner] = 1.0 / np.sqrt(row[honest == owner][0])
    return Worst(corrupted, weights, spread)
