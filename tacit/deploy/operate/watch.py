"""Progress of a member, for anyone who asks: a status file, and metrics for Prometheus.

Public values only: rounds, times, counts of messages and names of members.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from tacit.deploy.agreement.manifest import Manifest
from tacit.deploy.files import write_json
from tacit.deploy.member.session import Session
from tacit.errors import ConfigError

HOST = "127.0.0.1"
"""Metrics are given on this machine only; what should see them from elsewhere is put before it."""


class Watch:
    """Writes the progress of a run to a file, about once a second, while the context is open.

    Args:
        path: path of the file.
        run: id of the run.
        name: name of the member.
        names: name of every member, by its number in the run.
        party: the member's part in the run.
        paid: location and account of the ledger; empty for a member that releases nothing.
        connections: function that gives the numbers of admitted and refused connections; empty for
            a member that only dials.
        linked: function that gives when each neighbour was last heard, as `time.monotonic` has
            it, where messages pass through neighbours; `None` where it is those awaited.
    """

    def __init__(
        self,
        path: Path,
        run: bytes,
        name: str,
        names: Sequence[str],
        party: Session,
        paid: dict[str, str],
        connections: Callable[[], dict[str, int]] = dict,
        linked: Callable[[], dict[int, float | None]] | None = None,
    ) -> None:
        self._path, self._run, self._name = path, run, name
        self._party, self._paid, self._connections = party, paid, connections
        self._names, self._linked = names, linked
        self.state = "running"
        """Running, stopped or finished."""
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._loop, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        if self.state == "running":
            self.state = "stopped"
        self._over.set()
        self._thread.join()
        self._write()

    def document(self) -> dict[str, Any]:
        """The current status."""
        box, progress, now = self._party.mailbox, self._party.progress, time.monotonic()
        recent = (progress.seconds or [])[-100:]
        names = self._names
        heard: Mapping[int, float | None] = dict.fromkeys(box.waited) | box.heard
        if self._linked is not None:
            heard = self._linked()
        return {
            "format": "tacit-status-1",
            "run": self._run.hex(),
            "name": self._name,
            "time": time.time(),
            "state": self.state,
            "round": progress.round + 1,
            "rounds": progress.rounds,
            "round_seconds": float(np.median(recent)) if recent else None,
            "without": [names[i] for i in progress.left_out],
            "waiting_for": [names[i] for i in progress.waiting_for],
            "neighbours": {
                names[i]: {
                    "silent_seconds": None if last is None else round(now - last, 1),
                    "waited_seconds": round(box.waited.get(i, 0.0), 4),
                    "finished": i in box.finished,
                }
                for i, last in heard.items()
            },
            "messages": dict(box.counts),
            "connections": self._connections(),
            "paid": self._paid,
        }

    def _loop(self) -> None:
        while not self._over.wait(1.0):
            self._write()

    def _write(self) -> None:
        # a full disk is noticed when messages are stored; a missing status harms nobody
        with suppress(OSError):
            write_json(self._path, self.document(), durable=False)


def starting(path: Path, manifest: Manifest, name: str, rounds: int) -> None:
    """Write that a member is starting: an older status is no longer true."""
    document: dict[str, Any] = {
        "format": "tacit-status-1",
        "run": manifest.run.hex(),
        "name": name,
        "time": time.time(),
        "state": "starting",
        "round": 0,
        "rounds": rounds,
        "round_seconds": None,
        "without": [],
        "waiting_for": [],
        "neighbours": {},
        "messages": {},
        "connections": {},
        "paid": {},
    }
    with suppress(OSError):
        write_json(path, document, durable=False)


def serve_metrics(port: int, document: Callable[[], dict[str, Any]]) -> Callable[[], None]:
    """Answer Prometheus at `http://127.0.0.1:PORT/metrics` with the current status.

    Args:
        port: port to listen at; 0 for any free port.
        document: function that gives the current status.

    Returns:
        A function that stops the server.

    Raises:
        ConfigError: prometheus-client is not installed, or the port is in use.
    """
    try:
        from prometheus_client import CollectorRegistry, start_http_server
        from prometheus_client.core import GaugeMetricFamily as Gauge
        from prometheus_client.registry import Collector
    except ImportError as error:
        raise ConfigError(
            "metrics need prometheus-client; install it with: pip install 'tacit[metrics]'"
        ) from error

    class Status(Collector):
        def collect(self) -> Iterator[Any]:
            now = document()
            yield Gauge("tacit_round", "Round that this member is in, from 1.", now["round"])
            yield Gauge("tacit_rounds", "Rounds of the run.", now["rounds"])
            if now["round_seconds"] is not None:
                told = "Median time of the last hundred rounds."
                yield Gauge("tacit_round_seconds", told, now["round_seconds"])
            messages = Gauge("tacit_messages", "Messages received.", labels=["outcome"])
            for outcome in ("accepted", "repeated", "refused", "early"):
                messages.add_metric([outcome], now["messages"].get(outcome, 0))
            yield messages
            told = "Connections to this member, by whether a certificate let them in."
            connections = Gauge("tacit_connections", told, labels=["outcome"])
            for outcome in ("let_in", "refused"):
                connections.add_metric([outcome], now["connections"].get(outcome, 0))
            yield connections
            each_told = {
                "silent_seconds": "Time since a neighbour was last heard.",
                "waited_seconds": "Time that a message of a neighbour is waited for, on average.",
                "finished": "Whether a neighbour needs nothing more.",
            }
            for key, text in each_told.items():
                family = Gauge(f"tacit_neighbour_{key}", text, labels=["neighbour"])
                for name, each in now["neighbours"].items():
                    if each[key] is not None:
                        family.add_metric([name], float(each[key]))
                yield family
            told_absent = "Whether the run goes on without a neighbour."
            absent = Gauge("tacit_neighbour_left_out", told_absent, labels=["neighbour"])
            for name in now["neighbours"]:
                absent.add_metric([name], float(name in now["without"]))
            yield absent

    registry = CollectorRegistry(auto_describe=False)
    registry.register(Status())
    try:
        server, thread = start_http_server(port, HOST, registry)
    except OSError as error:
        raise ConfigError(
            f"metrics cannot be given at port {port} ({error.strerror}); choose another --metrics"
        ) from error

    def end() -> None:
        server.shutdown()
        server.server_close()
        thread.join()

    return end
