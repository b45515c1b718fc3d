"""The ledger of one machine: nothing leaves it before the budget is charged on disk.

A release is prepared in one transaction: its budget is checked, its event appended, its exact bytes
and the method's state stored. Only then may the bytes be sent. After a crash the same request gets
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

from tacit.arguments import checked
from tacit.errors import LedgerError, PrivacyError, ReleaseConflict
from tacit.privacy import accounting
from tacit.privacy.event import Event
from tacit.privacy.ledger import store
from tacit.privacy.ledger.book import FORMAT, RECORD, Balance
from tacit.privacy.ledger.chain import Mark, digest
from tacit.privacy.ledger.encoding import canonical, event_to_json, grouped_to_json
from tacit.privacy.ledger.extract import spent_in
from tacit.privacy.ledger.names import check_names, check_neighbours
from tacit.privacy.ledger.outbox import Prepared, ReleaseId
from tacit.privacy.ledger.writer import Writer
from tacit.privacy.tally import Tally


@dataclass(frozen=True)
class Charge:
    """A whole run that has been charged.

    Attributes:
        run: name of the run.
        sequence: number of its entry.
        balances: balances of its owners after the charge.
        repeated: whether it had been charged before, so that nothing was added.
    """

    run: str
    sequence: int
    balances: tuple[Balance, ...]
    repeated: bool


class Ledger:
    """Budgets and releases of the owners on one machine, open for writing.

    Only one writer has it open at a time; its methods may be called from several threads. After a
    file error it is closed and must be opened again.

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
        given: Any = writer
        if not isinstance(given, Writer):
            raise LedgerError(
                f"Ledger({writer!r}) opens nothing; write Ledger.open(path), or for a new one "
                "Ledger.create(path)"
            )
        self.path = writer.path
        self._writer, self._book, self._outbox = writer, writer.book, writer.outbox
        self._thread = writer.thread

    @classmethod
    @checked(LedgerError)
    def create(cls, path: str | Path) -> Ledger:
        """Create a ledger without any budget, and open it.

        Raises:
            LedgerError: the path already exists.
            LedgerUnwritable: it cannot be created.
        """
        store.create(Path(path), {"format": FORMAT, "ledger": uuid.uuid4().hex})
        return cls.open(path)

    @classmethod
    @checked(LedgerError)
    def open(cls, path: str | Path, *, at_least: int | Mark | None = None) -> Ledger:
        """Open a ledger for writing; a process that had it open before can no longer commit.

        Args:
            path: path of the ledger file.
            at_least: last entry known to a peer, by its number or its `Mark`.

        Raises:
            LedgerError: there is no ledger, or one of a later format.
            LedgerBusy: another process has it open; raised at once.
            LedgerDamaged: the file or an entry is broken.
            LedgerRolledBack: it lacks the entry that a peer knows.
            LedgerUnwritable: a full disk or a read-only file.
        """
        path = Path(path)
        if not path.is_file():
            raise LedgerError(
                f"there is no ledger at {path}; make one with Ledger.create or `tacit ledger new`"
            )
        return cls(Writer(path, at_least))

    @property
    def mark(self) -> Mark:
        """The last entry, which peers should remember with each message from here."""
        return self._book.head

    @property
    def epoch(self) -> int:
        """Number that grows with every opening for writing."""
        return self._book.epoch

    def balances(self) -> tuple[Balance, ...]:
        """Balances of all owners and datasets that have a budget, sorted."""
        with self._thread:
            return self._book.balances()

    @checked(LedgerError)
    def balance(self, owner: str, dataset: str) -> Balance:
        """The balance of one owner and dataset.

        Raises:
            LedgerError: no budget is set.
        """
        with self._thread:
            account = self._book.account(owner, dataset)
            if account.budget is None:
                raise LedgerError(f"no budget is set for owner {owner!r}, dataset {dataset!r}")
            return account.balance()

    @checked(LedgerError)
    def spent(self, run: str, owner: str, delta: float) -> float:
        """Epsilon of the releases of one run alone; 0 for none.

        Args:
            run: id of the run.
            owner: owner of the releases.
            delta: delta at which epsilon is counted.

        Raises:
            LedgerDamaged: the file or an entry is broken.
        """
        with self._thread, self._writer.usable():
            return spent_in(self._writer.entries(), run, owner, delta)

    @checked(PrivacyError)
    def set_budget(self, owner: str, dataset: str, *, epsilon: float, delta: float) -> None:
        """Set the budget of a dataset, over all studies.

        A later budget replaces an earlier one and is recorded in addition to it; what has been
        spent remains spent.

        Args:
            owner: owner of the records.
            dataset: name of the dataset; the same records must not go by two names.
            epsilon: budget, positive and finite.
            delta: delta at which epsilon is counted, in [1e-12, 1), or 0 for pure guarantees.

        Raises:
            PrivacyError: a value out of range.
            LedgerError: the ledger cannot be written.
        """
        epsilon, delta = float(epsilon), float(delta)
        if not 0.0 < epsilon < float("inf"):
            raise PrivacyError(f"epsilon={epsilon!r} must be positive and finite")
        accounting.check_delta(delta)
        check_names(("owner", owner), ("dataset", dataset))
        with self._thread:
            if self._book.account(owner, dataset).budget != (epsilon, delta):
                what = {"owner": owner, "dataset": dataset, "epsilon": epsilon, "delta": delta}
                self._writer.write("budget", what)

    def require(self, at_least: int | Mark) -> None:
        """Refuse to continue with a file that is older than the version a peer has seen.

        Raises:
            LedgerRolledBack: a file that is older.
        """
        with self._thread, self._writer.usable():
            self._writer.require(at_least)

    @checked(PrivacyError)
    def check(
        self, owner: str, dataset: str, events: Sequence[Event], *, neighbours: str = RECORD
    ) -> None:
        """Whether events would stay within the budget; charges nothing.

        Raises:
            BudgetExceeded: they would exceed it, or there is no budget.
            UnsupportedEvent: an event without a proved rule.
        """
        with self._thread:
            self._book.account(owner, dataset).require(Tally.of(events), neighbours)

    def run_name(self, identity: str) -> str:
        """The name of a run that is identified by a digest of everything that determines it.

        A run that is restarted from the beginning, with the same data, settings and seed, releases
        the same bits again: it has the same name, and is charged once. The name is keyed, so that
        no entry or export reveals anything about the data behind the digest.

        Args:
            identity: digest that changes with any change to the run, to its data or to the code and
                machine that compute it.
        """
        return self._keyed(b"name", identity).hex()[:32]

    def noise_key(self, identity: str) -> bytes:
        """32 bytes for the noise of a run: the same for the same run, unrelated for any other.

        Costs charged to one budget are added up as independent. Two runs with the same seed are
        not, so a charged run draws its noise from this key and not from the seed alone.

        Args:
            identity: digest of the run, as for `run_name`.
        """
        return self._keyed(b"noise", identity)

    def _keyed(self, purpose: bytes, identity: str) -> bytes:
        with self._thread:
            text = purpose + b" " + identity.encode()
            return hmac.new(self._writer.secret(), text, "sha256").digest()

    @checked(LedgerError)
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

        Call it before the run begins. Charging the same run again, as when it is resumed, adds
        nothing.

        Args:
            run: name of the run, unique in this ledger; unchanged when the run is resumed.
            charges: all events of each owner.
            dataset: dataset whose budget is charged.
            study: title or fingerprint of the study, for the record.
            neighbours: adjacency of the epsilons, such as "record, add_remove"; the same for
                everything that is ever charged to a dataset of an owner.
            pooled: whether the one owner in `charges` is charged for all records of the run, at
                whatever site they are: needed where records are divided anew in every study.

        Raises:
            BudgetExceeded: some owner's budget does not allow it; the message names the first.
            UnsupportedEvent: an event without a proved rule.
            ReleaseConflict: a run of this name was charged for something else.
            LedgerError: the ledger cannot be written, or the dataset was charged by site before and
                is now charged as a whole, or the reverse.
        """
        if not charges:
            raise LedgerError("charges={} charges nobody; give the events of every owner")
        check_neighbours(neighbours)
        if pooled and len(charges) != 1:
            raise LedgerError(f"pooled=True with {len(charges)} owners in charges; give one")
        check_names(("run", run), ("dataset", dataset), *(("owner", owner) for owner in charges))
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
        """The release prepared under this id, or `None`; call it before drawing any noise.

        Args:
            id: id of the release.
            input_hash: hash of the state from which the release is computed.

        Raises:
            ReleaseConflict: it was prepared from another state.
        """
        with self._thread, self._writer.usable():
            found = self._outbox.find(id)
            if found is not None and found.input_hash != input_hash:
                raise ReleaseConflict(
                    f"{id}: entry {found.sequence} was released from another state than the one "
                    "given now, and a changed state must not earn a second answer. Nothing was "
                    "released; resume from the state stored with the last release of this run"
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
        """Charge one release and store its exact bytes; once this returns they may be sent.

        For an id that was prepared before, from the same state and with the same bytes, it charges
        nothing and returns what is stored.

        Args:
            id: id of the release.
            event: event that it is charged as.
            payload: noisy bytes, exactly as they are sent; never noise by itself.
            input_hash: hash of the state from which it was computed.
            dataset: dataset whose budget is charged.
            recipients: all recipients of these bytes, at least one.
            state: state of the method after it, for resuming; never a generator's.
            owner: owner whose budget is charged; the agent itself by default.
            neighbours: adjacency of its epsilon, as for `charge_run`.

        Raises:
            BudgetExceeded: the budget does not allow it; nothing is stored.
            UnsupportedEvent: an event without a proved rule.
            ReleaseConflict: the id was prepared from another state or with other bytes.
            LedgerError: the ledger cannot be written.
        """
        owner = id.agent if owner is None else owner
        waiting = tuple(sorted(set(recipients)))
        check_neighbours(neighbours)
        check_names(("owner", owner), ("dataset", dataset), *(("recipient", w) for w in waiting))
        if not waiting:
            raise LedgerError(f"{id}: name at least one recipient of the release")
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
        """Releases that some recipient has not acknowledged, oldest first: to be sent again."""
        with self._thread, self._writer.usable():
            return tuple(self._outbox.outstanding())

    def latest(self, agent: str, run: str) -> Prepared | None:
        """The latest release of a run, with the state to resume from; `None` before the first."""
        with self._thread, self._writer.usable():
            return self._outbox.latest(agent, run)

    def charged_to(self, agent: str, run: str) -> str | None:
        """The dataset of the latest release of a run; `None` before the first."""
        with self._thread, self._writer.usable():
            found = self._outbox.latest(agent, run)
            return None if found is None else str(self._writer.entry(found.sequence)["dataset"])

    def acknowledge(self, id: ReleaseId, *recipients: str) -> tuple[str, ...]:
        """Record that recipients have the bytes, which are deleted once all of them do.

        Acknowledging again is allowed.

        Returns:
            Recipients that have not acknowledged yet.

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
        """Record that all recipients have all releases of a run entered before a given entry.

        One entry covers all of them, where `acknowledge` writes one for each.

        Args:
            agent: agent that released.
            run: name of the run.
            before: number of an entry; that one and later ones are kept.

        Returns:
            Number of releases whose bytes were deleted.
        """
        with self._thread, self._writer.usable():
            done = self._outbox.sent(agent, run, before)
            if done:
                with self._writer.writing("delivered", {"releases": done}):
                    self._outbox.deliver(done)
            return len(done)

    def close(self) -> None:
        """Let the next writer in. What was committed remains; closing twice does no harm."""
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
