"""A network with a fixed graph."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import ArrayLike, Bool, Float, Int, PRNGKeyArray

from tacit.arguments import checked
from tacit.errors import NetworkError
from tacit.network.base import Mixing
from tacit.network.links import (
    Links,
    check_unweighted,
    links_from_edges,
    links_from_networkx,
    require_connected,
)
from tacit.network.peers import AbstractPeerNetwork
from tacit.network.weights import link_weights
from tacit.ranges import Count

if TYPE_CHECKING:
    import networkx


class Graph(AbstractPeerNetwork):
    """A connected graph with doubly stochastic weights, the same in every round.

    Build it with `from_networkx`, `from_edges` or a function of `tacit.network.topologies`; its
    fields are arrays, so that it passes through `jax.jit`, and `mixing` computes nothing.

    Attributes:
        weight: weight that the receiver gives the sender, shape `(links,)`.
        self_weight: weight that an agent gives its own value, shape `(agents,)`.

    Example:
        >>> graph = Graph.from_edges(3, [(0, 1), (1, 2)])
        >>> [round(float(weight), 3) for weight in graph.self_weight]
        [0.667, 0.333, 0.667]
    """

    weight: Float[ArrayLike, " links"]
    self_weight: Float[ArrayLike, " agents"]
    active: Bool[ArrayLike, " links"]
    participates: Bool[ArrayLike, " agents"]

    def __init__(self, links: Links, weights: object = None, kind: str = "graph") -> None:
        require_connected(links, "the graph")
        strongly = "strongly " if links.directed else ""
        super().__init__(links, kind, f"{strongly}connected in every round", varying=False)
        self.weight, self.self_weight = link_weights(links, weights)
        self.active = np.ones(len(links.receivers), dtype=bool)
        self.participates = np.ones(links.agents, dtype=bool)

    @classmethod
    def from_networkx(
        cls,
        graph: networkx.Graph[Any],
        weights: object = None,
        kind: str = "graph",
        names: Sequence[str] | None = None,
    ) -> Graph:
        """Convert a NetworkX graph; an arrow `u -> v` of a directed one lets `u` send to `v`.

        Agents are numbered in the order of `names`, by default in the sorted order of the nodes, or
        in their given order where nodes cannot be compared. Attributes of edges are ignored, but
        for weights, which are refused where nothing says what to mix with instead.

        Args:
            graph: connected graph, strongly connected if directed, without self-loops.
            weights: "metropolis", "max_degree" or "balanced" (for directed graphs); or a doubly
                stochastic matrix whose row `i` holds the weights that agent `i` gives; `None` for
                "metropolis", or "balanced" if directed.
            kind: name of the graph, for drawing.
            names: names of all nodes in the order of the agents, such as `problem.names`.

        Raises:
            NetworkError: names other than those of the nodes, fewer than two agents, a self-loop,
                parallel edges, several components, wrong weights, or edges with a weight other
                than 1 without `weights`.
        """
        links = links_from_networkx(graph, names)
        if weights is None:
            check_unweighted(graph)
        return cls(links, weights, kind)

    @classmethod
    @checked(NetworkError)
    def from_edges(
        cls,
        agents: Count | Sequence[Hashable],
        edges: Iterable[tuple[Hashable, Hashable]] | Int[np.ndarray, "edges 2"],
        directed: bool = False,
        weights: object = None,
        kind: str = "graph",
    ) -> Graph:
        """Build a graph from pairs `(sender, receiver)`, or unordered pairs if not `directed`.

        Args:
            agents: number of agents (pairs then hold ids from 0), or all their names, in the order
                in which they are to be numbered.
            edges: pairs of ids or names; duplicates are merged, an edge to itself is an error.
            directed: whether a pair is a single directed link.
            weights: see `from_networkx`.
            kind: name of the graph, for drawing.

        Raises:
            NetworkError: as in `from_networkx`, or a duplicate or unknown name.
        """
        names = range(agents) if isinstance(agents, int) else tuple(agents)
        links = links_from_edges(names, _edge_ids(names, edges), directed)
        return cls(links, weights, kind)

    def mixing(self, round: Int[ArrayLike, ""], public_key: PRNGKeyArray) -> Mixing:
        """The stored weights."""
        return Mixing(self.active, self.weight, self.self_weight, self.participates)

    def participations(self, rounds: int, public_key: PRNGKeyArray) -> Int[np.ndarray, " agents"]:
        """All rounds, for every agent."""
        return np.full(self.agents, rounds)


def _edge_ids(
    names: Sequence[Hashable],
    edges: Iterable[tuple[Hashable, Hashable]] | Int[np.ndarray, "edges 2"],
) -> Int[np.ndarray, "edges 2"]:
    if isinstance(names, range):
        pairs = edges if isinstance(edges, np.ndarray) else list(edges)
        ids = np.asarray(pairs) if len(pairs) else np.empty((0, 2), dtype=int)
        if ids.ndim != 2 or ids.shape[1] != 2:
            raise NetworkError(f"edges has shape {ids.shape}; give pairs of agents' numbers")
        if not np.issubdtype(ids.dtype, np.integer):
            raise NetworkError(
                f"edges hold values of type {ids.dtype}; agents given by their number need whole "
                "numbers, or pass the agents' names"
            )
        return ids
    numbered = {name: number for number, name in enumerate(names)}
    if len(numbered) < len(names):
        twice = next(name for number, name in enumerate(names) if numbered[name] != number)
        raise NetworkError(f"agent {twice!r} is listed twice; names must differ")
    try:
        pairs = [(numbered[sender], numbered[receiver]) for sender, receiver in edges]
    except (TypeError, ValueError) as error:
        raise NetworkError("edges must be pairs of agents' names") from error
    except KeyError as unknown:
        raise NetworkError(
            f"an edge names the agent {unknown.args[0]!r}, which is not in the list of agents; "
            "correct the edge or add the agent"
        ) from None
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)
