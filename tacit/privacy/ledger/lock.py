"""One writer at a time: a lock of the operating system, gone with the process that holds it."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from tacit.errors import LedgerBusy, LedgerUnwritable


class WriterLock:
    """A lock on the file `<ledger>.lock`, which stays where it is: only the lock comes and goes.

    Raises:
        LedgerBusy: at once, when another process, or another part of this one, holds it.
        LedgerUnwritable: the file cannot be made.
    """

    def __init__(self, ledger: Path) -> None:
        path = ledger.with_name(ledger.name + ".lock")
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise LedgerUnwritable(
                f"the ledger {ledger} cannot be opened for writing: its lock {path.name} cannot be "
                f"made ({error.strerror}). Nothing was released; make its directory writable"
            ) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._file)
            raise LedgerBusy(
                f"the ledger {ledger} is open for writing elsewhere, and two writers could answer "
                "one question twice. Nothing was released; wait for the other run to end, or give "
                "this one a ledger (between sites: a --state folder) of its own"
            ) from error

    def release(self) -> None:
        """Let the next writer in."""
        os.close(self._file)


def still_there(path: Path, number: int) -> bool:
    """Whether a path leads to the file that was opened there, by the file's number."""
    try:
        return path.stat().st_ino == number
    except OSError:
        return False


def sync_directory(path: Path) -> None:
    """Make the names in a directory survive a power cut.

    Raises:
        LedgerUnwritable: the device does not confirm it.
    """
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
