"""The file: an SQLite database whose commits are on the disk before they return.

`entries` is the truth. `releases` and `pending` hold what has to be found quickly (who was sent
what, and who is still waiting) and the bytes themselves; every fact in them is also in an entry.
`secret` holds a key that no entry and no export shows. The
write-ahead log is synced at each commit, freed pages are overwritten with zeros, and whatever
SQLite reports becomes one clear error.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from tacit.errors import LedgerBusy, LedgerDamaged, LedgerError, LedgerUnwritable
from tacit.privacy.ledger.chain import START, Entry, Mark, checked, following
from tacit.privacy.ledger.lock import make_durable, sync_directory

APPLICATION = 0x54434C47  # "TCLG", in the header of the file
FORMAT = 1
_LARGEST_FORMAT = 1_000  # no version ever writes more, and damaged bytes say anything

SCHEMA = (
    "CREATE TABLE entries (sequence INTEGER PRIMARY KEY, text TEXT NOT NULL, hash TEXT NOT NULL)",
    """CREATE TABLE releases (
    sequence INTEGER PRIMARY KEY REFERENCES entries,
    agent TEXT NOT NULL,
    run TEXT NOT NULL,
    round INTEGER NOT NULL,
    phase TEXT NOT NULL,
    step INTEGER NOT NULL,
    input_hash TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('PREPARED', 'DELIVERED')),
    payload BLOB,
    state BLOB,
    UNIQUE (agent, run, round, phase, step)
)""",
    """CREATE TABLE pending (
    sequence INTEGER NOT NULL REFERENCES releases,
    recipient TEXT NOT NULL,
    PRIMARY KEY (sequence, recipient)
) WITHOUT ROWID""",
    "CREATE TABLE secret (key BLOB NOT NULL)",
    "CREATE INDEX states ON releases (agent, run) WHERE state IS NOT NULL",
)

_PATIENCE = 2.0
"""Seconds to wait for a reader that recovers the log; a lock keeps writers apart."""


def create(path: Path, first: dict[str, object]) -> None:
    """Write a new ledger that holds one entry, whole or not at all.

    Raises:
        LedgerError: `path` already exists, or the log of an earlier ledger is beside it.
        LedgerUnwritable: the file cannot be written.
    """
    if path.exists():
        raise LedgerError(f"{path} exists already; open it, or choose another name")
    if _has_log(path):  # it would become a part of the new file
        raise LedgerError(
            f"{_log_of(path)} holds the newest entries of a ledger that was at {path}, whose "
            "process was killed. Put that ledger back beside it, or move both together; or choose "
            "another name"
        )
    partial = _partial_of(path)
    entry = following(START, 0, "created", first)
    try:
        partial.unlink(missing_ok=True)
        # readable by its owner alone from the first byte on, and no link is followed
        os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        with reported(path), closing(sqlite3.connect(partial, isolation_level=None)) as file:
            # large releases are written in fewer pieces; it has no effect on an existing file
            file.execute("PRAGMA page_size = 16384")
            make_durable(file)
            file.execute("BEGIN EXCLUSIVE")
            for statement in SCHEMA:
                file.execute(statement)
            file.execute(f"PRAGMA application_id = {APPLICATION}")
            file.execute(f"PRAGMA user_version = {FORMAT}")
            file.execute("INSERT INTO secret VALUES (?)", (os.urandom(32),))
            append(file, entry)
            file.execute("COMMIT")
        # unlike renaming, linking does not replace a file that somebody else has created meanwhile
        os.link(partial, path)
        partial.unlink(missing_ok=True)  # whoever opens it does the same
    except FileExistsError as error:
        raise LedgerError(f"{path} exists already; open it, or choose another name") from error
    except OSError as error:
        raise LedgerUnwritable(
            f"the ledger {path} cannot be made: {error.strerror}; choose another place"
        ) from error
    sync_directory(path.parent)


def connect(path: Path, *, write: bool) -> sqlite3.Connection:
    """Open an existing ledger, and check that it is intact.

    Raises:
        LedgerError: there is no ledger at `path`, one of a later format, or, for writing, one
            with two names.
        LedgerBusy: another program holds it locked.
        LedgerDamaged: the file is broken.
        LedgerUnwritable: it cannot be opened for writing.
    """
    if not path.is_file():
        raise LedgerError(
            f"there is no ledger at {path}; make one with Ledger.create or `tacit ledger new`"
        )
    if write:
        _check_one_name(path)
    connection = None
    with reported(path):
        try:
            connection = _opened(path, "rw" if write else "ro")
            _check_header(connection, path)
            if write:
                _prepare_for_writing(connection, path)
            return connection
        except BaseException:
            if connection is not None:
                connection.close()
            raise


def _check_one_name(path: Path) -> None:
    """Refuse a file with two names (hard links): each would have a lock and a log of its own.

    Raises:
        LedgerError: such a file.
    """
    partial = _partial_of(path)
    with suppress(OSError):  # whoever made it was killed before the first name was removed
        if partial.samefile(path):
            partial.unlink()
    if path.stat().st_nlink > 1:
        raise LedgerError(
            f"the ledger {path} has a second name (a hard link), and whoever opens it there would "
            "not see what is charged here. Nothing was released; delete the other name, or copy "
            "the ledger and put the copy in its place"
        )


def _partial_of(path: Path) -> Path:
    return path.with_name(path.name + ".partial")


def _log_of(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def _has_log(path: Path) -> bool:
    """Whether there are entries beside the file; whoever reads it leaves an empty log."""
    log = _log_of(path)
    return log.exists() and log.stat().st_size > 0


def append(connection: sqlite3.Connection, entry: Entry) -> Mark:
    """Add an entry, within the caller's transaction."""
    mark = entry.mark
    row = (mark.sequence, entry.text, mark.hash)
    connection.execute("INSERT INTO entries VALUES (?, ?, ?)", row)
    return mark


def entries(connection: sqlite3.Connection) -> Iterator[tuple[Entry, Mark]]:
    """All entries in order, each checked against the previous one.

    Raises:
        LedgerDamaged: the first entry that is broken, by its number.
    """
    return checked(connection.execute("SELECT sequence, text, hash FROM entries ORDER BY sequence"))


def secret(connection: sqlite3.Connection) -> bytes:
    """The ledger's own key: names made with it reveal nothing to anybody else."""
    return bytes(connection.execute("SELECT key FROM secret").fetchone()[0])


def head(connection: sqlite3.Connection) -> Mark | None:
    """The last entry."""
    found = connection.execute(
        "SELECT sequence, hash FROM entries ORDER BY sequence DESC LIMIT 1"
    ).fetchone()
    return None if found is None else Mark(*found)


@contextmanager
def transaction(connection: sqlite3.Connection) -> Generator[None, None, None]:
    """All or nothing; on disk when it ends."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def move_from_log(connection: sqlite3.Connection) -> None:
    """Move what was committed from the log into the file itself.

    So a copy of the file alone has it, even after a kill. What cannot be moved now stays in the
    log, as safe as before.
    """
    with suppress(sqlite3.Error):
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()


@contextmanager
def reported(path: Path) -> Generator[None, None, None]:
    """Turn what SQLite reports into an error that says what to do.

    Raises:
        LedgerBusy, LedgerDamaged, LedgerUnwritable, LedgerError: depending on the report.
    """
    try:
        yield
    except UnicodeDecodeError as error:  # from a broken schema that SQLite tries to quote
        raise _error(path, sqlite3.SQLITE_CORRUPT, "unreadable text") from error
    except sqlite3.Error as error:
        # the low byte is the kind, the others the location
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        raise _error(path, code, str(error)) from error


def _error(path: Path, code: int, detail: str) -> LedgerError:
    match code:
        case sqlite3.SQLITE_FULL:
            return LedgerUnwritable(
                f"the disk of the ledger {path} is full. Nothing was released; free some space and "
                "open the ledger again"
            )
        case sqlite3.SQLITE_READONLY:
            return LedgerUnwritable(
                f"the ledger {path} is read-only. Nothing was released; make the file and its "
                "directory writable for this user and open it again"
            )
        case sqlite3.SQLITE_IOERR | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
            return LedgerUnwritable(
                f"the ledger {path} cannot be read or written ({detail}). Nothing was released; "
                "check its disk (full, failing, unmounted) and the permissions of file and "
                "directory, and open it again"
            )
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return LedgerBusy(
                f"another program holds the ledger {path} locked ({detail}). Nothing was released; "
                "let it finish and open the ledger again"
            )
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return LedgerDamaged(
                f"the file {path} is damaged, or not a ledger ({detail}). Nothing was "
                "released; put back the newest whole copy and open it with the number of entries "
                "that a peer knows, so that an older one is noticed"
            )
        case _:
            return LedgerError(f"the ledger {path} cannot be used ({detail}). Nothing was released")


def _opened(path: Path, mode: str) -> sqlite3.Connection:
    where = f"file:{quote(str(path.absolute()))}?mode={mode}"
    # no index of the log can be made there; without a log the file alone is the ledger
    if mode == "ro" and not os.access(path.parent, os.W_OK) and not _has_log(path):
        where += "&immutable=1"
    connection = sqlite3.connect(
        where, uri=True, isolation_level=None, check_same_thread=False, timeout=_PATIENCE
    )
    # invalid text becomes text with another hash, which identifies the entry
    connection.text_factory = _text
    return connection


def _text(data: bytes) -> str:
    return data.decode(errors="replace")


def _check_header(connection: sqlite3.Connection, path: Path) -> None:
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if application != APPLICATION or version < 1:
        raise LedgerError(
            f"the file {path} is not a tacit ledger and was left as it is; give the ledger's "
            "path, or make one with `tacit ledger new`"
        )
    if version > _LARGEST_FORMAT:
        raise _error(path, sqlite3.SQLITE_CORRUPT, f"it gives its format as {version}")
    if version > FORMAT:
        raise LedgerError(
            f"the ledger {path} has format {version}, and this version of tacit knows formats up "
            f"to {FORMAT}; use the version that wrote it, or a later one"
        )
    found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    tables = connection.execute(
        "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid"
    ).fetchall()
    if found != "ok" or [row[0] for row in tables] != list(SCHEMA):
        reason = found if found != "ok" else "its tables are not those of a ledger"
        raise _error(path, sqlite3.SQLITE_CORRUPT, reason)


def _prepare_for_writing(connection: sqlite3.Connection, path: Path) -> None:
    mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
    if mode != "wal":
        raise LedgerUnwritable(
            f"the ledger {path} lies on a file system without shared memory (journal mode {mode}); "
            "put it on a local disk"
        )
    make_durable(connection)
    # a large release is held in memory until it is written, and its state is overwritten a few
    # times before it is written a second time
    connection.execute("PRAGMA cache_size = -32000")
    connection.execute("PRAGMA wal_autocheckpoint = 4096")
    connection.execute("PRAGMA secure_delete = ON")
