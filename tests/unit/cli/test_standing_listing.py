"""`tacit site list`: what it says of the agent, and of runs that do not go on."""

from __future__ import annotations

import json
import time

import tacit
from tests.standing import Three, gives, silent


def test_a_list_does_not_call_an_agent_stopped_that_hangs(three: Three) -> None:
    folder = three.sites["north"].folder
    lock = silent(three)
    output = gives("list", "--site", folder)[1]
    found = json.loads(gives("list", "--site", folder, "--json")[1])
    lock.release()
    assert "running (process 1234), and says nothing" in " ".join(output.split())
    assert (found["agent"]["doing"], found["agent"]["process"]) == ("silent", 1234)
    assert "not running: tacit site serve" in gives("list", "--site", folder)[1]


def test_a_list_does_not_take_its_own_version_for_the_agents(three: Three) -> None:
    """After a downgrade behind a run that goes on."""
    folder, entry = three.sites["north"].folder, three.ready()
    said = {"time": time.time(), "doing": "runs", "run": entry.run, "version": "9.9"}
    said |= {"versions": {"south": "9.9", "west": "9.9"}}
    (folder / "serving.json").write_text(json.dumps(said))
    entry.state_folder.mkdir()
    for begun in False, True:
        if begun:
            (entry.state_folder / "journal.db").touch()
            (entry.state_folder / "versions.json").write_text('{"tacit": "9.9"}')
        output = " ".join(gives("list", "--site", folder)[1].split())
        assert "south has" not in output
        assert f"(tacit 9.9; this command is of {tacit.__version__})" in output


def test_a_list_says_at_which_members_a_run_has_failed(three: Three) -> None:
    """A member that is heard in the run since has been started again."""
    folder, entry = three.sites["north"].folder, three.ready()
    said = {"time": time.time(), "doing": "runs", "run": entry.run, "version": tacit.__version__}
    said |= {"failed": {"south": [entry.run], "west": [entry.run], "elsewhere": [entry.run]}}
    (folder / "serving.json").write_text(json.dumps(said))
    entry.state_folder.mkdir()
    (entry.state_folder / "journal.db").touch()
    heard = {"silent_seconds": 1.0, "waited_seconds": 0.0, "finished": False}
    around = {"south": {**heard, "silent_seconds": None}, "west": heard}
    keys = ("run", "name", "state", "round", "rounds", "round_seconds", "without", "paid")
    status = dict.fromkeys(keys, 0) | {"format": "tacit-status-1", "time": time.time()}
    status |= {"waiting_for": ["south"], "neighbours": around, "messages": {}}
    (entry.state_folder / "status.json").write_text(json.dumps(status))
    output = gives("list", "--site", folder)[1]
    assert f"{entry.run[:12]}: failed at south, where its owner sees why" in output, output


def test_a_list_says_when_a_run_that_failed_is_tried_again(three: Three) -> None:
    folder, entry = three.sites["north"].folder, three.ready()
    (entry.folder / "failure.json").write_text('{"told": "begun with other versions"}')
    output = " ".join(gives("list", "--site", folder)[1].split())
    assert "other versions. It is tried again when the agent is started: tacit site stop" in output


def test_a_list_says_why_a_run_that_waits_last_stopped(three: Three) -> None:
    folder, entry = three.sites["north"].folder, three.ready()
    (entry.folder / "log.txt").write_text("error: an older copy\nlistening\n")
    assert "older copy" not in gives("list", "--site", folder)[1]
    entry.state_folder.mkdir()
    (entry.state_folder / "journal.db").touch()
    output = gives("list", "--site", folder)[1]
    assert f"{entry.run[:12]}: last stopped with: an older copy" in output
    assert "older copy" not in gives("list", "--site", folder, "--json")[1]


def test_a_list_says_what_a_run_that_has_begun_needs(three: Three) -> None:
    folder, entry = three.sites["north"].folder, three.ready()
    said = {"time": time.time(), "doing": "meets", "version": "0.3.0"}
    said |= {"versions": {"south": "0.3.0", "west": "0.2.0"}}
    said |= {"begun": {entry.run: {"west": "0.2.0"}}}
    (folder / "serving.json").write_text(json.dumps(said))
    output = " ".join(gives("list", "--site", folder)[1].split())
    assert "west began it with tacit 0.2.0: install that here" in output
    assert f"tacit site refuse {entry.run[:12]}" in output
    entry.state_folder.mkdir()
    (entry.state_folder / "journal.db").touch()
    (entry.state_folder / "versions.json").write_text('{"tacit": "0.1.0"}')
    output = " ".join(gives("list", "--site", folder)[1].split())
    assert "ends with tacit 0.1.0, with which it began; " in output
    assert "south has 0.3.0" in output


def test_a_list_says_who_has_another_version(three: Three) -> None:
    folder, entry = three.sites["north"].folder, three.ready()
    own = tacit.__version__
    said = {"time": time.time(), "doing": "meets", "version": own}
    three.queues["north"].note(entry, informed=["south", "west"])
    for versions, known in (({"south": "0.1.0"}, True), ({"south": own}, False)):
        text = json.dumps({**said, "versions": versions})
        (folder / "serving.json").write_text(text)
        output = gives("list", "--site", folder)[1]
        assert f"in no run (tacit {own})" in output
        told = f"{entry.run[:12]}: begins when all have one version of tacit; south has 0.1.0"
        assert (told in output) == known
        (row,) = json.loads(gives("list", "--site", folder, "--json")[1])["runs"]
        assert row["waits_for"] == ["west"]  # it knows of the run, and was not heard
        assert ("waits for one version: south" in " ".join(output.split())) == known
