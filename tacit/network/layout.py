"""Positions of the agents of a network in a drawing."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from tacit.arguments import checked
from tacit.errors import NetworkError
from tacit.network.base import AbstractNetwork
from tacit.network.library import networkx_for

_SPRINGS = 300
"""Above this number of agents, distances between all pairs take too long to fit."""


@checked(NetworkError)
def layout(network: AbstractNetwork) -> Float[np.ndarray, "agents 2"]:
    """Positions of the agents in the square from -1 to 1, the same in every call.

    Rings and complete graphs are drawn on a circle, stars around their centre, paths on a line,
    trees level by level, clients around the coordinator at the origin; other graphs are fitted to
    their distances (Kamada and Kawai), and large ones to their smoothest eigenvectors.

    Example:
        >>> from tacit.network import path
        >>> layout(path(3))[:, 0].tolist()
        [-1.0, 0.0, 1.0]
    """
    network = network.carrier
    agents = network.agents
    if network.kind in ("ring", "complete", "coordinator"):
        return _circle(agents)
    if network.kind == "star":
        return np.concatenate([np.zeros((1, 2)), _circle(agents - 1)])
    if network.kind == "path":
        return np.stack([np.linspace(-1.0, 1.0, agents), np.zeros(agents)], axis=1)

    nx = networkx_for(f"the layout of a {network.kind}")
    graph = nx.Graph()
    graph.add_nodes_from(range(agents))
    graph.add_edges_from(zip(*_ends(network), strict=True))
    if network.kind == "tree":
        places = nx.bfs_layout(graph, 0, align="horizontal")
    elif agents <= _SPRINGS:
        places = nx.kamada_kawai_layout(graph)
    else:
        places = nx.spectral_layout(graph)
    found = np.array([places[agent] for agent in range(agents)], dtype=np.float64)
    centred = found - (found.max(axis=0) + found.min(axis=0)) / 2.0
    return centred / max(float(np.abs(centred).max()), np.finfo(np.float64).tiny)


def _circle(agents: int) -> Float[np.ndarray, "agents 2"]:
    angles = 2.0 * np.pi * np.arange(agents) / agents
    return np.stack([np.sin(angles), np.cos(angles)], axis=1)


def _ends(network: AbstractNetwork) -> tuple[list[int], list[int]]:
    return np.asarray(network.senders).tolist(), np.asarray(network.receivers).tolist()
