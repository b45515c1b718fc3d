"""Delivering a phase's messages to all receivers of a simulation at once.

Three ways to sum over neighbours give the same numbers up to rounding; the graph decides which is
fastest: a gather over a padded table (similar degrees), a matrix product (dense graphs) or a
segmented sum over the links (hubs).
"""

from __future__ import annotations

from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.typing import DTypeLike
from jaxtyping import Array, Bool, Float, Int

from tacit.network.base import AbstractNetwork, Mixing
from tacit.types import Combine, Inbox, State

_DENSE = 0.25
"""Fraction of all possible links above which a matrix product beats a gather (measured)."""

_UNROLL = 16
"""Largest table width that is summed slot by slot, which XLA fuses into one pass."""


class Delivery(eqx.Module):
    """The links of a network, arranged for summing; built once per run."""

    receivers: Int[Array, " links"]
    senders: Int[Array, " links"]
    neighbours: Int[Array, "agents slots"] | None
    slot_link: Int[Array, "agents slots"] | None
    kind: Literal["gather", "dense", "segment"] = eqx.field(static=True)
    agents: int = eqx.field(static=True)

    def __init__(self, network: AbstractNetwork) -> None:
        self.agents = network.agents
        self.receivers = jnp.asarray(network.receivers)
        self.senders = jnp.asarray(network.senders)
        links = self.receivers.shape[0]
        width = jax.eval_shape(network.neighbours).shape[1]
        if links >= _DENSE * self.agents**2:
            self.kind = "dense"
        elif width * self.agents <= 2 * links + 8 * self.agents:
            self.kind = "gather"
        else:
            # the table of a graph with a hub would be quadratic in size
            self.kind = "segment"
            self.neighbours = self.slot_link = None
            return
        table = jnp.asarray(network.neighbours())
        valid = table < self.agents
        # links are sorted by receiver, so a receiver's slots are consecutive links
        first = jnp.searchsorted(self.receivers, jnp.arange(self.agents))
        self.neighbours = jnp.where(valid, table, 0)
        self.slot_link = jnp.where(valid, first[:, None] + jnp.arange(width), links)

    def arrange(
        self, value: Float[Array, " links"]
    ) -> Float[Array, "a b"] | Float[Array, " links"]:
        """Link values in the form that `weighted` multiplies with."""
        if self.kind == "gather":
            return self.slots(value)
        if self.kind == "dense":
            matrix = jnp.zeros((self.agents, self.agents), value.dtype)
            return matrix.at[self.receivers, self.senders].set(value)
        return value

    @property
    def table(self) -> Int[Array, "agents slots"]:
        """Senders of every receiver, padded with agent 0."""
        assert self.neighbours is not None, "a graph with a hub has no table"
        return self.neighbours

    def slots(self, value: Array) -> Any:
        """Link values as a padded table, absent slots 0."""
        return value.at[self.slot_link].get(mode="fill", fill_value=0)

    def weighted(self, arranged: Array, payload: State) -> Any:
        """`sum_j value_ij payload_j` for every receiver `i`, payload of shape `(agents, ...)`."""
        return jax.tree.map(lambda leaf: self._weighted(arranged, leaf), payload)

    def _weighted(self, arranged: Array, leaf: Any) -> Any:
        flat = leaf.reshape(self.agents, -1)
        if self.kind == "dense":
            mixed = arranged @ flat
        elif self.kind == "segment":
            mixed = jax.ops.segment_sum(
                arranged[:, None] * flat[self.senders],
                self.receivers,
                num_segments=self.agents,
                indices_are_sorted=True,
            )
        elif self.table.shape[1] <= _UNROLL:
            mixed = jnp.zeros_like(flat)
            for slot in range(self.table.shape[1]):
                mixed = mixed + arranged[:, slot, None] * flat[self.table[:, slot]]
        else:
            mixed = jnp.einsum("as,asp->ap", arranged, flat[self.table])
        return mixed.reshape(leaf.shape)


class Links(eqx.Module):
    """The mixing of one round, arranged for summing."""

    weights: Array
    ones: Array
    mixing: Mixing


def arrange(delivery: Delivery, mixing: Mixing) -> Links:
    """Prepare a round's weights; constant networks do so once per run."""
    weight = jnp.asarray(mixing.weight)
    active = jnp.asarray(mixing.active).astype(weight.dtype)
    return Links(delivery.arrange(weight), delivery.arrange(active), mixing)


def peer_inboxes(delivery: Delivery, links: Links, payload: State, combine: Combine) -> Inbox:
    """Every peer's inbox, leading axis = receiver. Values that no method reads cost nothing.

    On a graph with a hub it holds only the sums.
    """
    mixing = links.mixing
    each = combine is Combine.EACH and delivery.kind != "segment"
    mask = delivery.slots(jnp.asarray(mixing.active)) if each else None
    degree = jax.ops.segment_sum(
        jnp.asarray(mixing.active).astype(int), delivery.receivers, num_segments=delivery.agents
    )
    return Inbox(
        payload=jax.tree.map(lambda leaf: _gather(delivery, mask, leaf), payload) if each else None,
        mask=mask,
        weight=delivery.slots(jnp.asarray(mixing.weight)) if each else None,
        self_weight=jnp.asarray(mixing.self_weight),
        degree=degree,
        mixed=delivery.weighted(links.weights, payload),
        total=delivery.weighted(links.ones, payload),
    )


def server_inbox(
    weight: Float[Array, " agents"],
    participates: Bool[Array, " agents"],
    payload: State,
    combine: Combine,
) -> Inbox:
    """What the coordinator holds: one slot per client, weights renormalised over those present."""
    weight = jnp.where(participates, weight, 0.0)
    weight = weight / jnp.maximum(jnp.sum(weight), jnp.finfo(weight.dtype).tiny)
    present = participates.astype(weight.dtype)
    each = combine is Combine.EACH
    return Inbox(
        payload=jax.tree.map(lambda leaf: _masked(participates, leaf), payload) if each else None,
        mask=participates if each else None,
        weight=weight if each else None,
        self_weight=jnp.zeros((), weight.dtype),
        degree=jnp.sum(participates.astype(int)),
        mixed=jax.tree.map(lambda leaf: jnp.tensordot(weight, leaf, 1), payload),
        total=jax.tree.map(lambda leaf: jnp.tensordot(present, leaf, 1), payload),
    )


def client_inbox(payload: State, dtype: DTypeLike) -> Inbox:
    """What every client holds after the server's message: one slot."""
    one = jnp.ones((1,), dtype)
    return Inbox(
        payload=jax.tree.map(lambda leaf: leaf[None], payload),
        mask=jnp.ones((1,), bool),
        weight=one,
        self_weight=jnp.zeros((), dtype),
        degree=jnp.ones((), int),
        mixed=payload,
        total=payload,
    )


def _gather(delivery: Delivery, mask: Any, leaf: Any) -> Any:
    slots = leaf[delivery.table]
    return jnp.where(mask.reshape(mask.shape + (1,) * (leaf.ndim - 1)), slots, 0)


def _masked(mask: Array, leaf: Any) -> Any:
    return jnp.where(mask.reshape(mask.shape + (1,) * (leaf.ndim - 1)), leaf, 0)
