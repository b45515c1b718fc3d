"""A graph of one's own."""

from __future__ import annotations

from typing import Any

import networkx as nx

from tacit.network import AbstractTopology


class Wheel(AbstractTopology):
    """One hub, and a ring around it of which every agent talks to the hub, too.

    Args:
        hub: number of the agent in the middle, from 0.
    """

    def __init__(self, hub: int = 0) -> None:
        self.hub = hub

    def graph(self, agents: int) -> nx.Graph[Any]:
        """The wheel."""
        wheel = nx.wheel_graph(agents)
        return nx.relabel_nodes(wheel, {0: self.hub, self.hub: 0}, copy=True)
