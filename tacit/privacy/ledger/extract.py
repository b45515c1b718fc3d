"""The part of a ledger that is about one run, for whoever has to check it and nothing else.

An extract holds entries with their hashes, so that none can be changed. If the ledger is of this
run alone, the extract is the whole chain, and none can be left out either; otherwise it has the
ledger's first entry, the owner's budgets and the releases of the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.errors import LedgerDamaged, LedgerError
from tacit.privacy.event import Event
from tacit.privacy.ledger import store
from tacit.privacy.ledger.book import Book
from tacit.privacy.ledger.chain import Entry, Mark, checked, parsed
from tacit.privacy.ledger.encoding import canonical, event_from_json

FORMAT = "tacit-ledger-extract-1"


def extract(path: str | Path, run: str, owner: str) -> dict[str, Any]:
    """The entries of a ledger about one run of an owner, as a JSON document.

    Args:
        path: path of the ledger file.
        run: id of the run.
        owner: owner whose releases are extracted.

    Raises:
        LedgerError: there is no ledger at `path`, or it has no release of this run.
        LedgerBusy: another program holds it locked.
        LedgerDamaged: the file or an entry is broken.
    """
    path = Path(path)
    with closing(store.connect(path, write=False)) as file, store.reported(path):
        file.execute("BEGIN")
        entries = list(store.entries(file))
    own = [entry for entry, _ in entries if _releases(entry, run, owner)]
    if not own:
        raise LedgerError(
            f"{path} has no release of run {run[:12]} by {owner!r}; give the ledger that the run "
            "was charged to"
        )
    dataset = own[0].what["dataset"]
    alone = all(entry.what.get("run", run) == run for entry, _ in entries)
    kept = [
        (entry, mark)
        for entry, mark in entries
        if alone or entry.kind == "created" or _about(entry, run, owner, dataset)
    ]
    return {
        "format": FORMAT,
        "run": run,
        "owner": owner,
        "dataset": dataset,
        "whole": alone,
        "last_entry": vars(entries[-1][1]),
        "entries": [{"body": entry.body, "hash": mark.hash} for entry, mark in kept],
    }


@dataclass(frozen=True)
class Extract:
    """An extract that was checked.

    Attributes:
        events: cost of every release of the run.
        whole: whether it is the whole ledger, from which nothing was left out.
        entries: number of entries.
        first: time of the first release, UTC.
        last: time of the last release, UTC.
    """

    events: tuple[Event, ...]
    whole: bool
    entries: int
    first: str
    last: str


def read_extract(document: dict[str, Any], run: str, owner: str) -> Extract:
    """Check an extract.

    Args:
        document: the extract.
        run: id of the run that it should be about.
        owner: owner whose releases it should have.

    Raises:
        LedgerDamaged: an entry that was changed, is out of place or about something else, or a
            budget that was exceeded.
    """
    try:
        if document["format"] != FORMAT or (document["run"], document["owner"]) != (run, owner):
            raise LedgerDamaged("the extract of the ledger is about another run or owner")
        rows = [
            (int(each["body"]["sequence"]), canonical(each["body"]), str(each["hash"]))
            for each in document["entries"]
        ]
        dataset, last = str(document["dataset"]), Mark(**document["last_entry"])
        whole = bool(document["whole"])
    except (KeyError, TypeError, ValueError) as error:
        raise LedgerDamaged("the extract of the ledger cannot be read") from error
    entries = _chain(rows, last) if whole else _parts(rows)
    own: list[Entry] = []
    for entry in entries:
        if _releases(entry, run, owner) and entry.what.get("dataset") == dataset:
            own.append(entry)
        elif not (entry.kind == "created" or whole or _about(entry, run, owner, dataset)):
            raise LedgerDamaged(f"entry {entry.sequence} is about something else")
    places = [tuple(e.what.get(key) for key in ("round", "phase", "step")) for e in own]
    if len(set(places)) < len(places):
        raise LedgerDamaged("the extract of the ledger has two charges for one release")
    if not own:
        raise LedgerDamaged("the extract of the ledger has no release of this run")
    try:
        events = tuple(event_from_json(entry.what["event"]) for entry in own)
    except (KeyError, LedgerError) as error:
        raise LedgerDamaged(f"an entry of the ledger names no known event: {error}") from error
    return Extract(events, whole, len(entries), own[0].time, own[-1].time)


def _chain(rows: Sequence[tuple[int, str, str]], last: Mark) -> list[Entry]:
    """The entries of a whole ledger, whose budgets were kept."""
    book, entries = Book(), []
    for entry, mark in checked(rows):
        book.enter(entry, mark)
        entries.append(entry)
    if book.head != last:
        raise LedgerDamaged("the last entries of the ledger are missing")
    for account in book.accounts.values():
        if account.exceeded():
            raise LedgerDamaged(f"the budget of owner {account.owner!r} is exceeded")
    return entries


def _parts(rows: Sequence[tuple[int, str, str]]) -> list[Entry]:
    """Some entries of a ledger; those that follow each other have to be linked."""
    entries: list[Entry] = []
    before: Mark | None = None
    for sequence, text, stored in rows:
        entry = parsed(sequence, text, stored)
        if before is not None and sequence <= before.sequence:
            raise LedgerDamaged(f"entry {sequence} is out of place")
        adjacent = before is not None and sequence == before.sequence + 1
        if before is not None and adjacent and entry.previous != before.hash:
            raise LedgerDamaged(f"entry {sequence} does not follow from the entry before it")
        before = entry.mark
        entries.append(entry)
    return entries


def _releases(entry: Entry, run: str, owner: str) -> bool:
    what = entry.what
    return entry.kind == "release" and (what.get("run"), what.get("owner")) == (run, owner)


def _about(entry: Entry, run: str, owner: str, dataset: str) -> bool:
    """Whether an entry is a release of the run, or a budget that it was charged to."""
    budget = entry.kind == "budget"
    budget &= (entry.what.get("owner"), entry.what.get("dataset")) == (owner, dataset)
    return budget or _releases(entry, run, owner)
