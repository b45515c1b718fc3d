"""SQLite files of which every commit is known: kills around it, power cuts within it.

The files are real, on a file system in memory. Where the power is cut within a commit, what was
written to the log since the commit before is there in part: by sectors of 512 bytes. Where a
connection does not wait for the disk (`synchronous` below FULL), a power cut may take all of its
commits.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

from tests.simulated_sites.hub import Process
from tests.simulated_sites.world import World, simulating, world

SECTOR = 512
_CHANGES = ("INSERT", "UPDATE", "DELETE", "CREATE", "REPLACE")
_FULL = 2

Image = tuple[bytes, bytes | None]
"""A database and its log, which may be missing."""


class Connection(sqlite3.Connection):
    """A connection whose commits are counted."""

    def __init__(self, database: Any, *more: Any, **named: Any) -> None:
        super().__init__(database, *more, **named)
        self._at = at = world()
        self._process = at.process
        self.path = Path(str(database).removeprefix("file:").partition("?")[0])
        self._before: Image | None = None  # since which nothing is certain to be on the disk
        self._waits: bool | None = None
        """Whether commits wait for the disk; `None` if that was not asked since it was set."""
        self._logged = False
        if self._process is not None:
            at.unsynced.pop(str(self.path), None)  # from now on SQLite syncs it
            at.note("opened", self._process, self.path.name)
            self._process.connections.setdefault(self.path.name, []).append(self)

    def close(self) -> None:
        if self._process is not None:
            there = self._process.connections.get(self.path.name, [])
            if self in there:
                there.remove(self)
        super().close()

    def execute(self, sql: str, parameters: Any = ()) -> sqlite3.Cursor:
        at, process = self._at, self._process
        at.hub.touch()
        if sql.startswith("PRAGMA"):
            self._waits = None
        if process is None or not self._commits(sql):
            return super().execute(sql, parameters)
        return self._commit(at, process, lambda: super(Connection, self).execute(sql, parameters))

    def executemany(self, sql: str, parameters: Any) -> sqlite3.Cursor:
        at, process = self._at, self._process
        at.hub.touch()
        if process is None or self.in_transaction:
            return super().executemany(sql, parameters)
        call = super().executemany
        return self._commit(at, process, lambda: call(sql, parameters))

    def _commits(self, sql: str) -> bool:
        return sql == "COMMIT" or (sql.startswith(_CHANGES) and not self.in_transaction)

    def _commit(self, at: World, process: Process, call: Callable[[], Any]) -> Any:
        if at.fills(process):
            self._give_up()
        fault = at.point("commit", process)
        kind = "" if fault is None else fault.kind
        if fault is not None and kind == "kill before commit":
            at.die(process, fault)
        if fault is not None and kind == "full disk":
            at.full[process.member] = int(fault.value)
            at.note("fault", process, "full disk")
            at.note("full", process)
            self._give_up()
        before = image(self.path) if kind == "torn commit" else None
        self._trust(at, process)
        found = call()
        if not self._logged:
            # SQLite syncs the folder after the first sync of a new log
            self._logged = True
            at.names[process.member] = [
                each for each in at.names[process.member] if each[0] != str(self.path.parent)
            ]
        at.note("commit", process, self.path.name)
        if fault is not None and kind == "kill after commit":
            at.die(process, fault)
        if fault is not None and before is not None:
            after = image(self.path)
            process.images[self.path] = torn(at, process, before, after)
            process.cut = True
            at.die(process, fault)
        return found

    def _trust(self, at: World, process: Process) -> None:
        """Remember what is certain to be there, if this commit is not."""
        if self._before is not None:
            return
        if self._waits is None:
            self._waits = super().execute("PRAGMA synchronous").fetchone()[0] >= _FULL
        if not self._waits:
            self._before = process.unsure.setdefault(self.path, image(self.path))

    def _give_up(self) -> None:
        if self.in_transaction:
            super().execute("ROLLBACK")
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise error


class Lock:
    """The connection to a file that is locked, and holds nothing."""

    def __init__(self, path: Path) -> None:
        at = world()
        self.path, self._process, self._locks = path, at.process, at.locks
        at.note("opened", self._process, path.name)
        if self._process is not None:
            self._process.connections.setdefault(path.name, []).append(self)

    def execute(self, sql: str) -> None:
        """Take the lock, which nobody waits for."""
        assert sql == "BEGIN EXCLUSIVE"
        world().hub.touch()
        if self._locks.setdefault(self.path, self) is not self:
            error = sqlite3.OperationalError("database is locked")
            error.sqlite_errorcode = sqlite3.SQLITE_BUSY
            raise error

    def close(self) -> None:
        if self._process is not None:
            there = self._process.connections.get(self.path.name, [])
            if self in there:
                there.remove(self)
        if self._locks.get(self.path) is self:
            del self._locks[self.path]


def image(path: Path) -> Image:
    """What is in a database's files now."""
    log = path.with_name(path.name + "-wal")
    return path.read_bytes(), log.read_bytes() if log.exists() else None


def torn(at: World, process: Process, before: Image, after: Image) -> Image:
    """What a power cut leaves of a commit: some sectors of its log."""
    if before[0] != after[0] or after[1] is None:
        return after  # the log went into the file meanwhile
    old = (before[1] or b"").ljust(len(after[1]), b"\0")
    new, sectors = after[1], -(-len(after[1]) // SECTOR)
    changed = [i for i in range(sectors) if _sector(old, i) != _sector(new, i)]
    count = at.counts["commit", process.member]
    kept = at.chance.below(len(changed) + 1, "torn", process.member, count)
    if at.chance.share("in order", process.member, count) < 0.5:
        here = set(changed[:kept])
    else:
        key = ("sector", process.member, count)
        here = set(sorted(changed, key=lambda i: at.chance.share(*key, i))[:kept])
    size = max(((i + 1) * SECTOR for i in here), default=0)
    length = max(min(size, len(new)), len(before[1] or b""))
    mixed = b"".join(_sector(new if i in here else old, i) for i in range(sectors))
    return after[0], mixed[:length]


def _sector(data: bytes, number: int) -> bytes:
    return data[number * SECTOR : (number + 1) * SECTOR]


def committed(process: Process, data: bytes) -> bool:
    """Whether a message is on the disk of who sends it: in its ledger, or in its journal.

    What was seen there once stays there; a member closes its ledger at an error, such as a full
    disk, and still answers with what is in it.
    """
    if data not in process.on_disk and _committed(process, data):
        process.on_disk.add(data)
    return data in process.on_disk


def _committed(process: Process, data: bytes) -> bool:
    queries = {
        "ledger": "SELECT 1 FROM releases WHERE payload = :data",
        "journal.db": "SELECT 1 FROM messages WHERE substr(data, -length(:data)) = :data",
    }
    for path, query in queries.items():
        for each in process.connections.get(path, ()):
            there = sqlite3.Connection.execute(each, query, {"data": data}).fetchone()
            if there is not None:
                return not each.in_transaction or _elsewhere(each, query, data)
    return False


def _elsewhere(connection: Connection, query: str, data: bytes) -> bool:
    with closing(opened(connection.path)) as file:
        return file.execute(query, {"data": data}).fetchone() is not None


def bury(at: World, process: Process) -> None:
    """Close what a killed process had open, and leave on the disk what a power cut leaves."""
    for connections in process.connections.values():
        for each in list(connections):
            each.close()
    process.connections.clear()
    if process.cut:
        for path, found in process.unsure.items():
            if at.chance.share("unsure", process.member, process.start, path.name) < 0.5:
                process.images[path] = found
    for path, (main, log) in process.images.items():
        path.write_bytes(main)
        path.with_name(path.name + "-shm").unlink(missing_ok=True)
        beside = path.with_name(path.name + "-wal")
        if log is None:
            beside.unlink(missing_ok=True)
        else:
            beside.write_bytes(log)
    process.images.clear()


def opened(database: Any, *more: Any, **named: Any) -> sqlite3.Connection:
    """A connection to a file whose locks are known to this process alone.

    All members are in one process, where connections lock each other out as ever; other processes
    and what they share need not be asked, which takes half of the time.
    """
    text = os.fspath(database)
    if os.name != "posix" or text == ":memory:":
        return sqlite3.connect(database, *more, **named)
    if not text.startswith("file:"):
        text = f"file:{quote(text)}"
    text += f"{'&' if '?' in text else '?'}vfs=unix-excl"
    return sqlite3.connect(text, *more, **{**named, "uri": True})


def connect(database: Any, *more: Any, **named: Any) -> sqlite3.Connection | Lock:
    """In the place of `sqlite3.connect`."""
    if simulating():
        if isinstance(database, Path) and database.name.endswith("lock"):
            return Lock(database)
        named["factory"] = Connection
    return opened(database, *more, **named)


SQLITE = SimpleNamespace(
    **{name: value for name, value in vars(sqlite3).items() if not name.startswith("__")}
)
"""In the place of `sqlite3`."""
SQLITE.connect, SQLITE.Connection = connect, sqlite3.Connection
