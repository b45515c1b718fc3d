"""The section [network]: a topology, edges, a sequence of graphs, or a coordinator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, Union

from pydantic import BeforeValidator, Field

from tacit.network.exact_sum import By
from tacit.network.topologies import TOPOLOGIES
from tacit.study._grammar.arguments import arguments, section
from tacit.study._grammar.section import Flag, Number, Section, Whole

Edge = tuple[Whole | str, Whole | str]
Weights = Literal["metropolis", "max_degree", "balanced"] | tuple[tuple[Number, ...], ...]


class Varying(Section):
    """What changes from round to round."""

    kind: Literal["link_failure", "random_activation"] = Field(
        description="kind of change: links that fail, or sites that are active at random"
    )
    probability: Number = Field(
        description="probability per round: that a link fails, in [0, 1), or that a site is "
        "active, in (0, 1]"
    )


class PeerSection(Section):
    """Peers on a graph; `agents` follows from the partition."""

    weights: Weights | None = Field(
        None, description="mixing weights: a rule, or a doubly stochastic matrix"
    )
    varying: Varying | None = Field(
        None, description="random change of the network from round to round"
    )
    exact_sum: By | None = Field(
        None, description="protocol for exact sums over peers, in place of a coordinator"
    )


class EdgesSection(PeerSection):
    """Your own graph."""

    graph: Literal["edges"] = Field("edges", description="network given by a list of edges")
    edges: tuple[Edge, ...] = Field(description="pairs of sites, by number (from 0) or name")
    directed: Flag = Field(
        False, description="whether each edge goes one way, from the first site to the second"
    )


class SequenceSection(Section):
    """A sequence of graphs, one per round."""

    graph: Literal["sequence"] = Field(description="network given by one graph per round")
    graphs: tuple[tuple[Edge, ...], ...] = Field(description="one list of edges per round")
    repeat: Flag = Field(True, description="whether to start again after the last graph")
    connected: Literal["every_round"] | Whole = Field(
        "every_round",
        description="'every_round', or the number of consecutive rounds whose union is connected, "
        "at least 1",
    )
    exact_sum: By | None = Field(
        None, description="protocol for exact sums over peers, in place of a coordinator"
    )
    window: Whole | None = Field(None, description="number of graphs used per round of exact sums")


class CoordinatorSection(Section):
    """A server between clients."""

    graph: Literal["coordinator"] = Field(
        description="network in which a coordinator talks to every site"
    )
    probability: Number | None = Field(
        None, description="probability that a site takes part in a round, in (0, 1] [default: 1]"
    )
    dropout: Number | None = Field(
        None,
        description="probability that a site goes missing in a round that it joined, in (0, 1)",
    )


SECTIONS: dict[str, type[Section]] = {
    "edges": EdgesSection,
    "sequence": SequenceSection,
    "coordinator": CoordinatorSection,
}
"""What a study may name besides the graphs of the registry."""


def _topology(name: str) -> type[Section]:
    given = arguments(TOPOLOGIES[name].build, leave_out=("agents", "weights"))
    return section(f"The graph {name}.", "graph", name, given, base=PeerSection)


def _implied(value: Any) -> Any:
    if isinstance(value, dict) and "graph" not in value and "edges" in value:
        return {**value, "graph": "edges"}
    return value


if TYPE_CHECKING:
    Network = Section
else:
    Network = Annotated[
        Union[(*SECTIONS.values(), *map(_topology, TOPOLOGIES))],
        Field(discriminator="graph"),
        BeforeValidator(_implied),
    ]
"""One of the sections above, or one made from the registry of topologies."""
