"""Entries that each carry the previous entry's hash: none can be changed, dropped or inserted.

The hash of an entry is the SHA-256 of its canonical text, and that text contains the hash of the
previous entry. Anyone who holds the last hash can therefore check all entries; rewriting the whole
chain changes the last hash.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tacit.errors import LedgerDamaged
from tacit.privacy.ledger.encoding import canonical

ORIGIN = "0" * 64
"""The predecessor that the first entry names."""

_KEYS = {"sequence", "previous", "epoch", "time", "kind", "what"}


@dataclass(frozen=True)
class Mark:
    """How far a ledger has come: what a peer remembers about it.

    Attributes:
        sequence: number of the last entry, from 1; it never decreases.
        hash: hash of that entry, in hexadecimal.
    """

    sequence: int
    hash: str


START = Mark(0, ORIGIN)
"""The mark of a ledger without entries."""


@dataclass(frozen=True)
class Entry:
    """One line of the ledger.

    Attributes:
        sequence: number of the entry, from 1, without gaps.
        previous: hash of the previous entry.
        epoch: epoch of the writer; each opening for writing begins the next one.
        time: time of writing, UTC.
        kind: kind of record: "created", "writer", "budget", "release", "run",
            "acknowledged" or "delivered".
        what: record itself, as JSON.
    """

    sequence: int
    previous: str
    epoch: int
    time: str
    kind: str
    what: dict[str, Any]

    @property
    def body(self) -> dict[str, Any]:
        """The whole entry as one JSON document: what is hashed."""
        return {key: getattr(self, key) for key in sorted(_KEYS)}

    @property
    def text(self) -> str:
        """The canonical text."""
        return canonical(self.body)

    @property
    def mark(self) -> Mark:
        """The number and hash of the entry."""
        return Mark(self.sequence, digest(self.text))


def digest(data: str | bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


def following(head: Mark, epoch: int, kind: str, what: dict[str, Any]) -> Entry:
    """The entry after `head`, with the current time."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return Entry(head.sequence + 1, head.hash, epoch, now, kind, what)


def checked(rows: Iterable[tuple[int, str, str]]) -> Iterator[tuple[Entry, Mark]]:
    """Entries from their stored rows `(sequence, text, hash)`, each checked against the previous.

    Raises:
        LedgerDamaged: the first entry that is missing, changed or out of place, by its number.
    """
    head = START
    for sequence, text, stored in rows:
        number = head.sequence + 1
        if sequence != number:
            raise LedgerDamaged(f"entry {number} is missing: entry {sequence} is in its place")
        entry = parsed(sequence, text, stored)
        if entry.previous != head.hash:
            raise LedgerDamaged(f"entry {number} does not follow from the entry before it")
        head = Mark(number, stored)
        yield entry, head


def parsed(sequence: int, text: str, stored: str) -> Entry:
    """The entry of one row.

    Raises:
        LedgerDamaged: a text that does not have its hash, or is not an entry.
    """
    if digest(text) != stored:
        raise LedgerDamaged(f"entry {sequence} was changed: its text does not have its hash")
    try:
        body = json.loads(text)
        # two texts of the same document would have two hashes
        if set(body) != _KEYS or canonical(body) != text or not isinstance(body["what"], dict):
            raise ValueError("its text is not canonical")
        entry = Entry(**body)
        if entry.sequence != sequence:
            raise ValueError(f"it says that it is entry {entry.sequence}")
    except (TypeError, ValueError) as error:
        raise LedgerDamaged(f"entry {sequence} is not an entry of a ledger: {error}") from error
    return entry
