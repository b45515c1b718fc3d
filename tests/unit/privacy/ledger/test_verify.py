"""Whatever is changed in a ledger is found and named."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tacit.errors import LedgerDamaged, LedgerError
from tacit.privacy.event import GaussianRelease, LaplaceRelease, PoissonSampled, Repeated
from tacit.privacy.ledger import Ledger, ReleaseId, export_csv, export_json, read, verify
from tacit.privacy.ledger.chain import START, Entry, following
from tacit.privacy.ledger.encoding import event_to_json

AUDITOR = """
import hashlib, json, sys

document = json.load(open(sys.argv[1], encoding="utf-8"))
assert document["format"] == "tacit-ledger-export-1"
previous = "0" * 64
for number, entry in enumerate(document["entries"], 1):
    body = entry["body"]
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    if body["sequence"] != number or body["previous"] != previous:
        sys.exit(f"entry {number} is out of place")
    if hashlib.sha256(text.encode()).hexdigest() != entry["hash"]:
        sys.exit(f"entry {number} was changed")
    previous = entry["hash"]
print(number, previous)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A ledger with entries of every kind."""
    path = tmp_path / "clinic.ledger"
    with Ledger.create(path) as ledger:
        for owner in ("clinic", "north é"):
            ledger.set_budget(owner, "visits", epsilon=1.0, delta=1e-6)
        sampled = Repeated(PoissonSampled(0.1, LaplaceRelease(50.0)), 10)
        events = [Repeated(GaussianRelease(500.0), 100), sampled]
        ledger.charge_run(
            "whole", {"clinic": events, "north é": events[:1]}, dataset="visits", study="s"
        )
        for round in range(3):
            id = ReleaseId("clinic", "single", round, "gradient")
            ledger.prepare(
                id,
                GaussianRelease(700.0),
                b"payload %d" % round,
                input_hash=f"state {round}",
                dataset="visits",
                recipients=("north", "south"),
                state=b"state",
            )
        ledger.acknowledge(ReleaseId("clinic", "single", 0, "gradient"), "north", "south")
        ledger.acknowledge(ReleaseId("clinic", "single", 1, "gradient"), "north")
    return path


def change(path: Path, statement: str, *values: Any) -> None:
    with closing(sqlite3.connect(path)) as file, file:
        file.execute(statement, values)


def test_a_sound_ledger(path: Path) -> None:
    found = verify(path)
    assert found.sound and found.problem == "" and found.entry is None
    assert "10 entries, in one chain of hashes" in found.checked
    assert (
        "3 single releases, each once, with the bytes of the 2 that somebody still waits for"
        in (found.checked)
    )
    statement = read(path)
    assert statement.balances == found.balances and statement.mark == found.mark
    assert statement.waiting == 2
    assert [(one.owner, one.runs, one.releases) for one in found.balances] == [
        ("clinic", 2, 113),
        ("north é", 1, 100),
    ]


def cells(path: Path) -> list[tuple[str, str, Any, Any]]:
    """Table, column, key and value of every cell."""
    found: list[tuple[str, str, Any, Any]] = []
    with closing(sqlite3.connect(path)) as file:
        for table, key in (("entries", "rowid"), ("releases", "rowid"), ("pending", None)):
            columns = [row[1] for row in file.execute(f"PRAGMA table_info({table})")]
            where = key or "sequence || recipient"
            for row in file.execute(f"SELECT {where}, {', '.join(columns)} FROM {table}"):
                found += [
                    (table, column, row[0], value)
                    for column, value in zip(columns, row[1:], strict=True)
                ]
    return found


def spoilt(value: Any, draw: random.Random) -> Any:
    """The value with one byte changed."""
    if value is None:
        return b"x"
    if isinstance(value, int):
        return value + draw.choice([1000, 2000])
    data = bytearray(value.encode() if isinstance(value, str) else value)
    place = draw.randrange(len(data))
    data[place] ^= 1 << draw.randrange(7 if data[place] < 128 else 1)
    return data.decode(errors="replace") if isinstance(value, str) else bytes(data)


def test_a_change_of_any_cell_is_found(path: Path, tmp_path: Path) -> None:
    draw = random.Random(0)
    copy = tmp_path / "copy.ledger"
    tried = 0
    for table, column, key, value in cells(path):
        shutil.copy(path, copy)
        where = "sequence || recipient" if table == "pending" else "rowid"
        new = spoilt(value, draw)
        assert new != value
        try:
            change(copy, f"UPDATE {table} SET {column} = ? WHERE {where} = ?", new, key)
        except sqlite3.IntegrityError:
            continue  # the file itself does not allow it
        found = verify(copy)
        assert not found.sound, (table, column, key)
        assert found.entry is not None, found.problem
        if table == "entries" and column != "sequence":
            assert found.entry == key
        tried += 1
    assert tried > 60


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("DELETE FROM entries WHERE sequence = 5", "entry 5 is missing"),
        ("DELETE FROM entries", "entry 1 is missing"),
        ("DELETE FROM entries WHERE sequence > 7", "entry 6 is not what is stored"),
        ("DELETE FROM releases WHERE sequence = 8", "entry 8 is a release whose stored row"),
        ("DELETE FROM releases WHERE sequence = 6", "entry 6 is a release whose stored row"),
        ("DELETE FROM pending WHERE recipient = 'north'", "entry 8 has other recipients"),
        ("INSERT INTO pending VALUES (6, 'west')", "entry 6 has other recipients"),
        ("UPDATE releases SET payload = NULL WHERE sequence = 8", "entry 8 is not what is stored"),
        ("UPDATE releases SET state = 'x' WHERE sequence = 6", "entry 6 is not what is stored"),
    ],
)
def test_what_is_dropped_or_added_is_named(path: Path, statement: str, named: str) -> None:
    change(path, statement)
    found = verify(path)
    assert not found.sound
    assert named in found.problem


def rewritten(path: Path, kind: str, what: dict[str, Any]) -> None:
    """Append an entry with a correct hash: somebody who knows the format."""
    with closing(sqlite3.connect(path)) as file, file:
        rows = file.execute("SELECT sequence, text, hash FROM entries").fetchall()
        body = json.loads(rows[-1][1])
        last = Entry(**body)
        entry = following(last.mark, last.epoch, kind, what)
        file.execute(
            "INSERT INTO entries VALUES (?, ?, ?)", (entry.sequence, entry.text, entry.mark.hash)
        )


RUN = {
    "run": "whole",
    "study": "s",
    "dataset": "visits",
    "neighbours": "record, replace_one",
    "charges": {},
}
LOUD = [{"count": 1, "event": event_to_json(GaussianRelease(1.0))}]


@pytest.mark.parametrize(
    ("kind", "what", "named"),
    [
        ("gift", {}, "kind 'gift' is unknown"),
        ("created", {}, "begins with the entry that says so"),
        ("writer", {}, "epoch 1 after 1"),
        ("run", RUN, "charges a run a second time"),
        ("run", RUN | {"run": "more", "charges": {"clinic": LOUD}}, "exceeds the budget of owner"),
        ("run", RUN | {"run": "more", "charges": {"west": LOUD}}, "makes no sense"),
        ("run", RUN | {"run": "more", "charges": {"clinic": [{"count": 1}]}}, "makes no sense"),
        ("acknowledged", {"release": 6, "recipients": ["north"]}, "was not outstanding"),
        ("acknowledged", {"release": 1, "recipients": ["north"]}, "makes no sense"),
        ("release", {"owner": "clinic"}, "makes no sense"),
    ],
)
def test_entries_that_are_chained_but_wrong(
    path: Path, kind: str, what: dict[str, Any], named: str
) -> None:
    rewritten(path, kind, what)
    found = verify(path)
    assert not found.sound and found.entry == 11
    assert named in found.problem


def test_the_first_entry_beyond_the_budget_is_named(path: Path) -> None:
    for run in ("a", "b", "c"):
        rewritten(path, "run", RUN | {"run": run, "charges": {"clinic": LOUD}})
    assert verify(path).entry == 11


def test_a_broken_chain_is_not_written_to(path: Path) -> None:
    change(path, "UPDATE entries SET text = replace(text, '500.0', '900.0')")
    for use in (Ledger.open, read, export_json):
        with pytest.raises(LedgerDamaged, match="entry 5 was changed"):
            use(path)


def test_an_auditor_checks_the_export_alone(path: Path, tmp_path: Path) -> None:
    assert len(AUDITOR.strip().splitlines()) <= 20
    script, export = tmp_path / "check.py", tmp_path / "export.json"
    script.write_text(AUDITOR)

    def check() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-W", "ignore", script, export], capture_output=True, text=True
        )

    text = export_json(path)
    export.write_text(text, encoding="utf-8")
    mark = verify(path).mark
    assert check().stdout.split() == [str(mark.sequence), mark.hash]
    export.write_text(text.replace("500.0", "900.0"), encoding="utf-8")
    assert check().stderr.strip() == "entry 5 was changed"
    assert "payload 2" not in text, "released bytes are not exported"
    assert hashlib.sha256(b"payload 2").hexdigest() in text


def test_the_table_for_a_spreadsheet(path: Path) -> None:
    import csv

    rows = list(csv.DictReader(export_csv(path).splitlines()))
    assert len(rows) == 12  # of ten entries, one with three charges
    charged = [(row["owner"], row["event"], row["count"]) for row in rows if row["kind"] == "run"]
    assert charged == [
        ("clinic", "PoissonSampled", "10"),
        ("clinic", "GaussianRelease", "100"),
        ("north é", "GaussianRelease", "100"),
    ]
    assert rows[7]["recipients"] == "north south"
    assert rows[-1]["hash"] == verify(path).mark.hash


def test_reading_beside_a_writer(path: Path) -> None:
    with Ledger.open(path) as ledger:
        before = verify(path)
        ledger.set_budget("west", "visits", epsilon=2.0, delta=0.0)
        assert verify(path).mark == ledger.mark != before.mark
        assert len(read(path).balances) == 3


def test_no_ledger_is_no_finding(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="there is no ledger"):
        verify(tmp_path / "none.ledger")
    assert START.sequence == 0
