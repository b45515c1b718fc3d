"""A member's part in a run, over real connections, and faults of the network."""

from __future__ import annotations

import datetime as dt
import json
import random
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tacit
from tacit import network
from tacit.deploy.identity import keys
from tacit.deploy.member.session import Session
from tacit.deploy.messages.carrier import Endpoint
from tacit.deploy.messages.handshake import Question
from tacit.deploy.messages.transport import Transport
from tacit.errors import PeerTimeout, RuntimeFailure
from tacit.network.base import AbstractNetwork
from tests.unit.deploy.ring import MEMBERS, Ring, created, until


class Unruly(Transport):
    """A network that repeats, delays, reorders, cuts and changes what is pushed."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self._chance, self._late = random.Random(0), list[tuple[str, bytes]]()

    def publish(self, key: str, data: bytes) -> None:
        what = self._chance.choice(["lost", "twice", "late", "cut", "changed", "whole"])
        if what in ("twice", "whole"):
            super().publish(key, data)
        if what == "twice":
            super().publish(key, data)
        elif what == "late":
            self._late.append((key, data))
        elif what == "cut":
            super().publish(key, data[: self._chance.randrange(len(data))])
        elif what == "changed":
            at = self._chance.randrange(len(data))
            super().publish(key, data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        if len(self._late) > 2:
            self._chance.shuffle(self._late)
            while self._late:
                super().publish(*self._late.pop())


def test_a_network_that_mangles_messages_changes_no_bit(ring: Callable[..., Ring]) -> None:
    run = ring(rounds=12, transport=Unruly)
    for thread in [run.start(i) for i in range(MEMBERS)]:
        thread.join(400)
    expected = run.expected
    refused = sum(party.mailbox.counts["refused"] for party in run.parties.values())
    assert refused > 0  # what was cut or changed has arrived
    for number in range(MEMBERS):
        np.testing.assert_array_equal(run.answers[number], expected[number])


@pytest.mark.slow
@pytest.mark.parametrize(
    "changing",
    [pytest.param(network.LinkFailure, marks=pytest.mark.slow), network.RandomActivation],
)
def test_graphs_that_change_are_followed_to_the_bit(
    ring: Callable[..., Ring], changing: Callable[..., AbstractNetwork]
) -> None:
    run = ring(rounds=40, network=changing(network.complete(MEMBERS), 0.5))
    for thread in [run.start(i) for i in range(MEMBERS)]:
        thread.join(400)
    for number, expected in enumerate(run.expected):
        np.testing.assert_array_equal(run.answers[number], expected)
        assert not run.parties[number].mailbox.counts["refused"]


@pytest.mark.slow
def test_a_round_that_draws_no_client_changes_nothing(ring: Callable[..., Ring]) -> None:
    run = ring(rounds=12, network=network.Coordinator(MEMBERS, probability=0.3))
    drawn = [np.sum(mixing.participates) for mixing in map(run.mixing, range(12))]
    assert min(drawn) == 0 < max(drawn)
    clients = [run.start(i) for i in range(MEMBERS)]
    until(lambda: len(run.parties) == MEMBERS)
    time.sleep(1.0)  # they have dialled before there is a coordinator
    for thread in [*clients, run.start(MEMBERS)]:
        thread.join(400)
    for number in range(MEMBERS + 1):  # the clients have it from the coordinator
        np.testing.assert_array_equal(run.answers[number], run.expected[0])


def test_clocks_an_hour_off_do_no_harm(
    ring: Callable[..., Ring], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Certificates made by a clock that is ahead, and one that is behind, are good all the same."""
    run = ring(rounds=3)
    for number, hours in ((1, 1), (2, -1)):

        class Clock(dt.datetime):
            @classmethod
            def now(cls, tz: dt.tzinfo | None = None, hours: int = hours) -> dt.datetime:
                return super().now(tz) + dt.timedelta(hours=hours)

        folder = run.keys[number].folder
        with monkeypatch.context() as patched:
            patched.setattr(keys.dt, "datetime", Clock)
            run.keys[number] = keys.renew(folder, run.folder / "authority", days=1)
    for thread in [run.start(i) for i in range(MEMBERS)]:
        thread.join(400)
    for number, expected in enumerate(run.expected):
        np.testing.assert_array_equal(run.answers[number], expected)


def test_a_run_that_does_not_go_on_stops_and_names_who_is_silent(ring: Callable[..., Ring]) -> None:
    run = ring(rounds=5, patience=3.0)
    for thread in [run.start(0), run.start(1)]:
        thread.join(400)
    for number in (0, 1):
        assert isinstance(run.answers[number], PeerTimeout)
        assert "nothing from 'member-2' for 3 seconds" in str(run.answers[number])


class Another(Ring):
    """The third member greets as one of another version, in its format."""

    format: int

    def kind(self, number: int, agreed: Any) -> Callable[..., Session]:
        def made(*arguments: Any, **more: Any) -> Session:
            party: Any = Session(*arguments, **more)
            party.serve = partial(self.greeting, party.serve)
            return party

        return made if number == 2 else Session

    def greeting(self, serve: Callable[[str], bytes | None], key: str) -> bytes | None:
        answer = serve(key)
        if answer is None or Question.read(key) is None:
            return answer
        said = json.loads(json.loads(answer)["text"])
        text = json.dumps(said | {"versions": {"tacit": "0.1.0"}})
        signed = f"tacit hello {self.format}\n{text}".encode()
        signature = keys.sign(self.keys[2].identity, signed)
        return json.dumps({"text": text, "signature": signature}).encode()


@pytest.mark.parametrize("format", [1, 2, 3])
def test_nothing_is_sent_where_a_neighbour_runs_another_version(
    tmp_path: Path, format: int
) -> None:
    run = Another(folder=tmp_path, keys=created(tmp_path, MEMBERS + 1), rounds=3)
    run.format = format
    stop = threading.Event()
    other = run.start(2, stop)
    for thread in [run.start(0), run.start(1)]:
        thread.join(400)
    stop.set()
    other.join(400)
    for number in (0, 1):
        assert isinstance(run.answers[number], RuntimeFailure)
        told = str(run.answers[number])
        assert f"'member-2' runs tacit 0.1.0 and this member {tacit.__version__}" in told
        assert "install the version that the run began with" in told
        with closing(sqlite3.connect(run.folder / f"state-{number}" / "journal.db")) as file:
            assert file.execute("SELECT count(*) FROM messages").fetchone() == (0,)
    assert isinstance(run.answers[2], KeyboardInterrupt)
