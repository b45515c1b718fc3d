"""From [network] to the network between the sites."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit import checks
from tacit._engine.names import check_names, graph_of
from tacit.errors import NetworkError
from tacit.network import TOPOLOGIES, AbstractNetwork, Coordinator, ExactSum, Graph
from tacit.network.library import networkx_for
from tacit.network.randomised import LinkFailure, RandomActivation
from tacit.network.sequence import Periodic, Recorded
from tacit.network.topologies import Topology
from tacit.study._sections.network import (
    CoordinatorSection,
    EdgesSection,
    PeerSection,
    SequenceSection,
    Varying,
)
from tacit.study.read import Source


def build_network(source: Source, names: Sequence[str]) -> AbstractNetwork:
    """The network between the sites.

    Raises:
        ConfigError: a graph that is not connected or has a different number of agents, or
            other names of them.
    """
    with source.section("network"):
        network = _network(source, names)
        if network.agents != len(names):
            raise NetworkError(
                f"the graph has {network.agents} agents and there are {len(names)} sites "
                f"({', '.join(names[:8])}{', ...' if names[8:] else ''}); they must be as many"
            )
        check_names(network, names)
        return network


def _network(source: Source, names: Sequence[str]) -> AbstractNetwork:
    chosen: Any = source.study.network
    graph = _graph(source, chosen, names)
    if isinstance(chosen, CoordinatorSection):
        return graph
    window = chosen.window if isinstance(chosen, SequenceSection) else None
    if chosen.exact_sum is not None:
        return ExactSum(graph, chosen.exact_sum, window)
    if window is not None:
        raise NetworkError(
            f"window={window} is for exact sums; add exact_sum = 'flooding', or leave it out"
        )
    return graph


def _graph(source: Source, chosen: Any, names: Sequence[str]) -> AbstractNetwork:
    if isinstance(chosen, CoordinatorSection):
        return Coordinator(len(names), chosen.probability, chosen.dropout)
    if isinstance(chosen, SequenceSection):
        graphs = [_networkx(edges, names) for edges in chosen.graphs]
        return (Periodic if chosen.repeat else Recorded)(graphs, chosen.connected)
    weights = np.array(chosen.weights) if isinstance(chosen.weights, tuple) else chosen.weights
    if isinstance(chosen, EdgesSection):
        edges = [_ends(edge, names) for edge in chosen.edges]
        graph = Graph.from_edges(len(names), edges, directed=chosen.directed, weights=weights)
    else:
        topology = source.build("graph", chosen.graph, TOPOLOGIES)
        shared = set(PeerSection.model_fields) | {"graph"}
        values = {key: value for key, value in chosen if key not in shared}
        if isinstance(topology, Topology):
            if "agents" in topology.required:
                values["agents"] = len(names)
            graph = topology.build(**values, weights=weights)
        else:
            drawn = topology(**values).graph(len(names))
            graph = graph_of(drawn, names, weights, chosen.graph)
    return graph if chosen.varying is None else _varied(graph, chosen.varying)


def _varied(graph: Graph, varying: Varying) -> AbstractNetwork:
    kind = LinkFailure if varying.kind == "link_failure" else RandomActivation
    return kind(graph, varying.probability)


def _networkx(edges: Sequence[Any], names: Sequence[str]) -> Any:
    nx = networkx_for("a sequence of graphs")
    graph: Any = nx.Graph()
    graph.add_nodes_from(range(len(names)))
    graph.add_edges_from(_ends(edge, names) for edge in edges)
    return graph


def _ends(edge: Sequence[int | str], names: Sequence[str]) -> tuple[int, int]:
    """Site numbers of both ends; a text is a name."""
    numbers: list[int] = []
    for end in edge:
        if isinstance(end, str):
            if end not in names:
                hint = checks.hint(end, names, f"they are {', '.join(names)}")
                raise NetworkError(
                    f"the edge {list(edge)} names {end!r}, which is not a site; {hint}"
                )
            end = names.index(end)
        elif not 0 <= end < len(names):
            raise NetworkError(
                f"the edge {list(edge)} names site number {end}; there are {len(names)}, from 0"
            )
        numbers.append(end)
    return numbers[0], numbers[1]
