"""How many bytes a run sends, counted from the shapes of its messages."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Int

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

    if phases_of(plan.method, once=once):
        simulator = Simulator(plan, plan.shared, note)
        jax.eval_shape(lambda: simulator.round(plan.initial(), jnp.asarray(0), once=once))
    return total


def _counts(plan: Plan, rounds: int) -> tuple[Any, Any]:
    """Active links between peers, and active clients, in each round."""
    if not plan.network.varying:
        mixing = plan.mixing(jnp.asarray(0))
        ones = np.ones(rounds, dtype=np.int64)
        return ones * int(np.sum(mixing.active)), ones * int(np.sum(mixing.participates))
    peers, clients = _varying_counts(plan, jnp.arange(rounds))
    return np.asarray(peers, dtype=np.int64), np.asarray(clients, dtype=np.int64)


@eqx.filter_jit
def _varying_counts(plan: Plan, rounds: Any) -> tuple[Any, Any]:
    def count(round: Any) -> tuple[Any, Any]:
        mixing = plan.mixing(round)
        return jnp.sum(mixing.active), jnp.sum(mixing.participates)

    return jax.lax.map(count, rounds)
