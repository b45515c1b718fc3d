"""The app of Flower, in its simulation."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from tests.hosted import MASKS, Hosted

pytest.importorskip("flwr", reason="flwr is not installed")
pytest.importorskip("ray", reason="ray, in which Flower simulates, is not installed")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("budget", [pytest.param("", marks=pytest.mark.long), MASKS])
def test_the_app_computes_what_the_simulation_does_to_the_bit(
    tmp_path: Path, budget: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLWR_TELEMETRY_ENABLED", "0")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("RAY_worker_niceness", "0")  # by default the clients come last
    from flwr.simulation import run_simulation

    from tacit.adapters.flower import client_app, server_app

    hosted = Hosted(tmp_path, budget)
    folders = hosted.folders
    run_simulation(
        server_app(hosted.hub),
        client_app(lambda context: folders[int(context.node_config["partition-id"])]),
        num_supernodes=3,
        backend_config={"client_resources": {"num_cpus": os.cpu_count() or 1, "num_gpus": 0.0}},
    )
    expected = hosted.expected()
    for number in range(4):
        assert np.array_equal(hosted.solution(number), expected)
