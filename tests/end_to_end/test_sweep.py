"""`tacit sweep`: table and page, the same numbers however it is cut, going on after anything."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import tacit
from tacit._engine.runner import Simulation
from tacit.cli import app
from tacit.study import assemble, read_study
from tacit.sweep import Grid, cells, plan, run, sweep
from tests.end_to_end import study

ROOT = Path(__file__).parents[2]

SMALL = study.changed(
    'hold_out = 0.2\noutput = "results"\n',
    "compare = false\n",
    study.changed("rounds = 20", "rounds = 5"),
)

LONG = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from tacit.sweep import cells, run
cells._WIDTH, run._START = 4, 0.0
from tacit.cli import main
main()
"""
"""The command with small batches, and with processes however little there is to do."""


def invoke(*arguments: str | Path, code: int = 0) -> str:
    """What the command prints."""
    done = CliRunner().invoke(app, ["sweep", *map(str, arguments)])
    assert done.exit_code == code, (done.output, done.exception)
    return " ".join((done.output if code else done.stdout).split())


@pytest.mark.long
def test_every_run_has_a_row_with_its_numbers_and_its_guarantee(tmp_path: Path) -> None:
    text = study.changed("rounds = 20", "rounds = 5")
    path, out = study.write(tmp_path, text), tmp_path / "out"
    said = invoke(path, "-n", "3", "-e", "0.5,2", "-m", "dpsg,dgd", "-w", "2", "-o", out)
    assert "9 runs: 3 cells with 3 seeds each" in said
    assert "no guarantee covers it" in said and "dgd: no privacy" in said
    # 3 (0.5 + 2)
    assert "publishes all 6 private runs spends epsilon = 7.5" in said

    rows = pd.read_csv(out / "results.csv")
    assert list(rows["method"]) == ["dpsg"] * 6 + ["dgd"] * 3
    assert list(rows["trial"]) == [0, 1, 2] * 3 and set(rows["seed"]) == {0}
    assert list(rows["guarantee"]) == ["proved"] * 6 + ["none"] * 3
    np.testing.assert_allclose(rows["epsilon"], [0.5] * 3 + [2.0] * 3 + [np.inf] * 3, rtol=1e-6)
    assert np.isnan(rows["privacy.epsilon"][6:]).all() and rows["finished"].all()

    whole = assemble(read_study(path))
    result = tacit.run(
        whole.problem,
        whole.network,
        tacit.DPSG(step=0.5, privacy=tacit.Privacy(clip=1.0, epsilon=2.0, delta=1e-6)),
        rounds=5,
        seed=0,
        runtime=Simulation(trials=3),
        reference="solve",
    )
    for name in ("objective", "distance", "consensus"):
        np.testing.assert_allclose(rows[name][3:6], result.history.measured[name][-1], rtol=1e-9)

    document = json.loads((out / "sweep.json").read_text())
    assert document["complete"] and document["covers"] == [] and document["measure"] == "auc"
    table = pd.read_csv(out / "cells.csv")
    np.testing.assert_allclose(table["auc"][0], rows["auc"][:3].mean())
    np.testing.assert_allclose(table["auc_error"][0], rows["auc"][:3].std() / np.sqrt(3))
    assert document["cells"][0]["mean"] == pytest.approx(table["auc"][0])
    # what was measured is what the plan said
    promised = plan(read_study(path), Grid(1)).cells[0].measures
    assert promised == {name.removesuffix("_error") for name in table if name.endswith("_error")}
    page = (out / "report.html").read_text()
    assert all(sentence in page for sentence in document["warnings"])
    assert "is a release of its own" in page and "simulation only" in page


@pytest.mark.slow
def test_the_same_command_again_computes_nothing_and_writes_the_same(tmp_path: Path) -> None:
    path, out = study.write(tmp_path, SMALL), tmp_path / "out"
    invoke(path, "-n", "2", "-o", out, "-w", "1")
    before = {file: file.read_bytes() for file in out.rglob("*") if file.is_file()}
    times = {file: file.stat().st_mtime_ns for file in (out / "pieces").iterdir()}
    assert len(times) == 1
    assert "1 of 1 chunks are stored already" in invoke(path, "-n", "2", "-o", out, "-w", "1")
    assert {file: file.stat().st_mtime_ns for file in (out / "pieces").iterdir()} == times
    assert {file: file.read_bytes() for file in out.rglob("*") if file.is_file()} == before


@pytest.mark.long
@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_numbers_do_not_depend_on_chunks_or_workers(
    workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cells, "_WIDTH", 4)
    monkeypatch.setattr(run, "_START", 0.0)
    source, grid = read_study(study.write(tmp_path, SMALL)), Grid(seeds=10)
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    sweep(source, grid, whole)
    ended = sweep(source, grid, cut, where=workers, chunk=4)
    assert len(ended.runs()) == 10
    assert [len(list((out / "pieces").iterdir())) for out in (whole, cut)] == [1, 3]
    assert (whole / "results.csv").read_bytes() == (cut / "results.csv").read_bytes()


def test_runs_that_diverge_are_counted_and_left_out_of_means(tmp_path: Path) -> None:
    text = study.changed('loss = "logistic"', 'loss = "squared"', SMALL)
    text = study.changed("rounds = 5", "rounds = 400", text)
    path, out = study.write(tmp_path, text), tmp_path / "out"
    arguments = ["-m", "dgd", "-s", "method.step=0.1,1e8", "-n", "2", "-o", out, "-w", "1"]
    arguments += ["--measure", "consensus", "--facet", "method.step"]
    document = json.loads(
        CliRunner().invoke(app, ["sweep", *map(str, [path, *arguments]), "--json"]).stdout
    )
    assert [cell["finished"] for cell in document["cells"]] == [2, 0]
    assert document["cells"][1]["mean"] is None and document["diverged"] == 2
    assert any("2 of 4 runs diverged" in sentence for sentence in document["warnings"])
    assert not pd.read_csv(out / "results.csv")["finished"][2:].any()

    # to read it again changes neither measure nor panels
    page, grid = (out / "report.html").read_text(), {"method.step": (0.1, 1e8)}
    again = sweep(read_study(path), Grid(2, ("dgd",), grid), out)
    assert (again.measure, again.facet) == ("consensus", "method.step")
    assert (out / "report.html").read_text() == page
    # LaTeX begins with the measure that was asked for
    assert "Guarantee & Disagreement & " in (out / "cells.tex").read_text()
    assert "@misc{tacit," in (out / "references.bib").read_text()


@pytest.mark.long
def test_a_step_too_large_for_the_noise_is_named(tmp_path: Path) -> None:
    path, out = study.write(tmp_path, SMALL), tmp_path / "out"
    said = invoke(path, "-s", "method.step=0.1,100", "-n", "2", "-o", out, "-w", "1")
    assert "In 1 of 2 cells most runs end with a larger objective than they begin with" in said
    assert "with dpsg, step 100. There, the step is too large for this noise" in said


def long_sweep(out: Path, path: Path) -> subprocess.Popen[str]:
    """A sweep of twelve chunks in two processes, as a process of its own."""
    arguments = ["sweep", str(path), "-n", "48", "--chunk", "4", "-w", "2", "-o", str(out)]
    return subprocess.Popen(
        [sys.executable, "-c", LONG, *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for(out: Path, count: int, running: subprocess.Popen[str]) -> dict[Path, int]:
    """The stored chunks with their times, as soon as there are so many."""
    end = time.monotonic() + 300
    while len(found := list((out / "pieces").glob("*.json"))) < count:
        assert running.poll() is None, running.communicate()
        assert time.monotonic() < end
        time.sleep(0.01)
    return {file: file.stat().st_mtime_ns for file in found}


def workers_of(process: int) -> list[int]:
    """Processes of a pool."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [int(c) for c in children if b"spawn_main" in Path(f"/proc/{c}/cmdline").read_bytes()]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    """A study of some work, and the table of its sweep."""
    folder = tmp_path_factory.mktemp("undisturbed")
    path = study.write(folder, study.changed("rounds = 5", "rounds = 3000", SMALL))
    with long_sweep(folder / "out", path) as running:
        _, errors = running.communicate(timeout=300)
    assert running.returncode == 0, errors
    return path, (folder / "out" / "results.csv").read_bytes()


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="asks Linux for its processes")
def test_a_worker_that_is_killed_loses_nothing(
    undisturbed: tuple[Path, bytes], tmp_path: Path
) -> None:
    path, table = undisturbed
    with long_sweep(tmp_path / "out", path) as running:
        wait_for(tmp_path / "out", 2, running)
        os.kill(workers_of(running.pid)[0], signal.SIGKILL)
        printed, errors = running.communicate(timeout=300)
    assert running.returncode == 0, errors
    assert "48 runs" in printed
    assert (tmp_path / "out" / "results.csv").read_bytes() == table


@pytest.mark.slow
def test_an_interrupted_sweep_goes_on_where_it_was(
    undisturbed: tuple[Path, bytes], tmp_path: Path
) -> None:
    path, table = undisturbed
    out = tmp_path / "out"
    with long_sweep(out, path) as running:
        wait_for(out, 2, running)
        # as a terminal does: to all processes of the group
        os.killpg(running.pid, signal.SIGINT)
        _, errors = running.communicate(timeout=60)
    assert running.returncode == 130, errors
    assert str(out) in errors and "Traceback" not in errors
    assert not (out / "results.csv").exists()
    stored = {file: file.stat().st_mtime_ns for file in (out / "pieces").glob("*.json")}
    assert 2 <= len(stored) < 12

    with long_sweep(out, path) as running:
        printed, errors = running.communicate(timeout=300)
    assert running.returncode == 0, errors
    assert f"{len(stored)} of 12 chunks are stored already" in printed
    assert {file: file.stat().st_mtime_ns for file in stored} == stored
    assert (out / "results.csv").read_bytes() == table
