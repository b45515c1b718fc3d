"""Edges as sorted arrays, and the checks that every graph passes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Int

from tacit import checks
from tacit.arguments import remedy
from tacit.errors import NetworkError

if TYPE_CHECKING:
    import networkx

_SHOWN_COMPONENTS = 5
_SHOWN_AGENTS = 8


@remedy(
    "give edges to Graph.from_edges(agents, edges), or a NetworkX graph to Graph.from_networkx",
    networkx="it to network.Graph.from_networkx(graph)",
)
@dataclass(frozen=True)
class Links:
    """The directed links of a graph, sorted by (receiver, sender), without duplicates.

    Attributes:
        names: the user's label of every agent, in the order of the ids.
        receivers: receiver of every link, shape `(links,)`.
        senders: sender of every link, shape `(links,)`.
        directed: whether some link has no counterpart.
    """

    names: Sequence[Hashable]
    receivers: Int[np.ndarray, " links"]
    senders: Int[np.ndarray, " links"]
    directed: bool

    @property
    def agents(self) -> int:
        """Number of agents."""
        return len(self.names)

    def degrees(self) -> Int[np.ndarray, " agents"]:
        """Number of senders of every agent."""
        return np.bincount(self.receivers, minlength=self.agents)


def links_from_edges(
    names: Sequence[Hashable], edges: Int[np.ndarray, "edges 2"], directed: bool
) -> Links:
    """Sort edges `(sender, receiver)` between agent ids; duplicates are merged.

    Raises:
        NetworkError: fewer than two agents, an id out of range, or an edge from an agent to itself.
    """
    agents = len(names)
    if agents < 2:
        raise NetworkError(
            f"a network of peers needs at least 2 agents, and this one has {agents}; add agents"
        )
    edges = edges.astype(np.int64)
    outside = np.flatnonzero(((edges < 0) | (edges >= agents)).any(axis=1))
    if outside.size:
        sender, receiver = edges[outside[0]].tolist()
        raise NetworkError(
            f"edge {outside[0]} joins agents {sender} and {receiver}, but agents are numbered "
            f"0 to {agents - 1}; correct the edge or the number of agents"
        )
    loops = np.flatnonzero(edges[:, 0] == edges[:, 1])
    if loops.size:
        raise NetworkError(
            f"agent {names[edges[loops[0], 0]]!r} has an edge to itself; remove it: every agent "
            "keeps a share of its own value without one"
        )
    forward = _once(edges[:, 1] * agents + edges[:, 0])
    backward = _once(edges[:, 0] * agents + edges[:, 1])
    if directed:
        keys, directed = forward, not np.array_equal(forward, backward)
    else:
        keys = _once(np.concatenate([forward, backward]))
    receivers, senders = np.divmod(keys, agents)
    return Links(names, receivers.astype(np.int32), senders.astype(np.int32), directed)


def _once(keys: Int[np.ndarray, " n"]) -> Int[np.ndarray, " m"]:
    """Keys in order, each once; `np.unique` hashes them, which takes minutes for millions."""
    keys = np.sort(keys)
    return keys[np.concatenate([[True], keys[1:] != keys[:-1]])] if keys.size else keys


def links_from_networkx(graph: networkx.Graph[Any], names: Sequence[str] | None = None) -> Links:
    """Number the nodes of a NetworkX graph and sort its edges.

    Edge attributes are ignored; see `check_unweighted`.

    Args:
        graph: the graph.
        names: the nodes as text, in the order in which they are numbered; sorted if `None` and
            possible.

    Raises:
        NetworkError: as for `links_from_edges`, parallel edges, or names that are not the nodes'.
    """
    if not hasattr(graph, "is_directed"):
        raise NetworkError(
            f"graph is {checks.shown(graph)}; give a NetworkX graph: networkx.Graph(edges), or of "
            "a matrix networkx.from_numpy_array(matrix)"
        )
    if graph.is_multigraph():
        _check_single(graph)
    found = sorted_names(graph.nodes) if names is None else _in_order(graph.nodes, names)
    ends = chain.from_iterable(graph.edges())
    if not isinstance(found, range):
        ids = {name: number for number, name in enumerate(found)}
        ends = (ids[name] for name in ends)
    edges = np.fromiter(ends, dtype=np.int64)
    return links_from_edges(found, edges.reshape(-1, 2), graph.is_directed())


def check_unweighted(graph: networkx.Graph[Any]) -> None:
    """Refuse a NetworkX graph whose edges have weights, where nothing says what to mix with.

    Raises:
        NetworkError: an edge with another weight than 1.
    """
    for sender, receiver, weight in graph.edges(data="weight", default=1):
        if weight != 1:
            raise NetworkError(
                f"the edge from {sender!r} to {receiver!r} has weight={checks.shown(weight)}, and "
                "weights of edges are not used: say what agents mix with, as in "
                "network.Graph.from_networkx(graph, weights='metropolis') or with a doubly "
                "stochastic matrix as weights, or take them off: networkx.Graph(list(graph.edges))"
            )


def _check_single(graph: networkx.Graph[Any]) -> None:
    """Refuse parallel edges of a graph of several edges a pair, which would count as one."""
    kind = "DiGraph" if graph.is_directed() else "Graph"
    for sender, receiver in graph.edges():
        if (count := graph.number_of_edges(sender, receiver)) > 1:
            raise NetworkError(
                f"the graph has {count} edges from {sender!r} to {receiver!r}, and agents exchange "
                f"one message a round: merge them by networkx.{kind}(graph)"
            )


def _in_order(nodes: Iterable[Hashable], names: Sequence[str]) -> Sequence[Hashable]:
    """The nodes, in the order of their names."""
    by_name = {str(node): node for node in nodes}
    if sorted(by_name) != sorted(map(str, names)):
        raise NetworkError(
            f"the nodes of the graph are {_some(by_name)}, and names are {_some(names)}; they must "
            "be the same, in any order"
        )
    return tuple(by_name[str(name)] for name in names)


def _some(names: Iterable[Hashable]) -> str:
    first, *others = map(str, names)
    return (
        f"{first} and {len(others)} more"
        if len(others) > _SHOWN_AGENTS
        else ", ".join([first, *others])
    )


def sorted_names(nodes: Iterable[Hashable]) -> Sequence[Hashable]:
    """Labels sorted if possible, else in the given order; a `range` where they are 0 .. n-1.

    A range keeps the hash of a large network cheap, which every traced call needs.
    """
    names: list[Any] = list(nodes)
    try:
        names.sort()
    except TypeError:
        names = list(nodes)
    return range(len(names)) if names == list(range(len(names))) else tuple(names)


def union(links: Sequence[Links]) -> Links:
    """All links that occur in at least one of several graphs over the same agents."""
    edges = np.concatenate([np.stack([one.senders, one.receivers], axis=1) for one in links])
    return links_from_edges(links[0].names, edges, directed=True)


def positions(links: Links, whole: Links) -> Int[np.ndarray, " links"]:
    """The position of each link of a graph among those of a union graph."""
    agents = whole.agents
    keys = whole.receivers.astype(np.int64) * agents + whole.senders
    return np.searchsorted(keys, links.receivers.astype(np.int64) * agents + links.senders)


def component_labels(links: Links) -> tuple[int, Int[np.ndarray, " agents"]]:
    """Number of (strongly) connected components, and the component of every agent."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    ones = np.ones(len(links.receivers))
    adjacency = csr_array(
        (ones, (links.receivers, links.senders)), shape=(links.agents, links.agents)
    )
    count, labels = connected_components(adjacency, directed=True, connection="strong")
    return int(count), np.asarray(labels)


def require_connected(links: Links, what: str) -> None:
    """Refuse links that do not connect all agents, naming the components.

    Args:
        links: links of the graph.
        what: beginning of the error message, such as "the graph" or "round 3".

    Raises:
        NetworkError: more than one (strongly) connected component.
    """
    count, labels = component_labels(links)
    if count == 1:
        return
    strongly = "strongly " if links.directed else ""
    order = np.argsort(labels, kind="stable")
    groups = np.split(order, np.cumsum(np.bincount(labels))[:-1])
    groups.sort(key=lambda group: int(group[0]))
    shown = ", ".join(_listed(links.names, group) for group in groups[:_SHOWN_COMPONENTS])
    more = f" and {count - _SHOWN_COMPONENTS} more" if count > _SHOWN_COMPONENTS else ""
    remedy = (
        "add links so that every agent reaches every other along the arrows"
        if links.directed
        else "add edges between them, or leave agents out"
    )
    raise NetworkError(
        f"{what} is not {strongly}connected: {count} components, {shown}{more}; {remedy}"
    )


def _listed(names: Sequence[Hashable], group: Int[np.ndarray, " members"]) -> str:
    shown = ", ".join(str(names[i]) for i in group[:_SHOWN_AGENTS])
    rest = len(group) - _SHOWN_AGENTS
    return "{" + shown + (f", ... {rest} more" if rest > 0 else "") + "}"
