"""How many records a site has is told where it is public, and nowhere else."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import jax
import pytest
from typer.testing import CliRunner

from tacit.cli import app
from tacit.deploy.agreement.declared import check_secure, declared
from tacit.deploy.agreement.manifest import Manifest, agreed
from tacit.deploy.agreement.own import own_records
from tacit.deploy.identity import keys
from tacit.deploy.operate.rehearse import prepare
from tacit.errors import ProblemError
from tacit.study.read import parse_study
from tests.sites import STUDY, a_manifest, member, records

ADD_REMOVE = STUDY.replace("clip = 1.0", 'clip = 1.0\nrelation = "add_remove"').replace(
    'loss = "logistic"', 'loss = "logistic"\nnormaliser = 20'
)
WHOLE_AGENT = STUDY.replace(
    '"dpsg"\nstep = 0.5', '"fedavg"\nstep = 0.5\nrelease = "update"'
).replace('"ring"', '"coordinator"')
PRIVATE = pytest.mark.parametrize("study", [ADD_REMOVE, WHOLE_AGENT], ids=["add/remove", "agent"])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> list[keys.Keys]:
    folder = tmp_path_factory.mktemp("keys")
    names = ("north", "south", "west", "hub")
    return [keys.create(folder / n, n, f"127.0.0.1:{7400 + k}") for k, n in enumerate(names)]


def between(made: list[keys.Keys], study: str) -> Manifest:
    if study is not WHOLE_AGENT:
        return a_manifest(made, study)
    members = [member(each, "") for each in made[:3]]
    return agreed(parse_study(study), ["age", "intercept"], 0, members, member(made[3]))


@PRIVATE
def test_a_site_may_have_fewer_records_than_it_declares_where_their_number_is_private(
    made: list[keys.Keys], tmp_path: Path, study: str
) -> None:
    manifest = between(made, study)
    assert len(own_records(manifest, 0, records(tmp_path, 17)).targets) == 17
    with pytest.raises(ProblemError, match="never to exceed") as refused:
        own_records(manifest, 0, records(tmp_path, 23))
    assert "23 records" not in str(refused.value)
    fewer = own_records(manifest, 0, records(tmp_path, 17))
    with jax.enable_x64(True):
        alike, own = declared(manifest), declared(manifest, fewer, 0)
    # neither shapes nor noise nor the promise tells that it has fewer
    assert jax.tree.map(jax.numpy.shape, own.plan) == jax.tree.map(jax.numpy.shape, alike.plan)
    assert own.objective is not None and own.objective.units == 20
    assert all((a == b).all() for a, b in zip(own.plan.scales, alike.plan.scales, strict=True))
    assert own.guarantee == alike.guarantee
    assert "records of every owner is public" not in own.guarantee.sentence()


@pytest.mark.long
def test_what_others_declare_takes_no_memory(made: list[keys.Keys], tmp_path: Path) -> None:
    most = 10**9
    study = STUDY.replace("delta = 1e-6", "delta = 1e-12")
    members = [member(each) for each in made[:3]]
    members[2] = members[2].model_copy(update={"records": most})
    manifest = agreed(parse_study(study), ["age", "intercept"], 0, members)
    own = own_records(manifest, 0, records(tmp_path))
    tracemalloc.start()
    try:
        with jax.enable_x64(True):
            alike, run = declared(manifest), declared(manifest, own, 0)
            check_secure(run)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 50e6
    assert max(leaf.size for leaf in jax.tree.leaves(run.plan) if hasattr(leaf, "size")) < 1000
    assert alike.objective is None and run.objective is not None
    # own rows, and what is declared of all
    assert run.objective.units == 20 and float(run.objective.normaliser) == 20.0
    assert run.problem.counts.tolist() == [20, 20, most]
    assert run.problem.normaliser.tolist() == [20.0, 20.0, float(most)]
    assert run.plan.records.tolist() == [20, 20, most]


def test_a_rehearsal_with_a_seed_has_the_shapes_of_the_simulation(
    made: list[keys.Keys], tmp_path: Path
) -> None:
    members = [member(each) for each in made[:3]]
    members[2] = members[2].model_copy(update={"records": 33})
    manifest = agreed(parse_study(STUDY), ["age", "intercept"], 0, members)
    own = own_records(manifest, 0, records(tmp_path))
    with jax.enable_x64(True):
        found = [declared(manifest, own, 0, grid=grid).objective for grid in (True, False)]
    assert [each.units for each in found if each is not None] == [20, 33]


@pytest.mark.long
@PRIVATE
def test_the_manifest_says_that_declared_numbers_are_bounds(
    made: list[keys.Keys], tmp_path: Path, study: str
) -> None:
    path = tmp_path / "run.toml"
    path.write_text(between(made, study).toml())
    said = CliRunner().invoke(app, ["manifest", "check", str(path)])
    assert "most)" in said.output
    found = json.loads(CliRunner().invoke(app, ["manifest", "check", str(path), "--json"]).output)
    assert found["records_exact"] is False


def test_numbers_that_a_manifest_publishes_are_among_the_assumptions(
    made: list[keys.Keys],
) -> None:
    with jax.enable_x64(True):
        stated = declared(between(made, STUDY)).guarantee
    assert "the number of records of every owner is public" in stated[0].assumptions
    normalised = STUDY.replace('loss = "logistic"', 'loss = "logistic"\nnormaliser = 20')
    with jax.enable_x64(True):
        stated = declared(between(made, normalised)).guarantee
    assert "the number of records of every owner is public" in stated[0].assumptions


def test_a_rehearsal_declares_rounded_numbers_where_the_exact_ones_are_private(
    tmp_path: Path,
) -> None:
    text = ADD_REMOVE.replace('by = "column"\ncolumn = "site"', 'by = "even"\nsites = 3')
    text = text.replace("records.csv", records(tmp_path, 60).name)
    rehearsal = prepare(parse_study(text, folder=tmp_path), tmp_path / "run")
    assert [each.records for each in rehearsal.manifest.agents] == [32] * 3
