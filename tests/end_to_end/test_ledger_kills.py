"""Agents killed at random moments never answer one question twice, nor unrecorded."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def survived(folder: Path, kills: int, seed: int, *options: str) -> dict[str, int | str]:
    """What the ledger and the network hold after so many kills."""
    script = Path(__file__).with_name("ledger_kills.py")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", script, folder, str(kills), str(seed), *options],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("kills", [60, pytest.param(1000, marks=pytest.mark.slow)])
def test_killed_agents(tmp_path: Path, kills: int) -> None:
    found = survived(tmp_path, kills, 7)
    assert found["killed"] == kills, "an agent ended by itself"
    assert found["errors"] == ""
    assert found["problem"] == "", "the ledger is broken"
    assert found["sent_twice_differently"] == 0
    assert found["sent_but_not_on_disk"] == 0
    # the kills met agents at work, and some answers were repeated
    assert int(found["sent"]) > int(found["releases"]) > kills / 4


def test_an_agent_that_sends_too_early_is_found_out(tmp_path: Path) -> None:
    found = survived(tmp_path, 30, 7, "careless")
    assert found["problem"] == ""
    assert int(found["sent_but_not_on_disk"]) > 0
    assert int(found["sent_twice_differently"]) > 0
