"""`tacit reproduce`: what there is, one target, and going on after an interrupt."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tacit.cli import app
from tacit.papers import Paper, catalogue, run
from tests.unit.papers.pieces import target

ROOT = Path(__file__).parents[2]
RUN = CliRunner()

SLOW = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from tacit.papers import Paper, catalogue, run
from tests.unit.papers.pieces import slow_target
paper = Paper("someone1999", "A. Someone: On waiting. 1999.", (slow_target({log!r}, {wait!r}),))
catalogue.PAPERS = run.PAPERS = (paper,)
from tacit.cli import main
main()
"""
"""The command with a paper whose pieces note that they began, and then wait."""


@pytest.fixture
def paper(monkeypatch: pytest.MonkeyPatch) -> Paper:
    """A paper whose figures cost nothing, in the place of all others."""
    found = Paper(
        "someone1999",
        "A. Someone: On squares & roots. 1999.",
        (target(), target("someone1999/fig2", 5)),
    )
    for module in (catalogue, run):
        monkeypatch.setattr(module, "PAPERS", (found,))
    return found


def invoke(*arguments: str | Path, code: int = 0) -> str:
    """What the command prints."""
    done = RUN.invoke(app, ["reproduce", *map(str, arguments)])
    assert done.exit_code == code, (done.output, done.exception)
    return done.output if code else done.stdout


@pytest.mark.slow
def test_all_targets_are_listed_with_their_times(tmp_path: Path) -> None:
    known = [each.name for each in catalogue.targets()]
    text = " ".join(invoke("--list", "--output", tmp_path, "--cores", "2").split())
    assert all(name in text for name in known)
    assert "on 2 cores" in text
    document = json.loads(invoke("--list", "--output", tmp_path, "--json"))
    assert [each["name"] for each in document["targets"]] == known
    times = {each["name"]: each for each in document["targets"]}["huang2015/fig1"]
    assert 0.0 < times["seconds_fast"] <= times["seconds_full"]


@pytest.mark.long
def test_the_documentation_shows_what_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TACIT_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    printed = invoke("--list", "--cores", "2").strip("\n").splitlines()
    page = (ROOT / "docs" / "reproduce.md").read_text(encoding="utf-8")
    shown = page.partition("```text\n")[2].partition("```")[0]
    lines = [line.strip() for line in shown.splitlines() if line.strip()]
    assert lines == [line.strip() for line in printed if line.strip()]


def test_one_target_writes_its_page_and_says_what_it_found(paper: Paper, tmp_path: Path) -> None:
    said = invoke("someone1999/fig1", "--fast", "--cores", "1", "--output", tmp_path)
    assert "someone1999/fig1: reproduced (shortened). The squares end at 1." in said
    assert f"Pages: {tmp_path / 'index.html'}" in said
    assert (tmp_path / "someone1999.html").exists()


def test_json_has_verdict_sentence_and_table_and_nothing_else(paper: Paper, tmp_path: Path) -> None:
    options = ("--json", "--cores", "1", "--output", tmp_path)
    document = json.loads(invoke("--paper", "someone1999", *options))
    assert document["format"] == "tacit-reproduction-1" and document["scale"] == "full"
    one, two = document["targets"]
    assert (one["name"], one["verdict"]) == ("someone1999/fig1", "reproduced")
    assert two["comparison"] == [{"what": "last", "paper": 4.0, "ours": 16.0, "ratio": 4.0}]
    every = json.loads(invoke("--all", *options))
    assert every["targets"] == document["targets"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["someone1999/fg1"], "did you mean 'someone1999/fig1'?"),
        (["--paper", "someone1998"], "did you mean 'someone1999'?"),
        (["zzz"], "`tacit reproduce --list` names all"),
        ([], "--paper NAME"),
        (["someone1999/fig1", "--all"], "--paper NAME"),
        (["--all", "--cores", "0"], "--cores 0 must be at least 1"),
    ],
)
def test_what_does_not_exist_is_refused_with_a_remedy(
    paper: Paper, arguments: list[str], said: str, tmp_path: Path
) -> None:
    assert said in invoke(*arguments, "--output", tmp_path / "out", code=2)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "cores",
    [pytest.param(1, marks=pytest.mark.long), pytest.param(2, marks=pytest.mark.slow)],
)
def test_an_interrupted_run_goes_on_where_it_was(cores: int, tmp_path: Path) -> None:
    log, out = tmp_path / "log", tmp_path / "out"
    log.mkdir()
    arguments = ["reproduce", "--all", "--cores", str(cores), "--output", str(out)]

    def command(wait: float) -> list[str]:
        return [sys.executable, "-c", SLOW.format(log=str(log), wait=wait), *arguments]

    # the first three pieces end at once, the last one waits for longer than anybody would
    with subprocess.Popen(
        command(600.0),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as running:
        try:
            end = time.monotonic() + 120
            while len(list((out / "pieces").glob("*.json"))) < 3 or not (log / "3").exists():
                assert running.poll() is None, running.communicate()
                assert time.monotonic() < end
                time.sleep(0.05)
            # as a terminal does: to all processes of the group
            os.killpg(running.pid, signal.SIGINT)
            printed, errors = running.communicate(timeout=60)
        finally:
            running.kill()
    assert running.returncode == 130, errors
    assert "interrupted" in errors and "Traceback" not in errors
    assert "Pages:" not in printed

    again = subprocess.run(
        command(0.0), cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
    )
    assert again.returncode == 0, again.stderr
    assert "someone1999/fig1: reproduced" in again.stdout
    # each noted its beginning; only what had not ended was begun twice
    assert [(log / str(n)).read_text() for n in range(4)] == ["x", "x", "x", "xx"]
