"""Releases, charges and budgets of one ledger."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tacit.errors import (
    BudgetExceeded,
    LedgerBusy,
    LedgerError,
    LedgerRolledBack,
    PrivacyError,
    ReleaseConflict,
    UnsupportedEvent,
)
from tacit.privacy import accounting
from tacit.privacy.calibration import noise_multiplier
from tacit.privacy.event import Event, GaussianRelease, LaplaceRelease, NonPrivate, Repeated
from tacit.privacy.ledger import Ledger, Mark, Prepared, ReleaseId, verify

QUIET = GaussianRelease(1000.0)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.create(tmp_path / "clinic.ledger") as made:
        made.set_budget("clinic", "visits", epsilon=1.0, delta=1e-6)
        yield made


def release(
    ledger: Ledger,
    round: int,
    payload: bytes = b"noised",
    event: Event = QUIET,
    input_hash: str = "state",
    dataset: str = "visits",
) -> Prepared:
    return ledger.prepare(
        ReleaseId("clinic", "first", round, "gradient"),
        event,
        payload,
        input_hash=input_hash,
        dataset=dataset,
        recipients=("north", "south"),
        state=b"state %d" % round,
    )


def test_a_release_is_stored_and_repeated_never_drawn_again(ledger: Ledger) -> None:
    id = ReleaseId("clinic", "first", 0, "gradient")
    assert ledger.stored(id, "state") is None
    first = release(ledger, 0)
    assert first == ledger.stored(id, "state") == release(ledger, 0)
    assert first.payload == b"noised" and first.waiting == ("north", "south")
    balance = ledger.balance("clinic", "visits")
    assert balance.releases == 1 and balance.runs == 1
    assert balance.spent == pytest.approx(accounting.epsilon([QUIET], 1e-6))


def test_a_release_survives_reopening(ledger: Ledger) -> None:
    release(ledger, 0)
    second = release(ledger, 1)
    before = ledger.balances()
    mark = ledger.mark
    ledger.close()
    with Ledger.open(ledger.path, at_least=mark) as again:
        assert again.balances() == before
        assert again.latest("clinic", "first") == second
        assert second.state == b"state 1"
        assert [one.id.round for one in again.outstanding()] == [0, 1]
        assert again.epoch == 2


def test_nothing_is_charged_to_a_file_that_is_not_there_any_more(
    ledger: Ledger, tmp_path: Path
) -> None:
    release(ledger, 0)
    (tmp_path / "clinic.ledger").rename(tmp_path / "elsewhere")
    with pytest.raises(LedgerError, match="was deleted or replaced while it was open"):
        release(ledger, 1)
    (tmp_path / "elsewhere").rename(tmp_path / "clinic.ledger")
    assert release(ledger, 1).id.round == 1


def test_another_payload_under_one_id_is_fatal(ledger: Ledger) -> None:
    release(ledger, 0)
    with pytest.raises(ReleaseConflict, match="another payload_hash"):
        release(ledger, 0, payload=b"noised again")
    with pytest.raises(ReleaseConflict, match="another event"):
        release(ledger, 0, event=GaussianRelease(999.0))
    assert ledger.balance("clinic", "visits").releases == 1


def test_another_state_under_one_id_is_fatal(ledger: Ledger) -> None:
    first = release(ledger, 0)
    with pytest.raises(ReleaseConflict, match="from another state"):
        release(ledger, 0, input_hash="other")
    with pytest.raises(ReleaseConflict, match="from another state"):
        ledger.stored(first.id, "other")


def test_bytes_are_deleted_after_the_last_acknowledgement_only(ledger: Ledger) -> None:
    first = release(ledger, 0, payload=b"a unique payload")
    assert ledger.acknowledge(first.id, "north") == ("south",)
    kept = ledger.stored(first.id, "state")
    assert kept is not None and kept.payload == b"a unique payload"
    assert ledger.acknowledge(first.id, "north") == ("south",)
    assert ledger.acknowledge(first.id, "south") == ()
    assert ledger.outstanding() == ()
    gone = ledger.stored(first.id, "state")
    assert gone is not None and gone.payload is None and gone.waiting == ()
    assert release(ledger, 0, payload=b"a unique payload") == gone
    with pytest.raises(ReleaseConflict):
        release(ledger, 0)
    ledger.close()
    assert b"a unique payload" not in ledger.path.read_bytes()


def test_only_recipients_acknowledge_and_only_releases(ledger: Ledger) -> None:
    first = release(ledger, 0)
    with pytest.raises(LedgerError, match="not to west"):
        ledger.acknowledge(first.id, "west")
    with pytest.raises(LedgerError, match="never released"):
        ledger.acknowledge(ReleaseId("clinic", "first", 9, "gradient"), "north")


def test_only_the_newest_state_of_a_run_is_kept(ledger: Ledger) -> None:
    first = release(ledger, 0)
    release(ledger, 1)
    older = ledger.stored(first.id, "state")
    assert older is not None and older.state is None and older.payload == b"noised"
    assert ledger.latest("clinic", "another") is None


def test_a_release_beyond_the_budget_is_refused_before_it_is_stored(ledger: Ledger) -> None:
    release(ledger, 0)
    mark = ledger.mark
    with pytest.raises(BudgetExceeded) as caught:
        release(ledger, 1, event=GaussianRelease(1.0))
    text = str(caught.value)
    would = accounting.epsilon([QUIET, GaussianRelease(1.0)], 1e-6)
    for part in ("'clinic'", "'visits'", "0.00", f"{would:.2f}"[:3], "budget is 1 at delta 1e-6"):
        assert part in text
    assert ledger.mark == mark
    assert ledger.stored(ReleaseId("clinic", "first", 1, "gradient"), "state") is None
    # a stored release is still repeated when nothing more can be afforded
    ledger.set_budget("clinic", "visits", epsilon=1e-9, delta=1e-6)
    assert release(ledger, 0).payload == b"noised"
    with pytest.raises(BudgetExceeded):
        release(ledger, 1)


def test_without_a_budget_nothing_is_released(ledger: Ledger) -> None:
    with pytest.raises(BudgetExceeded, match="no budget is set"):
        release(ledger, 0, dataset="others")
    with pytest.raises(LedgerError, match="no budget is set"):
        ledger.balance("clinic", "others")


def test_what_is_not_protected_exceeds_every_budget(ledger: Ledger) -> None:
    with pytest.raises(BudgetExceeded, match="would have become infinite"):
        release(ledger, 0, event=NonPrivate())


def test_a_run_calibrated_to_the_budget_fits_it_once(ledger: Ledger) -> None:
    z = noise_multiplier(1.0, 1e-6, lambda z: [Repeated(GaussianRelease(z), 5000)])
    events = [GaussianRelease(z)] * 5000
    charge = ledger.charge_run("first", {"clinic": events}, dataset="visits", study="visits 2026")
    assert not charge.repeated
    assert (
        charge.balances[0].spent == pytest.approx(1.0, abs=1e-9) and charge.balances[0].spent <= 1
    )
    assert charge.balances[0].releases == 5000
    with pytest.raises(BudgetExceeded, match="5,000 releases were not made"):
        ledger.charge_run("second", {"clinic": events}, dataset="visits")


def test_a_run_is_charged_for_all_owners_or_none(ledger: Ledger) -> None:
    ledger.set_budget("north", "visits", epsilon=0.01, delta=1e-6)
    mark = ledger.mark
    with pytest.raises(BudgetExceeded, match="'north'"):
        ledger.charge_run(
            "first", {"clinic": [QUIET] * 20, "north": [QUIET] * 20}, dataset="visits"
        )
    assert ledger.mark == mark
    assert [one.spent for one in ledger.balances()] == [0.0, 0.0]
    with pytest.raises(UnsupportedEvent):
        ledger.charge_run("first", {"clinic": [Event()]}, dataset="visits")


def test_the_same_records_are_charged_by_site_or_as_a_whole(ledger: Ledger) -> None:
    """What one record costs must not be spread over accounts that nobody adds up."""
    ledger.set_budget("north", "visits", epsilon=1.0, delta=1e-6)
    ledger.charge_run("first", {"clinic": [QUIET]}, dataset="visits", pooled=True)
    mark = ledger.mark
    with pytest.raises(LedgerError, match="'clinic'"):
        ledger.charge_run("second", {"clinic": [QUIET], "north": [QUIET]}, dataset="visits")
    with pytest.raises(LedgerError, match="clinic"):
        ledger.charge_run("second", {"north": [QUIET]}, dataset="visits", pooled=True)
    with pytest.raises(LedgerError, match="give one"):
        ledger.charge_run("x", {"clinic": [], "north": []}, dataset="visits", pooled=True)
    assert ledger.mark == mark
    ledger.close()
    with Ledger.open(ledger.path) as again:
        assert again.charge_run(
            "first", {"clinic": [QUIET]}, dataset="visits", pooled=True
        ).repeated
        again.set_budget("north", "others", epsilon=1.0, delta=1e-6)
        again.set_budget("all", "others", epsilon=1.0, delta=1e-6)
        again.charge_run("by site", {"north": [QUIET]}, dataset="others")
        with pytest.raises(LedgerError, match="north"):
            again.charge_run("whole", {"all": [QUIET]}, dataset="others", pooled=True)


def test_charging_a_run_again_adds_nothing(ledger: Ledger) -> None:
    events = [GaussianRelease(500.0), LaplaceRelease(100.0)] * 3
    first = ledger.charge_run("first", {"clinic": events}, dataset="visits", study="s")
    ledger.close()
    with Ledger.open(ledger.path) as again:
        grouped = [Repeated(LaplaceRelease(100.0), 3), Repeated(GaussianRelease(500.0), 3)]
        second = again.charge_run("first", {"clinic": grouped}, dataset="visits", study="s")
        assert second.repeated and second.sequence == first.sequence
        assert second.balances == first.balances
        with pytest.raises(ReleaseConflict, match="give a new run a new name"):
            again.charge_run("first", {"clinic": events[:1]}, dataset="visits", study="s")


def test_budgets_hold_across_studies_and_are_kept_on_record(ledger: Ledger) -> None:
    for i in range(3):
        ledger.charge_run(f"run {i}", {"clinic": [GaussianRelease(10.0)]}, dataset="visits")
    spent = ledger.balance("clinic", "visits").spent
    assert spent == pytest.approx(accounting.epsilon([Repeated(GaussianRelease(10.0), 3)], 1e-6))
    with pytest.raises(BudgetExceeded):
        ledger.check("clinic", "visits", [GaussianRelease(6.0)])
    ledger.set_budget("clinic", "visits", epsilon=4.0, delta=1e-6)
    ledger.check("clinic", "visits", [GaussianRelease(6.0)])
    before = ledger.mark
    ledger.set_budget("clinic", "visits", epsilon=4.0, delta=1e-6)
    assert ledger.mark == before, "the same budget again is no entry"
    ledger.set_budget("clinic", "visits", epsilon=0.1, delta=1e-6)
    assert ledger.balance("clinic", "visits").left == 0.0
    assert verify(ledger.path).sound, "a lowered budget is no overspending"


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [(0.0, 1e-6), (float("inf"), 1e-6), (float("nan"), 1e-6), (1.0, 1.0), (1.0, 1e-13)],
)
def test_a_budget_out_of_range(ledger: Ledger, epsilon: float, delta: float) -> None:
    with pytest.raises(PrivacyError):
        ledger.set_budget("clinic", "visits", epsilon=epsilon, delta=delta)


def test_names_and_numbers_must_be_given(ledger: Ledger) -> None:
    with pytest.raises(LedgerError, match="owner=''"):
        ledger.set_budget("", "visits", epsilon=1.0, delta=1e-6)
    with pytest.raises(LedgerError, match="round"):
        ReleaseId("clinic", "first", -1, "gradient")
    with pytest.raises(LedgerError, match="at least one recipient"):
        ledger.prepare(
            ReleaseId("clinic", "first", 0, "gradient"),
            QUIET,
            b"",
            input_hash="",
            dataset="visits",
            recipients=(),
        )


def test_a_second_writer_is_refused_at_once(ledger: Ledger) -> None:
    with pytest.raises(LedgerBusy, match="open for writing elsewhere"):
        Ledger.open(ledger.path)
    ledger.close()
    ledger.close()
    Ledger.open(ledger.path).close()
    with pytest.raises(LedgerError, match="is closed"):
        release(ledger, 0)


def test_a_writer_whose_epoch_was_taken_over_cannot_commit(ledger: Ledger) -> None:
    # as on a file system or a cloned machine where the lock does not reach
    ledger.path.with_name(ledger.path.name + ".lock").unlink()
    with Ledger.open(ledger.path) as newer:
        assert newer.epoch == ledger.epoch + 1
        with pytest.raises(LedgerBusy, match="taken over"):
            release(ledger, 0)
        with pytest.raises(LedgerError, match="closed after an error"):
            release(ledger, 0)
        release(newer, 0, payload=b"newer")
    assert verify(ledger.path).sound


def test_threads_share_one_ledger(ledger: Ledger) -> None:
    failures: list[BaseException] = []

    def work(first: int) -> None:
        try:
            for round in range(first, first + 10):
                one = release(ledger, round, payload=b"%d" % round)
                ledger.acknowledge(one.id, "north", "south")
        except BaseException as error:
            failures.append(error)

    # neighbouring threads share half of their rounds
    threads = [threading.Thread(target=work, args=(5 * i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert ledger.balance("clinic", "visits").releases == 35
    assert verify(ledger.path).sound


def test_a_forked_process_must_not_use_it(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    parent = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: parent + 1)
    with pytest.raises(LedgerError, match="forked"):
        release(ledger, 0)


def test_an_older_copy_is_refused_with_a_peers_number(ledger: Ledger) -> None:
    release(ledger, 0)
    ledger.close()
    copy = ledger.path.read_bytes()
    with Ledger.open(ledger.path) as later:
        release(later, 1)
        known = later.mark
        later.require(known)
    ledger.path.write_bytes(copy)
    with pytest.raises(LedgerRolledBack, match=f"a peer has seen entry {known.sequence}"):
        Ledger.open(ledger.path, at_least=known.sequence)
    assert not verify(ledger.path, at_least=known).sound
    # the number alone no longer tells once the copy has gone its own way; the mark does
    with Ledger.open(ledger.path) as forked:
        release(forked, 1, payload=b"a second answer")
        forked.require(known.sequence)
        with pytest.raises(LedgerRolledBack, match="gone another way"):
            forked.require(known)
        with pytest.raises(LedgerRolledBack):
            forked.require(Mark(10_000, known.hash))
    with pytest.raises(LedgerRolledBack):
        Ledger.open(ledger.path, at_least=known)
