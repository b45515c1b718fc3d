"""Agents killed at random moments never answer one question twice, nor unrecorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.end_to_end.kills import survived


@pytest.mark.long
@pytest.mark.parametrize("kills", [60, pytest.param(1000, marks=pytest.mark.slow)])
def test_killed_agents(tmp_path: Path, kills: int) -> None:
    found = survived("ledger_kills.py", tmp_path, kills, 7)
    assert found["killed"] == kills, "an agent ended by itself"
    assert found["errors"] == ""
    assert found["problem"] == "", "the ledger is broken"
    assert found["sent_twice_differently"] == 0
    assert found["sent_but_not_on_disk"] == 0
    # the kills met agents at work, and some answers were repeated
    assert int(found["sent"]) > int(found["releases"]) > kills / 4


def test_an_agent_that_sends_too_early_is_found_out(tmp_path: Path) -> None:
    found = survived("ledger_kills.py", tmp_path, 30, 7, "careless")
    assert found["problem"] == ""
    assert int(found["sent_but_not_on_disk"]) > 0
    assert int(found["sent_twice_differently"]) > 0
