"""Reading a ledger without writing to it: statements and exports. Safe beside a writer."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.arguments import checked
from tacit.errors import LedgerError
from tacit.escape import cell
from tacit.privacy.ledger import store
from tacit.privacy.ledger.book import Balance, Book
from tacit.privacy.ledger.chain import Entry, Mark

_COLUMNS: list[str] = [
    "entry",
    "time",
    "epoch",
    "kind",
    "owner",
    "dataset",
    "run",
    "agent",
    "round",
    "phase",
    "step",
    "event",
    "count",
    "parameters",
    "recipients",
    "epsilon",
    "delta",
    "hash",
]


@dataclass(frozen=True)
class Statement:
    """The contents of a ledger.

    Attributes:
        path: path of the file.
        ledger: identity of the ledger, drawn when it was created.
        created: time of its creation, UTC.
        mark: mark of the last entry.
        time: time of the last entry, UTC.
        balances: balances of all owners and datasets.
        waiting: number of releases that some recipient has not acknowledged.
    """

    path: Path
    ledger: str
    created: str
    mark: Mark
    time: str
    balances: tuple[Balance, ...]
    waiting: int


@checked(LedgerError)
def read(path: str | Path) -> Statement:
    """Read who has spent how much.

    Raises:
        LedgerError: there is no ledger at `path`, or one of a later format.
        LedgerBusy: another program holds it locked.
        LedgerDamaged: the file or an entry is broken.
    """
    path, book, time = Path(path), Book(), ""
    with closing(store.connect(path, write=False)) as file, store.reported(path):
        file.execute("BEGIN")
        for entry, mark in store.entries(file):
            book.enter(entry, mark)
            time = entry.time
        (waiting,) = file.execute("SELECT count(DISTINCT sequence) FROM pending").fetchone()
    return Statement(path, book.ledger, book.created, book.head, time, book.balances(), waiting)


@checked(LedgerError)
def export_json(path: str | Path) -> str:
    """The whole chain as a JSON document that anybody can verify.

    Each entry has its `body` and the `hash`, which is the SHA-256 of the body as JSON with sorted
    keys, without spaces and in UTF-8; `previous` in the body is the hash of the previous entry. The
    released bytes are not in it, but their hashes are.

    Raises:
        LedgerError: as for `read`.
    """
    entries = [{"body": entry.body, "hash": mark.hash} for entry, mark in _entries(Path(path))]
    document = {"format": "tacit-ledger-export-1", "entries": entries}
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


@checked(LedgerError)
def export_csv(path: str | Path) -> str:
    """The entries as a table: one line each, or several for a run with several owners or events.

    Raises:
        LedgerError: as for `read`.
    """
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(_COLUMNS)
    for entry, mark in _entries(Path(path)):
        common = {
            "entry": entry.sequence,
            "time": entry.time,
            "epoch": entry.epoch,
            "kind": entry.kind,
            "hash": mark.hash,
        }
        for line in _lines(entry):
            cells = {**common, **line}
            table.writerow([cell(cells.get(column, "")) for column in _COLUMNS])
    return text.getvalue()


def _entries(path: Path) -> Iterator[tuple[Entry, Mark]]:
    with closing(store.connect(path, write=False)) as file, store.reported(path):
        file.execute("BEGIN")
        yield from store.entries(file)


def _lines(entry: Entry) -> Iterator[dict[str, Any]]:
    what = {key: value for key, value in entry.what.items() if key in _COLUMNS}
    if "recipients" in what:
        what["recipients"] = " ".join(what["recipients"])
    if entry.kind == "release":
        yield {**what, "count": 1, **_event(entry.what["event"])}
    elif entry.kind == "run":
        for owner, rows in entry.what["charges"].items():
            for row in rows:
                yield {**what, "owner": owner, "count": row["count"], **_event(row["event"])}
    else:
        yield what


def _event(document: dict[str, Any]) -> dict[str, str]:
    rest = {key: value for key, value in document.items() if key not in ("kind", "version")}
    return {"event": document["kind"], "parameters": json.dumps(rest, ensure_ascii=False)}
