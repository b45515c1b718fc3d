"""A run that is given a ledger charges it before it begins, once, or does not begin."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import tacit
from tacit import DGD, DPSG, Privacy, Simulation, network, problem
from tacit._engine.planning import account
from tacit.cli import app
from tacit.data.partition import even
from tacit.data.schema import Prepared
from tacit.errors import (
    BudgetExceeded,
    ConfigError,
    EnvironmentMismatch,
    LedgerBusy,
    LedgerError,
    PrivacyError,
)
from tacit.privacy import epsilon
from tacit.privacy.ledger import Ledger
from tests.conformance.table import task
from tests.end_to_end.study import changed, write

OWNERS = ("north", "south", "east", "west")
METHOD = DPSG(step=0.1, privacy=Privacy(clip=1.0, epsilon=0.4, delta=1e-6))


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.create(tmp_path / "clinics.ledger") as made:
        for owner in OWNERS:
            made.set_budget(owner, "visits", epsilon=1.0, delta=1e-6)
        yield made


def go(ledger: Ledger, **changes: Any) -> Any:
    given = {"rounds": 5, "seed": 1, "ledger": ledger, "dataset": "visits"}
    method = changes.pop("method", METHOD)
    data = changes.pop("data", 0)
    return tacit.run(task(data, names=OWNERS), network.ring(4), method, **{**given, **changes})


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
        bare = tacit.run(task(0, names=OWNERS), network.ring(4), method, rounds=1, seed=1)
        charged = go(ledger, method=method, rounds=1)
        scale = next(each.noise_scale for each in charged.releases if each.noise_scale)
        # both answers hold the same gradient: what is left is the difference of two noises
        kept.append((charged.solutions - bare.solutions) / scale)
    assert np.abs(kept[0] - kept[1]).max() > 1e-3


@pytest.mark.long
def test_what_cannot_be_compared_is_charged_at_every_start(ledger: Ledger) -> None:
    data = [0.0]

    def cost(x: Any, agent: int) -> float:
        return float(np.sum((x - agent - data[0]) ** 2))

    watched = problem.black_box_problem(cost, 4, x0=np.zeros(2), names=OWNERS)
    method = tacit.DZOA(privacy=Privacy(clip=1.0, epsilon=0.3, delta=1e-6))
    given = {"rounds": 2, "seed": 1, "ledger": ledger, "dataset": "visits"}
    for _ in range(2):
        before = ledger.balances()[0].spent
        done = tacit.run(watched, network.ring(4), method, **given)
        assert done.charge is not None and not done.charge.repeated
        assert ledger.balances()[0].spent > before
        data[0] += 5.0


def test_a_tacit_that_was_edited_is_charged_at_every_start(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was loaded anew in a notebook, and what was not, cannot be told from the files."""
    first = go(ledger)
    monkeypatch.setattr("tacit._engine.environment._LOADED", "what the process began with")
    again, third = go(ledger), go(ledger)
    assert not again.charge.repeated and not third.charge.repeated
    assert ledger.balances()[0].runs == 3
    assert not (again.solutions == first.solutions).all()
    assert not (again.solutions == third.solutions).all()


@pytest.mark.long
@pytest.mark.parametrize(
    ("where", "value"),
    [
        ("tacit._engine.environment.versions", lambda: {"tacit": "0.1.0"}),
        ("tacit._engine.environment.os.cpu_count", lambda: 3),
        ("tacit._engine.identity.processor", lambda: "of another kind"),
        ("tacit._engine.identity.source_digest", lambda: "of other code"),
    ],
    ids=["version", "machine", "processor", "code"],
)
def test_a_checkpoint_from_elsewhere_is_refused_and_the_run_begun_afresh_is_charged(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, value: Any
) -> None:
    """What is refused costs nothing; what begins afresh has noise of its own."""
    path = tmp_path / "run.npz"
    first = go(ledger, checkpoint=path)
    assert go(ledger, checkpoint=path).charge.repeated
    spent = ledger.balances()
    monkeypatch.setattr(where, value)
    with pytest.raises(EnvironmentMismatch, match="version or machine; delete it to start afresh"):
        go(ledger, checkpoint=path)
    assert ledger.balances() == spent
    path.unlink()
    again = go(ledger, checkpoint=path)
    assert not again.charge.repeated and ledger.balances()[0].runs == 2
    assert not (again.solutions == first.solutions).all()


_LOSS = """
from typing import ClassVar

from tacit.problem.losses import AbstractScalarLoss


def slope(scores, targets):
    return 2.0 * (scores - targets)


class Own(AbstractScalarLoss):
    smooth: ClassVar[bool] = True
    convex: ClassVar[bool] = True
    curvature: ClassVar[float] = 2.0

    def encode(self, targets, where):
        return targets

    def value(self, scores, targets):
        return (scores - targets) ** 2

    def derivative(self, scores, targets):
        return slope(scores, targets)
"""

_METHOD = """
from tacit import DPSG


def start(x0):
    return x0


class Own(DPSG):
    def init(self, role, x0, degree):
        return super().init(role, start(x0), degree)
"""


def _written(folder: Path, text: str) -> ModuleType:
    """The module of a user, as a process that was started after its file was saved has it."""
    file = folder / "own.py"
    file.write_text(text)
    spec = importlib.util.spec_from_file_location("own", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.long
@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        pytest.param(
            *(_LOSS, "return slope(scores, targets)", "return 0.0 * scores"),
            id="loss",
            marks=pytest.mark.long,
        ),
        pytest.param(_LOSS, "2.0 * (scores", "0.0 * (scores", id="function that a loss calls"),
        pytest.param(
            *(_METHOD, "start(x0), degree", "start(x0) + 1.0, degree"),
            id="method",
            marks=pytest.mark.long,
        ),
        pytest.param(_METHOD, "return x0", "return x0 + 1.0", id="function that a method calls"),
    ],
)
def test_edited_code_draws_fresh_noise_and_is_charged_again(
    ledger: Ledger, tmp_path: Path, text: str, before: str, after: str
) -> None:
    """With the same noise, two releases would differ by a private answer without any."""
    charged: list[Any] = []
    plain: list[Any] = []
    for written in (text, text.replace(before, after)):
        own = _written(tmp_path, written).Own
        budget = Privacy(clip=1.0, epsilon=0.3, delta=1e-6)
        method = DPSG(step=0.1, privacy=budget)
        posed = task(0, names=OWNERS)
        if text is _METHOD:
            method = own(step=0.1, privacy=budget)
        else:
            x = [np.eye(3) * (k + 1.0) for k in range(4)]
            y = [np.arange(3.0) for _ in range(4)]
            posed = problem.empirical_risk(x, y, own(), names=OWNERS)
        given = {"rounds": 1, "seed": 1}
        plain.append(tacit.run(posed, network.ring(4), method, **given))
        charged.append(
            tacit.run(posed, network.ring(4), method, **given, ledger=ledger, dataset="visits")
        )
    assert [each.charge.repeated for each in charged] == [False, False]
    noise = [one.solutions - other.solutions for one, other in zip(charged, plain, strict=True)]
    assert np.abs(noise[0] - noise[1]).max() > 1e-3


def test_a_checkpoint_does_not_carry_noise_into_or_out_of_a_charge(
    ledger: Ledger, tmp_path: Path
) -> None:
    """Noise from a seed is no secret, and a second draw of the same rounds is a second release."""
    path = tmp_path / "run.npz"
    given = {"rounds": 5, "seed": 1, "checkpoint": path}
    tacit.run(task(0, names=OWNERS), network.ring(4), METHOD, **given)
    with pytest.raises(EnvironmentMismatch):
        go(ledger, checkpoint=path)
    path.unlink()
    first = go(ledger, checkpoint=path)
    with pytest.raises(EnvironmentMismatch):
        tacit.run(task(0, names=OWNERS), network.ring(4), METHOD, **given)
    again = go(ledger, checkpoint=path)
    assert again.charge.repeated and np.array_equal(again.solutions, first.solutions)


def _dealt(seed: int, names: Sequence[str] | None = None) -> Any:
    """One table dealt to four made-up sites."""
    rng = np.random.default_rng(0)
    table = Prepared(rng.uniform(-1, 1, size=(40, 3)), (rng.random(40) < 0.5) * 1.0, tuple("abc"))
    sites = even(table, 4, seed)
    return problem.empirical_risk(
        sites.features, sites.targets, problem.Logistic(), names=names or sites.names
    )


def test_names_do_not_make_owners_of_sites_to_which_records_are_dealt(ledger: Ledger) -> None:
    """In the next run a record may be another's, whose account does not know what it cost."""
    with pytest.raises(ConfigError, match="owner="):
        tacit.run(
            _dealt(0, OWNERS), network.ring(4), METHOD, rounds=5, ledger=ledger, dataset="visits"
        )
    assert all(each.spent == 0.0 for each in ledger.balances())


@pytest.mark.long
def test_records_dealt_to_sites_anew_are_charged_to_one_account(ledger: Ledger) -> None:
    """An account for each site would not see a record that stood at another one before."""
    given = {"rounds": 5, "seed": 1, "ledger": ledger, "dataset": "all"}
    loose = DPSG(step=0.1, privacy=Privacy(clip=1.0, epsilon=0.2, delta=1e-6))
    with pytest.raises(ConfigError, match="owner="):
        tacit.run(_dealt(0), network.ring(4), METHOD, **given)
    ledger.set_budget("consortium", "all", epsilon=1.0, delta=1e-6)
    for seed, method in ((0, METHOD), (1, loose)):
        tacit.run(_dealt(seed), network.ring(4), method, **given, owner="consortium")
    runs = [account(_dealt(0), network.ring(4), m, rounds=5).events for m in (METHOD, loose)]
    # a record at site 0 in the first study and at site 1 in the second
    both = [*runs[0][0], *runs[1][1]]
    assert ledger.balance("consortium", "all").spent == pytest.approx(epsilon(both, 1e-6))


@pytest.mark.long
def test_a_study_of_made_up_sites_names_one_account(tmp_path: Path) -> None:
    write(tmp_path)
    charged = '[privacy]\nledger = "a.ledger"\ndataset = "visits"'
    made_up = changed("[privacy]", charged).replace(
        'by = "column"\ncolumn = "site"', 'by = "even"\nsites = 4'
    )
    study = tmp_path / "study.toml"
    study.write_text(made_up)
    runner = CliRunner()
    found = runner.invoke(app, ["run", str(study)])
    assert found.exit_code == 2 and "owner = '...'" in " ".join(found.output.split())
    with Ledger.create(tmp_path / "a.ledger") as made:
        made.set_budget("clinic", "visits", epsilon=2.5, delta=1e-6)
    study.write_text(made_up.replace(charged, charged + '\nowner = "clinic"'))
    found = runner.invoke(app, ["run", str(study), "--output", str(tmp_path / "out")])
    assert found.exit_code == 0, found.output
    (row,) = json.loads((tmp_path / "out" / "result.json").read_text())["ledger"]["balances"]
    assert row["owner"] == "clinic" and row["spent"] > 0


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


@pytest.mark.long
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
