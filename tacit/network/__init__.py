"""Networks of agents: graphs, time-varying graphs, a coordinator with clients, exact sums."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tacit.checks import absent
from tacit.network.base import AbstractNetwork, Mixing
from tacit.network.exact_sum import ExactSum
from tacit.network.graph import Graph
from tacit.network.layout import layout
from tacit.network.matrices import adjacency_matrix, weight_matrix
from tacit.network.randomised import LinkFailure, RandomActivation
from tacit.network.relay import RelayCost
from tacit.network.sequence import Periodic, Recorded
from tacit.network.spectrum import (
    LaplacianExtremes,
    laplacian_extremes,
    smallest_positive_weight,
    spectral_gap,
)
from tacit.network.star import Coordinator
from tacit.network.topologies import (
    TOPOLOGIES,
    AbstractTopology,
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
    "AbstractTopology",
    "Coordinator",
    "ExactSum",
    "Graph",
    "LaplacianExtremes",
    "LinkFailure",
    "Mixing",
    "Periodic",
    "RandomActivation",
    "Recorded",
    "RelayCost",
    "Topology",
    "adjacency_matrix",
    "complete",
    "erdos_renyi",
    "geometric",
    "grid",
    "laplacian_extremes",
    "layout",
    "path",
    "random_regular",
    "ring",
    "small_world",
    "smallest_positive_weight",
    "spectral_gap",
    "star",
    "tree",
    "weight_matrix",
]


if not TYPE_CHECKING:  # type checkers read the names above; this would let any name pass

    def __getattr__(name: str) -> Any:
        raise absent(__name__, name, __all__)
