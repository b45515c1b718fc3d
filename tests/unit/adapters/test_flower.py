"""The app of Flower: what it takes as a bag, and runs in its simulation."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from tacit.adapters import flower
from tacit.errors import WireError
from tests.hosted import MASKS, Hosted


@pytest.mark.parametrize("value", [10**12, [1, 2], "a bag", 2.5])
def test_only_bytes_are_a_bag(value: object) -> None:
    assert flower._bag(b"a bag") == b"a bag"
    with pytest.raises(WireError, match="a bag of mail is bytes"):
        flower._bag(value)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("budget", [pytest.param("", marks=pytest.mark.long), MASKS])
def test_the_app_computes_what_the_simulation_does_to_the_bit(
    tmp_path: Path, budget: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLWR_TELEMETRY_ENABLED", "0")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("RAY_worker_niceness", "0")  # by default the clients come last
    flwr = pytest.importorskip("flwr.simulation", reason="flwr is not installed")
    pytest.importorskip("ray", reason="ray, in which Flower simulates, is not installed")
    hosted = Hosted(tmp_path, budget)
    folders = hosted.folders
    flwr.run_simulation(
        flower.server_app(hosted.hub),
        flower.client_app(lambda context: folders[int(context.node_config["partition-id"])]),
        num_supernodes=3,
        backend_config={"client_resources": {"num_cpus": os.cpu_count() or 1, "num_gpus": 0.0}},
    )
    expected = hosted.expected()
    for number in range(4):
        assert np.array_equal(hosted.solution(number), expected)
