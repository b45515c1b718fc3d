"""One member, one state: a record beside the keys, so that no state is begun or restored twice.

A member that restarts a run with an empty folder, with a second folder or with an older copy would
answer the same questions again with different noise. So the folder of its keys holds, for every run
that it ever took part in, which state serves the run, how often it was started, and the newest
message, which an older state does not contain. It is locked while the member runs. The run's ledger
is there too, where emptying a folder of state loses no record of spending.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from tacit.data.schema import Prepared
from tacit.deploy.files import check_private, make_folder, make_private, why, write_secret
from tacit.deploy.identity.keys import Keys
from tacit.errors import ConfigError, RuntimeFailure, SiteBusy
from tacit.privacy.ledger.lock import FileLock, make_durable, still_there
from tacit.study.costs import OwnCost

_RECORDS = b"tacit records 1\n"

_AGAIN = (
    "Another answer to the same question would tell more than was promised, so nothing is sent. "
    "Put the newest state back; if it is gone, agree on a new manifest, for a run of its own"
)


@dataclass(frozen=True)
class Bound:
    """What a folder of state records about itself.

    Attributes:
        state: name of the state, drawn at random.
        starts: number of times it was started.
        records: keyed digest of the records that it answers about; empty for a member without any.
    """

    state: str
    starts: int
    records: str


class Binding:
    """Binds a run to one folder of state, and locks it while this member runs.

    Moved or renamed folders stay bound, because a file in them counts.

    Args:
        keys: keys of the member.
        run: id of the run, 32 bytes.
        state: existing folder for the member's persistent state.
        restore: whether a lost state may be begun again; only for a coordinator, which releases
            nothing.
        part: name of a second part that the member has in the run; empty for its own.

    Raises:
        SiteBusy: the member already takes part in this run, in another process.
        ConfigError: the folder beside its keys cannot be written, or others may read it.
    """

    def __init__(
        self, keys: Keys, run: bytes, state: Path, *, restore: bool = False, part: str = ""
    ) -> None:
        self._restore = restore
        self._going_on: Bound | None = None
        self._state, self._own = state, state / "bound.json"
        whole = folder_of(keys.folder, run)
        self.folder = whole / part
        try:
            for each in (whole.parent, whole, self.folder):
                make_folder(each)
            check_private(self.folder)
            self._lock = FileLock(self.folder / "lock")
        except BlockingIOError as error:
            raise SiteBusy(
                f"{keys.card.name!r} takes part in run {run.hex()[:12]} already: another process "
                f"with the keys in {keys.folder} runs, and two would answer one question twice. "
                "Let it continue, or end it first"
            ) from error
        except OSError as error:
            raise _unwritable(keys, error) from error
        try:
            self._path = self.folder / "head.db"
            with self._written():
                make_private(self._path)
                check_private(self._path)
                self._file = sqlite3.connect(
                    self._path, isolation_level=None, check_same_thread=False
                )
            try:
                with self._written():
                    self._begin()
            except BaseException:
                self._file.close()
                raise
        except BaseException:
            self._lock.release()
            raise

    def _begin(self) -> None:
        # no other process has it, so it needs no shared memory, which some file systems lack
        self._file.execute("PRAGMA locking_mode = EXCLUSIVE")
        self._file.execute("PRAGMA journal_mode = WAL")
        make_durable(self._file)
        self._file.execute(
            "CREATE TABLE IF NOT EXISTS head (one INTEGER PRIMARY KEY CHECK (one = 1), "
            "state TEXT, starts INTEGER, position INTEGER, digest BLOB)"
        )
        self._number = self._path.stat().st_ino
        row = self._file.execute("SELECT state, starts, position, digest FROM head").fetchone()
        self._known: tuple[str, int] | None = None if row is None else row[:2]
        self._head: tuple[int, bytes] | None = None if row is None or row[2] is None else row[2:]

    @property
    def begun(self) -> bool:
        """Whether it is recorded beside the keys that the run was begun."""
        return self._known is not None

    @property
    def ledger(self) -> Path:
        """The path of the run's own ledger, if the owner gives none."""
        return self.folder / "ledger"

    def holds(self, path: Path) -> bool:
        """Whether a file is beside the keys, so that an older copy of one comes with the other."""
        return path.resolve().is_relative_to(self.folder.resolve())

    def check(self, records: str) -> Bound | None:
        """Refuse a folder of state with which this run did not begin, or that is not its newest.

        Args:
            records: keyed digest of the member's records; empty if it has none.

        Returns:
            What the folder records about itself; `None` if the run begins.

        Raises:
            RuntimeFailure: it is a different folder, was emptied or is an older copy, or the
                records are not those with which the run began.
        """
        own, known = self._read(), self._known
        begun = (self._state / "journal.db").exists()
        if own is None and (known is None or (self._restore and not begun)):
            return None
        if known is None and begun:
            raise RuntimeFailure(
                f"{self._state} holds the state of a run that was begun with these keys in another "
                f"place, and {self.folder} knows nothing of it: whether that state is the newest "
                "cannot be seen. Move the folder of keys, with `runs` in it, together with the "
                "state; if it is gone, agree on a new manifest, for a run of its own"
            )
        if known is not None and (own is None or own.state != known[0]):
            raise RuntimeFailure(
                f"this run was begun with another --state folder than {self._state}, or the folder "
                f"was emptied since. {_AGAIN}"
            )
        assert own is not None
        starts = 0 if known is None else known[1]
        if own.starts < starts:
            raise self._older(f"it was started {own.starts} times, and this run {starts} times")
        if own.starts > starts + 1:
            raise RuntimeFailure(
                f"{self._state} was started {own.starts} times, and {self.folder} knows of "
                f"{starts}: the folder of keys is an older copy, and cannot tell whether the state "
                "is the newest. Put the newest folder of keys back; if it is gone, agree on a new "
                "manifest, for a run of its own"
            )
        if own.records != records:
            raise RuntimeFailure(
                "the records are others than those that this run was begun with, and its answers "
                "would be about both. Put the file back as it was; for other records agree on a "
                "new manifest, for a run of its own"
            )
        return own

    def bind(self, records: str) -> None:
        """Check, and record the start of a new state. `start` records that of a resumed one, once
        it is known to be the newest.

        Args:
            records: as for `check`.
        """
        self._going_on = self.check(records)
        if self._going_on is None:
            self._note(Bound(secrets.token_hex(16), 0, records))
        elif self._known is None:
            # killed between the two records: no journal exists, and one without the second
            # record would be refused for ever
            self.start()

    def start(self) -> None:
        """Record the start of a resumed state, before anything is sent.

        An older copy that is refused before this has changed nothing, so that the newest state
        resumes when it is put back.
        """
        if self._going_on is not None:
            self._note(self._going_on)
            self._going_on = None

    def _note(self, own: Bound) -> None:
        """Record it on both sides, in the folder first, so that a kill in between leaves no run
        without its state.
        """
        own = replace(own, starts=(self._known[1] if self._known else 0) + 1)
        write_secret(
            self._own, json.dumps({"format": "tacit-bound-1", **asdict(own)}, indent=2).encode()
        )
        with self._written():
            self._file.execute(
                "INSERT INTO head (one, state, starts) VALUES (1, ?, ?) "
                "ON CONFLICT DO UPDATE SET state = excluded.state, starts = excluded.starts",
                (own.state, own.starts),
            )
        self._known = own.state, own.starts

    def catch_up(self, position: int, data: bytes | None) -> None:
        """Compare the newest message of the state with the newest that was ever sent.

        Args:
            position: position of the newest message in the state; -1 for none.
            data: bytes of that message; `None` if they are no longer needed.

        Raises:
            RuntimeFailure: a newer one was sent, or a different one of the same position.
        """
        newest, digest = self._head or (-1, b"")
        if self._restore and position < 0:
            return  # nothing was restored yet
        if position < newest:
            raise self._older("messages left that it does not know of")
        same = data is None or hashlib.sha256(data).digest() == digest
        if position == newest and newest >= 0 and not same:
            raise self._older("the last message that left is another than the one it holds")
        if position > newest and data is not None:
            self.record(position, data)

    def record(self, position: int, data: bytes) -> None:
        """Record a message that is on disk, before it is sent.

        Args:
            position: position in the run.
            data: bytes of the message.

        Raises:
            RuntimeFailure: a newer one was sent, or a different one of the same position, or it
                cannot be written.
        """
        head = position, hashlib.sha256(data).digest()
        newest = self._head or (-1, b"")
        if head == newest:
            return
        if position <= newest[0]:
            raise self._older("the last message that left is another than the one to be sent")
        if not still_there(self._path, self._number):
            raise RuntimeFailure(
                f"{self._path} was deleted or replaced while this member ran. Nothing more is "
                "sent; put the folder back as it was, or agree on a new manifest, for a run of its "
                "own"
            )
        with self._written():
            self._file.execute("UPDATE head SET position = ?, digest = ?", head)
        self._head = head

    def restored(self, position: int, data: bytes) -> None:
        """Make this the newest message: nobody has a later one, and nobody will get one.

        Args:
            position: position in the run.
            data: bytes of the message.
        """
        head = position, hashlib.sha256(data).digest()
        with self._written():
            self._file.execute("UPDATE head SET position = ?, digest = ?", head)
        self._head = head

    def close(self) -> None:
        """Release the lock, so that the member can be started again."""
        self._file.close()
        self._lock.release()

    def __enter__(self) -> Binding:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self) -> Bound | None:
        check_private(self._state)
        check_private(self._own)
        try:
            found = json.loads(self._own.read_bytes())
            return Bound(str(found["state"]), int(found["starts"]), str(found["records"]))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise RuntimeFailure(
                f"{self._own} cannot be read ({why(error)}): the state is damaged. {_AGAIN}"
            ) from error

    def _older(self, reason: str) -> RuntimeFailure:
        return RuntimeFailure(
            f"the state in {self._state} was lost, or is an older copy: {reason}. {_AGAIN}"
        )

    @contextmanager
    def _written(self) -> Generator[None, None, None]:
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            raise RuntimeFailure(
                f"{self._path} cannot be written ({why(error)}); nothing was sent. Free some space "
                "or repair the disk, and give the same command again"
            ) from error


def folder_of(keys: Path, run: bytes) -> Path:
    """The folder of a run's binding and ledger.

    Args:
        keys: folder of a member's keys.
        run: id of the run, 32 bytes.
    """
    return keys / "runs" / run.hex()


def digest_of(keys: Keys, prepared: Prepared | OwnCost | None) -> str:
    """A digest of a member's records or cost that reveals nothing without its signing key.

    Args:
        keys: keys of the member.
        prepared: records or cost of the member; `None` if it has none.

    Returns:
        The digest in hexadecimal; empty for a member without records.
    """
    if prepared is None:
        return ""
    secret = hashlib.sha256(_RECORDS + keys.identity.private_bytes_raw()).digest()
    digest = hmac.new(secret, digestmod="sha256")
    if isinstance(prepared, OwnCost):
        digest.update(prepared.given.model_dump_json().encode())
        return digest.hexdigest()
    names = (prepared.feature_names, prepared.levels)
    digest.update(repr((names, prepared.features.shape, prepared.targets.shape)).encode())
    for array in (prepared.features, prepared.targets):
        digest.update(array.dtype.str.encode() + array.tobytes())
    return digest.hexdigest()


def _unwritable(keys: Keys, error: OSError) -> ConfigError:
    return ConfigError(
        f"{keys.folder / 'runs'} cannot be written ({why(error)}), and it has to hold which state "
        "serves a run, so that no question is answered twice. The other keys may be read-only; "
        "make this folder, free some space on its disk, and make it writable for this user "
        "(ReadWritePaths= in a systemd unit, a mount of its own in a container)"
    )
