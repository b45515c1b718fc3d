"""Whether and how a site starts depends on none of its records."""

from __future__ import annotations

from pathlib import Path

import jax
import numpy as np
import pytest

from tacit.deploy.agreement.declared import declared
from tacit.deploy.agreement.manifest import Manifest, agreed
from tacit.deploy.agreement.own import features, misfits, own_records
from tacit.deploy.identity import keys
from tacit.deploy.member.checking import Options
from tacit.deploy.operate.doctor import examine
from tacit.errors import ConfigError, ProblemError
from tacit.study.read import parse_study
from tests.sites import STUDY, a_manifest, member

RICH = STUDY.replace(
    "age = { lower = 0, upper = 100 }",
    "age = { lower = 0, upper = 100 }\n"
    'smoker = { levels = ["yes", "no"] }\n'
    'insured = { kind = "boolean" }\n'
    'dose = { lower = 0, upper = 1, missing = "middle" }',
)
COLUMNS = ["age", "smoker=yes", "smoker=no", "insured", "dose", "intercept"]
GOOD = "50,yes,1,0.5,yes"

# what the first of 20 records says, and the row that it becomes; None where it fits
RECORDS = {
    "all is well": ("50,yes,1,0.5,yes", [0.0, 1.0, 0.0, 1.0, 0.0, 1.0]),
    "beyond a bound": ("5000,yes,1,0.5,yes", [1.0, 1.0, 0.0, 1.0, 0.0, 1.0]),
    "missing, and filled": ("50,yes,1,,yes", [0.0, 1.0, 0.0, 1.0, 0.0, 1.0]),
    "missing, an error": (",yes,1,0.5,yes", None),
    "no number": ("old,yes,1,0.5,yes", None),
    "infinite": ("inf,yes,1,0.5,yes", None),
    "another level": ("50,perhaps,1,0.5,yes", None),
    "no truth value": ("50,yes,7,0.5,yes", None),
    "no target": ("50,yes,1,0.5,", None),
    "another target": ("50,yes,1,0.5,maybe", [0.0, 1.0, 0.0, 1.0, 0.0, 1.0]),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> list[keys.Keys]:
    folder = tmp_path_factory.mktemp("keys")
    return [
        keys.create(folder / name, name, f"127.0.0.1:{7410 + number}")
        for number, name in enumerate(("north", "south", "west"))
    ]


def between(made: list[keys.Keys], study: str = RICH) -> Manifest:
    return agreed(parse_study(study), COLUMNS, 0, [member(each) for each in made])


def table(folder: Path, first: str, rest: str = GOOD, count: int = 20) -> Path:
    path = folder / "records.csv"
    rows = [first, *[rest] * (count - 1)][:count]
    path.write_text("\n".join(["age,smoker,insured,dose,ill", *rows]) + "\n")
    return path


@pytest.mark.slow
@pytest.mark.parametrize("what", RECORDS)
def test_no_record_decides_whether_or_how_a_site_starts(
    made: list[keys.Keys], tmp_path: Path, capfd: pytest.CaptureFixture[str], what: str
) -> None:
    said, row = RECORDS[what]
    manifest, path = between(made), table(tmp_path, said)
    own = own_records(manifest, 0, path)
    assert features(manifest.source(tmp_path), path) == (tuple(COLUMNS), 0)
    assert own.features[0].tolist() == ([0.0] * len(COLUMNS) if row is None else row)
    assert (
        own.targets.tolist() == [float(row is not None and what != "another target")] + [1.0] * 19
    )
    with jax.enable_x64(True):
        alike, run = declared(manifest), declared(manifest, own, 0)
    assert jax.tree.map(jax.numpy.shape, run.plan) == jax.tree.map(jax.numpy.shape, alike.plan)
    assert run.guarantee == alike.guarantee
    assert "can be read as a table" in run.guarantee.sentence()
    assert capfd.readouterr() == ("", "")
    # an empty record contributes nothing, wherever the parameters are
    risk = run.objective
    assert risk is not None and risk.units == 20
    with jax.enable_x64(True):
        losses = [risk.losses(x) for x in np.random.default_rng(0).normal(size=(2, len(COLUMNS)))]
    assert (losses[0][0] == losses[1][0]) == (row is None)
    # only the owner is told, and only when it asks
    told = misfits(manifest, path)
    assert bool(told) == (row is None)
    assert not told or ("1 of 20 records" in told and "line 2" in told)


def test_a_site_may_have_no_positive_record_at_all(made: list[keys.Keys], tmp_path: Path) -> None:
    negative = GOOD.replace(",yes", ",no")
    for first in (negative, GOOD):
        own = own_records(between(made), 0, table(tmp_path, first, negative))
        assert own.targets.sum() == (first is GOOD)


def test_a_site_whose_number_of_records_is_private_may_have_none(
    made: list[keys.Keys], tmp_path: Path
) -> None:
    study = RICH.replace("clip = 1.0", 'clip = 1.0\nrelation = "add_remove"').replace(
        'loss = "logistic"', 'loss = "logistic"\nnormaliser = 20'
    )
    manifest = between(made, study)
    for count in (0, 1):
        own = own_records(manifest, 0, table(tmp_path, GOOD, count=count))
        assert np.any(own.features) == (count == 1)
        with jax.enable_x64(True):
            assert declared(manifest, own, 0).guarantee == declared(manifest).guarantee
    # whoever leaves out records that lack a value may be left with none
    dropping = study.replace('column = "ill"', 'column = "ill"\nmissing = "drop"')
    own = own_records(between(made, dropping), 0, table(tmp_path, "50,yes,1,0.5,", count=1))
    assert not np.any(own.features)


def test_what_is_no_record_is_still_refused(made: list[keys.Keys], tmp_path: Path) -> None:
    manifest, path = between(made), table(tmp_path, GOOD)
    path.write_text(path.read_text().replace("smoker", "smokes"))
    with pytest.raises(ConfigError, match="has no column 'smoker'"):
        own_records(manifest, 0, path)
    with pytest.raises(ProblemError, match="19 records, and the manifest says 20"):
        own_records(manifest, 0, table(tmp_path, GOOD, count=19))


@pytest.mark.parametrize("loss", ["logistic", "hinge", "poisson", "huber"])
def test_a_target_is_compared_with_the_loss_before_any_record_is_read(
    made: list[keys.Keys], loss: str
) -> None:
    study = STUDY.replace('positive = "yes"', "lower = -1\nupper = 1").replace(
        'loss = "logistic"', f'loss = "{loss}"'
    )
    if loss == "huber":
        a_manifest(made, study)
        return
    with pytest.raises(ConfigError, match=f"the loss {loss} needs"):
        a_manifest(made, study)


def test_the_doctor_tells_the_owner(made: list[keys.Keys], tmp_path: Path) -> None:
    manifest = between(made)
    for each in made:
        manifest = manifest.signed_by(each)
    (tmp_path / "run.toml").write_text(manifest.toml())
    for said, good in (("old,yes,1,0.5,yes", False), (GOOD, True)):
        options = Options(
            tmp_path / "run.toml", made[0].folder, tmp_path / "state", table(tmp_path, said)
        )
        found = {finding.what: finding for finding in examine(options)}
        assert found["agreement and records"].good
        assert found["each record"].good is good
