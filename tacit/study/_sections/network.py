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
        description="links that fail, or agents that sleep"
    )
    probability: Number = Field(description="of a failure, or of being awake")


class PeerSection(Section):
    """Peers on a graph; `agents` follows from the partition."""

    weights: Weights | None = Field(None, description="rule, or a doubly stochastic matrix")
    varying: Varying | None = Field(None, description="what changes from round to round")
    exact_sum: By | None = Field(
        None, description="how peers compute exact sums, for a method with a coordinator"
    )


class EdgesSection(PeerSection):
    """Your own graph."""

    graph: Literal["edges"] = Field("edges", description="a list of edges")
    edges: tuple[Edge, ...] = Field(description="pairs of site numbers (from 0) or names")
    directed: Flag = Field(False, description="whether a pair is one way, sender first")


class SequenceSection(Section):
    """A sequence of graphs, one per round."""

    graph: Literal["sequence"] = Field(description="a list of graphs")
    graphs: tuple[tuple[Edge, ...], ...] = Field(description="a list of edges a round")
    repeat: Flag = Field(True, description="start again at the end")
    connected: Literal["every_round"] | Whole = Field(
        "every_round", description="in every round, or jointly over so many rounds"
    )
    exact_sum: By | None = Field(
        None, description="how peers compute exact sums, for a method with a coordinator"
    )
    window: Whole | None = Field(None, description="graphs that a round of exact sums takes")


class CoordinatorSection(Section):
    """A server between clients."""

    graph: Literal["coordinator"] = Field(description="a server that talks to every site")
    probability: Number | None = Field(None, description="of a site to take part in a round")
    dropout: Number | None = Field(
        None, description="chance of a site to go missing in a round that it takes part in"
    )


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
        Union[(EdgesSection, SequenceSection, CoordinatorSection, *map(_topology, TOPOLOGIES))],
        Field(discriminator="graph"),
        BeforeValidator(_implied),
    ]
"""One of the sections above, or one made from the registry of topologies."""
