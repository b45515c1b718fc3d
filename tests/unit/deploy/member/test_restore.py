"""A coordinator whose state was lost goes on with what its clients have."""

from __future__ import annotations

import shutil
import struct
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tacit import network
from tacit.deploy.member import session
from tacit.deploy.member.peers import Neighbours
from tacit.deploy.member.session import Session
from tacit.deploy.messages.heard import HeardStore
from tacit.deploy.messages.transport import Transport
from tacit.deploy.messages.wire import FINISHED, Address
from tests.unit.deploy.ring import MEMBERS, RUN, Ring, until


def lost(star: Ring, round: int = 5) -> list[threading.Thread]:
    """Clients of a coordinator that stopped in a round, and whose folder is gone; they wait."""
    stop = threading.Event()
    clients = [star.start(i) for i in range(MEMBERS)]
    gone = star.start(MEMBERS, stop)
    until(lambda: star.parties[MEMBERS].progress.round > round)
    stop.set()
    gone.join(60)
    assert isinstance(star.answers[MEMBERS], KeyboardInterrupt)
    shutil.rmtree(star.folder / f"state-{MEMBERS}")
    return clients


def all_the_same(star: Ring) -> None:
    for number in range(MEMBERS):
        np.testing.assert_array_equal(star.answers[number], star.expected[0])
        assert star.parties[number].compared == star.told_the_same(number)


@pytest.mark.long
@pytest.mark.parametrize(
    "shown",
    [
        pytest.param("all", marks=pytest.mark.slow),
        pytest.param("older", marks=pytest.mark.slow),
        "forged",
    ],
)
def test_a_coordinator_that_lost_its_state_goes_on_to_the_bit(
    ring: Callable[..., Ring], monkeypatch: pytest.MonkeyPatch, shown: str
) -> None:
    """Also where a client shows what it had long before, or makes something up."""
    star = ring(rounds=16, network=network.Coordinator(MEMBERS), seconds_a_round=0.02)
    write = session.write_copy
    kept: dict[Any, bytes] = {}

    def lying(stored: HeardStore, *more: Any) -> bytes:
        answer = write(stored, *more)
        liar = star.parties[0]._outgoing.heard is stored
        if liar and shown == "older":
            return kept[0]
        if liar and shown == "forged":
            position, length = struct.unpack_from("<qI", answer)
            rows = answer[12 + length :]
            ahead = struct.pack("<qI", position + 3, length) + answer[12 : 12 + length]
            # digests of one round as those of another
            return ahead + b"".join(
                rows[at : at + 8] + rows[at + 104 + 8 : at + 208]
                for at in range(0, len(rows) - 104, 104)
            )
        return answer

    monkeypatch.setattr(session, "write_copy", lying)
    if shown == "older":
        keep = Neighbours.keep_heard

        def noting(self: Neighbours) -> None:
            keep(self)
            if self._member == 0 and 0 not in kept and self._progress.round == 2:
                kept[0] = write(self._heard, self.mailbox, MEMBERS)

        monkeypatch.setattr(Neighbours, "keep_heard", noting)
    clients = lost(star)
    star.seconds_a_round = 0.0
    for thread in [*clients, star.start(MEMBERS, restore=True)]:
        thread.join(120)
    np.testing.assert_array_equal(star.answers[MEMBERS], star.expected[0])
    all_the_same(star)


@pytest.mark.slow
def test_nothing_is_restored_without_every_client(ring: Callable[..., Ring]) -> None:
    """One that is not there could have a newer message; when it is back the run goes on."""
    star = ring(rounds=16, network=network.Coordinator(MEMBERS), seconds_a_round=0.02)
    stop = threading.Event()
    first, others = star.start(0, stop), [star.start(i) for i in (1, 2)]
    coordinator = star.start(MEMBERS, stop)
    until(lambda: star.parties[MEMBERS].progress.round > 5)
    stop.set()
    for thread in (first, coordinator):
        thread.join(60)
    shutil.rmtree(star.folder / f"state-{MEMBERS}")
    patience, star.patience = star.patience, 2.0
    star.start(MEMBERS, restore=True).join(60)
    told = str(star.answers[MEMBERS])
    assert "nothing is restored: 'member-0' did not report" in told, told
    star.patience, star.seconds_a_round = patience, 0.0
    for thread in [star.start(MEMBERS, restore=True), star.start(0), *others]:
        thread.join(120)
    all_the_same(star)


@pytest.mark.slow
def test_a_coordinator_that_is_lost_after_its_last_word_says_it_again(
    ring: Callable[..., Ring], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One client heard the model, and the others did not: they hear the same."""
    star = ring(rounds=4, network=network.Coordinator(MEMBERS))
    stop, hearing, publish = threading.Event(), threading.Event(), Transport.publish
    last = Address(RUN, MEMBERS, 4, 255, 0, FINISHED).key()
    accept = Session.accept

    def deaf(self: Session, sender: int, key: str, data: bytes) -> None:
        if key != last or self._desk.agent == 1 or hearing.is_set():
            accept(self, sender, key, data)

    def stopped(self: Transport, key: str, data: bytes) -> None:
        publish(self, key, data)
        if key == last:
            until(lambda: MEMBERS in star.parties[1].mailbox.finished)
            stop.set()

    monkeypatch.setattr(Session, "accept", deaf)
    with monkeypatch.context() as first:
        first.setattr(Transport, "publish", stopped)
        clients = [star.start(i) for i in range(MEMBERS)]
        star.start(MEMBERS, stop).join(60)
    assert isinstance(star.answers[MEMBERS], KeyboardInterrupt)
    shutil.rmtree(star.folder / f"state-{MEMBERS}")
    hearing.set()
    for thread in [*clients, star.start(MEMBERS, restore=True)]:
        thread.join(60)
    assert star.answers[MEMBERS] is None
    all_the_same(star)
