"""Evaluations of black boxes in a file, so that none is made twice."""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from tacit.arguments import checked
from tacit.errors import ProblemError
from tacit.problem.code_digest import digest, of_command

_TABLES = {"evaluations": "answer BLOB", "failures": "told TEXT"}
"""What a file holds, by a digest of code, owner and point: values, and why points were skipped."""

_BUSY_SECONDS = 60.0
"""How long a file is waited for that another run makes, opens or writes."""


class Evaluations:
    """Values of one black box in an SQLite file, which other runs and boxes may use, too.

    A value is found again by the code of the function (or the command and the files that it
    names), the agent's number and own data, and every bit of the point. The file holds values of
    private costs, so it is made readable for its owner only.

    Args:
        path: the file, made if there is none.
        function: the function, or the command as a list of texts.
        own: second argument of the function, for every agent.

    Raises:
        ProblemError: a file that cannot be used, or a function or data that cannot be compared.
    """

    def __init__(self, path: Path, function: object, own: tuple[Any, ...]) -> None:
        self._path = path
        try:
            code = of_command(function) if isinstance(function, list) else digest(function)
            self._whose = [code + digest(agent, each) for agent, each in enumerate(own)]
        except Exception as error:
            raise ProblemError(
                "cache: the function or its data hold what cannot be compared with that of another "
                f"run ({type(error).__name__}: {error}); open files, locks and connections within "
                "the function, or leave cache out"
            ) from error
        self._open: sqlite3.Connection | None = None
        if path.exists() or not path.parent.is_dir():
            self._file()  # refused before a run begins

    def find(
        self, agent: int, point: Float[np.ndarray, " p"], width: int
    ) -> Float[np.ndarray, " n"] | None:
        """The stored values at a point, or `None`."""
        asked = "SELECT answer FROM evaluations WHERE key = ?"
        with self._telling() as file:
            row = file.execute(asked, (self._key(agent, point),)).fetchone()
        found = None if row is None else np.frombuffer(row[0])
        return found if found is not None and len(found) == width else None

    def keep(
        self, agent: int, points: Float[np.ndarray, "m p"], values: Float[np.ndarray, "m n"]
    ) -> None:
        """Store values, which survive the end of this process.

        Args:
            agent: the owner of the points.
            points: where.
            values: the values.
        """
        rows = [
            (self._key(agent, point), each.tobytes())
            for point, each in zip(points, values, strict=True)
        ]
        with self._telling() as file:
            file.executemany("INSERT OR REPLACE INTO evaluations VALUES (?, ?)", rows)

    def failure(self, agent: int, point: Float[np.ndarray, " p"]) -> str | None:
        """What a point was skipped for, and how to have it asked again; `None` if it was not."""
        asked = "SELECT told FROM failures WHERE key = ?"
        with self._telling() as file:
            row = file.execute(asked, (self._key(agent, point),)).fetchone()
        if row is None:
            return None
        anew = f"tacit.problem.forget_failures({str(self._path)!r}) asks anew"
        return f"{row[0]} (as kept in cache; {anew})"

    def keep_failure(self, agent: int, points: Float[np.ndarray, "m p"], told: str) -> None:
        """Store that points are skipped: a run that is repeated has to skip them, too.

        Args:
            agent: the owner of the points.
            points: where.
            told: what their evaluation failed with.
        """
        rows = [(self._key(agent, point), told) for point in points]
        with self._telling() as file:
            file.executemany("INSERT OR REPLACE INTO failures VALUES (?, ?)", rows)

    def close(self) -> None:
        """Close the file."""
        if self._open is not None:
            self._open.close()

    def _file(self) -> sqlite3.Connection:
        """The open file, made when it is first used."""
        if self._open is not None:
            return self._open
        try:
            self._open = _opened(self._path)
        except (OSError, sqlite3.Error, _Foreign) as error:
            raise ProblemError(
                f"cache='{self._path}' cannot be used for evaluations ({error}); give the name of "
                "a new file in a folder that exists"
            ) from error
        return self._open

    @contextmanager
    def _telling(self) -> Generator[sqlite3.Connection, None, None]:
        """The open file; what goes wrong with it in the middle of a run is said with a remedy.

        Raises:
            ProblemError: a full disk, or a file that can no longer be read or written.
        """
        file = self._file()
        try:
            yield file
        except sqlite3.Error as error:
            raise ProblemError(
                f"cache='{self._path}' cannot be read or written ({error}). What was stored before "
                "is kept: free some space or repair the disk, and run the same again"
            ) from error

    def _key(self, agent: int, point: Float[np.ndarray, " p"]) -> bytes:
        return hashlib.sha256(self._whose[agent] + point.tobytes()).digest()


@checked(ProblemError)
def forget_failures(cache: str | Path) -> int:
    """Let a run that is repeated ask again at the points that it skipped.

    With `on_failure="skip"` a cache keeps skipped points beside the values, so that a run that was
    stopped passes through them as it did before. Forget them once what failed is mended, such as a
    licence server; the run then differs from where the first of them was. Values are kept.

    Args:
        cache: the file, while no run uses it.

    Returns:
        Number of points that were forgotten.

    Raises:
        ProblemError: no file of evaluations.
    """
    path = Path(cache)
    try:
        if not path.is_file():
            raise _Foreign("there is none")
        with closing(_opened(path)) as file:
            return file.execute("DELETE FROM failures").rowcount
    except (OSError, sqlite3.Error, _Foreign) as error:
        raise ProblemError(
            f"cache={str(path)!r} is no file of evaluations ({error}); give the one that is "
            "named as cache of a black box"
        ) from error


class _Foreign(Exception):
    """A database of another program."""


def _opened(path: Path) -> sqlite3.Connection:
    """The file with its tables, made if there is none.

    Other runs may make or open it at the same moment: SQLite then refuses at once to begin or to
    read a log, however long it was told to wait.

    Raises:
        _Foreign: a database of another program.
        OSError: it cannot be made.
        sqlite3.Error: a file of another kind, or one that is locked all the time.
    """
    ends = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            return _made(path)
        except sqlite3.OperationalError as error:
            busy = getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
            if not busy or time.monotonic() > ends:
                raise
            time.sleep(0.05)


def _made(path: Path) -> sqlite3.Connection:
    """The same, for now."""
    path.touch(mode=0o600)
    # what others wrote last may be in a log; without one, nothing is made beside the file, which
    # would be as open to others as the file still is
    log = path.with_name(f"{path.name}-wal")
    how = "mode=ro" if log.exists() else "immutable=1"
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True)) as found:
        _check_own(found)
    for each in (path, log, path.with_name(f"{path.name}-shm")):
        if each.exists():
            each.chmod(0o600)
    # used by one thread at a time, which need not be the one that opened it
    file = sqlite3.connect(
        path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        file.execute("PRAGMA journal_mode=WAL")
        file.execute("PRAGMA synchronous=NORMAL")
        for name, column in _TABLES.items():
            file.execute(f"CREATE TABLE IF NOT EXISTS {name} (key BLOB PRIMARY KEY, {column})")
    except BaseException:
        file.close()
        raise
    return file


def _check_own(file: sqlite3.Connection) -> None:
    """Refuse a database with other tables than that of evaluations, before it is touched.

    Raises:
        _Foreign: such a database.
        sqlite3.Error: a file of another kind.
    """
    tables = {name for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type='table'")}
    columns = [row[1] for row in file.execute("PRAGMA table_info(evaluations)")]
    if tables - {*_TABLES} or (tables and columns != ["key", "answer"]):
        raise _Foreign("it is a database of another program")
