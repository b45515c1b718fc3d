"""Who may talk to whom, and with which weights."""

from __future__ import annotations

import abc

import equinox as eqx
from jaxtyping import ArrayLike, Array, Bool, Float, Int, PRNGKeyArray


class Mixing(eqx.Module):
    """The network of one round, on the directed links of the union graph.

    Attributes:
        active: whether a link carries a message, shape `(links,)`.
        weight: the receiver's weight of the sender, 0 where inactive, shape `(links,)`.
        self_weight: weight of one's own value, shape `(agents,)`.
        participates: whether an agent takes part at all, shape `(agents,)`.
    """

    active: Bool[ArrayLike, " links"]
    weight: Float[ArrayLike, " links"]
    self_weight: Float[ArrayLike, " agents"]
    participates: Bool[ArrayLike, " agents"]


class AbstractNetwork(eqx.Module):
    """A network of agents `0 .. agents - 1`.

    Its links are the directed edges of the union graph over all rounds, sorted by (receiver, sender);
    an undirected edge stands twice. Every agent can compute `mixing` by itself from the public key,
    so no coordinator has to announce who is active.

    Attributes:
        agents: how many.
        receivers: receiver of every link, shape `(links,)`.
        senders: sender of every link, shape `(links,)`.
        varying: whether `mixing` differs between rounds.
        directed: whether some link has no counterpart.
        coordinated: whether a server stands in the middle (a star of clients) instead of peers.
    """

    agents: eqx.AbstractVar[int]
    receivers: eqx.AbstractVar[Int[ArrayLike, " links"]]
    senders: eqx.AbstractVar[Int[ArrayLike, " links"]]
    varying: eqx.AbstractVar[bool]
    directed: eqx.AbstractVar[bool]
    coordinated: eqx.AbstractVar[bool]

    @abc.abstractmethod
    def mixing(self, round: Int[ArrayLike, ""], public_key: PRNGKeyArray) -> Mixing:
        """Active links and weights of a round: the same for every agent that computes it."""

    @abc.abstractmethod
    def neighbours(self) -> Int[Array, "agents slots"]:
        """Senders of every receiver in the union graph, sorted; filled up with `agents`."""
