"""What an extract of a ledger says, and what it says nothing of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tacit.errors import LedgerDamaged, LedgerError
from tacit.privacy.event import GaussianRelease
from tacit.privacy.ledger import Ledger, ReleaseId, export_json
from tacit.privacy.ledger.extract import cost, extract, read_extract, spent

RUN, OTHER = "ab" * 32, "cd" * 32
NOISE = GaussianRelease(20.0)


def release(
    ledger: Ledger, run: str, round: int, owner: str = "north", dataset: str = "visits"
) -> None:
    ledger.prepare(
        ReleaseId("north", run, round, "step", 0),
        NOISE,
        b"noisy bytes",
        input_hash="0" * 64,
        dataset=dataset,
        recipients=["south"],
        owner=owner,
    )


def charged(path: Path, count: int = 3) -> Path:
    """A ledger of one run."""
    with Ledger.create(path) as ledger:
        ledger.set_budget("north", "visits", epsilon=8.0, delta=1e-6)
        for round in range(count):
            release(ledger, RUN, round)
    return path


def test_a_ledger_of_one_run_is_extracted_whole(tmp_path: Path) -> None:
    path = charged(tmp_path / "ledger")
    with Ledger.open(path) as ledger:
        ledger.delivered("north", RUN, 5)
    document = json.loads(json.dumps(extract(path, RUN, "north")))
    found = read_extract(document, RUN, "north")
    assert (found.alone, len(found.events), found.neighbours) == (True, 3, {"record, replace_one"})
    assert found.entries == len(document["entries"]) == 8  # two openings, and what arrived
    assert spent(path, RUN, "north", 1e-6) == cost([NOISE] * 3, 1e-6) < 1.0
    assert spent(path, OTHER, "north", 1e-6) == 0.0
    with Ledger.open(path) as ledger:
        assert ledger.spent(RUN, "north", 1e-6) == spent(path, RUN, "north", 1e-6)
    with pytest.raises(LedgerError, match="has no release of run cdcdcd"):
        extract(path, OTHER, "north")


def another_run(ledger: Ledger) -> None:
    release(ledger, OTHER, 1)


def another_dataset(ledger: Ledger) -> None:
    ledger.set_budget("north", "hiv cohort", epsilon=0.125, delta=1e-9)


def another_owner(ledger: Ledger) -> None:
    ledger.set_budget("east clinic", "visits", epsilon=0.125, delta=1e-9)


def owner_in_the_same_run(ledger: Ledger) -> None:
    ledger.set_budget("east clinic", "visits", epsilon=8.0, delta=1e-9)
    release(ledger, RUN, 9, owner="east clinic")


def another_budget(ledger: Ledger) -> None:
    """Raised for a study that is still to come."""
    ledger.set_budget("north", "visits", epsilon=77.5, delta=1e-6)


def a_simulation(ledger: Ledger) -> None:
    ledger.charge_run("0123", {"north": [NOISE]}, dataset="visits", study="A secret study")


@pytest.mark.parametrize(
    "more",
    [
        *(another_run, another_dataset, another_owner, owner_in_the_same_run, another_budget),
        a_simulation,
    ],
)
def test_nothing_is_said_of_anything_else(tmp_path: Path, more: Any) -> None:
    path = charged(tmp_path / "ledger")
    with Ledger.open(path) as ledger:
        before = ledger.mark
        more(ledger)
        release(ledger, RUN, 10)
        after = ledger.mark
    document = extract(path, RUN, "north")
    assert not document["alone"]
    text = json.dumps(document)
    for told in (OTHER, "hiv", "clinic", "77.5", "0.125", "0123", "secret", "8.0"):
        assert told not in text
    # no number of an entry and no hash, which would confirm a guess of the entry before
    assert set(document) == {"format", "run", "owner", "dataset", "alone", "releases"}
    assert all(
        set(each) == {"time", "round", "phase", "step", "neighbours", "event"}
        for each in document["releases"]
    )
    assert before.hash not in text and after.hash not in text
    assert [each["round"] for each in document["releases"]] == [0, 1, 2, 10]
    found = read_extract(document, RUN, "north")
    assert (found.alone, len(found.events)) == (False, 4)
    assert spent(path, RUN, "north", 1e-6) == cost([NOISE] * 4, 1e-6)


def test_an_extract_that_holds_something_else_is_refused(tmp_path: Path) -> None:
    path = charged(tmp_path / "ledger")
    with Ledger.open(path) as ledger:
        another_run(ledger)
    entries = json.loads(json.dumps(extract(charged(tmp_path / "alone"), RUN, "north")))
    exported = json.loads(export_json(path))["entries"]
    last = exported[-1]
    whole = {
        **entries,
        "entries": exported,
        "last_entry": {"sequence": last["body"]["sequence"], "hash": last["hash"]},
    }
    with pytest.raises(LedgerDamaged, match="has entries about something else"):
        read_extract(whole, RUN, "north")
    rows = extract(path, RUN, "north")
    twice = {**rows, "releases": [*rows["releases"], rows["releases"][0]]}
    with pytest.raises(LedgerDamaged, match="two charges for one release"):
        read_extract(twice, RUN, "north")


@pytest.mark.parametrize(
    "change",
    [
        {"releases": 3},
        {"releases": [[]]},
        {"releases": [{"time": 3}]},
        {"alone": True},
        {"alone": True, "entries": [{"body": {"sequence": 1e999}, "hash": ""}]},
        {"alone": True, "entries": [], "note": "audited"},
        {"alone": True, "entries": [{"body": {"sequence": 1, "a": "\ud800"}, "hash": ""}]},
    ],
)
def test_what_is_no_extract_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    path = charged(tmp_path / "ledger")
    with Ledger.open(path) as ledger:
        another_run(ledger)
    document = {**extract(path, RUN, "north"), **change}
    if document["alone"]:
        del document["releases"]
        document |= {"last_entry": {"sequence": 1, "hash": ""}}
    with pytest.raises(LedgerDamaged, match="cannot be read"):
        read_extract(document, RUN, "north")


@pytest.mark.parametrize(
    "change",
    [
        {"note": "audited"},
        {"time": "yesterday"},
        {"time": 3},
        {"event": {}},
        {"phase": []},
        {"event": 7},
    ],
)
def test_a_release_of_other_kinds_of_values_is_refused(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    path = charged(tmp_path / "ledger")
    with Ledger.open(path) as ledger:
        another_run(ledger)
    document = extract(path, RUN, "north")
    document["releases"][0] |= change
    with pytest.raises(LedgerDamaged):
        read_extract(document, RUN, "north")


def test_deeply_nested_events_are_refused(tmp_path: Path) -> None:
    path = charged(tmp_path / "ledger")
    with Ledger.open(path) as ledger:
        another_run(ledger)
    document = extract(path, RUN, "north")
    event: Any = document["releases"][0]["event"]
    for _ in range(2000):
        event = {"kind": "Repeated", "version": 1, "event": event, "count": 1}
    document["releases"][0]["event"] = event
    with pytest.raises(LedgerDamaged, match="cannot be read"):
        read_extract(document, RUN, "north")
