"""How many bytes a run sends, counted from the shapes of its messages."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import ArrayLike, Int, PRNGKeyArray

from tacit._engine.batched import Simulator
from tacit._engine.plan import Plan, numbered_phases
from tacit.method.phase import Phase
from tacit.method.rounds import Rounds
from tacit.network.base import AbstractNetwork
from tacit.privacy.hiding import AbstractHiding
from tacit.types import Index, Role, State


def bytes_sent(plan: Plan, rounds: int) -> Int[np.ndarray, " stops"]:
    """Bytes of all messages of one trial after 0, 1, ..., `rounds` rounds.

    Only payloads count; a message counts once for each receiver that it reaches, or each link over
    which it is relayed.
    """
    peers, clients = _counts(plan, rounds)
    per_round = _total(plan, peers, clients, _sizes(plan, once=False))
    first = _total(plan, peers[:1], np.array([plan.agents]), _sizes(plan, once=True))
    return np.concatenate([[0], first + np.cumsum(per_round)])


def _total(
    plan: Plan,
    peers: Int[np.ndarray, " rounds"],
    clients: Int[np.ndarray, " rounds"],
    sizes: Mapping[tuple[Role, Rounds], int],
) -> Int[np.ndarray, " rounds"]:
    up, down = plan.network.carried(clients)
    carried = {Role.PEER: peers, Role.CLIENT: up, Role.SERVER: down}
    total, rounds = np.zeros(len(peers), dtype=np.int64), np.arange(len(peers))
    for (role, when), size in sizes.items():
        sent = when.includes(rounds, int(plan.rounds))
        total += np.where(sent, carried[role] * size, 0)
    return total


def _sizes(plan: Plan, *, once: bool) -> Mapping[tuple[Role, Rounds], int]:
    """Bytes of one sender's messages per round, by its role and the rounds in which it sends."""
    if not numbered_phases(plan.method, once=once):
        return {}
    arrays, rest = eqx.partition(plan, eqx.is_array)
    leaves, structure = jax.tree.flatten(arrays)
    others, around = jax.tree.flatten(rest)
    shapes = tuple(jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) for leaf in leaves)
    precision = jax.dtypes.canonicalize_dtype(float)
    return _traced_sizes(structure, shapes, around, tuple(others), precision, once)


@functools.lru_cache(maxsize=64)
def _traced_sizes(
    structure: Any,
    shapes: tuple[jax.ShapeDtypeStruct, ...],
    around: Any,
    others: tuple[Any, ...],
    precision: Any,
    once: bool,
) -> Mapping[tuple[Role, Rounds], int]:
    """The same from shapes alone, so that a repeated run is not traced again.

    Args:
        structure: structure of the plan's arrays.
        shapes: shapes of those arrays.
        around: structure of everything else in the plan.
        others: everything else in the plan.
        precision: precision of numbers made while tracing; it is not an argument of anything
            traced.
        once: whether to count the phases before the rounds.
    """
    total: Counter[tuple[Role, Rounds]] = Counter()
    agents = 0

    def note(phase: Phase, payload: State) -> None:
        if phase.receiver is None:
            return
        size = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(payload))
        if phase.sender is not Role.SERVER:
            size //= agents
        total[phase.sender, phase.rounds] += phase.repeat * size

    def run(leaves: Any) -> Any:
        # all of it within the trace: every operation outside would be compiled by itself
        nonlocal agents
        plan = eqx.combine(
            jax.tree.unflatten(structure, leaves), jax.tree.unflatten(around, others)
        )
        agents = plan.agents
        return Simulator(plan, plan.shared, note).round(plan.initial(), jnp.asarray(0), once=once)

    jax.eval_shape(run, shapes)
    return MappingProxyType(total)


def _counts(plan: Plan, rounds: int) -> tuple[Any, Any]:
    """Active links between peers, and active clients, in each round."""
    told_apart = np.arange(rounds if plan.network.varying else 1)
    found = _counts_of(plan.network, plan.shared, told_apart, plan.method.hides)
    peers, clients = (np.broadcast_to(np.asarray(count, np.int64), rounds) for count in found)
    return peers, clients


@eqx.filter_jit
def _counts_of(
    network: AbstractNetwork,
    key: PRNGKeyArray,
    rounds: Int[ArrayLike, " rounds"],
    hides: AbstractHiding,
) -> tuple[Any, Any]:
    def count(round: Index) -> tuple[Any, Any]:
        answers = hides.answers(network, round, key)
        return jnp.sum(network.mixing(round, key).active), jnp.sum(answers)

    return jax.lax.map(count, rounds)
