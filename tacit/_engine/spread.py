"""The amount of noise in what a receiver holds: for intervals, advice and plans."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from tacit._engine.keys import public_key
from tacit.errors import PrivacyError
from tacit.method.phase import Phase
from tacit.network.base import AbstractNetwork
from tacit.types import Role


def spread_of(
    phase: Phase,
    scales: Float[np.ndarray, "*rounds agents"],
    dimension: int,
    network: AbstractNetwork,
    seed: int = 0,
    agents: int | None = None,
) -> Float[np.ndarray, "*_shape"]:
    """Standard deviation of all noise in the mean that the receiver of a phase holds.

    The agents' noise has covariance `diag(s) C diag(s)`, with `s` each agent's own noise scale and
    `C` that of what hides them (the identity, unless pairs share noise), so a mean with weights
    `w` has variance `sum_ij w_i s_i C_ij s_j w_j`.

    Args:
        phase: phase of the method.
        scales: scales of the noise that the agents add.
        dimension: number of parameters.
        network: links and weights between the agents.
        seed: seed that decides who takes part in round 0, if the network draws that.
        agents: number of agents in the mean, which then weighs them equally: those with the most
            noise, because which ones are missing is unknown; by default all, as the network weighs
            them.

    Raises:
        PrivacyError: as for `Contract.spread`.
    """
    every = scales.shape[-1]
    if phase.release is None or phase.query is None or phase.release.mechanism.bare:
        return np.zeros(())
    mechanism = phase.release.mechanism
    if mechanism.noised is None or mechanism.own_records:
        raise PrivacyError(
            f"the noise of phase {phase.name!r} ({mechanism.name}) is not of a known size in its "
            "answer, so nothing says how far a mean of answers is off"
        )
    shared = phase.hides.covariance(every)
    if agents is None:
        weights = _weights(phase, network, seed)
    elif shared is None:
        # which ones are missing is unknown: assume those with the most noise
        scales = np.sort(scales, axis=-1)[..., every - agents :]
        weights = np.full((1, agents), 1.0 / agents)
    elif agents == every:
        weights = np.full((1, every), 1.0 / every)
    else:
        raise PrivacyError(
            f"agents={agents}: the noise that pairs share cancels in the mean of all {every} only"
        )
    own = mechanism.noised.deviation(phase.query.size(dimension)) * scales
    parts = own[..., None, :] * weights
    mixed = parts if shared is None else parts @ shared
    found = np.sqrt(np.maximum(np.sum(mixed * parts, axis=-1), 0.0))
    return found if len(weights) > 1 else found[..., 0]


def _weights(
    phase: Phase, network: AbstractNetwork, seed: int
) -> Float[np.ndarray, "means agents"]:
    """How each mean of a phase weighs the agents: one row per mean."""
    if phase.receiver is not Role.PEER:
        return np.asarray(network.client_weight, dtype=float)[None, :]
    mixing = network.mixing(jnp.asarray(0), public_key(seed))
    weights = np.diag(np.asarray(mixing.self_weight, dtype=float))
    receivers, senders = np.asarray(network.receivers), np.asarray(network.senders)
    weights[receivers, senders] += np.where(mixing.active, mixing.weight, 0.0)
    return weights
