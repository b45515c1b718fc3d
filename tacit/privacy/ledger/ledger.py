"""The ledger of one machine: nothing leaves it before the budget was charged on the disk.

A release is prepared in one transaction: its budget is checked, its event appended, its exact bytes
and the method's state stored. Only then may the bytes be sent. After a crash the same question gets
the same bytes, never a second draw of noise, because two noisy copies are two releases.
"""

from __future__ import annotations

import hmac
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from tacit.errors import LedgerError, PrivacyError, ReleaseConflict
from tacit.privacy import accounting
from tacit.privacy.event import Event
from tacit.privacy.ledger import store
from tacit.privacy.ledger.book import FORMAT, RECORD, Balance
from tacit.privacy.ledger.chain import Mark, digest
from tacit.privacy.ledger.encoding import canonical, event_to_json, grouped_to_json
from tacit.privacy.ledger.outbox import Prepared, ReleaseId
from tacit.privacy.ledger.writer import Writer
from tacit.privacy.tally import Tally


@dataclass(frozen=True)
class Charge:
    """A whole run that has been charged.

    Attributes:
        run: its name.
        sequence: number of its entry.
        balances: of its owners, after it.
        repeated: whether it had been charged before: nothing was added.
    """

    run: str
    sequence: int
    balances: tuple[Balance, ...]
    repeated: bool


class Ledger:
    """Budgets and releases of the owners on one machine, open for writing.

    One writer has it at a time; its methods may be called from several threads. After an error of
    the file it is closed and must be opened again.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from tacit.privacy.event import GaussianRelease, Repeated
        >>> path = Path(tempfile.mkdtemp()) / "clinic.ledger"
        >>> with Ledger.create(path) as ledger:
        ...     ledger.set_budget("clinic", "visits", epsilon=1.0, delta=1e-6)
        ...     events = [Repeated(GaussianRelease(600.0), 10_000)]
        ...     charge = ledger.charge_run("2026-a", {"clinic": events}, dataset="visits")
        >>> round(charge.balances[0].spent, 3)
        0.686
    """

    def __init__(self, writer: Writer) -> None:
        self.path = writer.path
        self._writer, self._book, self._outbox = writer, writer.book, writer.outbox
        self._thread = writer.thread

    @classmethod
    def create(cls, path: str | Path) -> Ledger:
        """Make a ledger without any budget, and open it.

        Raises:
            LedgerError: something stands there already.
            LedgerUnwritable: it cannot be made.
        """
        store.create(Path(path), {"format": FORMAT, "ledger": uuid.uuid4().hex})
        return cls.open(path)

    @classmethod
    def open(cls, path: str | Path, *, at_least: int | Mark | None = None) -> Ledger:
        """Open a ledger for writing. Whoever had it open before can no longer commit.

        Args:
            path: the file.
            at_least: the last entry that a peer knows of, by its number or its `Mark`.

        Raises:
            LedgerError: there is no ledger, or one of a later format.
            LedgerBusy: somebody else has it open, which is said at once.
            LedgerDamaged: the file or an entry is broken.
            LedgerRolledBack: it does not hold the entry that a peer knows of.
            LedgerUnwritable: a full disk or a read-only file.
        """
        path = Path(path)
        if not path.is_file():
            raise LedgerError(f"there is no ledger at {path}; make one with `tacit ledger new`")
        return cls(Writer(path, at_least))

    @property
    def mark(self) -> Mark:
        """The last entry: what peers should remember with each message from here."""
        return self._book.head

    @property
    def epoch(self) -> int:
        """Grows with every opening for writing."""
        return self._book.epoch

    def balances(self) -> tuple[Balance, ...]:
        """Of all owners and datasets that have a budget, sorted."""
        with self._thread:
            return self._book.balances()

    def balance(self, owner: str, dataset: str) -> Balance:
        """Of one owner and dataset.

        Raises:
            LedgerError: no budget is set.
        """
        with self._thread:
            account = self._book.account(owner, dataset)
            if account.budget is None:
                raise LedgerError(f"no budget is set for owner {owner!r}, dataset {dataset!r}")
            return account.balance()

    def set_budget(self, owner: str, dataset: str, *, epsilon: float, delta: float) -> None:
        """State what may ever be spent on a dataset, over all studies.

        A later statement replaces an earlier one and stays on record beside it; what has been spent
        stays spent.

        Args:
            owner: whose records.
            dataset: which of them; the same records must not go by two names.
            epsilon: positive and finite.
            delta: at which epsilon is counted, in [1e-12, 1), or 0 for pure guarantees.

        Raises:
            PrivacyError: a value out of range.
            LedgerError: the ledger cannot be written.
        """
        epsilon, delta = float(epsilon), float(delta)
        if not 0.0 < epsilon < float("inf"):
            raise PrivacyError(f"epsilon={epsilon!r} must be positive and finite")
        accounting.check_delta(delta)
        _check_names(("owner", owner), ("dataset", dataset))
        with self._thread:
            if self._book.account(owner, dataset).budget != (epsilon, delta):
                what = {"owner": owner, "dataset": dataset, "epsilon": epsilon, "delta": delta}
                self._writer.write("budget", what)

    def require(self, at_least: int | Mark) -> None:
        """Refuse to go on with a file that is older than a peer knows it to be.

        Raises:
            LedgerRolledBack: it is.
        """
        with self._thread, self._writer.usable():
            self._writer.require(at_least)

    def check(
        self, owner: str, dataset: str, events: Sequence[Event], *, neighbours: str = RECORD
    ) -> None:
        """Whether events would stay within the budget; charges nothing.

        Raises:
            BudgetExceeded: they would not, or there is no budget.
            UnsupportedEvent: an event without a proved rule.
        """
        with self._thread:
            self._book.account(owner, dataset).require(Tally.of(events), neighbours)

    def run_name(self, identity: str) -> str:
        """The name of a run that is known by a digest of everything that determines it.

        A run that is begun again from the start, with the same data, settings and seed, releases
        the same bits once more: it has the same name, and is charged once. The name is keyed, so
        that no entry or export says anything about the data behind the digest.

        Args:
            identity: a digest that any change of the run, of its data or of what computes it
                changes.
        """
        return self._keyed(b"name", identity).hex()[:32]

    def noise_key(self, identity: str) -> bytes:
        """32 bytes for the noise of a run: the same for the same run, and unrelated for any other.

        What is charged to one budget is added up as independent. Two runs with one seed are not,
        so a charged run draws its noise from this key and not from the seed alone.

        Args:
            identity: as for `run_name`.
        """
        return self._keyed(b"noise", identity)

    def _keyed(self, purpose: bytes, identity: str) -> bytes:
        with self._thread:
            text = purpose + b" " + identity.encode()
            return hmac.new(self._writer.secret(), text, "sha256").digest()

    def charge_run(
        self,
        run: str,
        charges: Mapping[str, Sequence[Event]],
        *,
        dataset: str,
        study: str = "",
        neighbours: str = RECORD,
        pooled: bool = False,
    ) -> Charge:
        """Charge everything that a run will release, for all its owners or for none.

        To be called before the run begins. Charging the same run again, as when it is resumed,
        adds nothing.

        Args:
            run: name of the run, unique in this ledger; the same when it is resumed.
            charges: all events of each owner.
            dataset: whose budget is charged.
            study: a title or a fingerprint of the study, for the record.
            neighbours: what the epsilons are about, such as "record, add_remove"; the same for
                everything that is ever charged to a dataset of an owner.
            pooled: whether the one owner in `charges` answers for all records of the run, at
                whatever site they stand: needed where records are divided anew in every study.

        Raises:
            BudgetExceeded: naming the first owner whose budget does not allow it.
            UnsupportedEvent: an event without a proved rule.
            ReleaseConflict: a run of this name was charged for something else.
            LedgerError: the ledger cannot be written, or the dataset was charged by site before
                and is charged as a whole now, or the reverse.
        """
        if pooled and len(charges) != 1:
            raise LedgerError(f"pooled=True with {len(charges)} owners in charges; give one")
        _check_names(("run", run), ("dataset", dataset), *(("owner", owner) for owner in charges))
        what: dict[str, Any] = {
            "run": run,
            "study": study,
            "dataset": dataset,
            "neighbours": neighbours,
            "charges": {owner: grouped_to_json(events) for owner, events in charges.items()},
            **({"pooled": True} if pooled else {}),
        }
        with self._thread:
            sequence, known = self._book.runs.get(run, (0, what))
            if canonical(known) != canonical(what):
                raise ReleaseConflict(
                    f"run {run!r} was charged in entry {sequence} for another study or other "
                    "releases. Nothing was released; give a new run a new name"
                )
            accounts = {owner: self._book.account(owner, dataset) for owner in charges}
            if not sequence:
                self._book.check_owners(dataset, charges, pooled=pooled)
                for owner, events in charges.items():
                    accounts[owner].require(Tally.of(events), neighbours)
                self._writer.write("run", what)
            balances = tuple(accounts[owner].balance() for owner in charges)
            return Charge(run, sequence or self.mark.sequence, balances, repeated=sequence > 0)

    def stored(self, id: ReleaseId, input_hash: str) -> Prepared | None:
        """The release that was prepared under this id, or `None`: ask before drawing any noise.

        Args:
            id: which release.
            input_hash: of the state that the release is computed from.

        Raises:
            ReleaseConflict: it was prepared from another state.
        """
        with self._thread, self._writer.usable():
            found = self._outbox.find(id)
            if found is not None and found.input_hash != input_hash:
                raise ReleaseConflict(
                    f"{id}: entry {found.sequence} was released from another state than the one "
                    "given now, and a changed state must not earn a second answer. Nothing was "
                    "released; go on from the state stored with the last release of this run"
                )
            return found

    def prepare(
        self,
        id: ReleaseId,
        event: Event,
        payload: bytes,
        *,
        input_hash: str,
        dataset: str,
        recipients: Sequence[str],
        state: bytes = b"",
        owner: str | None = None,
        neighbours: str = RECORD,
    ) -> Prepared:
        """Charge one release and store its exact bytes; when this returns they may be sent.

        Under an id that was prepared before, from the same state and with the same bytes, it
        charges nothing and returns what is stored.

        Args:
            id: which release.
            event: what it costs.
            payload: the noised bytes, exactly as they are sent. Never noise by itself.
            input_hash: of the state that it was computed from.
            dataset: whose budget is charged.
            recipients: everybody who will be sent these bytes, at least one.
            state: of the method after it, to go on from; never a generator's.
            owner: whose budget is charged; the agent itself by default.
            neighbours: what its epsilon is about, as for `charge_run`.

        Raises:
            BudgetExceeded: the budget does not allow it; nothing is stored.
            UnsupportedEvent: an event without a proved rule.
            ReleaseConflict: the id was prepared from another state or with other bytes.
            LedgerError: the ledger cannot be written.
        """
        owner = id.agent if owner is None else owner
        waiting = tuple(sorted(set(recipients)))
        _check_names(("owner", owner), ("dataset", dataset), *(("recipient", w) for w in waiting))
        if not waiting:
            raise LedgerError(f"{id}: name at least one recipient; what nobody gets is no release")
        what = {
            "agent": id.agent,
            "run": id.run,
            "round": id.round,
            "phase": id.phase,
            "step": id.step,
            "owner": owner,
            "dataset": dataset,
            "neighbours": neighbours,
            "event": event_to_json(event),
            "input_hash": input_hash,
            "payload_hash": digest(payload),
            "state_hash": digest(state),
            "recipients": list(waiting),
        }
        with self._thread:
            earlier = self.stored(id, input_hash)
            if earlier is not None:
                self._check_same(earlier, what)
                return earlier
            self._book.check_owners(dataset, [owner], pooled=False)
            self._book.account(owner, dataset).require(Tally.of([event]), neighbours)
            with self._writer.writing("release", what) as sequence:
                release = Prepared(id, sequence, payload, state, input_hash, waiting)
                self._outbox.add(release)
            return release

    def outstanding(self) -> tuple[Prepared, ...]:
        """Releases that somebody has not acknowledged, oldest first: to be sent again."""
        with self._thread, self._writer.usable():
            return tuple(self._outbox.outstanding())

    def latest(self, agent: str, run: str) -> Prepared | None:
        """The newest release of a run, with the state to go on from; `None` before the first."""
        with self._thread, self._writer.usable():
            return self._outbox.latest(agent, run)

    def acknowledge(self, id: ReleaseId, *recipients: str) -> tuple[str, ...]:
        """Recipients have the bytes. Once all of them do, the bytes are deleted here.

        Whoever acknowledged before may do so again.

        Returns:
            Those who have not acknowledged yet.

        Raises:
            LedgerError: no such release, or it was not meant for that recipient.
        """
        with self._thread, self._writer.usable():
            found = self._outbox.find(id)
            if found is None:
                raise LedgerError(f"{id} was never released, so nobody can acknowledge it")
            meant: list[str] = self._writer.entry(found.sequence)["recipients"]
            strangers = sorted(set(recipients) - set(meant))
            if strangers:
                raise LedgerError(
                    f"{id} was sent to {', '.join(meant)} and not to {', '.join(strangers)}, who "
                    "cannot acknowledge it"
                )
            new = sorted(set(recipients) & set(found.waiting))
            if new:
                what = {"release": found.sequence, "recipients": new}
                with self._writer.writing("acknowledged", what):
                    self._outbox.acknowledge(found.sequence, new)
            return tuple(sorted(set(found.waiting) - set(new)))

    def delivered(self, agent: str, run: str, before: int) -> int:
        """All recipients have all releases of a run that were entered before an entry.

        One entry for all of them, where `acknowledge` writes one for each.

        Args:
            agent: who released.
            run: which run.
            before: number of an entry; that one and later ones stay.

        Returns:
            How many releases' bytes were deleted.
        """
        with self._thread, self._writer.usable():
            done = [r.sequence for r in self._outbox.sent(agent, run, before)]
            if done:
                with self._writer.writing("delivered", {"releases": done}):
                    self._outbox.deliver(done)
            return len(done)

    def close(self) -> None:
        """Let the next writer in. What was committed stays; closing twice does no harm."""
        self._writer.shut("closed")

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _check_same(self, earlier: Prepared, what: dict[str, Any]) -> None:
        with self._writer.usable():
            known = self._writer.entry(earlier.sequence)
        other = sorted(key for key in known if known[key] != what[key])
        if other:
            raise ReleaseConflict(
                f"{earlier.id}: entry {earlier.sequence} was released with another "
                f"{', '.join(other)}. Two answers to one question are two releases, so nothing was "
                "released; ask Ledger.stored before drawing noise, and send what it returns"
            )


def _check_names(*names: tuple[str, str]) -> None:
    for role, name in names:
        if not name:
            raise LedgerError(f"{role}={name!r}: a name must not be empty")
