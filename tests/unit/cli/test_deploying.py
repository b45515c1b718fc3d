"""What a member logs."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from pathlib import Path

import numpy as np

from tacit.cli.deploying import JsonLines, _charged, _written
from tacit.deploy.member.checking import Options
from tacit.deploy.operate.results import Outcome, write
from tests.unit.method.test_table_one import exact


def line(message: str, *args: object) -> dict[str, object]:
    record = logging.LogRecord("tacit.site", logging.WARNING, "", 0, message, args, None)
    return json.loads(JsonLines().format(record))


def test_a_line_of_json_has_the_fields_that_its_message_was_made_of() -> None:
    said = line("sent %(key)s %(digest)s", {"key": "0/1/0/0", "digest": "ab"})
    assert said["message"] == "sent 0/1/0/0 ab" and said["level"] == "WARNING"
    assert (said["key"], said["digest"]) == ("0/1/0/0", "ab")
    assert str(said["time"]).endswith("+00:00")


def test_a_message_without_fields_is_a_line_as_well() -> None:
    assert line("the end\nof %d", 3)["message"] == "the end\nof 3"


def test_what_a_run_was_charged_says_which_runs_its_ledger_knows() -> None:
    # no file is opened: the words follow from the options
    alone = Options(Path("run.toml"), Path("keys"), Path("state"), Path("data.csv"))
    said = _charged(6.9351, 6.9351, alone)
    assert said.startswith("Epsilon charged to the ledger for this run: 6.936. That ledger is of ")
    assert "Give --ledger to add runs up." in said
    shared = replace(alone, ledger=Path("north.ledger"), dataset="stroke")
    assert _charged(6.9351, 13.8702, shared) == (
        "Epsilon charged to the ledger for this run: 6.936; all runs on its budget for 'stroke', "
        "this one included: 13.88."
    )


def test_what_is_named_at_the_end_is_what_was_written(tmp_path: Path) -> None:
    answer = exact()
    outcome = Outcome(np.zeros(2), ("a", "b"), "0" * 32, 1, None, simulated=False, answer=answer)
    write(tmp_path, outcome, None)
    named = _written(outcome, tmp_path)
    assert named == ["table1.csv", "table1.html", "table1.tex"]
    minimiser = replace(outcome, answer=None)
    (tmp_path / "other").mkdir()
    write(tmp_path / "other", minimiser, None)
    assert _written(minimiser, tmp_path / "other") == ["model.npz", "coefficients.csv"]
    # an agent that had finished before no longer holds the solution
    assert _written(replace(outcome, solution=None), tmp_path) == ["table1.csv"]
