"""Which run is next: what all have signed and know of, in one order at all sites."""

from __future__ import annotations

import math
from contextlib import closing

import tacit
from tacit.deploy.identity.pinning import distrust, trust, trusted
from tacit.deploy.standing.choosing import Chooser, apart, others
from tacit.deploy.standing.entries import State
from tacit.deploy.standing.listing import UPGRADING
from tacit.deploy.standing.lobby import Lobby
from tests.standing import Three


def a_chooser(three: Three) -> Chooser:
    """North's."""
    made = Chooser(three.sites["north"], lambda entry, told: None)
    made.versions = dict.fromkeys(("south", "west"), tacit.__version__)
    return made


def test_a_run_begins_when_the_neighbours_know_that_all_have_signed(three: Three) -> None:
    chooser, entry = a_chooser(three), three.ready()
    queue = three.queues["north"]
    assert chooser.next(queue.entries()) is None
    queue.note(entry, informed=["south"])
    assert chooser.next(queue.entries()) is None
    queue.note(entry, informed=["west"])
    found = chooser.next(queue.entries())
    assert found is not None
    assert found.run == entry.run
    card = trusted(three.sites["north"].keys)["west"]
    distrust(three.sites["north"].keys, "west")  # it has left
    assert chooser.next(queue.entries()) is None
    trust(three.sites["north"].keys, card)
    assert chooser.next(queue.entries()) is not None
    queue.note(entry, refusals={"south": "a signature"})
    assert chooser.next(queue.entries()) is None


def test_a_run_begins_when_all_have_one_version(three: Three) -> None:
    chooser, entry, queue = a_chooser(three), three.ready(), three.queues["north"]
    queue.note(entry, informed=["south", "west"])
    chooser.versions = {"south": tacit.__version__}
    assert chooser.next(queue.entries()) is None  # west was not heard since the start
    with closing(Lobby(three.sites["north"], queue)) as lobby:
        for version in ("0.1.0", ""):  # before lists had a version
            lobby.versions = {"south": tacit.__version__, "west": version}
            assert chooser.next(queue.entries(), lobby) is None
            assert others(entry, chooser.versions) == {"west": version or "an earlier one"}
            assert "west has" in apart(queue.entries(), chooser.versions)
            assert chooser.next(queue.entries()) is None  # that is not forgotten
        lobby.versions = {"west": tacit.__version__}
        assert chooser.next(queue.entries(), lobby) is not None


def test_during_an_upgrade_only_what_has_begun_goes_on(three: Three) -> None:
    chooser, queue = a_chooser(three), three.queues["north"]
    both = [three.ready(title) for title in "ab"]
    for each in both:
        queue.note(each, informed=["south", "west"])
    assert chooser.next(queue.entries(), paused=True) is None
    last = max(both, key=lambda each: each.run)
    last.state_folder.mkdir()
    (last.state_folder / "journal.db").touch()
    found = chooser.next(queue.entries(), paused=True)
    assert found is not None
    assert found.run == last.run


def test_a_run_that_a_neighbour_has_begun_is_joined_in_a_pause_too(three: Three) -> None:
    """It had not heard of the pause, and its run cannot end without this member."""
    chooser, entry, queue = a_chooser(three), three.ready(), three.queues["north"]
    queue.note(entry, informed=["south", "west"])
    for begun, joined in (
        ({"elsewhere": tacit.__version__}, False),
        ({"south": "0.1.0"}, False),
        ({"south": tacit.__version__}, True),
    ):
        chooser.begun = {entry.run: begun}
        chooser.versions = {"south": tacit.__version__, "west": UPGRADING}  # both upgrade
        found = chooser.next(queue.entries(), paused=True)
        assert (found is not None) == joined, begun
    queue.note(entry, refusals={"west": "a signature"})
    assert chooser.next(queue.entries(), paused=True) is None


def test_runs_that_are_not_approved_or_not_signed_never_begin(three: Three) -> None:
    chooser, queue = a_chooser(three), three.queues["north"]
    entry = three.proposed()
    queue.note(entry, informed=["south", "west"])
    assert queue.find(entry.run).state is State.SIGNING
    assert chooser.next(queue.entries()) is None
    complete = three.ready("Another")
    queue.note(complete, informed=["south", "west"])
    (complete.folder / "decision.json").unlink()
    assert queue.find(complete.run).state is State.PROPOSED
    assert chooser.next(queue.entries()) is None


def test_all_agents_take_the_runs_in_one_order(three: Three) -> None:
    chooser, queue = a_chooser(three), three.queues["north"]
    both = [three.ready(title) for title in "ab"]
    for each in both:
        queue.note(each, informed=["south", "west"])
    first, second = sorted(both, key=lambda each: each.run)

    def following() -> str:
        found = chooser.next(queue.entries())
        assert found is not None
        return found.run

    assert following() == first.run
    assert [chooser.stopped(first) for _ in range(8)][:3] == [10.0, 20.0, 40.0]
    assert chooser.stopped(first) == 600.0
    assert following() == second.run
    chooser.ended(first)
    second.state_folder.mkdir()
    (second.state_folder / "journal.db").touch()
    assert following() == first.run  # nobody was met in the second
    queue.note(second, met=["south", "west"])
    assert following() == second.run  # what has begun goes first


def test_a_run_that_has_ended_is_served_for_a_neighbour_and_not_all_the_time(
    three: Three,
) -> None:
    chooser, queue = a_chooser(three), three.queues["north"]
    ended, waiting = three.ready("One"), three.ready("Two")
    queue.note(waiting, informed=["south", "west"])
    ended.state_folder.mkdir()
    (ended.state_folder / "result.json").write_text("{}")
    with closing(Lobby(three.sites["north"], queue)) as lobby:

        def following() -> str:
            found = chooser.next(queue.entries(), lobby)
            assert found is not None
            return found.run

        assert following() == waiting.run
        lobby._behind[ended.run] = {"west"}
        assert following() == ended.run
        chooser.served(ended, well=True)
        assert following() == waiting.run
        chooser.of(ended).again = 0.0
        assert following() == ended.run
        chooser.served(ended, well=False)
        assert chooser.of(ended).again == math.inf
        chooser.of(ended).again = 0.0
        lobby._behind[ended.run] = {"elsewhere"}  # no neighbour
        assert following() == waiting.run


def test_a_run_is_resumed_at_once_when_a_neighbour_that_has_ended_serves_it(three: Three) -> None:
    chooser, queue = a_chooser(three), three.queues["north"]
    entry = three.ready()
    entry.state_folder.mkdir()
    (entry.state_folder / "journal.db").touch()
    chooser.meet()
    chooser.stopped(entry)
    with closing(Lobby(three.sites["north"], queue)) as lobby:
        assert chooser.next(queue.entries(), lobby) is None
        lobby._ended[entry.run] = {"elsewhere"}
        assert chooser.next(queue.entries(), lobby) is None
        lobby._ended[entry.run] = {"west"}
        found = chooser.next(queue.entries(), lobby)
    assert found is not None
    assert found.run == entry.run
