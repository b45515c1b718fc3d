"""Agents that meet: what is handed over, over real connections, and what is not believed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager

import pytest

from tacit.deploy.identity.keys import load
from tacit.deploy.standing.approval import refuse
from tacit.deploy.standing.choosing import Chooser
from tacit.deploy.standing.entries import State
from tacit.deploy.standing.inbox import Came
from tacit.deploy.standing.listing import UPGRADING, Told, list_of, read_list, shown
from tacit.deploy.standing.lobby import Lobby, _number
from tacit.deploy.standing.members import known, remove
from tests.standing import Three


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
        assert read_list(text) == Told()
    good = {"0" * 64: {"signed": ["a"], "refused": {}, "at": ""}}
    good["../x"] = good["0" * 64]
    said = {"format": "tacit-lobby-1", "runs": good}
    found = read_list(json.dumps(said).encode())
    assert (found.version, list(found.runs)) == ("", ["0" * 64])
    for version, taken in (("0.2.0.dev5", True), ("9" * 80, False), ("1\x1b[31m", False)):
        found = read_list(json.dumps({**said, "version": version}).encode())
        assert found.version == (version if taken else "")


def test_what_is_handed_over_is_checked_like_a_file(
    three: Three, caplog: pytest.LogCaptureFixture
) -> None:
    entry, other = three.proposed(), three.proposed("Another")
    with closing(Lobby(three.sites["south"], three.queues["south"])) as lobby:
        card = load(three.sites["north"].keys).card
        sender, text = _number(card), entry.manifest.toml()
        for run, bad in (
            (entry.run, b"\xff"),
            (entry.run, text.replace("rounds = 5", "rounds = 6").encode()),
            (other.run, text.encode()),  # another than was asked for
        ):
            for _ in range(2):  # said once
                assert not lobby._handed_over(Came(sender, run, bad), card)
        said = [each.message for each in caplog.records if "was not taken" in each.message]
        assert len(said) == 3
        assert max(map(len, said)) < 400
        assert three.queues["south"].entries() == []
        good = Came(sender, entry.run, text.encode())
        assert lobby._handed_over(good, card)
        assert not lobby._handed_over(good, card)
        assert [each.run for each in three.queues["south"].entries()] == [entry.run]


def test_a_run_that_was_not_taken_is_not_asked_for_at_once(three: Three) -> None:
    with closing(Lobby(three.sites["south"], three.queues["south"])) as lobby:
        card = load(three.sites["north"].keys).card
        sender, asked = _number(card), list[list[str]]()
        lobby._transport.request = lambda sender, keys: asked.append(list(keys))
        run = "0" * 64
        lobby._ask(sender, run)
        lobby._ask(sender, run)
        assert asked == [[f"{sender}/{lobby._number}/run/{run}"]]
        lobby._accept(sender, asked[0][0], b"no manifest")
        assert not lobby.tick()
        lobby._ask(sender, run)
        assert len(asked) == 1
        lobby._ask(sender, "1" * 64)
        assert len(asked) == 2


@pytest.mark.long
def test_a_member_is_told_of_its_own_runs_only(three: Three) -> None:
    """West is confirmed, and was left out of one of them."""
    both, without = three.proposed("All three"), three.proposed("Without west", without=["west"])
    with met(three, "north", "south", "west") as until:
        south, west = three.queues["south"], three.queues["west"]
        assert until(lambda: len(south.entries()) == 2 and len(west.entries()) == 1)
        assert not until(lambda: len(west.entries()) > 1, seconds=2.0)
    assert [each.run for each in west.entries()] == [both.run]
    with closing(Lobby(three.sites["north"], three.queues["north"])) as lobby:
        lobby.tell()
        numbers = {card.name: number for number, card in lobby._numbers.items()}
        for name, run, given in (
            ("south", without.run, True),
            ("west", without.run, False),
            ("west", both.run, True),
        ):
            found = lobby._serve(f"{lobby._number}/{numbers[name]}/run/{run}")
            assert (found is not None) is given


def test_what_came_to_nothing_is_not_told_for_ever(three: Three) -> None:
    refused, failed = three.proposed("Refused"), three.proposed("Failed")
    refuse(three.sites["north"], three.queues["north"], refused)
    (failed.folder / "failure.json").write_text('{"told": "no records"}')
    entries = three.queues["north"].entries()
    assert [shown(each) for each in entries] == [True, True]
    for each in entries:
        path = each.folder / "decision.json"
        old = json.loads(path.read_text()) | {"time": "2020-01-01T00:00:00+00:00"}
        path.write_text(json.dumps(old))
    assert [shown(each) for each in three.queues["north"].entries()] == [False, False]


def test_a_member_that_is_behind_is_heard_of_and_told_that_it_is_served(three: Three) -> None:
    """North has ended the run, west has not; south, which is not at it, counts for nothing."""
    west = three.approved("west", three.approved("south", three.proposed()))
    for name, file in (("north", "result.json"), ("west", "journal.db"), ("south", "")):
        entry = three.queues[name].take(west.manifest)
        entry.state_folder.mkdir()
        (entry.state_folder / (file or "nothing")).write_text("{}")
    run, queue = west.run, three.queues["north"]
    with (
        closing(Lobby(three.sites["north"], queue)) as north,
        closing(Lobby(three.sites["west"], three.queues["west"])) as other,
    ):
        ends = time.monotonic() + 20.0
        while not north.behind(run) and time.monotonic() < ends:
            north.tick()
            other.tick()
            time.sleep(0.05)
        assert north.behind(run) == {"west"}
        assert other.served(run) == frozenset()  # north has not said that it serves
        while not other.served(run) and time.monotonic() < ends:
            north.tell(serving=run)
            other.tick()
            time.sleep(0.05)
        assert other.served(run) == {"north"}
        south = _number(three.sites["south"].load_keys().card)
        mine = list_of([three.queues["south"].find(run)])
        north._behind.clear()
        north._accept(south, f"{south}/{north._number}/list", mine)
        north.tick()
        assert "south" not in north.behind(run)


def test_a_member_says_with_which_version_it_has_begun_a_run(three: Three) -> None:
    """Though its own is none while it is upgraded."""
    entry, queue = three.ready(), three.queues["north"]
    south = three.queues["south"].take(entry.manifest)
    south.state_folder.mkdir()
    (south.state_folder / "journal.db").touch()
    (south.state_folder / "versions.json").write_text('{"tacit": "0.1.0"}')
    data = list_of([three.queues["south"].find(entry.run)], UPGRADING)
    with closing(Lobby(three.sites["north"], queue)) as lobby:
        number = _number(three.sites["south"].load_keys().card)
        lobby._accept(number, f"{number}/{lobby._number}/list", data)
        lobby.tick()
        assert lobby.begun == {entry.run: {"south": "0.1.0"}}
        assert lobby.versions == {"south": UPGRADING}
        chooser = Chooser(three.sites["north"], lambda entry, told: None)
        chooser.next([], lobby)
    assert "south is still at it with tacit 0.1.0" in chooser.late(entry)
    assert not chooser.joins(queue.find(entry.run))


def test_a_member_says_which_runs_have_failed_there(three: Three) -> None:
    """For as long as they have: they are tried again when its agent is started."""
    entry = three.ready()
    south = three.queues["south"].take(entry.manifest)
    chooser = Chooser(three.sites["north"], lambda entry, told: None)
    with closing(Lobby(three.sites["north"], three.queues["north"])) as lobby:
        number = _number(three.sites["south"].load_keys().card)
        for failed in (True, False):
            path = south.folder / "failure.json"
            path.write_text('{"told": "no records"}') if failed else path.unlink()
            data = list_of([three.queues["south"].find(entry.run)])
            assert b"no records" not in data
            lobby._accept(number, f"{number}/{lobby._number}/list", data)
            lobby.tick()
            chooser.next([], lobby)
            assert chooser.failed == {"south": frozenset({entry.run} if failed else ())}


def test_a_member_of_another_run_is_not_heard_of_this_one(three: Three) -> None:
    """West was left out, and says that it is behind."""
    entry = three.proposed(without=["west"])
    entry.state_folder.mkdir()
    (entry.state_folder / "result.json").write_text("{}")
    with closing(Lobby(three.sites["north"], three.queues["north"])) as lobby:
        said = {entry.run: {"signed": ["north"], "refused": {}, "at": "begun"}}
        data = json.dumps({"format": "tacit-lobby-1", "runs": said}).encode()
        for name, heard in (("west", frozenset()), ("south", frozenset({"south"}))):
            number = _number(three.sites[name].load_keys().card)
            lobby._accept(number, f"{number}/{lobby._number}/list", data)
            lobby.tick()
            assert lobby.behind(entry.run) == heard


def test_a_member_that_says_that_nobody_has_signed_is_not_informed(three: Three) -> None:
    """An empty list is not everybody."""
    entry, queue = three.ready(), three.queues["north"]
    with closing(Lobby(three.sites["north"], queue)) as lobby:
        number = _number(three.sites["south"].load_keys().card)
        for signed, informed in (
            ([], frozenset()),
            (["north", "south"], frozenset()),
            (["north", "south", "west"], frozenset({"south"})),
        ):
            said = {entry.run: {"signed": signed, "refused": {}, "at": ""}}
            data = json.dumps({"format": "tacit-lobby-1", "runs": said}).encode()
            lobby._accept(number, f"{number}/{lobby._number}/list", data)
            lobby.tick()
            assert queue.find(entry.run).informed == informed
