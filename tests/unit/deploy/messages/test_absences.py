"""Who is away: it is noted once, and the run goes on without it until it is there again."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tacit.deploy.identity import keys
from tacit.deploy.messages.absences import Absences
from tacit.deploy.messages.carrier import Endpoint
from tacit.deploy.messages.journal import Journal
from tacit.deploy.messages.transport import Transport
from tacit.deploy.messages.wire import FINISHED, Address, encode
from tacit.errors import PeerTimeout
from tests.unit.deploy.ring import MEMBERS, RUN, Ring, until


def test_a_round_that_is_taken_anew_is_no_absence(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.db", "ab" * 32)
    absences = Absences(journal)
    for first, back in ((4, 6), (7, 7), (9, 8)):  # stopped, and started again with who was silent
        absences.left(1, first)
        absences.back(1, back)
    absences.left(1, 12)
    assert [(each.first, each.back) for each in absences.all()] == [(4, 6), (12, None)]
    journal.close()


@pytest.mark.long
def test_one_neighbour_alone_takes_nobody_along(ring: Callable[..., Ring]) -> None:
    """It says that it has finished, again and again, and never takes part."""
    run = ring(rounds=30, skipping=True, patience=6.0)
    done = Address(RUN, 2, 30, 255, 0, FINISHED)
    word = encode(done, [], run.keys[2].identity)
    transport = Transport(
        Endpoint(
            run.keys[2],
            RUN.hex(),
            2,
            {i: run.cards[i] for i in (0, 1)},
            run.folder,
            listen=True,
            serve=lambda key: word,
            accept=lambda *told: None,
        )
    )
    threads = [run.start(0), run.start(1)]
    while any(thread.is_alive() for thread in threads):
        transport.publish(done.key(), word)
        time.sleep(0.05)
    transport.close()
    for number in (0, 1):
        assert [each.agent for each in run.absences[number]] == [2]
        assert run.parties[number].progress.round == 29
        assert np.linalg.norm(run.answers[number]) > 0


@pytest.mark.slow
def test_a_run_goes_on_without_a_silent_member_who_comes_in_again(
    ring: Callable[..., Ring],
) -> None:
    run = ring(rounds=250, skipping=True, patience=1.0, seconds_a_round=0.02)
    stop = threading.Event()
    others, gone = [run.start(0), run.start(1)], run.start(2, stop)
    until(lambda: run.parties[2].progress.round > 5)
    stop.set()
    gone.join(400)
    assert isinstance(run.answers[2], KeyboardInterrupt)
    until(lambda: all(run.parties[i].progress.left_out == (2,) for i in (0, 1)))
    left = run.parties[0].progress.round
    until(lambda: run.parties[0].progress.round > left + 20)
    for thread in [*others, run.start(2)]:
        thread.join(400)
    for number in range(MEMBERS):  # as it sees itself, and as the others see it
        away = run.absences[number]
        assert {each.agent for each in away} == {2}
        assert away[0].first < left + 20 and away[-1].back is not None
        assert left < away[-1].back < 250
    answers = [run.answers[number] for number in range(MEMBERS)]
    assert all(np.isfinite(answer).all() for answer in answers)
    # it has listened since then
    assert np.linalg.norm(answers[2] - answers[0]) < np.linalg.norm(answers[0])


@pytest.mark.long
def test_a_member_with_a_rotated_out_key_is_not_heard(ring: Callable[..., Ring]) -> None:
    run = ring(rounds=5, skipping=True, patience=6.0)
    old = run.keys[2]
    run.cards[2] = keys.renew(old.folder, run.folder / "authority", identity=True).card
    for thread in [run.start(i) for i in range(MEMBERS)]:
        thread.join(400)
    for number in (0, 1):
        assert np.isfinite(run.answers[number]).all()
        assert [each.agent for each in run.absences[number]] == [2]
        told = run.parties[number].mailbox.counts
        assert told["refused"] > 0
        assert run.parties[number].mailbox.reached[2] == 0


@pytest.mark.slow
def test_nobody_goes_on_alone(ring: Callable[..., Ring]) -> None:
    run = ring(rounds=200, skipping=True, patience=0.5, seconds_a_round=0.02)
    stops = [threading.Event() for _ in range(MEMBERS)]
    threads = [run.start(i, stops[i]) for i in range(MEMBERS)]
    until(lambda: all(i in run.parties and run.parties[i].progress.round > 2 for i in range(3)))
    stops[1].set()
    stops[2].set()
    for thread in threads:
        thread.join(400)
    assert isinstance(run.answers[0], PeerTimeout)
    assert "every neighbour is silent" in str(run.answers[0])
    # and with the others there again the same command goes on
    run.seconds_a_round = 0.0
    for thread in [run.start(i) for i in range(MEMBERS)]:
        thread.join(400)
    assert all(np.isfinite(run.answers[i]).all() for i in range(MEMBERS))
    assert all(each.back is not None for each in run.absences[0])
