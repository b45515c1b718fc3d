"""What a site is charged is what it was promised, release by release."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from typer.testing import CliRunner

from tacit._engine.agent_step import At
from tacit.cli import app
from tacit.data.schema import Prepared
from tacit.deploy.agreement import declared as laying_out
from tacit.deploy.agreement.declared import Declared, charges, declared, releases
from tacit.deploy.identity import keys
from tacit.deploy.member.checking import Options
from tacit.deploy.member.paying import account_of
from tacit.errors import ConfigError, PrivacyError
from tacit.method import DPSG, Phase
from tacit.privacy import accounting
from tacit.privacy.event import Repeated
from tacit.privacy.ledger import Ledger, ReleaseId
from tacit.privacy.sensitivity import ClippedGradient
from tests.sites import STUDY, a_manifest, member

PEERS = "clip = 1.0"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> list[keys.Keys]:
    folder = tmp_path_factory.mktemp("keys")
    return [keys.create(folder / name, name, f"{name}.example:7447") for name in "abcd"]


def laid_out(made: list[keys.Keys], study: str) -> Declared:
    with jax.enable_x64(True):
        return declared(a_manifest(made, study))


@pytest.mark.parametrize("more", ["", "\nrecords_per_person = 3", '\nnoise = "laplace"'])
def test_all_releases_together_cost_what_is_promised(made: list[keys.Keys], more: str) -> None:
    run = laid_out(made, STUDY.replace(PEERS, PEERS + more))
    promised = run.guarantee[0]
    _, events = releases(run, 0)
    assert list(events) == [0]
    each = [Repeated(events[0], run.schedule.rounds)]
    assert accounting.epsilon(each, promised.delta) == pytest.approx(promised.epsilon, rel=1e-6)
    assert accounting.epsilon(charges(run, 0), promised.delta) == pytest.approx(promised.epsilon)
    assert promised.epsilon == pytest.approx(4.0, rel=1e-3) and promised.epsilon <= 4.0


def test_a_run_is_charged_to_one_dataset(made: list[keys.Keys], tmp_path: Path) -> None:
    run, path = laid_out(made, STUDY), tmp_path / "ledger"
    with Ledger.create(path) as ledger:
        for dataset in ("visits", "other"):
            ledger.set_budget("a", dataset, epsilon=9.0, delta=1e-6)
    options = Options(tmp_path, tmp_path, tmp_path, ledger=path, dataset="visits")
    with account_of(options, path, run, 0, nobody=False) as account:
        assert account is not None
        id = ReleaseId("a", run.manifest.run.hex(), 1, "gradient")
        event = releases(run, 0)[1][0]
        account.ledger.prepare(
            id, event, b"1", input_hash="", dataset=account.dataset, recipients=["b"]
        )
    with account_of(options, path, run, 0, nobody=False):
        pass
    other = account_of(replace(options, dataset="other"), path, run, 0, nobody=False)
    with (
        pytest.raises(ConfigError, match=r"--dataset other: .* 'visits' .* --dataset visits"),
        other,
    ):
        pass


def test_a_manifest_does_not_tell_a_smaller_cost(made: list[keys.Keys], tmp_path: Path) -> None:
    manifest = a_manifest(made, STUDY.replace("epsilon = 4.0", "epsilon = 1.00049"))
    (tmp_path / "run.toml").write_text(manifest.toml())
    said = CliRunner().invoke(app, ["manifest", "check", str(tmp_path / "run.toml")]).output
    rows = [line for line in said.splitlines() if ".example:7447" in line]
    assert rows and all(" 1.001 " in row for row in rows), said


def test_noise_for_several_records_of_one_person_is_that_much_larger(
    made: list[keys.Keys],
) -> None:
    one = laid_out(made, STUDY)
    three = laid_out(made, STUDY.replace(PEERS, PEERS + "\nrecords_per_person = 3"))
    ratio = three.plan.scales[0][0] / one.plan.scales[0][0]
    assert float(ratio) == pytest.approx(3.0, rel=1e-2)


def test_shapes_do_not_depend_on_a_private_number_of_records(
    made: list[keys.Keys],
) -> None:
    study = STUDY.replace(PEERS, PEERS + '\nrelation = "add_remove"').replace(
        'loss = "logistic"', 'loss = "logistic"\nnormaliser = 20'
    )
    manifest = a_manifest(made, study)
    with jax.enable_x64(True):
        few, many = (
            declared(
                manifest, Prepared(np.ones((count, 2)), np.zeros(count), ("age", "intercept")), 0
            )
            for count in (3, 20)
        )
    shapes = [jax.tree.map(np.shape, (run.plan, run.objective)) for run in (few, many)]
    assert shapes[0] == shapes[1]
    assert float(few.plan.scales[0][0]) == float(many.plan.scales[0][0])


@pytest.mark.parametrize(
    ("graph", "method", "phase", "size"),
    [
        ("ring", 'name = "d-zoa"\nestimator = "scalar"', 0, 1),
        ("ring", 'name = "d-zoa"', 0, 2),
        ("coordinator", 'name = "or-zo"\nstep = 0.1\ndirections = 5', 1, 5),
        ("coordinator", 'name = "zoo-admm"\nstep = 0.1\ndirections = 3', 1, 3),
    ],
)
def test_noise_is_made_for_as_many_numbers_as_an_answer_has(
    made: list[keys.Keys], graph: str, method: str, phase: int, size: int
) -> None:
    study = STUDY.replace('name = "dpsg"\nstep = 0.5', method)
    change: dict[str, Any] = {}
    if graph == "coordinator":
        study = study.replace('graph = "ring"', 'graph = "coordinator"')
        change["coordinator"] = member(made[3])
    with jax.enable_x64(True):
        run = declared(a_manifest(made, study, **change))
    noised, _ = releases(run, 0)
    assert noised[phase](np.zeros(size), At(0, phase)).shape == (size,)
    with pytest.raises(PrivacyError, match="grid"):
        noised[phase](np.zeros(size + 1), At(0, phase))


class OwnRate(DPSG):
    """It asks a sample of the records, of which its budget says nothing."""

    def phases(self) -> tuple[Phase, ...]:
        [phase] = super().phases()
        query = phase.query
        assert isinstance(query, ClippedGradient)
        return (replace(phase, query=ClippedGradient(query.point, query.clip, rate=0.5)),)


@pytest.mark.parametrize("grid", [True, False])
def test_no_query_asks_a_sample_whatever_the_budget_says(
    made: list[keys.Keys], monkeypatch: pytest.MonkeyPatch, grid: bool
) -> None:
    def build(*given: Any) -> OwnRate:
        return OwnRate(step=0.1, privacy=built(*given).privacy)

    built = laying_out.build_method
    monkeypatch.setattr(laying_out, "build_method", build)
    study = STUDY.replace(PEERS, PEERS + '\nrelation = "add_remove"').replace(
        'loss = "logistic"', 'loss = "logistic"\nnormaliser = 20'
    )
    with (
        jax.enable_x64(True),
        pytest.raises(ConfigError, match=r"sampling=0\.5 \(phase 'iterate'\).*rate of queries"),
    ):
        declared(a_manifest(made, study), grid=grid)
