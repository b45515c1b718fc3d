"""From a network to the picture of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit.network.base import AbstractNetwork
from tacit.network.exact_sum import ExactSum
from tacit.network.graph import Graph
from tacit.report.data import NetworkPicture

_DENSE = 500
"""Up to this many agents the spectral gap is computed."""


def picture(network: AbstractNetwork, names: Sequence[str]) -> NetworkPicture:
    """The union graph of a network; for exact sums, the graph that they are computed over."""
    facts: dict[str, Any] = {"Connectivity": network.connectivity}
    if isinstance(network, ExactSum):
        cost = network.cost
        facts["Phases per round"], facts["Messages per round"] = cost.phases, cost.messages
    network = network.carrier
    pairs = np.stack([np.asarray(network.senders), np.asarray(network.receivers)], axis=1)
    if not network.directed:
        pairs = pairs[pairs[:, 0] < pairs[:, 1]]
    if isinstance(network, Graph) and network.agents <= _DENSE:
        from tacit.network.spectrum import spectral_gap

        facts["Spectral gap"] = spectral_gap(network)
    return NetworkPicture(
        names=[str(name) for name in names],
        edges=sorted((int(sender), int(receiver)) for sender, receiver in pairs),
        kind=network.kind,
        coordinated=network.coordinated,
        directed=network.directed,
        facts=facts,
    )
