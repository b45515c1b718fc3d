"""What approved runs leave of a budget: what they were charged so far counts once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.errors import BudgetExceeded, LedgerError
from tacit.privacy.event import DiscreteGaussianRelease, Repeated
from tacit.privacy.ledger import Ledger, ReleaseId
from tacit.privacy.ledger.book import RECORD
from tacit.privacy.ledger.extract import cost
from tacit.privacy.ledger.forecast import forecast

EVENT = DiscreteGaussianRelease(8.0)
RUN, OTHER = "a" * 64, "b" * 64


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "ledger"
    with Ledger.create(path) as ledger:
        ledger.set_budget("north", "visits", epsilon=2.0, delta=1e-6)
        for number in range(3):
            ledger.prepare(
                ReleaseId("north", RUN, number, "step", 0),
                EVENT,
                b"noisy bytes",
                input_hash="0" * 64,
                dataset="visits",
                recipients=["south"],
            )
    return path


def test_charges_of_a_run_that_goes_on_count_once(path: Path) -> None:
    found = forecast(path, "north", "visits", {RUN: [EVENT] * 5}, [EVENT] * 2, RECORD)
    assert (found.epsilon, found.delta) == (2.0, 1e-6)
    assert found.spent == cost([EVENT] * 3, 1e-6)
    assert found.promised == cost([EVENT] * 5, 1e-6)
    assert found.after == cost([EVENT] * 7, 1e-6)


def test_a_run_that_was_charged_more_than_promised_takes_nothing_back(path: Path) -> None:
    found = forecast(path, "north", "visits", {RUN: [EVENT] * 2, OTHER: [EVENT]}, [], RECORD)
    assert found.promised == found.after == cost([EVENT] * 4, 1e-6)


def test_what_does_not_fit_is_refused_as_a_charge_would_be(path: Path) -> None:
    many = [Repeated(EVENT, 60)]
    assert forecast(path, "north", "visits", {}, many, None).after > 2.0
    with pytest.raises(BudgetExceeded, match="the budget is 2"):
        forecast(path, "north", "visits", {}, many, RECORD)
    with pytest.raises(BudgetExceeded, match="the budget is 2"):
        forecast(path, "north", "visits", {OTHER: many}, [EVENT], RECORD)
    with pytest.raises(LedgerError, match="neighbours of another kind"):
        forecast(path, "north", "visits", {}, [EVENT], "person")
    with pytest.raises(BudgetExceeded, match="no budget is set"):
        forecast(path, "north", "labs", {}, [], None)
