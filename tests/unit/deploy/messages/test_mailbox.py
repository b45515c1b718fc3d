"""What a neighbour may make an agent keep: its own messages, of this round and the next."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit.deploy.identity import keys
from tacit.deploy.messages.mailbox import Conflict, Mailbox
from tacit.deploy.messages.wire import FINISHED, Address, encode

RUN = bytes(32)
VALUE = np.array([1.0, 2.0])


@pytest.fixture
def both(tmp_path: Path) -> list[keys.Keys]:
    return [keys.create(tmp_path / name, name) for name in ("north", "south")]


@pytest.fixture
def box(both: list[keys.Keys]) -> tuple[Mailbox, list[str]]:
    told: list[str] = []
    cards = {number: each.card for number, each in enumerate(both)}
    return (
        Mailbox(
            RUN,
            cards,
            {0: [("<f8", (2,))]},
            lambda a: a.round if 0 <= a.round < 100 else 100 if a.kind == FINISHED else None,
            window=1,
            largest=1000,
            refused=lambda sender, key, reason: told.append(reason),
        ),
        told,
    )


def message(key: keys.Keys, sender: int, round: int) -> tuple[str, bytes]:
    address = Address(RUN, sender, round, 0)
    return address.key(), encode(address, [VALUE], key.identity)


def test_messages_of_this_round_and_the_next_are_kept(
    box: tuple[Mailbox, list[str]], both: list[keys.Keys]
) -> None:
    mailbox, told = box
    for sender in (0, 1):
        for round in (0, 1):
            mailbox.offer(sender, *message(both[sender], sender, round))
    assert mailbox.wait(0, (0, 1), 0.0) and mailbox.wait(1, (0, 1), 0.0)
    assert mailbox.take(0, (0, 1))[1].leaves[0][0] == VALUE.tobytes()
    assert mailbox.counts["accepted"] == 4 and not told
    mailbox.advance(1)
    assert mailbox.missing(0, (0, 1)) == [0, 1] and not mailbox.missing(1, (0, 1))
    assert mailbox.reached == {0: 1, 1: 1}


Change = Callable[[str, bytes, list[keys.Keys]], tuple[int, str, bytes]]

ATTACKS: list[tuple[Change, str]] = [
    (lambda key, data, both: (1, key, data), "key of agent 0"),
    (lambda key, data, both: (0, *message(both[1], 0, 0)), "signature"),
    (lambda key, data, both: (0, *message(both[0], 0, 5)), "while this agent is at 0"),
    (lambda key, data, both: (0, *message(both[0], 0, 100)), "nobody awaits"),
    (lambda key, data, both: (0, message(both[0], 0, 1)[0], data), "round 0"),
    (lambda key, data, both: (0, key, data[:-1]), "bytes"),
    (lambda key, data, both: (0, key, data + b"0"), "bytes"),
    (lambda key, data, both: (0, key, bytes(2000)), "at most 1000"),
    (lambda key, data, both: (0, "0/1/0", data), "not a valid message key"),
    (lambda key, data, both: (0, "0/1/0/x", data), "not a valid message key"),
    (lambda key, data, both: (0, "0/1/0/1234567890", data), "not a valid message key"),
    (lambda key, data, both: (7, "7/1/0/0", data), "nobody awaits"),
]


@pytest.mark.parametrize(("change", "word"), ATTACKS)
def test_everything_else_is_dropped_and_told(
    box: tuple[Mailbox, list[str]], both: list[keys.Keys], change: Change, word: str
) -> None:
    mailbox, told = box
    mailbox.offer(*change(*message(both[0], 0, 0), both))
    assert len(told) == 1 and word in told[0]
    assert mailbox.counts == {"refused": 1}
    assert mailbox.missing(0, (0, 1)) == [0, 1]


def test_repeated_and_old_messages_change_nothing(
    box: tuple[Mailbox, list[str]], both: list[keys.Keys]
) -> None:
    mailbox, told = box
    first = message(both[0], 0, 0)
    mailbox.offer(0, *first)
    mailbox.offer(0, *first)
    mailbox.advance(3)
    mailbox.offer(0, *first)
    assert mailbox.counts == {"accepted": 1, "repeated": 2} and not told


def test_nobody_is_finished_but_by_a_signed_word(
    box: tuple[Mailbox, list[str]], both: list[keys.Keys]
) -> None:
    mailbox, told = box
    done = Address(RUN, 0, 100, 255, 0, FINISHED)
    mailbox.offer(0, done.key(), encode(done, [], both[1].identity))
    assert not mailbox.finished and "signature" in told[0]
    mailbox.offer(0, done.key(), encode(done, [], both[0].identity))
    assert set(mailbox.finished) == {0} and not mailbox.wait_finished(0.0)


def ahead(both: list[keys.Keys], **more: Any) -> Mailbox:
    return Mailbox(
        RUN,
        {number: each.card for number, each in enumerate(both)},
        {0: [("<f8", (2,))]},
        lambda a: a.round if 0 <= a.round < 100 else 100 if a.kind == FINISHED else None,
        window=1,
        largest=1000,
        refused=lambda *told: None,
        drifting=True,
        **more,
    )


def test_who_is_left_out_is_awaited_again_from_its_next_message_on(both: list[keys.Keys]) -> None:
    mailbox = ahead(both)
    mailbox.advance(10)
    mailbox.offer(0, *message(both[0], 0, 10))
    assert mailbox.missing(10, (0, 1)) == [1] and not mailbox.left_out()
    mailbox.leave_out([1])
    assert mailbox.left_out() == [1] and mailbox.wait(10, (0, 1), 0.0)
    assert set(mailbox.take(10, (0, 1))) == {0}
    mailbox.offer(1, *message(both[1], 1, 9))  # too late: nobody takes it for being back
    assert mailbox.left_out() == [1]
    mailbox.offer(1, *message(both[1], 1, 11))
    assert not mailbox.left_out()
    assert not mailbox.missing(10, (0, 1))  # it slept in this round
    mailbox.advance(12)
    assert mailbox.missing(12, (0, 1)) == [0, 1]


def test_a_message_from_far_ahead_is_checked_and_says_only_how_far(both: list[keys.Keys]) -> None:
    mailbox = ahead(both)
    mailbox.offer(1, *message(both[1], 1, 50))
    key, forged = message(both[0], 1, 60)
    mailbox.offer(1, key, forged)
    assert mailbox.ahead == {1: 50}
    assert mailbox.counts == {"early": 1, "refused": 1}
    mailbox.advance(50)
    assert mailbox.missing(50, (1,)) == [1]  # it was not kept


def test_the_last_word_of_a_coordinator_holds_the_model(both: list[keys.Keys]) -> None:
    mailbox = ahead(both, last={1: [("<f8", (2,))]})
    done = Address(RUN, 1, 100, 255, 0, FINISHED)
    mailbox.offer(1, done.key(), encode(done, [], both[1].identity))
    assert not mailbox.finished
    mailbox.offer(1, done.key(), encode(done, [VALUE], both[1].identity))
    assert mailbox.finished[1].leaves[0][0] == VALUE.tobytes()


def another(key: keys.Keys, sender: int, round: int, kind: int = 0) -> tuple[str, bytes]:
    """A second message of the same address: the same in all but its numbers."""
    address = Address(RUN, sender, round, 255 if kind == FINISHED else 0, 0, kind)
    return address.key(), encode(address, [VALUE + 1.0], key.identity)


def test_two_messages_of_one_address_are_told_with_both(both: list[keys.Keys]) -> None:
    told: list[Conflict] = []
    mailbox = ahead(both, conflicting=told.append, last={1: [("<f8", (2,))]})
    for now in (0, 1):  # while it is awaited, and in the round after it was used
        mailbox.advance(now)
        mailbox.offer(0, *message(both[0], 0, 0))
        key, second = another(both[0], 0, 0)
        mailbox.offer(0, key, second)
        conflict = told.pop()
        assert (conflict.key, conflict.second) == (key, second)
        assert conflict.first == message(both[0], 0, 0)[1]
        assert conflict.heard.sender == 0 and conflict.heard.position == 0
        mailbox.offer(0, key, another(both[1], 0, 0)[1])  # forged, which shows nothing
        assert not told
    # the first is the one that counts
    mailbox.offer(0, *message(both[0], 0, 1))
    mailbox.offer(0, *another(both[0], 0, 1))
    assert mailbox.take(1, (0,))[0].leaves[0][0] == VALUE.tobytes() and told.pop()
    done = Address(RUN, 1, 100, 255, 0, FINISHED)
    for value in (VALUE, VALUE, VALUE + 1.0):
        mailbox.offer(1, done.key(), encode(done, [value], both[1].identity))
    assert told.pop().first == encode(done, [VALUE], both[1].identity) and not told
    assert mailbox.counts["conflicting"] == 4


def test_a_restart_compares_with_what_was_heard_before_it(both: list[keys.Keys]) -> None:
    before = ahead(both)
    for round in (3, 4):
        before.offer(0, *message(both[0], 0, round))
    heard = {(each.sender, each.position): each for each in before.unstored()}
    before.forget(list(heard.values()))
    assert not before.unstored() and set(heard) == {(0, 3), (0, 4)}
    told: list[Conflict] = []
    mailbox = ahead(
        both,
        stored=lambda *place: heard.get(place),
        newest={0: 4},
        conflicting=told.append,
    )
    mailbox.advance(4)
    assert mailbox.newest(0) == 4 and mailbox.newest(1) == -1
    mailbox.offer(0, *another(both[0], 0, 4))
    assert mailbox.missing(4, (0,)) == [0]  # not used
    mailbox.offer(0, *another(both[0], 0, 3))
    assert [each.first for each in told] == [None, None]
    assert told[0].heard == heard[0, 4]
    mailbox.offer(0, *message(both[0], 0, 4))
    assert mailbox.take(4, (0,)) and len(told) == 2
