"""Verifying a ledger without trusting it: the file, the chain, each budget and each stored byte."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.arguments import checked
from tacit.errors import LedgerDamaged, LedgerError, LedgerRolledBack
from tacit.privacy.ledger import store
from tacit.privacy.ledger.book import Account, Balance, Book
from tacit.privacy.ledger.chain import Entry, Mark, digest
from tacit.privacy.ledger.freshness import require_at_least


@dataclass(frozen=True)
class Verification:
    """The result of a verification.

    Attributes:
        path: path of the file.
        sound: whether everything holds.
        problem: first problem found; empty if sound.
        entry: number of the entry with the problem, or `None` if no entry can be named.
        checked: checks that passed, as sentences.
        mark: mark of the last entry that was read.
        balances: balances of all owners and datasets, if sound.
    """

    path: Path
    sound: bool
    problem: str
    entry: int | None
    checked: tuple[str, ...]
    mark: Mark
    balances: tuple[Balance, ...]


@checked(LedgerError)
def verify(path: str | Path, *, at_least: int | Mark | None = None) -> Verification:
    """Check everything about a ledger that can be checked; safe to run beside a writer.

    Args:
        path: path of the ledger file.
        at_least: last entry known to a peer, by its number or its `Mark`.

    Raises:
        LedgerError: there is no ledger at `path`, or one of a later format.
        LedgerBusy: another program holds it locked.
    """
    path = Path(path)
    checked: list[str] = []
    book = Book()
    try:
        with closing(store.connect(path, write=False)) as file, store.reported(path):
            # a single snapshot, whatever is written meanwhile
            file.execute("BEGIN")
            _check(file, path, book, checked, at_least)
            balances = book.balances()
    except (LedgerDamaged, LedgerRolledBack) as error:
        named = re.search(r"\bentry (\d+)", str(error))
        # an older copy has no broken entry
        entry = int(named[1]) if named and isinstance(error, LedgerDamaged) else None
        return Verification(path, False, str(error), entry, tuple(checked), book.head, ())
    return Verification(path, True, "", None, tuple(checked), book.head, balances)


def _check(
    file: sqlite3.Connection,
    path: Path,
    book: Book,
    checked: list[str],
    at_least: int | Mark | None,
) -> None:
    found = file.execute("PRAGMA integrity_check(1)").fetchone()[0]
    if found != "ok":
        raise LedgerDamaged(f"the file {path} is damaged: {found}")
    checked.append("the file is whole")
    sent = _Sent()
    for entry, mark in store.entries(file):
        if entry.kind == "budget":
            # what is spent only grows, so a budget that was ever exceeded still is at the end
            _check_budget(
                file, book.account(entry.what.get("owner", ""), entry.what.get("dataset", ""))
            )
        if entry.kind == "run" and entry.what.get("run") in book.runs:
            raise LedgerDamaged(f"entry {entry.sequence} charges a run a second time")
        book.enter(entry, mark)
        sent.enter(entry)
    if book.head.sequence == 0:
        raise LedgerDamaged("entry 1 is missing: the ledger has no entries")
    checked.append(f"{_count(book.head.sequence, 'entry', 'entries')}, in one chain of hashes")
    if at_least is not None:
        require_at_least(file, path, book.head, at_least)
        checked.append("the entry that the peer knows of is among them")
    for account in book.accounts.values():
        _check_budget(file, account)
    checked.append(f"{_count(len(book.accounts), 'budget')}, exceeded by no entry")
    if book.runs:
        checked.append(f"{_count(len(book.runs), 'run')} charged as a whole, each once")
    sent.check(file)
    if sent.releases:
        waiting = sum(bool(release.waiting) for release in sent.releases.values())
        checked.append(
            f"{_count(len(sent.releases), 'single release')}, each once, with the bytes of the "
            f"{waiting:,} that somebody still waits for"
        )


def _check_budget(file: sqlite3.Connection, account: Account) -> None:
    if not account.exceeded():
        return
    # only now is checking after each entry worth its cost
    book = Book()
    for entry, mark in store.entries(file):
        book.enter(entry, mark)
        again = book.account(account.owner, account.dataset)
        if again.entry == entry.sequence and again.exceeded():
            raise LedgerDamaged(
                f"entry {entry.sequence} exceeds the budget of owner {account.owner!r}, dataset "
                f"{account.dataset!r}"
            )


@dataclass
class _Release:
    row: tuple[Any, ...]
    payload_hash: str
    state_hash: str
    waiting: set[str]


class _Sent:
    """What the tables must hold, according to the entries."""

    def __init__(self) -> None:
        self.releases: dict[int, _Release] = {}
        self._ids: set[tuple[Any, ...]] = set()
        self._newest: dict[tuple[str, str], int] = {}

    def enter(self, entry: Entry) -> None:
        number, what = entry.sequence, entry.what
        try:
            if entry.kind == "release":
                id = tuple(what[key] for key in ("agent", "run", "round", "phase", "step"))
                if id in self._ids:
                    raise LedgerDamaged(f"entry {number} releases something a second time")
                self._ids.add(id)
                self._newest[id[0], id[1]] = number
                self.releases[number] = _Release(
                    (number, *id, what["input_hash"]),
                    what["payload_hash"],
                    what["state_hash"],
                    set(what["recipients"]),
                )
            elif entry.kind == "acknowledged":
                waiting = self.releases[what["release"]].waiting
                if not set(what["recipients"]) <= waiting:
                    raise LedgerDamaged(f"entry {number} acknowledges what was not outstanding")
                waiting -= set(what["recipients"])
            elif entry.kind == "delivered":
                for sequence in what["releases"]:
                    if not self.releases[sequence].waiting:
                        raise LedgerDamaged(f"entry {number} delivers what was not outstanding")
                    self.releases[sequence].waiting.clear()
        except (KeyError, TypeError) as error:
            raise LedgerDamaged(f"entry {number} ({entry.kind}) makes no sense") from error

    def check(self, file: sqlite3.Connection) -> None:
        """Compare the entries with the tables.

        Raises:
            LedgerDamaged: the first difference found.
        """
        known = iter(sorted(self.releases))
        for *row, status, payload, state in file.execute(
            "SELECT sequence, agent, run, round, phase, step, input_hash, status, payload, state "
            "FROM releases ORDER BY sequence"
        ):
            number = next(known, None)
            if number is None or row[0] != number:
                raise LedgerDamaged(
                    f"entry {row[0]} is not a release, but bytes are stored under its number"
                    if number is None or row[0] < number
                    else f"entry {number} is a release whose stored row is missing"
                )
            release = self.releases[number]
            newest = self._newest[release.row[1], release.row[2]] == number
            good = (
                tuple(row) == release.row
                and status == ("PREPARED" if release.waiting else "DELIVERED")
                and _matches(payload, release.payload_hash, kept=bool(release.waiting))
                and _matches(state, release.state_hash, kept=newest)
            )
            if not good:
                raise LedgerDamaged(f"entry {number} is not what is stored of that release")
        missing = next(known, None)
        if missing is not None:
            raise LedgerDamaged(f"entry {missing} is a release whose stored row is missing")
        stored = set(file.execute("SELECT sequence, recipient FROM pending"))
        expected = {(n, who) for n, release in self.releases.items() for who in release.waiting}
        for number, _ in sorted(stored ^ expected, key=str):
            raise LedgerDamaged(f"entry {number} has other recipients waiting than is stored")


def _matches(data: Any, expected: str, *, kept: bool) -> bool:
    if not kept:
        return data is None
    return isinstance(data, bytes) and digest(data) == expected


def _count(number: int, one: str, many: str = "") -> str:
    return f"1 {one}" if number == 1 else f"{number:,} {many or one + 's'}"
