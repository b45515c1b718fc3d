"""Standing agents as real processes: the commands of their page, kills, and a second study."""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from tacit.cli import app
from tacit.deploy.identity.keys import read_card
from tacit.deploy.operate.verify import Verdict, verify_bundle
from tacit.deploy.standing.members import code_of
from tacit.deploy.standing.overview import overview
from tacit.deploy.standing.queue import Queue
from tacit.deploy.standing.site import find
from tacit.privacy.ledger import read, verify
from tests.docs.test_examples import examples, run_example
from tests.sites import STUDY, free_port, records

PAGE = Path(__file__).parents[2] / "docs" / "standing.md"
SITES = ["north", "south", "west", "east", "hub"]
SECONDS = 600.0


class Consortium:
    """The sites of the page in one folder, their agents, and the commands that were given."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.given = folder, list[str]()
        self.queues: dict[str, Queue] = {}
        self.agents: dict[str, subprocess.Popen[bytes]] = {}
        self._port = str(free_port())

    def give(self, command: str) -> str:
        """Give a command of the page; what it printed."""
        command = command.replace("7450", self._port)
        self.given.append(command)
        words = self._words(command)
        if words[:2] == ["site", "serve"]:
            self.serve(words[words.index("--site") + 1])
            return ""
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, (command, done.output)
        return done.output

    def _words(self, command: str) -> list[str]:
        """The command's words, with the codes that its owner heard."""
        words = shlex.split(command)[1:]
        for number, word in enumerate(words):
            if re.fullmatch(r"\w+=ABCD EFGH \.\.\.", word):
                words[number] = f"{word.partition('=')[0]}={self.card(word).fingerprint()}"
            elif word == "IJKL MNOP ...":
                words[number] = code_of(self.card(name) for name in SITES)
        return words

    def card(self, name: str) -> Any:
        """The card of a site, by its name or an option that begins with it."""
        return read_card(self.folder / name.partition("=")[0] / "keys" / "card.toml")

    def serve(self, name: str) -> None:
        """Start the agent of a site."""
        with (self.folder / f"{name}.out").open("ab") as file:
            command = [sys.executable, "-m", "tacit", "site", "serve", "--site", name]
            self.agents[name] = subprocess.Popen(command, stdout=file, stderr=file)

    def kill(self, name: str) -> None:
        """Kill an agent as a power cut does."""
        self.agents[name].send_signal(signal.SIGKILL)
        self.agents[name].wait()

    def list(self, name: str) -> dict[str, Any]:
        """What `tacit site list` shows at a site, of runs that are decided."""
        site = find(self.folder / name)
        return overview(site, self.queues.setdefault(name, Queue(site)))

    def runs(self, name: str) -> dict[str, dict[str, Any]]:
        """The runs of a site, by title."""
        return {each["title"]: each for each in self.list(name)["runs"]}

    def wait(self, until: Callable[[], bool]) -> None:
        """Wait until something is so."""
        ends = time.monotonic() + SECONDS
        while not until():
            assert time.monotonic() < ends, self.logs()
            assert all(each.poll() is None for each in self.agents.values()), self.logs()
            time.sleep(0.5)

    def logs(self) -> str:
        """The last that every agent and every run printed."""
        paths = [*self.folder.glob("*.out"), *self.folder.glob("*/runs/*/log.txt")]
        return "\n".join(f"{path}\n{path.read_text(errors='replace')[-1500:]}" for path in paths)

    def end(self) -> None:
        """Kill what still runs."""
        for each in self.agents.values():
            each.kill()
            each.wait()


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Consortium]:
    """The folder of the page with its tables and studies."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for line, language, text in examples(PAGE):
        if language in ("python", "toml"):
            assert not run_example(language, text, names, PAGE, line)
    made = Consortium(tmp_path)
    yield made
    made.end()


def scripts() -> list[list[str]]:
    """The commands in the page's scripts, one script after the other."""
    found = re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    joined = [re.sub(r" *\\\n *", " ", each) for each in found]
    found = [[line for line in each.splitlines() if line[:6] == "tacit "] for each in joined]
    return [each for each in found if each]


FIRST, SECOND = "Any visit: sums over four clinics", "Visits by age: a second study"


@pytest.mark.parametrize(
    "studies",
    [pytest.param(1, marks=pytest.mark.long), pytest.param(2, marks=pytest.mark.slow)],
)
def test_the_commands_of_the_page_and_a_kill_in_between(there: Consortium, studies: int) -> None:
    """15 commands for the first study, 5 for the second."""
    join, serve, first, second = scripts()[:4]
    for command in (*join, *serve, *first):
        there.give(command.replace("tacit site approve", "tacit site approve --yes"))
    assert len(there.given) == 15
    assert len(second) == 5
    there.wait(lambda: there.runs("west")[FIRST]["progress"].get("round", 0) >= 3)
    there.kill("west")
    there.serve("west")
    there.wait(lambda: all(there.runs(name)[FIRST]["bundle"] for name in SITES))
    assert there.runs("west")[FIRST]["state"] == "finished"
    for command in second if studies == 2 else []:
        if "approve" in command:
            name = command.split()[-1]
            there.wait(lambda name=name: SECOND in there.runs(name))
            run = there.runs(name)[SECOND]
            assert run["state"] == "to be approved"
            command = command.replace("RUN", run["run"][:12])
        there.give(command + " --yes")
    titles = (FIRST, SECOND)[:studies]
    there.wait(lambda: all(there.runs(n)[title]["bundle"] for n in SITES for title in titles))
    for title in titles:
        found = [there.runs(name)[title] for name in SITES]
        models = [Path(each["report"]).parent / "state" / "model.npz" for each in found]
        solutions = [np.load(path)["solution"] for path in models]
        assert all(np.array_equal(solutions[0], each) for each in solutions)
        for name, each in [*zip(SITES, found, strict=True)][2:4]:
            told = there.card(name).fingerprint()
            assert verify_bundle(Path(each["bundle"]), fingerprint=told).verdict is Verdict.VERIFIED
    for name in SITES[:4]:
        assert verify(there.folder / name / "ledger").sound
        (balance,) = read(there.folder / name / "ledger").balances
        assert balance.runs == studies
        assert 0.0 < balance.spent <= 4.0
    for name in SITES:
        there.give(f"tacit site stop --site {name}")
        assert there.agents.pop(name).wait(timeout=60) == 0
        assert there.list(name)["agent"]["doing"] == "stopped"


@pytest.mark.slow
def test_a_member_that_comes_back_when_all_others_have_ended_gets_its_answer(
    there: Consortium,
) -> None:
    """What it lacks is in the others' state, and their processes are gone: their agents are not."""
    join, serve, first = scripts()[:3]
    for command in (*join, *serve, *first):
        command = command.replace("--patience 120", "--patience 20")
        there.give(command.replace("tacit site approve", "tacit site approve --yes"))
    there.wait(lambda: there.runs("west")[FIRST]["progress"].get("round", 0) >= 3)
    there.kill("west")
    del there.agents["west"]
    others = [name for name in SITES if name != "west"]
    there.wait(lambda: all(there.runs(name)[FIRST]["bundle"] for name in others))
    there.wait(lambda: all(there.list(name)["agent"]["doing"] == "meets" for name in others))
    there.serve("west")
    there.wait(lambda: there.runs("west")[FIRST]["state"] == "finished")
    there.wait(lambda: bool(there.runs("west")[FIRST]["bundle"]))
    paths = [Path(there.runs(n)[FIRST]["log"]).parent / "state" / "model.npz" for n in SITES]
    solutions = [np.load(path)["solution"] for path in paths]
    assert all(np.array_equal(solutions[0], each) for each in solutions)
    assert verify(there.folder / "west" / "ledger").sound


@pytest.mark.long
def test_an_upgrade_starts_the_agent_again_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    alone = Consortium(tmp_path)
    alone.give("tacit site join --site hub --name hub --address localhost:7450")
    alone.serve("hub")
    try:
        alone.wait(lambda: alone.list("hub")["agent"]["doing"] == "meets")
        assert CliRunner().invoke(app, alone._words("x site upgrade --site hub -- false")).exit_code
        alone.wait(lambda: alone.list("hub")["agent"]["doing"] == "meets")
        out = tmp_path / "hub.out"
        assert out.read_text().count("serving") == 1
        alone.give("tacit site upgrade --site hub -- touch installed")
        assert (tmp_path / "installed").exists()
        alone.wait(lambda: out.read_text().count("serving") == 2)
        assert alone.agents["hub"].poll() is None  # the same process
        alone.wait(lambda: alone.list("hub")["agent"]["doing"] == "meets")
        alone.give("tacit site stop --site hub")
        assert alone.agents["hub"].wait(timeout=60) == 0
    finally:
        alone.end()


PEERS = ("north", "south", "west")


def agreed(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    studies: Mapping[str, str],
    more: str = "",
    later: Sequence[str] = (),
) -> Consortium:
    """Three peers that have approved studies, by title, and serve; some approve them later."""
    monkeypatch.chdir(folder)
    peers, table = Consortium(folder), records(folder)
    for name in PEERS:
        where = f"--site {name} --name {name} --address localhost:{free_port()}"
        peers.give(f"tacit site join {where} --data {table} --records 20 --epsilon 5")
    told = " ".join(
        f"--member {name}/{name}.member.toml --fingerprint '{name}=ABCD EFGH ...'"
        for name in PEERS[1:]
    )
    for title, text in studies.items():
        (folder / f"{title}.toml").write_text(f'title = "{title}"\n{text}')
        options = f"--output {title}.run --yes {more} {told}"
        peers.give(f"tacit site propose {title}.toml --site north {options}")
        told = ""  # they are known then
    code = code_of(peers.card(name) for name in PEERS)
    for name in PEERS[1:]:
        for title in studies if name not in later else ():
            peers.give(f"tacit site approve {title}.run --site {name} --code '{code}' --yes")
    for name in PEERS:
        peers.serve(name)
    return peers


@pytest.mark.slow
def test_a_run_that_all_approve_during_an_upgrade_begins_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    peers = agreed(tmp_path, monkeypatch, {"One": STUDY}, later=["west"])
    words = peers._words("x site upgrade --site north --")
    wait_for = f"import time, pathlib\nwhile not pathlib.Path({str(tmp_path / 'go')!r}).exists(): "
    command = [sys.executable, "-P", "-m", "tacit", *words]
    try:
        peers.wait(lambda: peers.list("north")["agent"]["doing"] == "meets")
        ends = subprocess.Popen([*command, sys.executable, "-c", wait_for + "time.sleep(0.1)"])
        peers.wait(lambda: peers.list("north")["agent"]["doing"] == "paused")
        code = code_of(peers.card(name) for name in PEERS)
        peers.give(f"tacit site approve One.run --site west --code '{code}' --yes")
        peers.wait(lambda: "north" in peers.runs("south")["One"]["other_versions"])
        peers.wait(lambda: peers.runs("south")["One"]["state"] == "ready")
        time.sleep(5.0)
        assert all(peers.runs(name)["One"]["state"] == "ready" for name in PEERS)
        (tmp_path / "go").touch()
        assert ends.wait(60.0) == 0
        peers.wait(lambda: all(peers.runs(n)["One"]["state"] == "finished" for n in PEERS))
    finally:
        (tmp_path / "go").touch()
        peers.end()


@pytest.mark.slow
def test_peers_take_two_runs_that_are_ready_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ring of three, all of which listen; each agent is in one run at a time."""
    names, titles = PEERS, ("One", "Two")
    text = STUDY.replace("epsilon = 4.0", "epsilon = 2.0")
    peers = agreed(tmp_path, monkeypatch, dict.fromkeys(titles, text))
    try:
        peers.wait(lambda: all(peers.runs(n)[t]["bundle"] for n in names for t in titles))
        for name in names:
            (balance,) = read(tmp_path / name / "ledger").balances
            assert (balance.runs, balance.releases) == (2, 10)
            assert balance.spent < 5.0
    finally:
        peers.end()


@pytest.mark.slow
def test_who_comes_back_to_a_path_of_peers_that_have_added_up_gets_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """North and west hear each other through south, which adds up for all."""
    text = (
        STUDY.replace('"ring"', '"path"\nexact_sum = "tree"')
        .replace('"dpsg"', '"gradient-descent"')
        .replace("clip = 1.0", "clip = 1.0\nmasks = { coalition = 1, min_cohort = 2, spare = 20 }")
        .replace("rounds = 5", "rounds = 60")
    )
    peers = agreed(tmp_path, monkeypatch, {"One": text}, "--silent skip --patience 10")
    try:
        peers.wait(lambda: peers.runs("west")["One"]["progress"].get("round", 0) >= 3)
        peers.kill("west")
        del peers.agents["west"]
        peers.wait(lambda: all(peers.runs(name)["One"]["bundle"] for name in ("north", "south")))
        peers.serve("west")
        peers.wait(lambda: bool(peers.runs("west")["One"]["bundle"]))
        paths = [Path(peers.runs(n)["One"]["log"]).parent / "state" / "model.npz" for n in PEERS]
        solutions = [np.load(path)["solution"] for path in paths]
        assert all(np.array_equal(solutions[0], each) for each in solutions)
        for name in PEERS:
            told = peers.card(name).fingerprint()
            bundle = Path(peers.runs(name)["One"]["bundle"])
            assert verify_bundle(bundle, fingerprint=told).verdict is Verdict.VERIFIED
            assert verify(tmp_path / name / "ledger").sound
    finally:
        peers.end()
