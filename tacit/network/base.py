"""Who exchanges messages with whom, and with which weights."""

from __future__ import annotations

import abc
from collections.abc import Hashable, Sequence

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Int, PRNGKeyArray

from tacit.arguments import checked, remedy
from tacit.errors import NetworkError
from tacit.escape import html_table, named


class Mixing(eqx.Module):
    """The network of one round, on the directed links of the union graph.

    Attributes:
        active: whether a link carries a message, shape `(links,)`.
        weight: weight that the receiver gives the sender, 0 where inactive, shape `(links,)`.
        self_weight: weight that an agent gives its own value, shape `(agents,)`.
        participates: whether an agent takes part at all, shape `(agents,)`.
    """

    active: Bool[ArrayLike, " links"]
    weight: Float[ArrayLike, " links"]
    self_weight: Float[ArrayLike, " agents"]
    participates: Bool[ArrayLike, " agents"]


@remedy(
    "give a network, such as network.ring(4)",
    networkx="network.Graph.from_networkx(graph): this one is NetworkX's",
)
@checked(NetworkError, own="agents")
class AbstractNetwork(eqx.Module):
    """A network of agents `0 .. agents - 1`.

    Its links are the directed edges of the union graph over all rounds, sorted by (receiver,
    sender); an undirected edge appears twice. Every agent can compute `mixing` by itself from the
    public key, so no coordinator has to announce who is active.

    Attributes:
        agents: number of agents.
        receivers: receiver of every link, shape `(links,)`.
        senders: sender of every link, shape `(links,)`.
        varying: whether `mixing` differs between rounds.
        directed: whether some link has no counterpart.
        coordinated: whether a coordinator stands in the middle (a star of clients) instead of
            peers, or peers that each compute its step.
        names: the user's label of every agent, in the order of the ids.
        kind: family of graphs that it belongs to ("ring", "grid", "coordinator", ...), for drawing.
        connectivity: sense in which the network is connected, in words.
    """

    agents: eqx.AbstractVar[int]
    receivers: eqx.AbstractVar[Int[ArrayLike, " links"]]
    senders: eqx.AbstractVar[Int[ArrayLike, " links"]]
    varying: eqx.AbstractVar[bool]
    directed: eqx.AbstractVar[bool]
    coordinated: eqx.AbstractVar[bool]
    names: eqx.AbstractVar[Sequence[Hashable]]
    kind: eqx.AbstractVar[str]
    connectivity: eqx.AbstractVar[str]

    def __repr__(self) -> str:
        kind = f", {self.kind}" if self._own_kind() else ""
        edges = "" if self.coordinated else f", {self._edges()}"
        return f"<{type(self).__name__} of {self.agents} agents{edges}{kind}>"

    def _own_kind(self) -> bool:
        """Whether the kind says more than the name of the class."""
        return self.kind.replace(" ", "") != type(self).__name__.lower()

    def _edges(self) -> str:
        """The number of edges: each is two links, unless the graph is directed."""
        links = np.shape(self.receivers)[0]
        return f"{links:,} directed edges" if self.directed else f"{links // 2:,} edges"

    def _repr_html_(self) -> str:
        """What the network is, at the end of a notebook cell."""
        kind = f", {self.kind}" if self._own_kind() else ""
        rows = [("Network", type(self).__name__ + kind), ("Agents", named(self.names))]
        if not self.coordinated:
            degrees = sorted({int(each) for each in self.degrees})
            span = f"{degrees[0]} to {degrees[-1]}" if len(degrees) > 1 else str(degrees[0])
            number, what = self._edges().split(" ", 1)
            rows += [(what.capitalize(), number), ("Neighbours of an agent", span)]
        rows.append(("Connectivity", self.connectivity))
        return html_table(rows)

    @abc.abstractmethod
    def mixing(self, round: Int[ArrayLike, ""], public_key: PRNGKeyArray) -> Mixing:
        """Active links and weights of a round: the same for every agent that computes it."""

    @abc.abstractmethod
    def neighbours(self) -> Int[Array, "agents slots"]:
        """Senders of every receiver in the union graph, sorted; padded with `agents`."""

    @property
    @abc.abstractmethod
    def degrees(self) -> Int[np.ndarray, " agents"]:
        """Number of senders of every agent in the union graph; outside traced code only."""

    @abc.abstractmethod
    def participations(self, rounds: int, public_key: PRNGKeyArray) -> Int[np.ndarray, " agents"]:
        """The number of the first `rounds` rounds that every agent takes part in; outside traced
        code.

        Raises:
            NetworkError: the network cannot serve that many rounds.
        """

    def attempts(self, rounds: int, public_key: PRNGKeyArray) -> Int[np.ndarray, " agents"]:
        """How often every agent answers in the first `rounds` rounds, for methods that use sums
        only.

        A sum with a missing contribution is abandoned and requested again. By default no agent that
        takes part in a round goes missing in it.

        Raises:
            NetworkError: as for `participations`.
        """
        return self.participations(rounds, public_key)

    @property
    def sums_again(self) -> bool:
        """Whether a sum may be requested again, as an agent that joined a round goes missing.

        By default so for a network that counts `attempts` itself.
        """
        return type(self).attempts is not AbstractNetwork.attempts

    @property
    def carrier(self) -> AbstractNetwork:
        """The network that carries the messages: this one, unless a network overrides it.

        Drawings and descriptions show this one.
        """
        return self

    def carried(
        self, clients: Int[np.ndarray, " rounds"]
    ) -> tuple[Int[np.ndarray, " rounds"], Int[np.ndarray, " rounds"]]:
        """How often a payload crosses a link in each round, for counting bytes.

        Args:
            clients: number of clients in each round.

        Returns:
            Crossings of the payloads that all clients together send to the coordinator in one
            phase, and
            of the one that the coordinator sends: by default one for each client.
        """
        return clients, clients

    def answers(self, round: Int[ArrayLike, ""], public_key: PRNGKeyArray) -> Int[Array, " agents"]:
        """How often every agent answers in one round, for methods that use sums only."""
        return jnp.asarray(self.mixing(round, public_key).participates).astype(int)

    @property
    def exact_in_integers(self) -> bool:
        """Whether whole numbers modulo 2^64, such as masked ones, are summed exactly."""
        return True

    @property
    def client_weight(self) -> Float[np.ndarray, " agents"]:
        """A coordinator's weight for every client: equal, unless a network overrides it."""
        return np.full(self.agents, 1.0 / self.agents)
