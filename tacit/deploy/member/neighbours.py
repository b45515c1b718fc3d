"""The members with which a member of a run communicates, and the links between them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tacit.deploy.agreement.manifest import Manifest, Member
from tacit.deploy.messages.relaying import Place
from tacit.network import AbstractNetwork, ExactSum, Graph
from tacit.network.relay import sum_tree
from tacit.study.networks import build_network

_PASSED = "Messages pass from site to site over the graph"


def neighbours(manifest: Manifest, number: int) -> list[int]:
    """Numbers of those with whose messages a member computes, over all rounds.

    That of a coordinator is the number of agents; between peers that add up it is that of the site
    that adds up for all.
    """
    network = build_network(manifest.source(Path()), manifest.names)
    agents = network.agents
    if network.coordinated:
        return list(range(agents)) if number == agents else [agents]
    return _linked(network, number)


def linked(manifest: Manifest, number: int) -> list[int]:
    """Numbers of the members that a member is connected to."""
    graph = sum_graph(manifest)
    return neighbours(manifest, number) if graph is None else graph.linked(number)


def seats(manifest: Manifest, graph: SumGraph | None) -> tuple[Member, ...]:
    """Who has which number in a run: agents, and a coordinator or the site that adds up.

    Args:
        manifest: manifest of the run.
        graph: its `sum_graph`.
    """
    return manifest.members if graph is None else (*manifest.agents, manifest.agents[graph.root])


@dataclass(frozen=True, eq=False)
class SumGraph:
    """The graph over which messages pass between peers that add up.

    Attributes:
        network: the graph, and how sums are made.
        parents: each agent's parent in the tree of `tacit.network.relay.sum_tree`.
        names: names of the agents.
    """

    network: ExactSum
    parents: tuple[int, ...]
    names: tuple[str, ...]

    @property
    def root(self) -> int:
        """Number of the agent whose site adds up for all."""
        return self.parents.index(-1)

    def linked(self, number: int) -> list[int]:
        """Numbers of the agents that an agent is connected to."""
        return _linked(self.network.carrier, number)

    def place(self, manifest: Manifest, number: int) -> Place:
        """An agent's place.

        Args:
            manifest: manifest of the run.
            number: number of the agent.
        """
        around = tuple(self.linked(number))
        towards, away = around, around
        if self.network.by == "tree":
            towards = (self.parents[number],)
            away = tuple(i for i, parent in enumerate(self.parents) if parent == number)
        return Place(
            number,
            len(self.names),
            {other: manifest.agents[other].card for other in around},
            () if number == self.root else towards,
            away,
        )

    def cut_off(self, silent: Sequence[int]) -> str:
        """Where the graph is cut, if silent agents run, in words for who adds up.

        Args:
            silent: numbers of the silent agents.
        """
        gone = set(silent)
        links = [
            f"{self.names[one]} - {self.names[other]}"
            for one in range(len(self.names))
            for other in self.linked(one)
            if one not in gone and other in gone
        ]
        at = f" is cut at {', '.join(links)}" if links else " is cut"
        return f"{_PASSED}: either who is silent does not run, or the graph{at}."

    def out_of_reach(self, number: int, heard: Collection[int]) -> str:
        """Where the graph is cut for an agent that does not hear who adds up, in words.

        Args:
            number: number of the agent.
            heard: numbers of those neighbours that it heard of late.
        """
        adds = self.names[self.root]
        near = [self.names[other] for other in self.linked(number)]
        there = [self.names[other] for other in self.linked(number) if other in heard]
        if not there:
            either = f"none of this site's neighbours ({', '.join(near)}) is heard"
            return f"{_PASSED}, and {either}: its own links are cut, or they do not run."
        return (
            f"{_PASSED}, and of this site's neighbours {', '.join(there)} is heard: either "
            f"{adds!r}, which adds up for all, does not run, or the graph is cut on every way to "
            "it."
        )


def sum_graph(manifest: Manifest) -> SumGraph | None:
    """The graph of peers that add up; `None` in any other run."""
    if not manifest.relayed:
        return None
    network = build_network(manifest.source(Path()), manifest.names)
    assert isinstance(network, ExactSum) and isinstance(network.carrier, Graph)
    return SumGraph(network, sum_tree(network.carrier), manifest.names)


def _linked(network: AbstractNetwork, number: int) -> list[int]:
    receivers, senders = np.asarray(network.receivers), np.asarray(network.senders)
    return sorted({*senders[receivers == number].tolist(), *receivers[senders == number].tolist()})
