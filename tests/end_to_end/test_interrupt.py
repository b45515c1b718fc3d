"""Runs that are interrupted or killed go on from their checkpoint, to the same bits."""

import contextlib
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.end_to_end.study import changed, write

HEARS_INTERRUPTS = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from tacit.cli import main
main()
"""
"""The command. A shell that runs tests in the background hands on that SIGINT is ignored."""


@contextlib.contextmanager
def started(*arguments: str | Path) -> Iterator[subprocess.Popen[str]]:
    """The command in a process of its own, which does not outlive the test."""
    with subprocess.Popen(
        [sys.executable, "-c", HEARS_INTERRUPTS, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_for(path: Path, process: subprocess.Popen[str]) -> None:
    """Until a file is there."""
    end = time.monotonic() + 120
    while not path.exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end, f"{path} did not appear"
        time.sleep(0.05)


def test_ctrl_c_ends_with_a_sentence_and_no_traceback(tmp_path: Path) -> None:
    study = write(tmp_path, changed("rounds = 20", "rounds = 1000000000"))
    with started("run", study, "-o", tmp_path / "results") as running:
        wait_for(tmp_path / f".results.{running.pid}.partial", running)
        time.sleep(0.5)
        running.send_signal(signal.SIGINT)
        printed, errors = running.communicate(timeout=60)
    assert running.returncode == 130, errors
    assert "interrupted; " in errors
    assert "Traceback" not in errors
    assert "Report:" not in printed
    left = {path.name for path in tmp_path.iterdir()} - {"results.checkpoint"}
    assert left == {"visits.csv", "study.toml"}


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_stopped_run_goes_on_to_the_same_bits(how: signal.Signals, tmp_path: Path) -> None:
    text = changed("rounds = 20", "rounds = 400000\nrecord = 100000")
    study = write(tmp_path, text)
    with started("run", study, "-o", tmp_path / "whole", "--json") as whole:
        expected = json.loads(whole.communicate(timeout=300)[0])

    checkpoint = tmp_path / "parts.checkpoint"
    with started("run", study, "-o", tmp_path / "parts") as stopped:
        wait_for(checkpoint, stopped)
        stopped.send_signal(how)
        _, errors = stopped.communicate(timeout=60)
    assert not (tmp_path / "parts").exists()
    if how is signal.SIGINT:
        assert stopped.returncode == 130
        assert f"tacit run {study} --output {tmp_path / 'parts'} --resume" in errors
        assert not list(tmp_path.glob(".parts*"))

    with started("run", study, "-o", tmp_path / "parts") as refused:
        _, errors = refused.communicate(timeout=60)
    assert refused.returncode == 2
    assert "--resume" in errors

    with started("run", study, "-o", tmp_path / "parts", "--resume", "--json") as resumed:
        printed, errors = resumed.communicate(timeout=300)
    assert resumed.returncode == 0, errors
    assert json.loads(printed)["solutions"] == expected["solutions"]
    assert not checkpoint.exists()
