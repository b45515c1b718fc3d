"""Networks that follow a given sequence of graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Int, PRNGKeyArray

from tacit.errors import NetworkError
from tacit.network.base import Mixing
from tacit.network.graph import Graph
from tacit.network.links import (
    Links,
    check_unweighted,
    component_labels,
    links_from_networkx,
    positions,
    require_connected,
    union,
)
from tacit.network.peers import AbstractPeerNetwork
from tacit.network.weights import LinkWeights, link_weights

if TYPE_CHECKING:
    import networkx

    Graphs: TypeAlias = Sequence[Graph | networkx.Graph[Any]]
else:
    Graphs: TypeAlias = Sequence

Connected: TypeAlias = Literal["every_round"] | int
"""Declared connectivity of a sequence: in every round, or jointly over several rounds in a row."""


class AbstractSequence(AbstractPeerNetwork):
    """The graphs of a sequence, laid out on the links of their union.

    Attributes:
        weight: weight that the receiver gives the sender in every graph, shape `(graphs, links)`.
        self_weight: weight that an agent gives its own value, shape `(graphs, agents)`.
        active: links of each graph, shape `(graphs, links)`.
    """

    weight: Float[ArrayLike, "graphs links"]
    self_weight: Float[ArrayLike, "graphs agents"]
    active: Bool[ArrayLike, "graphs links"]

    def __init__(
        self, graphs: Graphs, connected: Connected, weights: str | None, repeats: bool
    ) -> None:
        links = _links(graphs, weights)
        whole = union(links)
        super().__init__(whole, "graph", _declared(links, connected, repeats), varying=True)
        shape = (len(links), len(whole.receivers))
        weight, active = np.zeros(shape), np.zeros(shape, dtype=bool)
        self_weight = np.zeros((len(links), whole.agents))
        for number, (graph, one) in enumerate(zip(graphs, links, strict=True)):
            where = positions(one, whole)
            weight[number, where], self_weight[number] = _weights(graph, one, weights)
            active[number, where] = True
        self.weight, self.self_weight, self.active = weight, self_weight, active


class Periodic(AbstractSequence):
    """A sequence of graphs that starts again when it ends.

    Args:
        graphs: graphs over the same agents, one per round: `Graph`s with their own weights, or
            NetworkX graphs. Single NetworkX graphs may be disconnected where `connected` allows it;
            an agent without a link in a round keeps its value.
        connected: "every_round", or a number of rounds: the union of the graphs of that many rounds
            in a row is always (strongly) connected.
        weights: rule for each NetworkX graph by itself; see `Graph.from_networkx`.

    Raises:
        NetworkError: no graph, different agents in one of them, not connected as declared (names
            the round or window and its components), or wrong weights.

    Example:
        >>> import networkx as nx
        >>> pairs = [nx.Graph([(0, 1), (2, 3)]), nx.Graph([(1, 2), (3, 0)])]
        >>> Periodic(pairs, connected=2).connectivity
        'connected jointly over any 2 rounds in a row, not in every round'
    """

    def __init__(
        self,
        graphs: Graphs,
        connected: Connected = "every_round",
        weights: str | None = None,
    ) -> None:
        super().__init__(graphs, connected, weights, repeats=True)

    def mixing(self, round: Int[ArrayLike, ""], public_key: PRNGKeyArray) -> Mixing:
        """The graph of the round."""
        active = jnp.asarray(self.active)
        turn = jnp.asarray(round) % len(active)
        return Mixing(
            active=active[turn],
            weight=jnp.asarray(self.weight)[turn],
            self_weight=jnp.asarray(self.self_weight)[turn],
            participates=jnp.ones(self.agents, dtype=bool),
        )

    def participations(self, rounds: int, public_key: PRNGKeyArray) -> Int[np.ndarray, " agents"]:
        """All rounds, for every agent."""
        return np.full(self.agents, rounds)


class Recorded(AbstractSequence):
    """A recorded sequence of graphs, replayed once: a run must not be longer than the record.

    Args:
        graphs: as for `Periodic`.
        connected: as for `Periodic`, for windows inside the record.
        weights: as for `Periodic`.

    Raises:
        NetworkError: as for `Periodic`, or a window longer than the record.
    """

    def __init__(
        self,
        graphs: Graphs,
        connected: Connected = "every_round",
        weights: str | None = None,
    ) -> None:
        super().__init__(graphs, connected, weights, repeats=False)

    def mixing(self, round: Int[ArrayLike, ""], public_key: PRNGKeyArray) -> Mixing:
        """The graph recorded for a round; past the end, weights that are not numbers."""
        round = jnp.asarray(round)

        def recorded(stored: Float[ArrayLike, "graphs size"]) -> Float[Array, " size"]:
            return jnp.asarray(stored).at[round].get(mode="fill", fill_value=jnp.nan)

        return Mixing(
            active=jnp.asarray(self.active).at[round].get(mode="fill", fill_value=False),
            weight=recorded(self.weight),
            self_weight=recorded(self.self_weight),
            participates=jnp.ones(self.agents, dtype=bool),
        )

    def participations(self, rounds: int, public_key: PRNGKeyArray) -> Int[np.ndarray, " agents"]:
        """All rounds, for every agent.

        Raises:
            NetworkError: more rounds than are recorded.
        """
        recorded = len(np.asarray(self.active))
        if rounds > recorded:
            raise NetworkError(
                f"rounds={rounds}, but the recorded network ends after {recorded}; run fewer "
                "rounds, record more, or repeat the record with Periodic"
            )
        return np.full(self.agents, rounds)


def _links(graphs: Graphs, weights: str | None) -> list[Links]:
    if not len(graphs):
        raise NetworkError("the sequence of graphs is empty; give at least one graph")
    links = [
        graph.links if isinstance(graph, Graph) else links_from_networkx(graph) for graph in graphs
    ]
    for graph in graphs if weights is None else ():
        if not isinstance(graph, Graph):
            check_unweighted(graph)
    names = links[0].names
    for number, one in enumerate(links):
        different = set(one.names) ^ set(names)
        if different:
            raise NetworkError(
                f"the graphs of rounds 0 and {number} differ in their agents (one of them lacks "
                f"{min(map(repr, different))}); add every agent to every graph, with or without "
                "edges"
            )
        if tuple(one.names) != tuple(names):
            raise NetworkError(
                f"the graphs of rounds 0 and {number} have their agents in different orders; add "
                "them in the same order"
            )
    return links


def _weights(graph: Graph | networkx.Graph[Any], links: Links, weights: str | None) -> LinkWeights:
    if isinstance(graph, Graph) and weights is None:
        return np.asarray(graph.weight), np.asarray(graph.self_weight)
    return link_weights(links, weights)


def _declared(links: list[Links], connected: Connected, repeats: bool) -> str:
    """Check the declared connectivity of a sequence, and return it in words."""
    strongly = "strongly " if any(one.directed for one in links) else ""
    if connected == "every_round":
        for number, one in enumerate(links):
            require_connected(one, f"the graph of round {number}")
        return f"{strongly}connected in every round"
    if connected < 1:
        raise NetworkError(f"connected={connected} must be 'every_round' or a number of rounds")
    if not repeats and connected > len(links):
        raise NetworkError(
            f"connected={connected} rounds are more than the {len(links)} recorded; declare a "
            "window inside the record"
        )
    for first in range(len(links) if repeats else len(links) - connected + 1):
        last = first + connected - 1
        window = [links[number % len(links)] for number in range(first, last + 1)]
        require_connected(union(window), f"the union of the graphs of rounds {first} to {last}")
    always = all(component_labels(one)[0] == 1 for one in links)
    remark = "and also in every round" if always else "not in every round"
    return f"{strongly}connected jointly over any {connected} rounds in a row, {remark}"
