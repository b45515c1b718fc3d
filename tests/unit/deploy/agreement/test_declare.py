"""What to declare of one's records is told before anybody signs; rehearsals take what runs do."""

from __future__ import annotations

import json
from pathlib import Path

import jax
import pytest
from typer.testing import CliRunner

from tacit.cli import app
from tacit.deploy.agreement.declare import count
from tacit.deploy.agreement.declared import declared
from tacit.deploy.agreement.manifest import agreed
from tacit.deploy.agreement.own import own_records
from tacit.deploy.identity import keys
from tacit.deploy.operate.rehearse import prepare
from tacit.study.read import parse_study
from tests.sites import STUDY, a_manifest, member

DROPPING = STUDY.replace("upper = 100 }", 'upper = 100, missing = "drop" }')
ROWS = ["50,yes", ",no", "61,no", "old,yes", ",yes", "33,no"]


def table(folder: Path, rows: list[str] = ROWS) -> Path:
    path = folder / "own.csv"
    path.write_text("\n".join(["age,ill", *rows]) + "\n")
    return path


def test_the_number_that_remains_is_the_one_that_a_run_takes(tmp_path: Path) -> None:
    found = count(parse_study(DROPPING), table(tmp_path))
    assert (found.declare, found.exact, found.records, found.dropped) == (4, True, 4, 2)
    assert "1 of 4 records do not fit" in found.unfit and "line 5" in found.unfit
    made = [keys.create(tmp_path / n, n, f"127.0.0.1:{7400 + k}") for k, n in enumerate("abc")]
    members = [member(each).model_copy(update={"records": found.declare}) for each in made]
    manifest = agreed(parse_study(DROPPING), ["age", "intercept"], 0, members)
    assert len(own_records(manifest, 0, table(tmp_path)).targets) == found.declare


def test_bounds_that_hold_no_value_are_told_to_the_owner_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    far = table(tmp_path, ["1950,yes", "1961,no", "1933,no"])
    made = [keys.create(tmp_path / n, n, f"127.0.0.1:{7400 + k}") for k, n in enumerate("abc")]
    members = [member(each).model_copy(update={"records": 3}) for each in made]
    manifest = agreed(parse_study(STUDY), ["age", "intercept"], 0, members)
    assert len(own_records(manifest, 0, far).targets) == 3  # nobody learns it from a refusal
    assert "no value of age lies between the declared bounds" in caplog.text
    caplog.clear()
    own_records(manifest, 0, table(tmp_path, ["1950,yes", "61,no", "1933,no"]))
    assert not caplog.text
    (tmp_path / "study.toml").write_text(STUDY)
    words = ["check", str(tmp_path / "study.toml"), "--data", str(far)]
    table(tmp_path, ["1950,yes", "1961,no", "1933,no"])
    assert "NOTE: no value of age lies between the bounds" in CliRunner().invoke(app, words).output


def test_what_looks_odd_is_told_to_the_owner_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pain = '[data.features.pain]\nlevels = ["mild", "severe"]\nmissing = "drop"\n\n'
    study = STUDY.replace("[data.target]", f"{pain}[data.target]")
    rows = ["50,mild,yes", "61,Mild,no", "999,severe,no", "33,mild,no"]
    own = tmp_path / "own.csv"
    own.write_text("\n".join(["age,pain,ill", *rows]) + "\n")
    (tmp_path / "study.toml").write_text(study)
    words = ["check", str(tmp_path / "study.toml"), "--data", str(own)]
    said = CliRunner().invoke(app, words).output
    assert "999 of age is far outside" in said and 'missing_values = ["999"] in [data]' in said
    assert "levels of pain differ only in case" in said and 'map = { "Mild" = "mild" }' in said
    assert "999" not in caplog.text
    coded = study.replace("[data.features]", 'missing_values = ["999"]\n\n[data.features]')
    assert count(parse_study(coded), own).far == {}


def test_a_private_number_is_rounded_up(tmp_path: Path) -> None:
    study = DROPPING.replace("clip = 1.0", 'clip = 1.0\nrelation = "add_remove"').replace(
        'loss = "logistic"', 'loss = "logistic"\nnormaliser = { north = 4, south = 9 }'
    )
    found = count(parse_study(study), table(tmp_path, [*ROWS, "40,no"]))
    assert (found.declare, found.exact, found.records) == (8, False, 5)
    assert count(parse_study(study), table(tmp_path, [])).declare == 1


def test_the_guarantee_needs_no_records(tmp_path: Path) -> None:
    study = DROPPING.replace("[data.features]", 'assumed = ["ages are public"]\n[data.features]')
    made = [keys.create(tmp_path / n, n, f"127.0.0.1:{7400 + k}") for k, n in enumerate("abc")]
    members = [member(each).model_copy(update={"records": 4}) for each in made]
    manifest = agreed(parse_study(study), ["age", "intercept"], 0, members)
    own = own_records(manifest, 0, table(tmp_path))
    with jax.enable_x64(True):
        known, mine = (declared(manifest, each).guarantee[0] for each in (None, own))
    assert known == mine
    assert "ages are public" in known.assumptions
    assert any("without a value in column age were left out" in each for each in known.assumptions)
    # and what preparing the records assumes is among them
    assert set(own.assumptions) <= set(known.assumptions)


def test_a_pattern_of_columns_is_named_as_it_is_declared(tmp_path: Path) -> None:
    study = DROPPING.replace("age =", '"a*" =')
    made = [keys.create(tmp_path / n, n, f"127.0.0.1:{7400 + k}") for k, n in enumerate("abc")]
    manifest = agreed(parse_study(study), ["age", "intercept"], 0, [member(m) for m in made])
    with jax.enable_x64(True):
        found = declared(manifest).guarantee[0]
    assert any("without a value in column a* were left out" in each for each in found.assumptions)


@pytest.mark.parametrize("of_a_manifest", [False, True])
def test_the_command_says_what_is_for_the_owner_alone(tmp_path: Path, of_a_manifest: bool) -> None:
    path = tmp_path / "agreed.toml"
    made = [keys.create(tmp_path / n, n, f"127.0.0.1:{7400 + k}") for k, n in enumerate("abc")]
    path.write_text(a_manifest(made, DROPPING).toml() if of_a_manifest else DROPPING)
    beyond = table(tmp_path, [*ROWS[:-1], "133,no"])
    options = ["check", str(path), "--data", str(beyond)]
    said = CliRunner().invoke(app, options)
    assert said.exit_code == 2, said.output  # one record does not fit
    assert "CARD=4" in said.output and "2 of 6" in said.output and "private" in said.output
    assert "Values beyond their declared bounds are moved to them: age 1." in said.output
    found = json.loads(CliRunner().invoke(app, [*options, "--json"]).output)
    assert found["moved"] == {"age": 1}
    assert found["declare"] == found["records"] == 4 and found["dropped"] == 2
    options[-1] = str(table(tmp_path, [row for row in ROWS if "old" not in row]))
    assert CliRunner().invoke(app, options).exit_code == 0


def test_the_command_names_ids_that_several_records_share(tmp_path: Path) -> None:
    path, data = tmp_path / "agreed.toml", tmp_path / "visits.csv"
    path.write_text(DROPPING)
    options = ["check", str(path), "--data", str(data)]
    for ids, told in (("PP", True), ("PQ", False)):
        rows = [f"30,yes,{ids[0]}", f"50,no,{ids[1]}"]
        data.write_text("\n".join(["age,ill,patient_id", *rows]) + "\n")
        said = CliRunner().invoke(app, options)
        assert ("several records have the same patient_id" in said.output) == told, said.output


def test_a_rehearsal_takes_records_that_a_run_takes(tmp_path: Path) -> None:
    rows = ["age,ill,site"]
    for site in ("north", "south", "west"):
        # no number, infinity, no value, and at one site no yes at all
        rows += [f"{age},{'no' if site == 'west' else 'yes'},{site}" for age in ("old", "inf", 50)]
        rows += [f",no,{site}", f"30,,{site}"]
    (tmp_path / "records.csv").write_text("\n".join(rows) + "\n")
    source = parse_study(DROPPING, folder=tmp_path)
    rehearsal = prepare(source, tmp_path / "run")
    assert [each.records for each in rehearsal.manifest.agents] == [4, 4, 4]
    assert rehearsal.unfit == 9
    for number in range(3):
        path = rehearsal.folder / f"member-{number}" / "records.csv"
        own = own_records(rehearsal.manifest, number, path)
        assert (own.features.any(axis=1)).sum() == 1
