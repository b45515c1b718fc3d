"""No question is answered twice, whatever state was lost or put back; and who does it is found."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tacit.deploy.identity import keys
from tacit.deploy.member.session import Session
from tacit.deploy.messages.evidence import check
from tacit.deploy.messages.outgoing import Outgoing
from tacit.deploy.messages.transport import Transport
from tacit.deploy.messages.wire import Address, decode, encode
from tacit.errors import RuntimeFailure
from tests.unit.deploy.ring import MEMBERS, RUN, Ring, until


@pytest.mark.long
@pytest.mark.parametrize("what", ["gone", pytest.param("older", marks=pytest.mark.slow)])
def test_a_state_that_was_lost_or_put_back_answers_nothing_twice(
    ring: Callable[..., Ring], what: str
) -> None:
    """Only what the others have tells: the member itself, and its ledger, know no better."""
    run = ring(rounds=60, seconds_a_round=0.02)
    stop = threading.Event()
    others, gone = [run.start(0), run.start(1)], run.start(2, stop)
    until(lambda: run.parties[2].progress.round > 3)
    stop.set()
    gone.join(400)
    state = run.folder / "state-2"
    shutil.copytree(state, run.folder / "older")
    stop.clear()
    again = run.start(2, stop)
    until(lambda: run.parties[2].progress.round > 8)
    stop.set()
    again.join(400)
    shutil.move(state, run.folder / "newest")
    if what == "older":
        shutil.move(run.folder / "older", state)
    stop.clear()
    run.start(2, stop).join(400)
    assert isinstance(run.answers[2], RuntimeFailure)
    assert "it was lost, or is an older copy" in str(run.answers[2])
    # with the newest state it goes on, to the bit
    shutil.rmtree(state)
    shutil.move(run.folder / "newest", state)
    run.seconds_a_round = 0.0
    for thread in [*others, run.start(2)]:
        thread.join(400)
    for number, expected in enumerate(run.expected):
        np.testing.assert_array_equal(run.answers[number], expected)


def test_what_a_neighbour_heard_survives_its_restart(
    ring: Callable[..., Ring], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest answer has come; whoever has it restarts; its sender has a copy without it."""
    run, stop, last = ring(rounds=30), threading.Event(), 6
    commit, publish = Outgoing.commit, Transport.publish

    def copied(self: Outgoing, made: Any, *more: Any) -> None:
        if made.key.startswith("2/") and made.position == last:
            shutil.copytree(run.folder / "state-2", run.folder / "older")
        commit(self, made, *more)

    def stopped(self: Transport, key: str, data: bytes) -> None:
        publish(self, key, data)
        if key == Address(RUN, 2, last, 0).key():
            until(lambda: all(run.parties[i].mailbox.newest(2) == last for i in (0, 1)))
            stop.set()

    monkeypatch.setattr(Outgoing, "commit", copied)
    monkeypatch.setattr(Transport, "publish", stopped)
    for thread in [run.start(i, stop) for i in range(MEMBERS)]:
        thread.join(400)
    assert all(isinstance(run.answers[i], KeyboardInterrupt) for i in range(MEMBERS))
    monkeypatch.undo()
    shutil.rmtree(run.folder / "state-2")
    shutil.move(run.folder / "older", run.folder / "state-2")
    stop.clear()
    others, back = [run.start(i, stop) for i in (0, 1)], run.start(2, stop)
    back.join(400)
    stop.set()
    for thread in others:
        thread.join(400)
    assert isinstance(run.answers[2], RuntimeFailure)
    assert "is an older copy" in str(run.answers[2])


@pytest.mark.slow
def test_a_greeting_from_before_is_not_taken_for_an_answer(
    ring: Callable[..., Ring], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever can stand in a neighbour's place shows what that once signed: it had heard nothing.

    So one authority of the run certifies another's name, and what it replays changes nothing.
    """
    run, stop = ring(rounds=400, seconds_a_round=0.02), threading.Event()
    kept: dict[int, bytes] = {}
    replaying, accept = threading.Event(), Session.accept

    def between(self: Session, sender: int, key: str, data: bytes) -> None:
        if self._desk.agent == 2 and key.split("/")[1] == "hello":
            kept.setdefault(sender, data)
            data = kept[sender] if replaying.is_set() else data
        accept(self, sender, key, data)

    monkeypatch.setattr(Session, "accept", between)
    others, gone = [run.start(0), run.start(1)], run.start(2, stop)
    until(lambda: run.parties[2].progress.round > 5)
    stop.set()
    gone.join(400)
    assert set(kept) == {0, 1}
    shutil.rmtree(run.folder / "state-2")
    stop.clear()
    replaying.set()
    before = run.parties.pop(2)
    back = run.start(2)
    until(lambda: run.parties[2].progress.waiting_for == (0, 1))
    time.sleep(2.0)
    assert run.parties[2] is not before
    assert run.parties[2].progress.waiting_for == (0, 1)  # it asks on, and sends nothing
    assert run.parties[2]._outgoing.find("2/1/0/0") is None
    replaying.clear()
    back.join(400)
    assert "older copy" in str(run.answers[2])
    for number in (0, 1):
        run.parties[number].progress.failure = "ended"
    for thread in others:
        thread.join(400)


class Twofold(Transport):
    """Says another thing after its sixth message: as a second process with its keys does."""

    def publish(self, key: str, data: bytes) -> None:
        super().publish(key, data)
        if key == "2/6/0/0":
            time.sleep(0.3)  # the others have used it by then, or wait for it
            at = Address(RUN, 2, 5, 0)
            values = np.frombuffer(data[-64 - 32 : -64]) + 1.0
            super().publish(key, encode(at, [values], self.own.identity))

    own: keys.Keys


@pytest.mark.long
def test_two_answers_to_one_question_stop_the_run_and_are_kept(
    ring: Callable[..., Ring],
) -> None:
    run = ring(rounds=200, seconds_a_round=0.02, transport=Twofold)
    Twofold.own = run.keys[2]
    threads = [run.start(i) for i in range(MEMBERS)]
    for thread in threads[:2]:
        thread.join(400)
    for number in (0, 1):
        told = str(run.answers[number])
        assert isinstance(run.answers[number], RuntimeFailure)
        assert "'member-2' sent two different messages 2/6/0/0" in told
        folder = run.folder / f"state-{number}"
        evidence = folder / "evidence"
        pair = [(evidence / name).read_bytes() for name in ("first.bin", "second.bin")]
        form = [("<f8", (4,))]
        key = run.keys[2].card.public_key()
        first, second = (decode(data, Address(RUN, 2, 5, 0), form, key) for data in pair)
        assert first.digest != second.digest
        with pytest.raises(RuntimeFailure, match=r"answered one question twice.*move .*evidence"):
            check(folder)
    run.parties[2].progress.failure = "ended"
    threads[2].join(400)
