"""Metrics say what the status says, on this machine only."""

from __future__ import annotations

import urllib.request
from typing import Any

import pytest

from tacit.deploy.operate.watch import HOST, serve_metrics
from tacit.errors import ConfigError
from tests.sites import free_port

STATUS: dict[str, Any] = {
    "round": 7,
    "rounds": 50,
    "round_seconds": 0.125,
    "without": ["west"],
    "neighbours": {
        "south": {"silent_seconds": 0.5, "waited_seconds": 0.01, "finished": False},
        "west": {"silent_seconds": 90.0, "waited_seconds": 0.0, "finished": True},
    },
    "messages": {"accepted": 12, "refused": 1},
    "connections": {"let_in": 3, "refused": 40},
}


def test_metrics_say_what_the_status_says() -> None:
    port = free_port()
    end = serve_metrics(port, lambda: STATUS)
    try:
        with urllib.request.urlopen(f"http://{HOST}:{port}/metrics", timeout=10) as answer:
            lines = answer.read().decode().splitlines()
        with pytest.raises(ConfigError, match=f"port {port}"):
            serve_metrics(port, lambda: STATUS)
    finally:
        end()
    assert {
        "tacit_round 7.0",
        "tacit_rounds 50.0",
        "tacit_round_seconds 0.125",
        'tacit_messages{outcome="accepted"} 12.0',
        'tacit_messages{outcome="refused"} 1.0',
        'tacit_messages{outcome="early"} 0.0',
        'tacit_connections{outcome="refused"} 40.0',
        'tacit_neighbour_silent_seconds{neighbour="west"} 90.0',
        'tacit_neighbour_waited_seconds{neighbour="south"} 0.01',
        'tacit_neighbour_left_out{neighbour="west"} 1.0',
        'tacit_neighbour_left_out{neighbour="south"} 0.0',
        'tacit_neighbour_finished{neighbour="west"} 1.0',
    } <= set(lines)
    serve_metrics(port, lambda: STATUS)()
