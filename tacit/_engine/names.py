"""Which agent of a network is which of a problem: by its name where both have names of their own.

Agents without names, and nodes that are numbers or places, are taken in their order.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

from tacit.errors import NetworkError
from tacit.network.base import AbstractNetwork
from tacit.network.graph import Graph
from tacit.network.links import sorted_names
from tacit.problem.problem import anonymous

if TYPE_CHECKING:
    import networkx

_SHOWN = 8


def graph_of(
    given: networkx.Graph[Any],
    names: Sequence[str],
    weights: object = None,
    kind: str = "graph",
) -> Graph:
    """A NetworkX graph as a network, its nodes in the order of the names if these are theirs.

    Args:
        given: the graph.
        names: names of the agents.
        weights: as for `Graph.from_networkx`.
        kind: as for `Graph.from_networkx`.

    Raises:
        NetworkError: as for `Graph.from_networkx`.
    """
    if not hasattr(given, "nodes"):
        return Graph.from_networkx(given)  # which refuses it
    numbered = isinstance(sorted_names(given.nodes), range)
    alike = not numbered and sorted(map(str, given.nodes)) == sorted(names)
    return Graph.from_networkx(given, weights, kind, names if alike else None)


def check_names(network: AbstractNetwork, names: Sequence[str]) -> None:
    """Refuse a network whose agents have other names, or the same ones in another order.

    Args:
        network: network of as many agents as there are names.
        names: names of the problem's agents, in their order.

    Raises:
        NetworkError: such a network.
    """
    given = network.names
    if isinstance(given, range) or anonymous(names):
        return
    found = tuple(map(str, given))
    if found == tuple(names) or anonymous(found):
        return
    told = f"the network has the agents {_shown(found)}, and the problem {_shown(names)}"
    if sorted(found) == sorted(names):
        raise NetworkError(
            f"{told}, in another order: an agent would stand in another's place. Name them in the "
            "problem's order, as in Graph.from_networkx(graph, names=problem.names)"
        )
    if any(isinstance(name, str) for name in given):
        raise NetworkError(f"{told}; give both the same names, or number the network's from 0")


def _shown(names: Sequence[Hashable]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(map(str, names[:_SHOWN])) + more
