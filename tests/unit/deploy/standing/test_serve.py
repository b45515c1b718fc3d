"""The agent's decisions: which run is next, when it is set aside, and how it stops."""

from __future__ import annotations

import json
import math
import threading
from pathlib import Path

import pytest

import tacit
from tacit.deploy.identity.pinning import distrust
from tacit.deploy.standing.asking import (
    Asked,
    agent_lock,
    ask,
    asked,
    runs,
    serving,
    upgrading,
    wait,
)
from tacit.deploy.standing.entries import State
from tacit.deploy.standing.lobby import Lobby
from tacit.deploy.standing.serve import Agent
from tacit.errors import SiteBusy
from tests.standing import Three


def an_agent(three: Three) -> Agent:
    """North's agent."""
    made = Agent(three.sites["north"], threading.Event())
    made._chooser.versions = dict.fromkeys(("south", "west"), tacit.__version__)
    return made


def test_an_agent_stops_when_it_is_asked_and_only_one_serves(three: Three) -> None:
    site = three.sites["north"]
    for name in ("south", "west"):
        distrust(site.keys, name)  # nobody to meet
    ask(site, Asked.STOP)  # of an earlier agent
    assert not runs(site)
    assert not (site.folder / "serve.lock").exists()  # whoever asks may be another user
    agent, ended = an_agent(three), list[Asked]()
    thread = threading.Thread(target=lambda: ended.append(agent.serve()))
    thread.start()
    assert wait(lambda: serving(site).get("doing") == "meets", 10.0)
    assert runs(site)
    with pytest.raises(SiteBusy, match=r"serves .* already"):
        an_agent(three).serve()
    with upgrading(site):
        ask(site, Asked.PAUSE)
        assert wait(lambda: serving(site).get("doing") == "paused", 10.0)
        with pytest.raises(SiteBusy, match="another upgrade"), upgrading(site):
            pass
    assert wait(lambda: serving(site).get("doing") == "meets", 10.0)  # it was killed
    ask(site, Asked.RESTART)
    thread.join(10.0)
    assert ended == [Asked.RESTART]
    assert (runs(site), serving(site), asked(site)) == (False, {}, None)
    agent_lock(site).release()


def test_a_pause_waits_for_what_has_begun(three: Three) -> None:
    site, agent = three.sites["north"], an_agent(three)
    entry = three.ready()
    entry.state_folder.mkdir()
    (entry.state_folder / "journal.db").touch()
    agent._chooser.meet()  # it is resumed in a moment
    agent._bundling.step = lambda entries, going: None
    for done, doing in ((False, "runs"), (True, "paused")):
        if done:
            (entry.state_folder / "result.json").write_text("{}")
        agent._step(paused=True)
        agent._wrote = 0.0
        agent._write(paused=True)
        assert serving(site)["doing"] == doing
    assert agent._lobby is not None
    agent._lobby.close()


def test_a_signal_stops_it_too(three: Three) -> None:
    agent = an_agent(three)
    agent.stopping.set()
    assert agent.serve() is Asked.STOP


def test_a_run_that_cannot_be_started_fails_with_its_reason(
    three: Three, caplog: pytest.LogCaptureFixture
) -> None:
    agent, entry = an_agent(three), three.ready()
    three.queues["north"].note(entry, informed=["south", "west"])
    decided = json.loads((entry.folder / "decision.json").read_text())
    text = json.dumps({**decided, "dataset": "gone"})
    (entry.folder / "decision.json").write_text(text)
    agent._step(paused=False)
    found = three.queues["north"].find(entry.run)
    assert (found.state, "gone" in found.failure) == (State.FAILED, True)
    (said,) = [each.message for each in caplog.records if "failed" in each.message]
    assert "gone" not in said  # a service's log has other readers
    assert agent._chooser.next(three.queues["north"].entries()) is None
    assert not Path(entry.state_folder).exists()


def test_a_run_that_has_ended_stays_so_though_it_cannot_be_served(three: Three) -> None:
    agent, entry, queue = an_agent(three), three.ready(), three.queues["north"]
    entry.state_folder.mkdir()
    (entry.state_folder / "result.json").write_text("{}")
    decided = json.loads((entry.folder / "decision.json").read_text())
    (entry.folder / "decision.json").write_text(json.dumps({**decided, "dataset": "gone"}))
    agent._bundling.step = lambda entries, going: None  # there is nothing to bundle
    agent._lobby = Lobby(three.sites["north"], queue)
    agent._lobby._behind[entry.run] = {"west"}
    agent._step(paused=False)
    assert agent._lobby is None  # it was tried
    assert queue.find(entry.run).state is State.FINISHED
    assert agent._chooser.of(entry).again == math.inf
