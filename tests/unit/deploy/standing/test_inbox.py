"""What came and was not read yet: only what was asked for, and never much."""

from __future__ import annotations

import pytest

from tacit.deploy.standing import inbox as inboxes
from tacit.deploy.standing.inbox import Came, Inbox

RUN = "0" * 64


def test_the_newest_list_of_each_member_counts() -> None:
    inbox = Inbox()
    for sender, data in ((1, b"old"), (2, b"other"), (1, b"new")):
        inbox.put(Came(sender, "", data))
    assert inbox.take() == [Came(1, "", b"new"), Came(2, "", b"other")]
    assert inbox.take() == []


def test_only_what_was_asked_for_is_taken_and_once() -> None:
    inbox = Inbox()
    inbox.put(Came(1, RUN, b"unasked"))
    assert inbox.expect(1, RUN)
    inbox.put(Came(2, RUN, b"of somebody else"))
    assert inbox.take() == []
    inbox.put(Came(1, RUN, b"asked"))
    inbox.put(Came(1, RUN, b"again"))
    assert inbox.take() == [Came(1, RUN, b"asked")]


def test_a_member_is_asked_for_few_runs_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    inbox = Inbox()
    assert inbox.expect(1, RUN)
    assert not inbox.expect(1, RUN)
    runs = [f"{number:064x}" for number in range(1, 9)]
    assert sum(inbox.expect(1, run) for run in runs) == inboxes.MOST_AWAITED - 1
    assert inbox.expect(2, RUN)
    inbox.put(Came(1, RUN, b"answer"))
    assert inbox.expect(1, RUN)
    monkeypatch.setattr(inboxes, "ANSWER_SECONDS", 0.0)
    assert inbox.expect(1, runs[0])


def test_what_is_too_large_or_too_much_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inboxes, "LARGEST", 10)
    monkeypatch.setattr(inboxes, "MOST_BYTES", 25)
    inbox = Inbox()
    inbox.put(Came(1, "", bytes(11)))
    assert inbox.take() == []
    for sender in (1, 2, 3):
        inbox.put(Came(sender, "", bytes(10)))
    inbox.put(Came(2, "", bytes(9)))  # in the place of its earlier one
    assert [(each.sender, len(each.data)) for each in inbox.take()] == [(1, 10), (2, 9)]
    inbox.put(Came(3, "", bytes(10)))
    assert len(inbox.take()) == 1
