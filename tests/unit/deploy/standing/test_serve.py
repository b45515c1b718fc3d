"""The agent's decisions: which run is next, when it is set aside, and how it stops."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pytest

from tacit.deploy.identity.pinning import distrust, trust, trusted
from tacit.deploy.standing.asking import Asked, agent_lock, ask, asked, runs, serving, wait
from tacit.deploy.standing.entries import Entry, State
from tacit.deploy.standing.serve import Agent, _Tried
from tacit.errors import RuntimeFailure
from tests.unit.deploy.standing.conftest import Three


def ready(three: Three, title: str = "A study") -> Entry:
    """A run that all have signed, in north's queue."""
    west = three.approved("west", three.approved("south", three.proposed(title)))
    return three.queues["north"].take(west.manifest)


def an_agent(three: Three) -> Agent:
    """North's agent."""
    return Agent(three.sites["north"], threading.Event())


def test_a_run_begins_when_the_neighbours_know_that_all_have_signed(three: Three) -> None:
    agent, entry = an_agent(three), ready(three)
    queue = three.queues["north"]
    assert agent._next(queue.entries()) is None
    queue.note(entry, informed=["south"])
    assert agent._next(queue.entries()) is None
    queue.note(entry, informed=["west"])
    found = agent._next(queue.entries())
    assert found is not None
    assert found.run == entry.run
    card = trusted(agent.site.keys)["west"]
    distrust(agent.site.keys, "west")  # it has left
    assert agent._next(queue.entries()) is None
    trust(agent.site.keys, card)
    assert agent._next(queue.entries()) is not None
    queue.note(entry, refusals={"south": "a signature"})
    assert agent._next(queue.entries()) is None


def test_runs_that_are_not_approved_or_not_signed_never_begin(three: Three) -> None:
    agent, queue = an_agent(three), three.queues["north"]
    entry = three.proposed()
    queue.note(entry, informed=["south", "west"])
    assert queue.find(entry.run).state is State.SIGNING
    assert agent._next(queue.entries()) is None
    complete = ready(three, "Another")
    queue.note(complete, informed=["south", "west"])
    (complete.folder / "decision.json").unlink()
    assert queue.find(complete.run).state is State.PROPOSED
    assert agent._next(queue.entries()) is None


def test_all_agents_take_the_runs_in_one_order(three: Three) -> None:
    agent, queue = an_agent(three), three.queues["north"]
    both = [ready(three, title) for title in "ab"]
    for each in both:
        queue.note(each, informed=["south", "west"])
    first, second = sorted(both, key=lambda each: each.run)

    def following() -> str:
        found = agent._next(queue.entries())
        assert found is not None
        return found.run

    assert following() == first.run
    agent._tried[first.run] = _Tried(failures=1, again=time.monotonic() + 60.0)
    assert following() == second.run
    agent._tried.clear()
    second.state_folder.mkdir()
    (second.state_folder / "journal.db").touch()
    assert following() == first.run  # nobody was met in the second
    queue.note(second, met=["south", "west"])
    assert following() == second.run  # what has begun goes first


def test_an_agent_stops_when_it_is_asked_and_only_one_serves(three: Three) -> None:
    site = three.sites["north"]
    for name in ("south", "west"):
        distrust(site.keys, name)  # nobody to meet
    ask(site, Asked.STOP)  # of an earlier agent
    agent, ended = an_agent(three), list[Asked]()
    thread = threading.Thread(target=lambda: ended.append(agent.serve()))
    thread.start()
    assert wait(lambda: serving(site).get("doing") == "meets", 10.0)
    assert runs(site)
    with pytest.raises(RuntimeFailure, match=r"serves .* already"):
        an_agent(three).serve()
    ask(site, Asked.PAUSE)
    assert wait(lambda: serving(site).get("doing") == "paused", 10.0)
    ask(site, Asked.RESTART)
    thread.join(10.0)
    assert ended == [Asked.RESTART]
    assert (runs(site), serving(site), asked(site)) == (False, {}, None)
    agent_lock(site).release()


def test_a_signal_stops_it_too(three: Three) -> None:
    agent = an_agent(three)
    agent.stopping.set()
    assert agent.serve() is Asked.STOP


def test_a_run_that_cannot_be_started_fails_with_its_reason(
    three: Three, caplog: pytest.LogCaptureFixture
) -> None:
    agent, entry = an_agent(three), ready(three)
    three.queues["north"].note(entry, informed=["south", "west"])
    decided = json.loads((entry.folder / "decision.json").read_text())
    text = json.dumps({**decided, "dataset": "gone"})
    (entry.folder / "decision.json").write_text(text)
    agent._step(paused=False)
    found = three.queues["north"].find(entry.run)
    assert (found.state, "gone" in found.failure) == (State.FAILED, True)
    (said,) = [each.message for each in caplog.records if "failed" in each.message]
    assert "gone" not in said  # a service's log has other readers
    assert agent._next(three.queues["north"].entries()) is None
    assert not Path(entry.state_folder).exists()
