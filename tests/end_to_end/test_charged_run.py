"""A run that is given a ledger charges it before it begins, once, or does not begin."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import tacit
from tacit import DGD, DPSG, Privacy, Simulation, network, problem
from tacit.cli import app
from tacit.errors import BudgetExceeded, ConfigError, LedgerBusy, LedgerError, PrivacyError
from tacit.privacy.ledger import Ledger
from tests.conformance.table import task
from tests.end_to_end.study import changed, write

METHOD = DPSG(step=0.1, privacy=Privacy(clip=1.0, epsilon=0.4, delta=1e-6))


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.create(tmp_path / "clinics.ledger") as made:
        for owner in task(0).names:
            made.set_budget(str(owner), "visits", epsilon=1.0, delta=1e-6)
        yield made


def go(ledger: Ledger, **changes: Any) -> Any:
    given = {"rounds": 5, "seed": 1, "ledger": ledger, "dataset": "visits"}
    method = changes.pop("method", METHOD)
    data = changes.pop("data", 0)
    return tacit.run(task(data), network.ring(4), method, **{**given, **changes})


def test_every_owner_is_charged_what_the_guarantee_says(ledger: Ledger) -> None:
    result = go(ledger)
    assert result.charge is not None and not result.charge.repeated
    for balance, guarantee in zip(ledger.balances(), result.guarantee, strict=True):
        assert balance.spent == pytest.approx(guarantee.epsilon, rel=1e-9)
        assert balance.releases == guarantee.releases == 5


def test_the_same_run_again_costs_nothing_and_any_other_does(ledger: Ledger) -> None:
    first = go(ledger)
    again = go(ledger)
    assert again.charge.repeated and again.charge.sequence == first.charge.sequence
    assert (again.solutions == first.solutions).all()
    # other noise, or the same noise on other data, is another release
    for change in ({"seed": 2}, {"data": 5}):
        before = ledger.balances()[0].spent
        assert not go(ledger, **change).charge.repeated
        assert ledger.balances()[0].spent > before


def test_two_charged_runs_share_no_noise_whatever_their_seeds(ledger: Ledger) -> None:
    """Of one seed and two noise scales, noise and private answer could be solved for."""
    small = DPSG(step=0.1, privacy=Privacy(clip=1.0, epsilon=0.2, delta=1e-6))
    kept = []
    for method in (METHOD, small):
        bare = tacit.run(task(0), network.ring(4), method, rounds=1, seed=1)
        charged = go(ledger, method=method, rounds=1)
        scale = next(each.noise_scale for each in charged.releases if each.noise_scale)
        # both answers hold the same gradient: what is left is the difference of two noises
        kept.append((charged.solutions - bare.solutions) / scale)
    assert np.abs(kept[0] - kept[1]).max() > 1e-3


def test_what_cannot_be_compared_is_charged_at_every_start(ledger: Ledger) -> None:
    data = [0.0]

    def cost(x: Any, agent: int) -> float:
        return float(np.sum((x - agent - data[0]) ** 2))

    watched = problem.black_box_problem(cost, 4, x0=np.zeros(2), names=list(task(0).names))
    method = tacit.DZOA(privacy=Privacy(clip=1.0, epsilon=0.3, delta=1e-6))
    given = {"rounds": 2, "seed": 1, "ledger": ledger, "dataset": "visits"}
    for _ in range(2):
        before = ledger.balances()[0].spent
        done = tacit.run(watched, network.ring(4), method, **given)
        assert done.charge is not None and not done.charge.repeated
        assert ledger.balances()[0].spent > before
        data[0] += 5.0


def test_epsilons_about_different_neighbours_are_not_added_up(ledger: Ledger) -> None:
    go(ledger)
    mark = ledger.mark
    added = Privacy(clip=1.0, epsilon=0.1, delta=1e-6, relation="add_remove")
    with pytest.raises(LedgerError, match=r"of another kind \(record, add_remove\)"):
        go(ledger, method=DPSG(step=0.1, privacy=added))
    assert ledger.mark == mark


def test_a_run_that_is_not_paid_for_does_not_begin(ledger: Ledger) -> None:
    go(ledger)
    begun: list[int] = []
    mark = ledger.mark
    with pytest.raises(BudgetExceeded, match=r"dataset 'visits'.*were not made"):
        go(
            ledger,
            seed=2,
            method=DPSG(step=0.1, privacy=Privacy(clip=1.0, epsilon=0.95)),
            progress=lambda done, total: begun.append(done),
        )
    assert begun == [] and ledger.mark == mark


@pytest.mark.parametrize(
    ("error", "match", "changes"),
    [
        (ConfigError, "give dataset=", {"dataset": ""}),
        (ConfigError, "trials=2 would release", {"runtime": Simulation(trials=2)}),
        (PrivacyError, "proved guarantees only", {"method": DGD(step=0.1)}),
        (BudgetExceeded, "no budget is set", {"dataset": "other"}),
    ],
)
def test_what_a_ledger_refuses(
    ledger: Ledger, error: type[Exception], match: str, changes: dict[str, Any]
) -> None:
    mark = ledger.mark
    with pytest.raises(error, match=match):
        go(ledger, **changes)
    assert ledger.mark == mark


def test_the_name_of_a_run_cannot_be_guessed_from_its_data(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "a.ledger") as one, Ledger.create(tmp_path / "b.ledger") as two:
        assert one.run_name("digest") == one.run_name("digest") != one.run_name("other")
        assert one.run_name("digest") != two.run_name("digest")


def test_a_study_names_its_ledger(tmp_path: Path) -> None:
    study = write(tmp_path)
    book = tmp_path / "clinics.ledger"
    with Ledger.create(book) as made:
        for owner in ("north", "south", "east", "west"):
            made.set_budget(owner, "visits", epsilon=2.5, delta=1e-6)
    study.write_text(
        changed("[privacy]", '[privacy]\nledger = "clinics.ledger"\ndataset = "visits"')
    )
    runner = CliRunner()
    found = runner.invoke(app, ["run", str(study), "--output", str(tmp_path / "one")])
    assert found.exit_code == 0, found.output
    assert "The ledger was charged before the run" in found.output
    document = json.loads((tmp_path / "one" / "result.json").read_text())
    assert {each["dataset"] for each in document["ledger"]["balances"]} == {"visits"}

    with Ledger.open(book):
        found = runner.invoke(app, ["run", str(study), "--output", str(tmp_path / "two")])
    assert found.exit_code == 1 and not (tmp_path / "two").exists()
    assert LedgerBusy.__name__ not in found.output and "error:" in found.output

    study.write_text(changed("[privacy]", '[privacy]\nledger = "clinics.ledger"'))
    found = runner.invoke(app, ["run", str(study), "--output", str(tmp_path / "two")])
    assert found.exit_code == 2 and "give both" in found.output
