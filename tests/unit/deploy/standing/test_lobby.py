"""Agents that meet: what is handed over, over real connections, and what is not believed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest

from tacit.deploy.identity.keys import load
from tacit.deploy.standing.approval import refuse
from tacit.deploy.standing.entries import State
from tacit.deploy.standing.lobby import Lobby, _runs
from tacit.deploy.standing.members import known, remove
from tests.unit.deploy.standing.conftest import Three


@contextmanager
def met(three: Three, *names: str) -> Iterator[Callable[..., bool]]:
    """Open lobbies of some sites; a function that lets them talk until something is so."""
    with ExitStack() as stack:
        lobbies = []
        for name in names:
            lobbies.append(Lobby(three.sites[name], three.queues[name]))
            stack.callback(lobbies[-1].close)

        def until(so: Callable[[], bool], seconds: float = 20.0) -> bool:
            ends = time.monotonic() + seconds
            while not so() and time.monotonic() < ends:
                for each in lobbies:
                    each.tick()
                time.sleep(0.05)
            return so()

        yield until


def test_a_proposal_and_all_signatures_reach_everybody(three: Three) -> None:
    entry = three.proposed()
    with met(three, "north", "south", "west") as until:
        for name in ("south", "west"):
            queue = three.queues[name]
            assert until(lambda queue=queue: bool(queue.entries()))
            assert queue.find(entry.run).state is State.PROPOSED
        three.approved("south", three.queues["south"].find(entry.run))
        three.approved("west", three.queues["west"].find(entry.run))
        assert until(
            lambda: all(each.find(entry.run).state is State.READY for each in three.queues.values())
        )
        assert until(
            lambda: all(len(each.find(entry.run).informed) == 2 for each in three.queues.values())
        )
    assert known(three.sites["west"])["south"].records == 20


@pytest.mark.long
def test_a_refusal_reaches_the_others(three: Three) -> None:
    entry = three.proposed()
    with met(three, "north", "south") as until:
        assert until(lambda: bool(three.queues["south"].entries()))
        refuse(three.sites["south"], three.queues["south"], three.queues["south"].find(entry.run))
        assert until(lambda: "south" in three.queues["north"].find(entry.run).refusals)


@pytest.mark.long
def test_a_member_that_was_removed_is_not_talked_to(three: Three) -> None:
    three.proposed()
    remove(three.sites["south"], "north")
    with met(three, "north", "south") as until:
        assert not until(lambda: bool(three.queues["south"].entries()), seconds=3.0)


def test_a_list_that_is_none_is_ignored(three: Three) -> None:
    for text in (
        b"\xff",
        b"{}",
        b"[]",
        b'{"format": "tacit-lobby-1", "runs": []}',
        b'{"format": "tacit-lobby-1", "runs": {"' + b"0" * 64 + b'": {}}}',
        b'{"format": "tacit-lobby-2", "runs": {}}',
        b"[" * 100_000,
    ):
        assert _runs(text) == {}
    good = {"0" * 64: {"signed": ["a"], "refused": {}}, "../x": {"signed": [], "refused": {}}}
    found = _runs(json.dumps({"format": "tacit-lobby-1", "runs": good}).encode())
    assert list(found) == ["0" * 64]


def test_what_is_handed_over_is_checked_like_a_file(
    three: Three, caplog: pytest.LogCaptureFixture
) -> None:
    entry = three.proposed()
    with ExitStack() as stack:
        lobby = Lobby(three.sites["south"], three.queues["south"])
        stack.callback(lobby.close)
        card = load(three.sites["north"].keys).card
        text = entry.manifest.toml()
        for bad in (b"\xff", text.replace("rounds = 5", "rounds = 6").encode()):
            for _ in range(2):  # said once
                assert not lobby._handed_over(card, bad)
        assert len([each for each in caplog.records if "was not taken" in each.message]) == 2
        assert three.queues["south"].entries() == []
        assert lobby._handed_over(card, text.encode())
        assert not lobby._handed_over(card, text.encode())
        assert [each.run for each in three.queues["south"].entries()] == [entry.run]
