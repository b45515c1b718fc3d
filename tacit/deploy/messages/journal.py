"""The file in a member's state folder that survives every crash."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from tacit.deploy.files import check_private, make_private
from tacit.deploy.messages.slots import ANOTHER_VERSION
from tacit.errors import ConfigError, RuntimeFailure
from tacit.privacy.ledger.lock import make_durable, still_there

_FORMAT = 6

_TABLES = (
    "run (id TEXT)",
    "messages (data BLOB)",
    "state (data BLOB)",
    # what was heard from each neighbour
    "heard (sender INTEGER, position INTEGER, digest BLOB, signature BLOB, "
    "PRIMARY KEY (sender, position)) WITHOUT ROWID",
    # the newest message that was heard from a coordinator
    "copy (one INTEGER PRIMARY KEY CHECK (one = 1), position INTEGER, data BLOB)",
    # the ledger's newest release; a ledger is elsewhere, and older if an old copy was restored
    "released (one INTEGER PRIMARY KEY CHECK (one = 1), position INTEGER, digest TEXT)",
    "absences (agent INTEGER, first INTEGER, back INTEGER)",
)

_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
"""Errors of a file that is cut off, or of another kind."""


class Journal:
    """What one member stores about one run. Thread-safe; threads wait for each other.

    Args:
        path: path of the file, which is created if missing.
        run: id of the run in hexadecimal.

    Attributes:
        path: path of the file.
        run: id of the run in hexadecimal.

    Raises:
        RuntimeFailure: it cannot be opened, or is of another version.
        ConfigError: it belongs to another run, or others may read it.
    """

    def __init__(self, path: Path, run: str) -> None:
        self.path, self.run = path, run
        self._writer = threading.RLock()
        make_private(path)
        check_private(path)
        with self._telling():
            self._file = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        try:
            with self._telling():
                self._begin(path)
        except BaseException:
            self._file.close()
            raise

    def _begin(self, path: Path) -> None:
        # large rows are written in fewer pieces; it has no effect on an existing file
        self._file.execute("PRAGMA page_size = 16384")
        self._file.execute("PRAGMA journal_mode = WAL")
        make_durable(self._file)
        self._number = path.stat().st_ino
        # rows are soon overwritten: with fewer checkpoints, fewer rows are written twice
        self._file.execute("PRAGMA wal_autocheckpoint = 2048")
        if not self._file.execute("SELECT 1 FROM sqlite_schema").fetchone():
            self._create()
        known = self._file.execute("SELECT id FROM run").fetchone()
        if known is None or not known[0]:
            raise self._damaged("it was cut off")
        if known[0] != self.run:
            raise ConfigError(_other_run(path.parent, known[0], self.run))
        if self._file.execute("PRAGMA user_version").fetchone()[0] != _FORMAT:
            raise RuntimeFailure(f"{path} is {ANOTHER_VERSION}")

    def _create(self) -> None:
        """Make all tables or none: one wait for the disk, and no half of a journal."""
        with self.transaction() as file:
            for table in _TABLES:
                file.execute(f"CREATE TABLE {table}")
            file.execute(f"PRAGMA user_version = {_FORMAT}")
            file.execute("INSERT INTO run VALUES (?)", (self.run,))

    @contextmanager
    def writing(self) -> Generator[sqlite3.Connection, None, None]:
        """The file, for this thread alone; each statement is on disk when it is done.

        Raises:
            RuntimeFailure: the disk is full, or the file cannot be read or written.
        """
        with self._writer, self._telling():
            yield self._file

    @contextmanager
    def transaction(self) -> Generator[sqlite3.Connection, None, None]:
        """The same, but all statements are on disk in the end, or none of them.

        Raises:
            RuntimeFailure: as for `writing`; the member then ends, and unfinished changes are
                undone.
        """
        with self.writing() as file:
            file.execute("BEGIN IMMEDIATE")
            yield file
            file.execute("COMMIT")

    def check_there(self) -> None:
        """Check the file before sending, so that no record is in a file that cannot be found again.

        Raises:
            RuntimeFailure: the file is no longer at its path.
        """
        if still_there(self.path, self._number):
            return
        raise RuntimeFailure(
            f"{self.path} was deleted or replaced while this member ran, and with it what the run "
            "would go on from. Nothing more is sent; put the folder back as it was, or agree on a "
            "new manifest, for a run of its own"
        )

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _damaged(self, reason: str) -> RuntimeFailure:
        return RuntimeFailure(
            f"the journal {self.path} is damaged ({reason}); nothing was sent. Put the newest copy "
            "of the state back; if there is none, agree on a new manifest, for a run of its own"
        )

    @contextmanager
    def _telling(self) -> Generator[None, None, None]:
        try:
            yield
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED:
                raise self._damaged(str(error)) from error
            raise RuntimeFailure(
                f"the journal {self.path} cannot be written ({error}); nothing was sent. Free "
                "some space or repair the disk, and give the same command again"
            ) from error


def check_state(folder: Path, run: str) -> None:
    """Refuse a folder with the state of another run, before anything else is checked.

    Raises:
        ConfigError: it belongs to another run.
    """
    path = folder / "journal.db"
    if not path.exists():
        return
    place = f"{path.resolve().as_uri()}?mode=ro"
    with suppress(sqlite3.Error), closing(sqlite3.connect(place, uri=True)) as file:
        known = file.execute("SELECT id FROM run").fetchone()
        if known is not None and known[0] and known[0] != run:
            raise ConfigError(_other_run(folder, known[0], run))


def _other_run(folder: Path, known: str, run: str) -> str:
    return (
        f"{folder} holds the state of run {known[:12]}, and this is run {run[:12]}; give every run "
        "a --state directory of its own"
    )
