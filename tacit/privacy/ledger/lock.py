"""One writer at a time: an operating-system lock, released when the process that holds it ends.

SQLite takes the lock, on a file of its own: it knows how every system locks, and two parts of one
process exclude each other as two processes do.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from tacit.errors import LedgerBusy, LedgerUnwritable


class FileLock:
    """A lock on a file that is never removed; only the lock is taken and released.

    Args:
        path: path of the file; created if it does not exist.
        mode: who may lock it, of those who may enter its folder; by default its owner alone.

    Raises:
        BlockingIOError: the lock is held by another process or another part of this one; raised at
            once.
        OSError: a file that cannot be created or locked.
    """

    def __init__(self, path: Path, mode: int = 0o600) -> None:
        _make(path, mode)
        try:
            self._file = sqlite3.connect(
                path, timeout=0.0, isolation_level=None, check_same_thread=False
            )
        except sqlite3.Error as error:
            raise OSError(errno.EIO, str(error), str(path)) from error
        try:
            self._file.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as error:
            self._file.close()
            if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY:
                raise BlockingIOError(str(error)) from error
            raise OSError(errno.EIO, str(error), str(path)) from error

    def release(self) -> None:
        """Release the lock."""
        self._file.close()


@contextmanager
def held(path: Path, seconds: float, mode: int = 0o600) -> Generator[None, None, None]:
    """Hold the lock on a file, once whoever has it lets it go.

    Args:
        path: path of the file, as for `FileLock`.
        seconds: how long to wait for it, at least 0.
        mode: as for `FileLock`.

    Raises:
        BlockingIOError: somebody else held it all the time.
        OSError: a file that cannot be created or locked.
    """
    ends = time.monotonic() + seconds
    while True:
        try:
            lock = FileLock(path, mode)
            break
        except BlockingIOError:
            if time.monotonic() > ends:
                raise
            time.sleep(0.05)
    try:
        yield
    finally:
        lock.release()


class WriterLock(FileLock):
    """A lock on the file `<ledger>.lock`, for writers to the ledger.

    Raises:
        LedgerBusy: the lock is held by another process or another part of this one; raised at once.
        LedgerUnwritable: the file cannot be created or locked.
    """

    def __init__(self, ledger: Path) -> None:
        path = ledger.with_name(ledger.name + ".lock")
        try:
            super().__init__(path)
        except BlockingIOError as error:
            raise LedgerBusy(
                f"the ledger {ledger} is open for writing elsewhere, and two writers could answer "
                "one question twice. Nothing was released; wait for the other run to end, or give "
                "this one a ledger of its own"
            ) from error
        except OSError as error:
            raise LedgerUnwritable(
                f"the ledger {ledger} cannot be opened for writing: its lock {path.name} cannot be "
                f"made ({error.strerror or error}). Nothing was released; free some space on its "
                "disk, or make its directory writable"
            ) from error


def _make(path: Path, mode: int) -> None:
    """Create the file with this mode; an existing one is not opened.

    Closing any handle to the file would release a lock that this process may hold on it.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
        path.chmod(mode)  # whatever the umask


def still_there(path: Path, number: int) -> bool:
    """Whether a path still leads to the file opened there, by the file's number."""
    try:
        return path.stat().st_ino == number
    except OSError:
        return False


def make_durable(file: sqlite3.Connection) -> None:
    """Have every commit on the disk before it returns.

    On macOS, `fsync` leaves data in the memory of the drive, where a power cut takes them; with the
    second setting SQLite empties that memory, too. Elsewhere it has no effect.
    """
    file.execute("PRAGMA synchronous = FULL")
    file.execute("PRAGMA fullfsync = ON")


def sync_directory(path: Path) -> None:
    """Make the names in a directory survive a power cut, where a directory can be opened.

    Windows cannot open one: there the names are as safe as its file system makes them.

    Raises:
        LedgerUnwritable: the device does not confirm it.
    """
    if not hasattr(os, "O_DIRECTORY"):
        return
    try:
        directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
    except OSError as error:
        raise LedgerUnwritable(
            f"the directory {path} cannot be synced: {error.strerror}"
        ) from error
