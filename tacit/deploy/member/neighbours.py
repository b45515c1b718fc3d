"""The members with which a member of a run communicates."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tacit.deploy.agreement.manifest import Manifest
from tacit.study.networks import build_network


def neighbours(manifest: Manifest, number: int) -> list[int]:
    """Numbers of the members with which a member communicates, over all rounds."""
    network = build_network(manifest.source(Path()), manifest.names)
    agents = network.agents
    if network.coordinated:
        return list(range(agents)) if number == agents else [agents]
    receivers, senders = np.asarray(network.receivers), np.asarray(network.senders)
    return sorted({*senders[receivers == number].tolist(), *receivers[senders == number].tolist()})
