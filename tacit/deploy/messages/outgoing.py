"""What an agent has sent and may have to send again: on disk before it leaves, or never sent.

A message that releases something private is charged and stored by the ledger; any other, and the
coordinator's, by a journal in the state folder. What one of the two holds is noted in the other
before it leaves, so that restoring an old copy of either is noticed; where neither is beside the
keys, it is noted there, too, so that restoring both is noticed. Both keep the method's state
as it was when the message was made. So after a crash the agent resumes from its last message and
repeats its exact bytes.
"""

from __future__ import annotations

import hashlib
import itertools
import struct
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tacit.deploy.agreement.binding import Binding
from tacit.deploy.messages.absences import Absences
from tacit.deploy.messages.heard import HeardStore
from tacit.deploy.messages.journal import Journal
from tacit.deploy.messages.mailbox import Heard
from tacit.deploy.messages.slots import Rows, packed, unpacked
from tacit.deploy.messages.wire import Address, digest_of, signature_of
from tacit.errors import RuntimeFailure
from tacit.privacy.event import Event
from tacit.privacy.ledger import Ledger
from tacit.privacy.ledger.chain import digest
from tacit.privacy.ledger.outbox import ReleaseId
from tacit.types import State

SETTLE_EVERY = 64
"""Releases that are kept longer than needed, so that their deletion is one entry of the ledger."""

_POSITION, _NAME = struct.Struct("<q"), struct.Struct("<H")


class Made(NamedTuple):
    """A message that is on disk.

    Attributes:
        position: position of its phase in the run.
        key: name of the message below the run.
        data: exact bytes of the message.
    """

    position: int
    key: str
    data: bytes


class Account(NamedTuple):
    """The account that releases are charged to.

    Attributes:
        ledger: ledger, open for writing.
        owner: name of the agent.
        dataset: name of the dataset in the ledger.
        neighbours: unit and adjacency that the epsilons refer to.
    """

    ledger: Ledger
    owner: str
    dataset: str
    neighbours: str


class Charge(NamedTuple):
    """The cost of a message.

    Attributes:
        id: id of the release in it.
        event: cost of the release.
        input_hash: digest of the state that it was made from.
    """

    id: ReleaseId
    event: Event
    input_hash: str


class Outgoing:
    """The messages of one agent in one run. `find` may be called from any thread.

    Args:
        path: path of the journal, which is created if missing.
        run: id of the run in hexadecimal.
        account: account that is charged; `None` for a member that releases nothing.
        phases: number in the method's table of each phase that releases, by name.
        number: number of the agent.
        position: function that gives the position of an address in the run.
        binding: binding that records each message before it leaves; `None` in tests.

    Attributes:
        heard: store of what came from neighbours, in the same journal.
        absences: store of absences, in the same journal.

    Raises:
        RuntimeFailure: the journal cannot be opened, or the state is an older copy.
        ConfigError: it belongs to another run, or others may read it.
    """

    def __init__(
        self,
        path: Path,
        run: str,
        account: Account | None,
        phases: dict[str, int],
        number: int,
        position: Callable[[Address], int | None],
        binding: Binding | None = None,
    ) -> None:
        self._run, self._account, self._number, self._binding = run, account, number, binding
        self._apart = (
            account is not None and binding is not None and not binding.holds(account.ledger.path)
        )
        self._lock = threading.Lock()
        self._stored: dict[str, bytes] = {}
        # by position: its key, and its entry in the ledger or its row in the journal
        self._released: dict[int, tuple[str, int]] = {}
        self._rows: dict[int, tuple[str, int]] = {}
        self._kept_from = 0
        self._journal = Journal(path, run)
        self.heard, self.absences = HeardStore(self._journal), Absences(self._journal)
        try:
            self._begin(phases, position)
        except BaseException:
            self._journal.close()
            raise

    def _begin(self, phases: dict[str, int], position: Callable[[Address], int | None]) -> None:
        account, binding = self._account, self._binding
        with self._journal.writing() as file:
            self._messages, self._state = Rows(file, "messages"), Rows(file, "state")
            for row, data in self._messages.read():
                self._remember(_opened(data), self._rows, row)
        if account is not None:
            for release in account.ledger.outstanding():
                id = release.id
                own = id.run == self._run and id.agent == account.owner
                if own and release.payload is not None:
                    run_id, phase = bytes.fromhex(self._run), phases[id.phase]
                    address = Address(run_id, self._number, id.round - 1, phase, id.step)
                    made = Made(position(address) or 0, address.key(), release.payload)
                    self._remember(made, self._released, release.sequence)
        if account is not None:
            self._check_ledger(account)
        if binding is not None:
            at = _position(self._newest() if self._apart else self._in_journal())
            binding.catch_up(at, self._bytes({**self._released, **self._rows}, at))
            binding.start()

    def find(self, key: str) -> bytes | None:
        """The bytes of a message that was made and may still be required."""
        with self._lock:
            return self._stored.get(key)

    def resume(self, like: State) -> tuple[int, Any] | None:
        """Position and state of the last message that was made; `None` before the first.

        Args:
            like: state of the same method, for its structure.
        """
        newest = self._newest()
        if newest is None:
            return None
        return _POSITION.unpack(newest[:8])[0], unpacked(newest[8:], like)

    def _newest(self) -> bytes | None:
        """The newest stored state, preceded by its position."""
        found = [self._in_journal()]
        if self._account is not None:
            found.append(self._in_ledger(self._account))
        return max(found, key=_position)

    def _in_journal(self) -> bytes | None:
        with self._journal.writing():
            return max((data for _, data in self._state.read()), key=_position, default=None)

    def _in_ledger(self, account: Account) -> bytes | None:
        latest = account.ledger.latest(account.owner, self._run)
        return None if latest is None else latest.state

    def _bytes(self, places: dict[int, tuple[str, int]], at: int) -> bytes | None:
        return self._stored[places[at][0]] if at in places else None

    def _check_ledger(self, account: Account) -> None:
        """Compare the ledger's newest release with the newest that was ever sent."""
        with self._journal.writing() as file:
            row = file.execute("SELECT position, digest FROM released").fetchone()
        at = _position(self._in_ledger(account))
        data = self._bytes(self._released, at)
        if row is not None and (
            at < row[0] or (at == row[0] and data is not None and digest(data) != row[1])
        ):
            raise RuntimeFailure(
                f"the ledger {account.ledger.path} is an older copy: a release left that it does "
                "not know of, or is another than the one it holds. Another answer to the same "
                "question would tell more than was promised, so nothing is sent. Put the newest "
                "ledger back; if it is gone, agree on a new manifest, for a run of its own"
            )
        if data is not None:
            self._note(at, data)

    def _note(self, position: int, data: bytes) -> None:
        """Note a release of the ledger in the journal before it leaves."""
        with self._journal.writing() as file:
            file.execute(
                "INSERT OR REPLACE INTO released VALUES (1, ?, ?)", (position, digest(data))
            )

    def commit(
        self, made: Made, state: State, recipients: Sequence[str], charge: Charge | None = None
    ) -> None:
        """Store a message on disk; when this returns it may be sent.

        Args:
            made: the message.
            state: state of the method after it.
            recipients: members that will receive it.
            charge: cost of the message; `None` if it releases nothing.

        Raises:
            BudgetExceeded: the ledger does not allow the release.
            RuntimeFailure: the disk is full, or the file cannot be written or no longer exists.
        """
        self._journal.check_there()
        kept = [_POSITION.pack(made.position), *packed(state)]
        if charge is not None and self._account is not None:
            account = self._account
            sequence = account.ledger.prepare(
                charge.id,
                charge.event,
                made.data,
                input_hash=charge.input_hash,
                dataset=account.dataset,
                recipients=recipients,
                state=b"".join(kept),
                owner=account.owner,
                neighbours=account.neighbours,
            ).sequence
            self._note(made.position, made.data)
            if self._binding is not None and self._apart:
                self._binding.record(made.position, made.data)
            self._remember(made, self._released, sequence)
            return
        row = self._free_row(made.position)
        own = Heard(self._number, made.position, digest_of(made.data), signature_of(made.data))
        with self._journal.transaction():
            self.heard.note([own])  # a coordinator reports at the end what it announced
            self._messages.write(row, _closed(made))
            self._state.write(1, kept)
        if self._binding is not None:
            self._binding.record(made.position, made.data)
        self._remember(made, self._rows, row)

    def restore(self, made: Made, state: State, said: Sequence[Heard]) -> None:
        """Begin from what others have from this member, in an empty journal.

        Args:
            made: newest message of this member.
            state: state of the method after it.
            said: what others heard from this member.
        """
        self.heard.keep(said)
        if self._binding is not None:
            self._binding.restored(made.position, made.data)
        self.commit(made, state, [])

    def settle(self, before: int, every: int = SETTLE_EVERY) -> None:
        """Forget messages before a position, which everybody has.

        Args:
            before: the position.
            every: number of releases that are forgotten at a time.
        """
        self._forget(self._rows, before)
        if self._account is None or before - self._kept_from < every:
            return
        self._kept_from = before
        if gone := self._forget(self._released, before):
            self._account.ledger.delivered(self._account.owner, self._run, max(gone) + 1)

    def _forget(self, places: dict[int, tuple[str, int]], before: int) -> list[int]:
        with self._lock:
            gone = [places.pop(position) for position in sorted(places) if position < before]
            for key, _ in gone:
                self._stored.pop(key, None)
        return [place for _, place in gone]

    def _free_row(self, position: int) -> int:
        """A row whose message nobody needs, or a new one; the same row for the same message."""
        if position in self._rows:
            return self._rows[position][1]
        taken = {row for _, row in self._rows.values()}
        return next(row for row in itertools.count(1) if row not in taken)

    def close(self) -> None:
        """Close the journal; the ledger stays open."""
        self._journal.close()

    def _remember(self, made: Made, places: dict[int, tuple[str, int]], place: int) -> None:
        with self._lock:
            self._stored[made.key] = made.data
            places[made.position] = made.key, place


def state_digest(position: int, state: State) -> str:
    """A digest of the inputs of a release, apart from the private data."""
    found = hashlib.sha256(_POSITION.pack(position))
    for piece in packed(state):
        found.update(piece)
    return found.hexdigest()


def _position(state: bytes | None) -> int:
    """The position of a stored state; -1 for none."""
    return -1 if state is None else int(_POSITION.unpack(state[:8])[0])


def _closed(made: Made) -> list[bytes]:
    key = made.key.encode()
    return [_POSITION.pack(made.position), _NAME.pack(len(key)), key, made.data]


def _opened(row: bytes) -> Made:
    start = _POSITION.size + _NAME.size
    end = start + _NAME.unpack_from(row, _POSITION.size)[0]
    return Made(_POSITION.unpack_from(row)[0], row[start:end].decode(), row[end:])
