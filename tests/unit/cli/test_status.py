"""`tacit status` reads what a member wrote, whether it runs or not."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tacit.cli import app, rehearsing

RUN = "ab" * 32


def written(folder: Path, **change: Any) -> Path:
    status = {
        "format": "tacit-status-1",
        "run": RUN,
        "name": "north",
        "time": time.time(),
        "state": "running",
        "round": 12,
        "rounds": 50,
        "round_seconds": 0.084,
        "without": ["west"],
        "waiting_for": ["south"],
        "neighbours": {
            "south": {"silent_seconds": 3.5, "waited_seconds": 0.02, "finished": False},
            "west": {"silent_seconds": 700.0, "waited_seconds": 0.0, "finished": False},
        },
        "messages": {"accepted": 1234, "repeated": 5},
        "paid": {},
    }
    (folder / "status.json").write_text(json.dumps(status | change))
    return folder


def test_it_says_where_a_member_is_and_for_whom_it_waits(tmp_path: Path) -> None:
    told = CliRunner().invoke(app, ["status", str(written(tmp_path))]).output
    assert "north, run abababababab: round 12 of 50, waiting for south" in told
    assert "continuing without west" in told
    assert "84.0 ms" in told and "20.0 ms" in told and "skipped" in told
    assert "1,234 accepted, 5 repeated, 0 refused" in told
    assert "Not running" not in told


def test_no_cost_is_rounded_down_and_no_budget_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paid = {"spent": 1.00049, "epsilon": 1.2345678, "delta": 1e-6, "about": ""}
    monkeypatch.setattr(rehearsing, "spent", lambda found: paid)
    status = written(tmp_path, paid={"ledger": "ledger"})
    told = CliRunner().invoke(app, ["status", str(status)]).output
    assert "Spent: epsilon 1.001 of 1.23456 at delta 1e-6" in told
    each = {"rounds": 1, "round_seconds": {"median": None}, "epsilon_spent": 1.00049}
    assert rehearsing._members(["north"], [each])[1][0][-1] == "1.001"


def test_it_says_that_a_member_does_not_run(tmp_path: Path) -> None:
    old = written(tmp_path, time=time.time() - 120)
    told = CliRunner().invoke(app, ["status", str(old)]).output
    assert "Not running for 12" in told
    # and following it ends at once
    assert CliRunner().invoke(app, ["status", "--follow", str(old)]).exit_code == 0


def test_json_is_one_document(tmp_path: Path) -> None:
    told = CliRunner().invoke(app, ["status", "--json", str(written(tmp_path))]).output
    found = json.loads(told)
    assert found["round"] == 12 and found["epsilon"] is None


def test_it_says_what_a_member_does_not_do_any_more_or_not_yet(tmp_path: Path) -> None:
    old = time.time() - 120
    told = CliRunner().invoke(app, ["status", str(written(tmp_path, state="finished", time=old))])
    assert "Finished" in told.output and "Not running" not in told.output
    told = CliRunner().invoke(app, ["status", str(written(tmp_path, state="starting"))])
    assert "compiling" in told.output
    never = {"south": {"silent_seconds": None, "waited_seconds": 0.0, "finished": False}}
    told = CliRunner().invoke(app, ["status", str(written(tmp_path, neighbours=never))])
    assert "never" in told.output


def test_no_status_is_said_plainly(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["status", str(tmp_path)])
    assert done.exit_code == 2 and "has no status" in done.output


@pytest.mark.parametrize("cut", [0, 1, 100, -3])
def test_a_status_that_is_cut_off_is_damaged(tmp_path: Path, cut: int) -> None:
    path = written(tmp_path) / "status.json"
    path.write_text(path.read_text()[:cut])
    done = CliRunner().invoke(app, ["status", str(tmp_path)])
    assert done.exit_code == 2 and "status.json is damaged: it was cut off" in done.output


@pytest.mark.parametrize(
    "change",
    [
        {"neighbours": {"south": {"silent_seconds": 1.0, "waited_seconds": 0.0}}},
        {"neighbours": None},
        {"time": "now"},
        {"messages": []},
    ],
)
def test_a_status_that_was_edited_is_damaged(tmp_path: Path, change: dict[str, Any]) -> None:
    done = CliRunner().invoke(app, ["status", str(written(tmp_path, **change))])
    assert done.exit_code == 2 and "status.json is damaged" in done.output


def test_a_directory_that_is_not_there_is_not_waited_for(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["status", "--follow", str(tmp_path / "absent")])
    assert done.exit_code == 2 and "absent: no such directory" in done.output
