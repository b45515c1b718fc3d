"""How many bytes a run sends, counted from the shapes of its messages."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Int, PRNGKeyArray

from tacit.network.base import AbstractNetwork
from tacit.runtime.plan import Plan, phases_of
from tacit.runtime.simulation import Simulator
from tacit.types import Role


def bytes_sent(plan: Plan, rounds: int) -> Int[np.ndarray, " stops"]:
    """Bytes of all messages of one trial after 0, 1, ..., `rounds` rounds.

    A message counts once for each receiver that it reaches, payload only.
    """
    once, each_round = _sizes(plan, once=True), _sizes(plan, once=False)
    peers, clients = _counts(plan, rounds)
    per_round = peers * each_round[Role.PEER] + clients * each_round[Role.CLIENT]
    first = peers[0] * once[Role.PEER] + plan.agents * once[Role.CLIENT]
    return np.concatenate([[0], first + np.cumsum(per_round)])


def _sizes(plan: Plan, *, once: bool) -> dict[Role, int]:
    """Bytes of one agent's messages in a round, over links between peers or to the coordinator."""
    total = {Role.PEER: 0, Role.CLIENT: 0}

    def note(phase: Any, payload: Any) -> None:
        if phase.receiver is None:
            return
        size = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(payload))
        if phase.sender is not Role.SERVER:
            size //= plan.agents
        total[Role.PEER if phase.sender is Role.PEER else Role.CLIENT] += phase.repeat * size

    def run() -> Any:
        # all of it within the trace: every operation outside would be compiled by itself
        return Simulator(plan, plan.shared, note).round(plan.initial(), jnp.asarray(0), once=once)

    if phases_of(plan.method, once=once):
        jax.eval_shape(run)
    return total


def _counts(plan: Plan, rounds: int) -> tuple[Any, Any]:
    """Active links between peers, and active clients, in each round."""
    told_apart = np.arange(rounds if plan.network.varying else 1)
    found = _counts_of(plan.network, plan.shared, told_apart)
    peers, clients = (np.broadcast_to(np.asarray(count, np.int64), rounds) for count in found)
    return peers, clients


@eqx.filter_jit
def _counts_of(network: AbstractNetwork, key: PRNGKeyArray, rounds: Any) -> tuple[Any, Any]:
    def count(round: Any) -> tuple[Any, Any]:
        mixing = network.mixing(round, key)
        return jnp.sum(mixing.active), jnp.sum(mixing.participates)

    return jax.lax.map(count, rounds)
