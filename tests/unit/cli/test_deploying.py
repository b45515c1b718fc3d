"""What a member logs."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from pathlib import Path

from tacit.cli.deploying import JsonLines, _charged
from tacit.deploy.member.checking import Options


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
    assert said.startswith("Epsilon charged to the ledger for this run: 6.935. That ledger is of ")
    assert "Give --ledger to add runs up." in said
    shared = replace(alone, ledger=Path("north.ledger"), dataset="stroke")
    assert _charged(6.9351, 13.8702, shared) == (
        "Epsilon charged to the ledger for this run: 6.935; all runs on its budget for 'stroke', "
        "this one included: 13.87."
    )
