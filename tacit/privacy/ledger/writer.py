"""One writer's hold on a ledger: opened under a lock, fenced by an epoch, closed by any error.

A commit succeeds only while the last entry in the file is the last that this writer knows. That
keeps the budget check and the entry together, and shuts out a writer whose ledger was taken over.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tacit.errors import LedgerBusy, LedgerError
from tacit.privacy.ledger import store
from tacit.privacy.ledger.book import Book
from tacit.privacy.ledger.chain import Entry, Mark, following, parsed
from tacit.privacy.ledger.freshness import require_at_least
from tacit.privacy.ledger.lock import WriterLock, still_there, sync_directory
from tacit.privacy.ledger.outbox import Outbox


class Writer:
    """The open file with the state that its entries imply.

    Attributes:
        path: path of the file.
        book: state that the entries imply.
        outbox: stored releases.
        thread: lock held by a method that reads and then writes.

    Raises:
        LedgerError: as for `Ledger.open`.
    """

    def __init__(self, path: Path, at_least: int | Mark | None) -> None:
        self.path = path
        self.thread = threading.RLock()
        self._process = os.getpid()
        self._lock = WriterLock(path)
        try:
            self._connection = store.connect(path, write=True)
        except BaseException:
            self._lock.release()
            raise
        self._state, self._file = "open", path.stat().st_ino
        self.outbox = Outbox(self._connection)
        try:
            self.book = self._taken_over(at_least)
        except BaseException:
            self.shut("closed after an error")
            raise

    @contextmanager
    def writing(self, kind: str, what: dict[str, Any]) -> Generator[int, None, None]:
        """Commit an entry and what the block adds to it; on disk when this ends.

        Yields:
            The number of the entry.
        """
        with self.usable():
            self._check_there()
            try:
                entry = following(self.book.head, self.book.epoch, kind, what)
                with store.transaction(self._connection):
                    if store.head(self._connection) != self.book.head:
                        raise LedgerBusy(
                            f"the ledger {self.path} was taken over by another writer after epoch "
                            f"{self.book.epoch}, which is this one's. Nothing was released; end "
                            "this process"
                        )
                    mark = store.append(self._connection, entry)
                    yield entry.sequence
                self.book.enter(entry, mark)
            except BaseException:
                # whether it reached the disk is unknown: only reading it again can tell
                self.shut("closed after an error")
                raise

    def write(self, kind: str, what: dict[str, Any]) -> None:
        """Commit a budget or a whole run: on disk, and in the file itself if no reader is there."""
        with self.writing(kind, what):
            pass
        store.move_from_log(self._connection)

    @contextmanager
    def usable(self) -> Generator[None, None, None]:
        """Context around every use of the file."""
        if os.getpid() != self._process:
            raise LedgerError(
                f"the ledger {self.path} was opened by process {self._process}; a forked process "
                "must not use it. Nothing was released"
            )
        if self._state != "open":
            raise LedgerError(
                f"the ledger {self.path} is {self._state}; nothing was released. Open it again"
            )
        with store.reported(self.path):
            yield

    def _check_there(self) -> None:
        """Refuse to charge a file that nobody can find again."""
        if still_there(self.path, self._file):
            return
        raise LedgerError(
            f"the ledger {self.path} was deleted or replaced while it was open. Nothing was "
            "released; put it back as it was and open it again"
        )

    def secret(self) -> bytes:
        """The ledger's own key."""
        with self.usable():
            return store.secret(self._connection)

    def entries(self) -> Iterator[tuple[Entry, Mark]]:
        """All entries in order, each checked against the previous one."""
        return store.entries(self._connection)

    def entry(self, sequence: int) -> dict[str, Any]:
        """What an entry records."""
        query = "SELECT sequence, text, hash FROM entries WHERE sequence = ?"
        return parsed(*self._connection.execute(query, (sequence,)).fetchone()).what

    def require(self, at_least: int | Mark) -> None:
        """Refuse to continue with a file that is older than the version a peer has seen."""
        require_at_least(self._connection, self.path, self.book.head, at_least)

    def shut(self, state: str) -> None:
        """Let the next writer in, once."""
        with self.thread:
            if self._state == "open":
                self._state = state
                self._connection.close()
                self._lock.release()

    def _taken_over(self, at_least: int | Mark | None) -> Book:
        """Read all entries and begin the next epoch, which shuts out every earlier writer."""
        with store.reported(self.path), store.transaction(self._connection):
            book = Book.of(store.entries(self._connection))
            if at_least is not None:
                require_at_least(self._connection, self.path, book.head, at_least)
            entry = following(book.head, book.epoch + 1, "writer", {})
            mark = store.append(self._connection, entry)
        sync_directory(self.path.absolute().parent)
        book.enter(entry, mark)
        return book
