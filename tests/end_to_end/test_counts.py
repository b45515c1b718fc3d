"""A study of counts by every command, with a ledger, and between sites."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from tacit.cli import app
from tacit.deploy.operate.rehearse import perform, prepare
from tacit.errors import ConfigError
from tacit.study import assemble, execute, read_study
from tests.end_to_end.study import told

SITES = ["north", "south", "west"]
RECORDS = 240
STUDY = """\
title = "Who came"
[data]
path = "visits.csv"
[data.features]
sex = { levels = ["f", "m"] }
smoker = { kind = "boolean" }
age = { lower = 0, upper = 120 }
[partition]
by = "column"
column = "site"
sites = ["north", "south", "west"]
[network]
graph = "coordinator"
[method]
name = "counts"
columns = ["sex", "smoker", { column = "age", edges = [18, 65] }]
[privacy]
epsilon = 2.0
masks = true
"""


def visits() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "site": [SITES[i % 3] for i in range(RECORDS)],
            "sex": rng.choice(["f", "m"], RECORDS),
            "smoker": rng.choice(["true", "false"], RECORDS),
            "age": rng.integers(0, 100, RECORDS),
        }
    )


def expected() -> list[int]:
    table = visits()
    ages = np.digitize(table["age"], [18, 65])
    return [
        *(int(np.sum(np.asarray(table["sex"]) == level)) for level in ("f", "m")),
        *(int(np.sum(np.asarray(table["smoker"]) == level)) for level in ("false", "true")),
        *(int(np.sum(ages == cell)) for cell in range(3)),
    ]


def written(folder: Path, *changes: tuple[str, str]) -> Path:
    text = STUDY
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    visits().to_csv(folder / "visits.csv", index=False)
    path = folder / "study.toml"
    path.write_text(text)
    return path


def test_a_study_is_run_and_its_counts_are_written(tmp_path: Path) -> None:
    study = written(tmp_path)
    document = told("run", study, "--public")
    folder = tmp_path / "results"
    table = pd.read_csv(folder / "counts.csv")
    assert list(table) == ["column", "level", "count", "standard_error", "lower", "upper"]
    assert table["level"].tolist()[-3:] == ["[0, 18)", "[18, 65)", "[65, 120]"]
    far = np.abs(table["count"] - expected()) / table["standard_error"]
    assert 0.0 < far.max() < 6.0
    answer = document["answer"]
    assert (answer["kind"], answer["sites"], answer["of_sites"]) == ("counts", 3, 3)
    assert [row["count"] for row in answer["rows"]] == table["count"].tolist()
    guarantee = json.loads((folder / "guarantee.json").read_text())
    assert "counts.csv" in guarantee["covers"]
    assert "coefficients.csv" not in {path.name for path in folder.iterdir()}
    for report in ("report.html", "report_public.html"):
        page = (folder / report).read_text()
        assert "[18, 65)" in page and answer["rows"][0]["level"] in page
        warning = page.partition('class="banner"')[2].partition("</div>")[0]
        assert "seed" in warning and "simulation only" not in warning
        assert "consensus-figure" not in page, "sites with one server agree from the start"
    with np.load(folder / "model.npz") as model:
        assert model["parameters"].tolist()[-1] == "sites"


def test_without_privacy_the_counts_are_exact(tmp_path: Path) -> None:
    study = written(tmp_path, ("[privacy]\nepsilon = 2.0\nmasks = true\n", ""))
    outcome = execute(assemble(read_study(study)))
    answer = outcome.result.answer
    assert answer is not None
    assert answer.frame()["count"].tolist() == pytest.approx(expected(), abs=1e-9)


def test_what_it_costs_is_known_beforehand(tmp_path: Path) -> None:
    study = written(tmp_path)
    planned = told("account", study)
    ran = told("run", study)
    owner = ran["guarantee"]["owners"][0]
    assert owner["epsilon"] == pytest.approx(2.0, rel=1e-6)
    assert owner["releases"] == 1
    assert planned["format"].startswith("tacit-account")
    assert CliRunner().invoke(app, ["account", str(study), "--rounds", "2"]).exit_code == 2
    judged = CliRunner().invoke(app, ["run", str(study), "--force", "--fail-if-useless"])
    assert judged.exit_code == 0  # counts that were not refused are an answer


@pytest.mark.long
def test_the_claim_survives_an_audit(tmp_path: Path) -> None:
    found = told("audit", written(tmp_path), "--trials", "1000", "--output", tmp_path / "audit")
    assert found["refuted"] is False
    assert found["score"] == "likelihood ratio"
    # the worst case attains the claim: nothing but chance is between them
    assert 0.8 < found["lower_bound"] < 2.0
    assert not any(check["failed"] for check in found["checks"])
    assert "answers of 'noised counts'" in {check["of"] for check in found["checks"]}


def test_a_ledger_is_charged_once_for_a_run(tmp_path: Path) -> None:
    from tacit.privacy.ledger import Ledger

    with Ledger.create(tmp_path / "clinics.ledger") as ledger:
        for site in SITES:
            ledger.set_budget(site, "visits", epsilon=2.5, delta=1e-5)
    study = written(tmp_path, ("masks = true\n", 'ledger = "clinics.ledger"\ndataset = "visits"\n'))
    assert told("run", study)["ledger"]["repeated"] is False
    assert told("run", study, "--force")["ledger"]["repeated"] is True
    again = CliRunner().invoke(app, ["run", str(study), "--force"]).output
    assert "the same noise was drawn again. For new noise, which is charged, change seed" in (
        " ".join(again.split())
    )
    other = study.read_text().replace('"sex", ', "")
    study.write_text(other)
    assert CliRunner().invoke(app, ["run", str(study), "--force"]).exit_code == 2


def test_it_is_described_and_listed() -> None:
    found = told("describe", "counts")
    assert found["oracle"] == "rows"
    assert found["traits"]["masks"] == "yes"
    assert found["traits"]["adjacency"] == "record: replace, add/remove"
    assert [each["name"] for each in found["parameters"]] == ["columns"]


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ('"sex", "smoker"', '"sox", "smoker"', "columns"),
        ('"smoker", ', '"smoker", "age", ', "columns"),
        ("edges = [18, 65]", "edges = [65, 18]", "edges"),
        ("edges = [18, 65]", "edges = [18, 165]", "edges"),
        ('{ levels = ["f", "m"] }', '{ levels = ["f"] }', "'sex'"),
        ('{ levels = ["f", "m"] }', '{ levels = ["f", "m"], drop_first = true }', "'sex'"),
        ("age = { lower", '"a*" = { lower', "a*"),
        ("[partition]", "[data.target]\ncolumn = 'sex'\npositive = 'f'\n[partition]", "target"),
        ("[partition]", "[problem]\nloss = 'logistic'\n[partition]", "loss"),
        ("epsilon = 2.0", "epsilon = 2.0\nclip = 0.5", "clip"),
        ("epsilon = 2.0", "epsilon = 2.0\nrelation = 'add_remove'", "relation"),
        ("[partition]", "[run]\nrounds = 3\n[partition]", "rounds"),
        ("[partition]", "[run]\nhold_out = 0.1\n[partition]", "hold_out"),
    ],
)
def test_mistakes_are_told_with_their_place(tmp_path: Path, old: str, new: str, where: str) -> None:
    study = written(tmp_path, (old, new))
    with pytest.raises(ConfigError, match=r"study\.toml") as caught:
        execute(assemble(read_study(study)))
    assert where in str(caught.value)


def test_advice_says_that_no_model_is_fitted(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["advise", str(written(tmp_path))])
    assert done.exit_code == 2, done.output
    assert not done.exception or isinstance(done.exception, SystemExit)


@pytest.mark.long
def test_records_that_come_and_go_are_counted_over_a_graph(tmp_path: Path) -> None:
    study = written(
        tmp_path,
        ('graph = "coordinator"', 'graph = "ring"\nexact_sum = "tree"'),
        ("masks = true", 'relation = "add_remove"'),
        ("[partition]", "[problem]\nsize = 80\n[partition]"),
    )
    outcome = execute(assemble(read_study(study)))
    answer: Any = outcome.result.answer
    assert answer.sites == 3
    far = np.abs(np.array(answer.counts) - expected()) / np.array(answer.errors)
    assert far.max() < 6.0


@pytest.mark.parametrize(
    "masks",
    [pytest.param(True, marks=pytest.mark.long), pytest.param(False, marks=pytest.mark.slow)],
)
def test_real_processes_count_under_masks(tmp_path: Path, masks: bool) -> None:
    study = written(tmp_path, *([] if masks else [("masks = true\n", "")]))
    rehearsal = prepare(read_study(study), tmp_path / "rehearsal")
    heard: list[tuple[int, int]] = []
    found = perform(rehearsal, told=lambda done, number: heard.append((done, number)))
    members = len(rehearsal.manifest.members)
    assert heard[-1] == (members, members) and heard == sorted(set(heard))
    assert len(found) == 4
    tables = [
        pd.read_csv(tmp_path / "rehearsal" / f"member-{member}" / "state" / "counts.csv")
        for member in range(4)
    ]
    for table in tables[1:]:
        pd.testing.assert_frame_equal(table, tables[0])
    far = np.abs(tables[0]["count"] - expected()) / tables[0]["standard_error"]
    assert 0.0 < far.max() < 6.0
    assert all(member["noise"] == "secure" for member in found)
