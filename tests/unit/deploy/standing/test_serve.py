"""The agent's decisions: which run is next, when it is set aside, and how it stops."""

from __future__ import annotations

import json
import math
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest

import tacit
from tacit.deploy.identity.pinning import distrust
from tacit.deploy.standing.asking import (
    Asked,
    agent_lock,
    ask,
    asked,
    forget,
    restarting,
    runs,
    serving,
    upgrading,
    wait,
)
from tacit.deploy.standing.bundling import Bundling
from tacit.deploy.standing.entries import Entry, State
from tacit.deploy.standing.installed import Found
from tacit.deploy.standing.listing import UPGRADING
from tacit.deploy.standing.lobby import Lobby
from tacit.deploy.standing.serve import Agent
from tacit.errors import SiteBusy
from tests.standing import Three


def an_agent(three: Three) -> Agent:
    """North's agent."""
    made = Agent(three.sites["north"], threading.Event())
    made._chooser.versions = dict.fromkeys(("south", "west"), tacit.__version__)
    return made


@pytest.fixture
def agent(three: Three) -> Iterator[Agent]:
    made = an_agent(three)
    made._bundling.step = lambda entries, going: None
    yield made
    if made._lobby is not None:
        made._lobby.close()


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
        assert wait(lambda: serving(site).get("doing") == "paused", 20.0)
        with pytest.raises(SiteBusy, match="another upgrade"), upgrading(site):
            pass
    assert wait(lambda: serving(site).get("doing") == "meets", 10.0)  # it was killed
    ask(site, Asked.RESTART)
    thread.join(10.0)
    assert ended == [Asked.RESTART]
    assert (runs(site), serving(site), asked(site)) == (True, {}, None)  # it is on its way
    ask(site, Asked.STOP)
    again = an_agent(three)
    thread = threading.Thread(target=lambda: ended.append(again.serve()), daemon=True)
    thread.start()
    thread.join(10.0)
    assert ended == [Asked.RESTART, Asked.STOP]
    assert (runs(site), serving(site), asked(site)) == (False, {}, None)
    agent_lock(site).release()


def test_an_agent_that_never_came_back_is_not_waited_for(three: Three) -> None:
    site = three.sites["north"]
    restarting(site)
    assert runs(site)
    long_ago = time.time() - 100.0
    os.utime(site.folder / "restarting", (long_ago, long_ago))
    ask(site, Asked.STOP)
    assert not runs(site)
    forget(site)
    assert asked(site) is None


def test_an_agent_that_cannot_say_what_it_does_logs_it_once(
    three: Three, caplog: pytest.LogCaptureFixture
) -> None:
    agent = an_agent(three)
    path = three.sites["north"].folder / "serving.json"
    path.mkdir()
    for _ in range(3):
        agent._wrote = 0.0
        agent._write(paused=False)
    assert caplog.text.count(f"{path} cannot be written") == 1


def test_whoever_looks_for_an_agent_keeps_none_from_starting(three: Three) -> None:
    site = three.sites["north"]
    looking = agent_lock(site)
    threading.Timer(0.2, looking.release).start()
    agent_lock(site).release()


def is_installed(monkeypatch: pytest.MonkeyPatch, version: str, *, starts: bool = True) -> None:
    """Have a version installed; whether an agent of it starts."""
    there = "tacit.deploy.standing.installed."
    monkeypatch.setattr(there + "installed", lambda: Found(version))
    monkeypatch.setattr(there + "startable", lambda folder: Found(version if starts else ""))


def begun(three: Three) -> Entry:
    """A run that has begun at north."""
    entry = three.ready()
    entry.state_folder.mkdir()
    (entry.state_folder / "journal.db").touch()
    return entry


def doing(agent: Agent, *, paused: bool = True) -> str:
    """What an agent says of itself after one more step."""
    agent._step(paused=paused)
    agent._wrote = 0.0
    agent._write(paused=paused)
    return str(serving(agent.site)["doing"])


def test_a_pause_waits_for_what_has_begun(
    three: Three, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.deploy.standing.pausing._TOLD_SECONDS", 0.0)
    entry = begun(three)
    agent._chooser.meet()  # it is resumed in a moment
    assert [doing(agent), doing(agent)] == ["pausing", "pausing"]
    (entry.state_folder / "result.json").write_text("{}")
    assert doing(agent) == "paused"
    assert agent._lobby is not None
    assert agent._lobby.version == UPGRADING  # so that nobody begins a run with this member
    assert doing(agent, paused=False) == "meets"
    assert agent._lobby.version == tacit.__version__


def test_a_run_whose_process_stops_during_a_pause_is_not_forgotten(
    three: Three, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It had begun after the agent last met the others."""
    monkeypatch.setattr("tacit.deploy.standing.pausing._TOLD_SECONDS", 0.0)
    entry = three.ready()
    child = Mock(entry=entry, code=None, again=False)
    child.unmet.return_value = frozenset(), frozenset(), 0.0
    agent._child = child
    assert doing(agent) == "runs"
    entry.state_folder.mkdir()
    (entry.state_folder / "journal.db").touch()
    child.code = 1  # killed; it is resumed in a moment
    assert [doing(agent), doing(agent), doing(agent)] == ["pausing"] * 3


def test_a_pause_waits_for_a_neighbour_that_may_have_begun_a_run(
    three: Three, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.deploy.standing.pausing._TOLD_SECONDS", 0.0)
    three.ready()
    assert {doing(agent) for _ in range(4)} == {"pausing"}  # nobody is heard
    assert agent._lobby is not None
    agent._chooser.versions["south"] = "0.1.0"  # which begins no run with this version
    agent._lobby.heard["west"] = time.monotonic()
    assert doing(agent) == "paused"
    agent._chooser.begun = {three.queues["north"].entries()[0].run: {"west": tacit.__version__}}
    agent._chooser.meet()
    assert doing(agent) == "pausing"  # it cannot end without this member


def test_no_run_begins_with_another_version_than_the_agents(
    three: Three, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run's process would have the installed one, and the others were told the agent's."""
    started = Mock()
    monkeypatch.setattr("tacit.deploy.standing.serve.Child", started)
    entry = three.ready()
    three.queues["north"].note(entry, informed=["south", "west"])
    is_installed(monkeypatch, "9.9")
    agent._step(paused=False)
    assert agent._lobby is not None
    assert (started.called, agent._lobby.version) == (False, UPGRADING)
    is_installed(monkeypatch, tacit.__version__)
    agent._installed.look(again=True)
    agent._step(paused=False)
    assert started.called


def test_a_run_that_has_begun_waits_for_its_version(
    three: Three,
    agent: Agent,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO", logger="tacit.site")
    monkeypatch.setattr("tacit.deploy.standing.pausing._TOLD_SECONDS", 0.0)
    started, entry = Mock(), begun(three)
    monkeypatch.setattr("tacit.deploy.standing.serve.Child", started)
    is_installed(monkeypatch, "9.9")
    assert doing(agent, paused=False) == "meets"
    assert [doing(agent), doing(agent)] == ["pausing", "paused"]  # an upgrade may bring it back
    told = f"Run {entry.run[:12]} ends with {tacit.__version__}: install that again"
    assert (started.called, told in caplog.text) == (False, True)
    is_installed(monkeypatch, tacit.__version__)
    agent._installed.look(again=True)
    agent._step(paused=False)
    assert started.called


def test_an_agent_that_a_run_needs_does_not_start_again_with_another_version(
    three: Three, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_installed(monkeypatch, "9.9")
    monkeypatch.setattr("tacit.deploy.standing.installed._SETTLED_SECONDS", 0.5)
    agent, entry = an_agent(three), begun(three)
    child = Mock(entry=entry, code=None, again=False)
    child.unmet.return_value = frozenset(), frozenset(), 0.0
    agent._child = child
    threading.Timer(1.5, setattr, (child, "code", 1)).start()  # killed
    threading.Timer(3.0, agent.stopping.set).start()
    assert agent.serve() is Asked.STOP


def test_what_has_ended_is_bundled_before_a_pause(
    three: Three, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The version that is installed in the pause may write other files."""
    monkeypatch.setattr("tacit.deploy.standing.pausing._TOLD_SECONDS", 0.0)
    bundle = Mock(code=None)
    monkeypatch.setattr("tacit.deploy.standing.bundling.Bundle", bundle)
    agent._bundling, entry = Bundling(agent.site), begun(three)
    (entry.state_folder / "result.json").write_text("{}")
    bundle.return_value = Mock(entry=entry, code=None)
    is_installed(monkeypatch, "9.9")
    agent._installed.look(again=True)
    doing(agent)
    assert not bundle.called
    is_installed(monkeypatch, tacit.__version__)
    agent._installed.look(again=True)
    assert [doing(agent), doing(agent)] == ["pausing", "pausing"]
    entry.bundle.touch()
    bundle.return_value.code = 0
    doing(agent)
    assert doing(agent) == "paused"
    assert bundle.call_count == 1


@pytest.mark.parametrize(
    ("version", "starts", "again"), [("9.9", True, True), ("9.9", False, False), ("", False, False)]
)
def test_an_agent_starts_again_with_another_version_that_starts(
    three: Three, monkeypatch: pytest.MonkeyPatch, version: str, starts: bool, again: bool
) -> None:
    is_installed(monkeypatch, version, starts=starts)
    monkeypatch.setattr("tacit.deploy.standing.installed._SETTLED_SECONDS", 0.5)
    agent, site = an_agent(three), three.sites["north"]
    for name in ("south", "west"):
        distrust(site.keys, name)  # nobody to meet
    threading.Timer(3.0, agent.stopping.set).start()
    assert agent.serve() is (Asked.RESTART if again else Asked.STOP)


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
