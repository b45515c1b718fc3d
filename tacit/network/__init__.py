"""Networks of agents: graphs, time-varying graphs, and a coordinator with clients."""

from tacit.network.base import AbstractNetwork, Mixing
from tacit.network.graph import Graph
from tacit.network.star import Coordinator
from tacit.network.topologies import (
    TOPOLOGIES,
    Topology,
    complete,
    erdos_renyi,
    geometric,
    grid,
    path,
    random_regular,
    ring,
    small_world,
    star,
    tree,
)

__all__ = [
    "TOPOLOGIES",
    "AbstractNetwork",
    "Coordinator",
    "Graph",
    "Mixing",
    "Topology",
    "complete",
    "erdos_renyi",
    "geometric",
    "grid",
    "path",
    "random_regular",
    "ring",
    "small_world",
    "star",
    "tree",
]
