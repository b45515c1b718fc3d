"""The common part of all networks without a coordinator."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Int

from tacit.network.base import AbstractNetwork
from tacit.network.links import Links


class AbstractPeerNetwork(AbstractNetwork):
    """A network whose agents talk to each other along the links of a union graph.

    Attributes:
        slots: largest number of senders of any agent.
    """

    agents: int = eqx.field(static=True)
    receivers: Int[ArrayLike, " links"]
    senders: Int[ArrayLike, " links"]
    slots: int = eqx.field(static=True)
    varying: bool = eqx.field(static=True)
    directed: bool = eqx.field(static=True)
    coordinated: bool = eqx.field(static=True)
    names: Sequence[Hashable] = eqx.field(static=True)
    kind: str = eqx.field(static=True)
    connectivity: str = eqx.field(static=True)

    def __init__(self, links: Links, kind: str, connectivity: str, varying: bool) -> None:
        self.agents = links.agents
        self.receivers = links.receivers
        self.senders = links.senders
        self.slots = int(links.degrees().max())
        self.varying = varying
        self.directed = links.directed
        self.coordinated = False
        self.names = links.names
        self.kind = kind
        self.connectivity = connectivity

    @property
    def links(self) -> Links:
        """The union graph; outside traced code only."""
        return Links(
            self.names, np.asarray(self.receivers), np.asarray(self.senders), self.directed
        )

    def neighbours(self) -> Int[Array, "agents slots"]:
        """Senders of every receiver in the union graph, sorted; padded with `agents`."""
        receivers = jnp.asarray(self.receivers)
        first = jnp.searchsorted(receivers, receivers, side="left")
        slot = jnp.arange(receivers.size) - first
        empty = jnp.full((self.agents, self.slots), self.agents, dtype=receivers.dtype)
        return empty.at[receivers, slot].set(jnp.asarray(self.senders))

    @property
    def degrees(self) -> Int[np.ndarray, " agents"]:
        """Number of senders of every agent in the union graph; outside traced code only."""
        return self.links.degrees()
