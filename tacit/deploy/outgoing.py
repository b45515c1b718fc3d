"""What an agent has sent and may have to send again: on the disk before it leaves, or never sent.

A message that releases something private is charged and stored by the ledger; any other, and the
coordinator's, by a journal beside it. Both keep the method's state as it was when the message was
made. So after a crash the agent goes on from its last message and repeats its exact bytes.
"""

from __future__ import annotations

import io
import sqlite3
import struct
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from tacit.deploy.wire import Address
from tacit.errors import ConfigError, RuntimeFailure
from tacit.privacy.event import Event
from tacit.privacy.ledger import Ledger
from tacit.privacy.ledger.chain import digest
from tacit.privacy.ledger.outbox import ReleaseId

SETTLE_EVERY = 64
"""Messages that are kept longer than needed, so that deleting them costs little."""

_POSITION = struct.Struct("<q")
_HERE, _NOT_HERE = b"1", b"0"


class Made(NamedTuple):
    """A message that is on the disk.

    Attributes:
        position: of its phase in the run.
        key: its name below the run.
        data: its exact bytes.
    """

    position: int
    key: str
    data: bytes


class Absence(NamedTuple):
    """A member that a run went on without.

    Attributes:
        agent: its number; this member's own if it was this one.
        first: round without it.
        back: round in which it was there again; `None` if it never was.
    """

    agent: int
    first: int
    back: int | None


class Account(NamedTuple):
    """Whose budget releases are charged to.

    Attributes:
        ledger: open for writing.
        owner: the agent.
        dataset: its name in the ledger.
        neighbours: what the epsilons are about.
    """

    ledger: Ledger
    owner: str
    dataset: str
    neighbours: str


class Outgoing:
    """The messages of one agent in one run. `find` may be called from any thread.

    Args:
        path: of the journal; made if there is none.
        run: id of the run in hexadecimal.
        account: whose budget pays; `None` for who releases nothing.
        phases: number in the method's table of each phase that releases, by name.
        number: of the agent.
        position: of an address in the run.

    Raises:
        RuntimeFailure: the journal cannot be opened.
        ConfigError: it is that of another run.
    """

    def __init__(
        self,
        path: Path,
        run: str,
        account: Account | None,
        phases: dict[str, int],
        number: int,
        position: Callable[[Address], int | None],
    ) -> None:
        self._path, self._run, self._account = path, run, account
        self._lock = threading.Lock()
        self._stored: dict[str, bytes] = {}
        self._positions: dict[int, tuple[str, int]] = {}
        self._kept_from = 0
        with self._writing():
            self._journal = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            self._journal.execute("PRAGMA journal_mode = WAL")
            self._journal.execute("PRAGMA synchronous = FULL")
            # a state is soon written over: the fewer checkpoints, the fewer are written twice
            self._journal.execute("PRAGMA wal_autocheckpoint = 8192")
            self._journal.execute("CREATE TABLE IF NOT EXISTS run (id TEXT)")
            self._journal.execute(
                "CREATE TABLE IF NOT EXISTS messages (position INTEGER PRIMARY KEY, key TEXT, "
                "data BLOB)"
            )
            self._journal.execute("CREATE TABLE IF NOT EXISTS state (data BLOB)")
            self._journal.execute(
                "CREATE TABLE IF NOT EXISTS absences (agent INTEGER, first INTEGER, back INTEGER)"
            )
            known = self._journal.execute("SELECT id FROM run").fetchone()
            if known is None:
                self._journal.execute("INSERT INTO run VALUES (?)", (run,))
            elif known[0] != run:
                raise ConfigError(other_run(path.parent, known[0], run))
            for row in self._journal.execute("SELECT position, key, data FROM messages"):
                self._remember(Made(*row), 0)
        if account is not None:
            for release in account.ledger.outstanding():
                id = release.id
                if id.run == run and id.agent == account.owner and release.payload is not None:
                    run_id, phase = bytes.fromhex(run), phases[id.phase]
                    address = Address(run_id, number, id.round - 1, phase, id.step)
                    made = Made(position(address) or 0, address.key(), release.payload)
                    self._remember(made, release.sequence)

    def find(self, key: str) -> bytes | None:
        """The bytes of a message that was made and may still be needed."""
        with self._lock:
            return self._stored.get(key)

    def resume(self, like: Any) -> tuple[int, Any] | None:
        """Position and state of the last message that was made; `None` before the first.

        Args:
            like: a state of the same method, for its structure.
        """
        found: list[bytes] = []
        with self._writing():
            found += [row[0] for row in self._journal.execute("SELECT data FROM state")]
        if self._account is not None:
            latest = self._account.ledger.latest(self._account.owner, self._run)
            if latest is not None and latest.state is not None:
                found.append(latest.state)
        if not found:
            return None
        newest = max(found, key=lambda data: _POSITION.unpack(data[:8])[0])
        return _POSITION.unpack(newest[:8])[0], _unpacked(newest[8:], like)

    def commit(
        self,
        made: Made,
        state: Any,
        recipients: Sequence[str],
        id: ReleaseId | None = None,
        event: Event | None = None,
        input_hash: str = "",
    ) -> None:
        """Put a message on the disk; when this returns it may be sent.

        Args:
            made: the message.
            state: of the method after it.
            recipients: who will get it.
            id: which release it holds; `None` if it holds none.
            event: what the release costs.
            input_hash: of the state that it was made from.

        Raises:
            BudgetExceeded: the ledger does not allow the release.
            RuntimeFailure: the disk is full, or the file cannot be written.
        """
        kept = _POSITION.pack(made.position) + _packed(state)
        sequence = 0
        if id is not None and self._account is not None and event is not None:
            account = self._account
            sequence = account.ledger.prepare(
                id,
                event,
                made.data,
                input_hash=input_hash,
                dataset=account.dataset,
                recipients=recipients,
                state=kept,
                owner=account.owner,
                neighbours=account.neighbours,
            ).sequence
        else:
            with self._writing():
                self._journal.execute("BEGIN IMMEDIATE")
                self._journal.execute("INSERT OR REPLACE INTO messages VALUES (?, ?, ?)", made)
                self._journal.execute("DELETE FROM state")
                self._journal.execute("INSERT INTO state VALUES (?)", (kept,))
                self._journal.execute("COMMIT")
        self._remember(made, sequence)

    def settle(self, before: int, every: int = SETTLE_EVERY) -> None:
        """Forget messages of phases before a position, many at a time: everybody has them."""
        if before - self._kept_from < every:
            return
        self._kept_from = before
        with self._lock:
            gone = [position for position in self._positions if position < before]
            released = [self._positions[position][1] for position in gone]
            for position in gone:
                self._stored.pop(self._positions.pop(position)[0], None)
        with self._writing():
            self._journal.execute("DELETE FROM messages WHERE position < ?", (before,))
        if self._account is not None and any(released):
            self._account.ledger.delivered(self._account.owner, self._run, max(released) + 1)

    def left(self, agent: int, round: int) -> None:
        """The run goes on without an agent from this round on."""
        with self._writing():
            self._journal.execute("INSERT INTO absences VALUES (?, ?, NULL)", (agent, round))

    def back(self, agent: int, round: int) -> None:
        """An agent is there again."""
        with self._writing():
            self._journal.execute(
                "UPDATE absences SET back = ? WHERE agent = ? AND back IS NULL", (round, agent)
            )

    def away(self, agent: int, first: int, back: int) -> None:
        """An agent was away for these rounds, and is there again."""
        with self._writing():
            self._journal.execute("INSERT INTO absences VALUES (?, ?, ?)", (agent, first, back))

    def absences(self) -> list[Absence]:
        """Who was away, in order."""
        with self._writing():
            rows = self._journal.execute("SELECT agent, first, back FROM absences ORDER BY rowid")
            return [Absence(*row) for row in rows]

    def close(self) -> None:
        """Close the journal; the ledger is its owner's to close."""
        self._journal.close()

    def _remember(self, made: Made, sequence: int) -> None:
        with self._lock:
            self._stored[made.key] = made.data
            self._positions[made.position] = made.key, sequence

    @contextmanager
    def _writing(self) -> Generator[None, None, None]:
        try:
            yield
        except sqlite3.Error as error:
            raise RuntimeFailure(
                f"the journal {self._path} cannot be written ({error}); nothing was sent. Free "
                "some space or repair the disk, and give the same command again"
            ) from error


def check_state(folder: Path, run: str) -> None:
    """Refuse a folder with the state of another run, before anything else is looked at.

    Raises:
        ConfigError: it is another's.
    """
    path = folder / "journal.db"
    if not path.exists():
        return
    place = f"{path.resolve().as_uri()}?mode=ro"
    with suppress(sqlite3.Error), closing(sqlite3.connect(place, uri=True)) as file:
        known = file.execute("SELECT id FROM run").fetchone()
        if known is not None and known[0] != run:
            raise ConfigError(other_run(folder, known[0], run))


def other_run(folder: Path, known: str, run: str) -> str:
    """What is said then."""
    return (
        f"{folder} holds the state of run {known[:12]}, and this is run {run[:12]}; give every run "
        "a --state directory of its own"
    )


def state_digest(position: int, state: Any) -> str:
    """A digest of what a release is computed from, apart from the private data."""
    return digest(_POSITION.pack(position) + _packed(state))


def _packed(state: Any) -> bytes:
    """The leaves one after the other, each with its type and shape; one that is not there is short.

    What a state holds may change within a round, such as a gradient between send and receive.
    """
    file = io.BytesIO()
    for leaf in jax.tree.leaves(state, is_leaf=_absent):
        file.write(_HERE if leaf is not None else _NOT_HERE)
        if leaf is not None:
            np.save(file, np.asarray(leaf), allow_pickle=False)
    return file.getvalue()


def _unpacked(data: bytes, like: Any) -> Any:
    leaves, structure = jax.tree.flatten(like, is_leaf=_absent)
    file = io.BytesIO(data)
    found: list[np.ndarray | None] = []
    try:
        for _ in leaves:
            found.append(np.load(file, allow_pickle=False) if file.read(1) == _HERE else None)
        complete = not file.read(1)
    except (ValueError, EOFError):
        complete = False
    if not complete:
        raise RuntimeFailure(
            "the stored state is not one of this method; it is of another version of tacit. Finish "
            "the run with the version that began it"
        )
    return jax.tree.unflatten(structure, found)


def _absent(leaf: Any) -> bool:
    return leaf is None
