"""`tacit site`: what its commands print, ask for and refuse."""

from __future__ import annotations

import json
import signal
import threading
import time
from pathlib import Path
from unittest.mock import Mock

import pytest

import tacit
from tacit._engine import environment
from tacit.deploy.identity.pinning import distrust, trusted
from tacit.deploy.standing.asking import Asked, ask, asked, restarting, runs
from tacit.deploy.standing.entries import State
from tacit.deploy.standing.installed import Found
from tacit.deploy.standing.serve import Agent
from tacit.privacy.ledger import read
from tests.sites import records
from tests.standing import Three, gives, silent


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "give its --address"),
        (["--data", "RECORDS"], "with --records, or have them counted"),
        (["--data", "RECORDS", "--records", "20"], "may cost, with --epsilon"),
        (["--study", "nowhere.toml"], "--study counts the records of --data"),
        (["--data", "RECORDS", "--records", "20", "--epsilon", "-1"], "must be positive"),
        (["--data", "nowhere.csv", "--records", "20", "--epsilon", "1"], "no such file"),
    ],
)
def test_join_says_what_is_missing(tmp_path: Path, words: list[str], said: str) -> None:
    table = str(records(tmp_path))
    given = [table if word == "RECORDS" else word for word in words]
    code, output = gives("join", "--site", tmp_path / "site", "--name", "north", *given)
    assert (code, said in output) == (2, True), output


def test_join_counts_records_as_the_study_reads_them(three: Three) -> None:
    study = three.folder / "study.toml"
    study.write_text(three.study().text)
    table = three.folder / "records-20.csv"
    words = ["--name", "east", "--data", table, "--study", study, "--epsilon", 1]
    code, output = gives("join", "--site", three.folder / "east", *words, "--json")
    found = json.loads(output)
    assert (code, found["records"], found["format"]) == (0, 20, "tacit-site-join-1")
    code, output = gives("join", "--site", three.folder / "more", *words)
    assert code == 0
    assert "Send" in output and "It declares 20 records." in output


@pytest.mark.long
def test_a_run_is_proposed_seen_approved_and_refused(three: Three) -> None:
    north, south = three.sites["north"].folder, three.sites["south"].folder
    study, sent = three.folder / "study.toml", three.folder / "run.toml"
    study.write_text(three.study().text)
    code, output = gives("propose", study, "--site", north)
    assert (code, "give --yes if you have read" in output) == (2, True)
    assert three.queues["north"].entries() == []  # nothing is left of it
    code, output = gives("propose", study, "--site", north, "--output", sent, "--yes")
    assert code == 0, output
    (entry,) = three.queues["north"].entries()
    assert entry.state is State.SIGNING
    for told in ("is (4, 1e-6)-DP per record", "epsilon 0 of 5 is spent", "Approved run"):
        assert told in output
    code, output = gives("approve", sent, "--site", south)
    assert (code, "give --yes" in output) == (2, True)
    code, output = gives("list", "--site", south)
    assert code == 0
    assert "to be approved" in output
    assert "with this run it would be 4 at most" in output
    (row,) = json.loads(gives("list", "--site", south, "--json")[1])["runs"]
    assert (row["signed"], row["waits_for"]) == (["north"], ["you"])
    code, output = gives("approve", entry.run[:8], "--site", south, "--yes")
    assert (code, "It begins when west has signed, too" in output) == (0, True)
    code, output = gives("approve", entry.run[:8], "--site", south, "--yes")
    assert (code, "was approved on" in output) == (2, True)
    code, output = gives("refuse", entry.run[:8], "--site", south)
    assert (code, "Refused run" in output) == (0, True)
    assert "refused" in gives("list", "--site", south)[1]


@pytest.mark.long
def test_why_a_run_cannot_go_on_is_told_its_owner_alone(three: Three) -> None:
    """It may count records, so neither other programs nor a log of the agent get it."""
    site = three.sites["north"]
    offered = three.offered().manifest
    agents = [each.model_copy(update={"records": 21}) for each in offered.agents]
    three.queues["north"].offer(offered.model_copy(update={"agents": tuple(agents)}))
    failed = three.proposed("One that failed")
    (failed.folder / "failure.json").write_text('{"told": "the table has 387 records"}')
    output = gives("list", "--site", site.folder)[1]
    assert "cannot be approved" in output
    assert "has 20 records" in output and "387 records" in output
    output = gives("list", "--site", site.folder, "--json")[1]
    assert "cannot be approved: tacit site list says why" in output
    assert "has 20 records" not in output and "387 records" not in output


def test_the_end_of_input_is_no_approval(three: Three, monkeypatch: pytest.MonkeyPatch) -> None:
    study = three.folder / "study.toml"
    study.write_text(three.study().text)
    monkeypatch.setattr("tacit.cli.standing_approving.sys", Mock())  # somebody is there
    monkeypatch.setattr("builtins.input", Mock(side_effect=EOFError))
    code, output = gives("propose", study, "--site", three.sites["north"].folder)
    assert (code, "Not approved; nothing was signed." in output) == (1, True), output


def test_what_a_run_promises_is_not_rounded_down(
    three: Three, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = three.folder / "study.toml"
    study.write_text(three.study(epsilon=1.00049).text)
    monkeypatch.setattr("tacit.cli.standing_approving.sys", Mock())  # somebody is there
    monkeypatch.setattr("builtins.input", Mock(side_effect=EOFError))
    output = gives("propose", study, "--site", three.sites["north"].folder)[1]
    assert any("south" in line and " 1.001 " in line for line in output.splitlines()), output


def test_new_members_need_their_owners_fingerprint(three: Three) -> None:
    north, study = three.sites["north"].folder, three.folder / "study.toml"
    study.write_text(three.study().text)
    gives("remove", "south", "--site", north)
    file = three.sites["south"].folder / "south.member.toml"
    words = ["propose", study, "--site", north, "--member", file, "--yes"]
    for more, said in (
        ([], "told you over another channel"),
        (["--fingerprint", f"south={'ABCD' * 8}"], "It is not trusted"),
        (["--fingerprint", "south=ABCD"], "'ABCD' has 4 letters and digits, and all of it has 32"),
        (["--fingerprint", "south"], "must be NAME=CODE"),
        (["--fingerprint", "east=ABCD"], "no --member file is of that name"),
        (["--records", "south=many"], "not a number of records"),
    ):
        code, output = gives(*words, *more)
        assert (code, said in " ".join(output.split())) == (2, True), output
    assert three.queues["north"].entries() == []
    told = three.sites["south"].load_keys().card.fingerprint()
    # a proposal that is refused, or not approved, trusts nobody
    for more in ["--dataset", "none"], []:
        asked = [each for each in words if more or each != "--yes"]
        code, output = gives(*asked, "--fingerprint", f"south={told}", *more)
        assert code == 2, output
        assert "south" not in trusted(three.sites["north"].keys)
    assert three.queues["north"].entries() == []
    code, output = gives(*words, "--fingerprint", f"south={told}")
    assert (code, "read out the code of the members" in output) == (0, True)


def test_members_and_budgets_are_changed(three: Three) -> None:
    site = three.sites["north"]
    assert gives("remove", "west", "--site", site.folder)[0] == 0
    assert gives("remove", "west", "--site", site.folder)[0] == 2
    assert gives("budget", "records", "--epsilon", 7, "--site", site.folder)[0] == 0
    assert [each.epsilon for each in read(site.ledger).balances] == [7.0]
    code, output = gives("budget", "labs", "--epsilon", 7, "--site", site.folder)
    assert (code, "give its records with --data" in output) == (2, True)


@pytest.fixture
def as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is installed starts; to see that takes seconds."""
    found = Found(tacit.__version__)
    monkeypatch.setattr("tacit.deploy.standing.installed.startable", lambda folder: found)


@pytest.mark.usefixtures("as_before")
def test_an_upgrade_waits_for_what_has_begun(three: Three, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, entry = three.sites["north"].folder, three.ready()
    entry.state_folder.mkdir()
    (entry.state_folder / "journal.db").touch()
    code, output = gives("upgrade", "--site", folder, "--", "true")
    assert (code, f"tacit site refuse {entry.run[:12]}" in output) == (2, True)
    (entry.state_folder / "result.json").write_text("{}")
    monkeypatch.setenv("PATH", str(three.folder))  # its pip may be that of another environment
    code, output = gives("upgrade", "--site", folder, "--", "pip", "--version")
    assert (code, "as before" in output) == (0, True)


@pytest.mark.usefixtures("as_before")
def test_an_upgrade_waits_for_a_run_that_failed_in_its_middle(three: Three) -> None:
    """It is resumed when the agent is started, and not by another version."""
    folder, entry = three.sites["north"].folder, three.ready()
    (entry.folder / "failure.json").write_text('{"told": "the table has 387 records"}')
    assert gives("upgrade", "--site", folder, "--", "true")[0] == 0  # it had not begun
    entry.state_folder.mkdir()
    (entry.state_folder / "journal.db").touch()
    (entry.state_folder / "versions.json").write_text(json.dumps(environment.versions()))
    code, output = gives("upgrade", "--site", folder, "--", "true")
    assert (code, "has begun and failed (tacit site list says why)" in output) == (2, True), output
    assert f"tacit site refuse {entry.run[:12]}" in output
    (entry.state_folder / "versions.json").write_text(json.dumps({"tacit": "0.1.0"}))
    code, output = gives("upgrade", "--site", folder, "--", "true")  # it may bring that back
    assert (code, f"tacit 0.1.0 -> {tacit.__version__}" in output) == (0, True), output


def test_an_upgrade_that_is_interrupted_says_what_is_left(
    three: Three, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = three.folder / "begun"
    monkeypatch.setattr("tacit.deploy.standing.asking.runs", lambda site: there.exists())
    found = Found("", "half gone")
    monkeypatch.setattr("tacit.deploy.standing.installed.startable", lambda folder: found)
    # whoever started the tests may have let them ignore it
    heeded = signal.signal(signal.SIGINT, signal.default_int_handler)
    script = f"touch {there}; kill -INT $PPID; exec sleep 0.3"
    words = ["upgrade", "--site", three.sites["north"].folder, "--", "sh", "-c", script]
    try:
        code, output = gives(*words)
    finally:
        signal.signal(signal.SIGINT, heeded)
    assert (code, "does not start (half gone). Install" in output) == (130, True), output
    assert "The agent begins no run until then." in output


def test_an_upgrade_that_brings_back_the_agents_version_leaves_the_agent(
    three: Three, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes on at once with the run that lacked it, and would start again after that."""
    folder, there = three.sites["north"].folder, three.folder / "installed"
    monkeypatch.setattr("tacit.deploy.standing.asking.runs", lambda site: there.exists())
    monkeypatch.setattr("tacit.cli.standing_upgrading._BACK_SECONDS", 0.0)
    found = Found("9.9")
    monkeypatch.setattr("tacit.deploy.standing.installed.startable", lambda folder: found)
    said = {"time": time.time(), "since": 1.0, "doing": "paused", "version": "9.9"}
    (folder / "serving.json").write_text(json.dumps(said))
    code, output = gives("upgrade", "--site", folder, "--", "touch", there)
    assert (code, "The agent goes on as it was." in output) == (0, True), output
    assert not (folder / "asked.json").exists()


@pytest.mark.parametrize("starts", [False, True], ids=["before it starts", "while it starts"])
def test_an_upgrade_leaves_a_stop_as_it_is(
    three: Three, monkeypatch: pytest.MonkeyPatch, starts: bool
) -> None:
    site, there = three.sites["north"], three.folder / "installed"
    monkeypatch.setattr("tacit.deploy.standing.asking.runs", lambda site: there.exists())
    found = Found("9.9")

    def startable(folder: Path) -> Found:
        if not starts:
            ask(site, Asked.STOP)
        return found

    monkeypatch.setattr("tacit.deploy.standing.installed.startable", startable)
    told = list[str]()

    def say(text: str = "") -> None:
        told.append(text)
        if text == "The agent starts again.":
            ask(site, Asked.STOP)

    monkeypatch.setattr("tacit.cli.standing_upgrading.say", say)
    began = time.monotonic()
    code, _ = gives("upgrade", "--site", site.folder, "--", "touch", there)
    assert (code, asked(site)) == (0, Asked.STOP)
    assert ("The agent starts again." in told) is starts
    assert time.monotonic() - began < 30.0  # it waits for 60 s for one that comes back


def test_an_upgrade_names_who_has_refused_what_has_begun(three: Three) -> None:
    folder, entry = three.sites["north"].folder, three.ready()
    entry.state_folder.mkdir()
    (entry.state_folder / "journal.db").touch()
    three.queues["north"].note(entry, refusals={"south": "a signature"})
    code, output = gives("upgrade", "--site", folder, "--", "true")
    assert (code, "(south has refused it)" in output) == (2, True), output


@pytest.mark.parametrize("new", ["", "9.9"])
def test_an_upgrade_says_what_is_installed_though_its_command_failed(
    three: Three, monkeypatch: pytest.MonkeyPatch, new: str
) -> None:
    found = Found(new, "" if new else "a broken release")
    monkeypatch.setattr("tacit.deploy.standing.installed.startable", lambda folder: found)
    folder = three.sites["north"].folder
    for command, good in (("true", bool(new)), ("false", False)):
        code, output = gives("upgrade", "--site", folder, "--", command)
        assert code == (0 if good else 1)
        told = (
            "is 9.9"
            if new
            else f"does not start (a broken release). Install {tacit.__version__} again, in a copy"
        )
        assert told in " ".join(output.split()), output
        assert not (folder / "asked.json").exists()


@pytest.mark.usefixtures("as_before")
def test_an_agent_that_appears_during_an_installation_pauses(three: Three) -> None:
    site = three.sites["north"]
    copied = three.folder / "asked.json"
    words = ["cp", site.folder / "asked.json", copied]
    assert gives("upgrade", "--site", site.folder, "--", *words)[0] == 0
    assert json.loads(copied.read_text()) == {"asked": "pause"}


def test_an_upgrade_leaves_what_others_ask_the_agent(three: Three) -> None:
    site = three.sites["north"]
    stop = three.folder / "stop.json"
    stop.write_text('{"asked": "stop"}')
    for command in ("true", "false"):
        words = ["sh", "-c", f"cp {stop} {site.folder / 'asked.json'}; {command}"]
        gives("upgrade", "--site", site.folder, "--", *words)
        assert asked(site) is Asked.STOP


def test_stop_stops_an_agent_that_starts_again(three: Three) -> None:
    """Even if an upgrade asks for something else in between."""
    site = three.sites["north"]
    for name in ("south", "west"):
        distrust(site.keys, name)  # nobody to meet
    restarting(site)
    agent, ended = Agent(site, threading.Event()), list[Asked]()
    thread = threading.Timer(1.0, lambda: ended.append(agent.serve()))
    overtaken = threading.Timer(0.5, ask, [site, Asked.PAUSE])
    for each in (thread, overtaken):
        each.daemon = True
        each.start()
    code, output = gives("stop", "--site", site.folder)
    assert (code, "Stopped; nothing is lost" in output) == (0, True), output
    thread.join(10.0)
    assert (ended, asked(site), runs(site)) == ([Asked.STOP], None, False)


def test_an_upgrade_says_that_an_agent_hangs(three: Three, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.cli.standing_upgrading._SILENT_SECONDS", 0.2)
    threading.Timer(1.5, silent(three).release).start()  # it is killed
    code, output = gives("upgrade", "--site", three.sites["north"].folder, "--", "true")
    assert (code, output.count("(process 1234) has said nothing for")) == (0, 1), output


@pytest.mark.usefixtures("as_before")
def test_without_an_agent_there_is_nothing_to_stop(three: Three) -> None:
    folder = three.sites["north"].folder
    code, output = gives("stop", "--site", folder)
    assert (code, "No agent is running" in output) == (0, True)
    code, output = gives("list", "--site", folder)
    assert "not running: tacit site serve" in output
    assert "No runs." in output
    code, output = gives("upgrade", "--site", folder, "--", "false")
    assert (code, "ended with exit code 1" in output) == (1, True)
    code, output = gives("upgrade", "--site", folder, "--", "true")
    assert (code, f"is version {tacit.__version__}, as before" in output) == (0, True)
    code, output = gives("upgrade", "--site", folder, "--", three.folder / "nowhere")
    assert (code, "cannot be run" in output) == (2, True)
    code, output = gives("list", "--site", three.folder / "nowhere")
    assert (code, "make a site with `tacit site join`" in output) == (2, True)
