"""What a ledger was charged for one run of an owner, and nothing else of it.

An extract leaves its owner's machine, so it says nothing of other studies, datasets or owners: not
when they were charged, for what, or that they exist. From a ledger that was kept for this run alone
it is the whole chain of entries, with their hashes. From any other it lists the releases of the run
without their numbers and hashes: these tell how many entries lie between them, and a hash tells
whoever guesses the entry before it that the guess is right.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from tacit.errors import LedgerDamaged, LedgerError, TacitError
from tacit.privacy.event import Event
from tacit.privacy.ledger import store
from tacit.privacy.ledger.book import Book
from tacit.privacy.ledger.chain import Entry, Mark, checked
from tacit.privacy.ledger.encoding import canonical, event_from_json
from tacit.privacy.ledger.spending import Spending
from tacit.privacy.tally import Tally

FORMAT = "tacit-ledger-extract-1"

_UNREADABLE = "the extract of the ledger cannot be read"

_PLACE = ("round", "phase", "step")

_RELEASE = (*_PLACE, "neighbours", "event")
"""What an extract has of a release in a ledger of several runs, beside its time."""

_ABOUT = ("format", "run", "owner", "dataset", "alone")

_OWNERLESS = ("created", "writer", "acknowledged", "delivered")
"""Kinds of entries that name no owner, and in a ledger of one run are about this run."""


def extract(path: str | Path, run: str, owner: str) -> dict[str, Any]:
    """What a ledger was charged for one run of an owner, as a JSON document.

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
    entries = list(_entries(path))
    own = [entry for entry, _ in entries if _releases(entry, run, owner)]
    if not own:
        raise LedgerError(
            f"{path} has no release of run {run[:12]} by {owner!r}; give the ledger that the run "
            "was charged to"
        )
    dataset = own[0].what["dataset"]
    found = {"format": FORMAT, "run": run, "owner": owner, "dataset": dataset}
    if _alone([entry for entry, _ in entries], run, owner, dataset):
        chain = [{"body": entry.body, "hash": mark.hash} for entry, mark in entries]
        return {**found, "alone": True, "last_entry": vars(entries[-1][1]), "entries": chain}
    releases = [
        {"time": entry.time, **{key: entry.what[key] for key in _RELEASE}}
        for entry in own
        if entry.what["dataset"] == dataset
    ]
    return {**found, "alone": False, "releases": releases}


def spent(path: str | Path, run: str, owner: str, delta: float) -> float:
    """Epsilon of the releases of one run that a ledger was charged for; 0 for none.

    Args:
        path: path of the ledger file; of one that is open, ask `Ledger.spent`.
        run: id of the run.
        owner: owner of the releases.
        delta: delta at which epsilon is counted.

    Raises:
        LedgerError: as for `extract`, but for a run without releases.
    """
    return spent_in(_entries(Path(path)), run, owner, delta)


def spent_in(entries: Iterable[tuple[Entry, Mark]], run: str, owner: str, delta: float) -> float:
    """The same, of the entries of a ledger."""
    own = (entry.what["event"] for entry, _ in entries if _releases(entry, run, owner))
    return cost([event_from_json(event) for event in own], delta)


def cost(events: Sequence[Event], delta: float) -> float:
    """Epsilon of these events alone, as a ledger adds them up.

    Args:
        events: the events.
        delta: delta at which epsilon is counted.
    """
    spending = Spending()
    spending.add(Tally.of(events))
    return spending.epsilon(delta)


@dataclass(frozen=True)
class Extract:
    """An extract that was checked.

    Attributes:
        events: cost of every release of the run.
        neighbours: what their epsilons are about.
        alone: whether it is the chain of a ledger that holds this run alone.
        entries: number of entries in it.
        first: time of the first release, UTC.
        last: time of the last release, UTC.
    """

    events: tuple[Event, ...]
    neighbours: frozenset[str]
    alone: bool
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
        dataset = document["dataset"]
        if document["alone"] is True:
            _check_keys(document, {*_ABOUT, "last_entry", "entries"})
            entries = _chain(document["entries"], Mark(**document["last_entry"]))
            if not _alone(entries, run, owner, dataset):
                raise LedgerDamaged("the extract of the ledger has entries about something else")
            count = len(entries)
            rows = [{"time": e.time, **e.what} for e in entries if e.kind == "release"]
        else:
            _check_keys(document, {*_ABOUT, "releases"})
            rows = document["releases"]
            for row in rows:
                _check_keys(row, {"time", *_RELEASE})
            count = len(rows)
        places = {tuple(row[key] for key in _PLACE) for row in rows}
        events = tuple(event_from_json(row["event"]) for row in rows)
        neighbours = frozenset(row["neighbours"] for row in rows)
        times = [row["time"] for row in rows]
        for time in times:
            datetime.fromisoformat(time)
    except LedgerDamaged:
        raise
    # whatever else a document may hold in the place of an entry
    except (
        *(TacitError, KeyError, TypeError, ValueError, AttributeError),
        *(ArithmeticError, RecursionError),
    ) as error:
        raise LedgerDamaged(_UNREADABLE) from error
    if not rows:
        raise LedgerDamaged("the extract of the ledger has no release of this run")
    if len(places) < len(rows):
        raise LedgerDamaged("the extract of the ledger has two charges for one release")
    return Extract(events, neighbours, document["alone"] is True, count, times[0], times[-1])


def _check_keys(found: dict[str, Any], known: set[str]) -> None:
    """Refuse what an extract does not hold: it could be about anything."""
    if found.keys() != known:
        raise ValueError("other keys")


def _entries(path: Path) -> Iterator[tuple[Entry, Mark]]:
    with closing(store.connect(path, write=False)) as file, store.reported(path):
        file.execute("BEGIN")
        yield from store.entries(file)


def _chain(entries: Sequence[Any], last: Mark) -> list[Entry]:
    """The entries of a whole ledger, whose budgets were kept."""
    rows = [
        (int(each["body"]["sequence"]), canonical(each["body"]), str(each["hash"]))
        for each in entries
    ]
    book, found = Book(), []
    for entry, mark in checked(rows):
        book.enter(entry, mark)
        found.append(entry)
    if book.head != last:
        raise LedgerDamaged("the last entries of the ledger are missing")
    for account in book.accounts.values():
        if account.exceeded():
            raise LedgerDamaged(f"the budget of owner {account.owner!r} is exceeded")
    return found


def _alone(entries: Sequence[Entry], run: str, owner: str, dataset: str) -> bool:
    """Whether entries are about one run only, with the one budget that it was charged to."""
    budgets = [entry.what for entry in entries if entry.kind == "budget"]
    charged = [(each.get("owner"), each.get("dataset")) for each in budgets]
    return charged == [(owner, dataset)] and all(
        entry.kind in (*_OWNERLESS, "budget")
        or (_releases(entry, run, owner) and entry.what.get("dataset") == dataset)
        for entry in entries
    )


def _releases(entry: Entry, run: str, owner: str) -> bool:
    what = entry.what
    return entry.kind == "release" and (what.get("run"), what.get("owner")) == (run, owner)
