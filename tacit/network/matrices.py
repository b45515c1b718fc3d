"""Graphs as matrices, for questions about agents rather than links."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float

from tacit.arguments import checked
from tacit.errors import NetworkError
from tacit.network.graph import Graph

_MOST_AGENTS = 20_000
"""Weights of as many fill 3.2 GB."""


@checked(NetworkError)
def weight_matrix(graph: Graph) -> Float[np.ndarray, "agents agents"]:
    """Row `i` holds the weights that agent `i` gives to every agent's value, its own included.

    Args:
        graph: graph with mixing weights.

    Raises:
        NetworkError: it has more agents than a matrix can have.

    Example:
        >>> from tacit import network
        >>> weight_matrix(network.complete(4)).round(2)[0].tolist()
        [0.25, 0.25, 0.25, 0.25]
    """
    _check_agents(graph)
    weights = np.diag(np.asarray(graph.self_weight, dtype=float))
    weights[np.asarray(graph.receivers), np.asarray(graph.senders)] = np.asarray(graph.weight)
    return weights


@checked(NetworkError)
def adjacency_matrix(graph: Graph) -> Bool[np.ndarray, "agents agents"]:
    """Which pairs of agents are neighbours, in either direction.

    Args:
        graph: graph whose links are read.

    Raises:
        NetworkError: it has more agents than a matrix can have.

    Example:
        >>> from tacit import network
        >>> adjacency_matrix(network.path(3)).astype(int).tolist()
        [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    """
    _check_agents(graph)
    found = np.zeros((graph.agents, graph.agents), dtype=bool)
    found[np.asarray(graph.receivers), np.asarray(graph.senders)] = True
    return found | found.T


def _check_agents(graph: Graph) -> None:
    if graph.agents > _MOST_AGENTS:
        raise NetworkError(
            f"a matrix of {graph.agents:,} agents would not fit in memory, one of {_MOST_AGENTS:,} "
            "does; read senders, receivers, weight and self_weight of the graph instead"
        )
