"""A table 1 from a table, in a study by every command, from Python, and between sites."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import tacit
from tacit import data
from tacit.cli import app
from tacit.data.undeclared import PrivacyLeakWarning
from tacit.deploy.operate.rehearse import perform, prepare
from tacit.errors import ConfigError, ProblemError
from tacit.study import assemble, execute, read_study
from tests.end_to_end.study import told

SITES = ["north", "south", "west"]
RECORDS = 1200
STUDY = """\
title = "Who came"
[data]
path = "visits.csv"
missing = "indicator"
[data.features]
arm = { levels = ["drug", "placebo"], missing = "drop" }
age = { lower = 20, upper = 80 }
sex = { levels = ["f", "m"] }
ill = { kind = "boolean" }
[partition]
by = "column"
column = "site"
sites = ["north", "south", "west"]
[network]
graph = "coordinator"
[method]
name = "table1"
by = "arm"
columns = ["age", "sex", "ill"]
medians = ["age"]
[privacy]
epsilon = 2.0
masks = true
"""


def visits() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    age = rng.uniform(20, 80, RECORDS).round(1)
    return pd.DataFrame(
        {
            "site": [SITES[i % 3] for i in range(RECORDS)],
            "arm": rng.choice(["drug", "placebo"], RECORDS),
            "age": np.where(rng.random(RECORDS) < 0.05, np.nan, age),
            "sex": rng.choice(["f", "m"], RECORDS),
            "ill": rng.choice(["true", "false"], RECORDS),
        }
    )


def written(folder: Path, *changes: tuple[str, str]) -> Path:
    text = STUDY
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    visits().to_csv(folder / "visits.csv", index=False)
    path = folder / "study.toml"
    path.write_text(text)
    return path


def close_to_the_truth(table: pd.DataFrame) -> None:
    frame = visits()
    for name, part in {"overall": frame, **dict(list(frame.groupby("arm")))}.items():
        here = table[table["group"] == name].set_index(["variable", "statistic"])
        for key, true in {
            ("records", "n"): len(part),
            ("age", "mean"): part["age"].mean(),
            ("age", "sd"): part["age"].std(),
            ("age", "median"): part["age"].median(),
        }.items():
            row = here.loc[[key]].iloc[0]
            assert abs(row["value"] - true) < 5.0 * row["standard_error"] + 1.5


def test_a_study_is_run_and_its_table_is_written(tmp_path: Path) -> None:
    study = written(tmp_path)
    document = told("run", study, "--public")
    folder = tmp_path / "results"
    table = pd.read_csv(folder / "table1.csv", keep_default_na=False, na_values=[""])
    assert list(table)[:5] == ["variable", "level", "group", "statistic", "value"]
    close_to_the_truth(table)
    answer = document["answer"]
    assert (answer["kind"], answer["by"], answer["groups"]) == (
        *("table1", "arm"),
        ["drug", "placebo"],
    )
    assert len(answer["rows"]) == len(table)
    guarantee = json.loads((folder / "guarantee.json").read_text())
    assert {"table1.csv", "table1.html", "table1.tex"} <= set(guarantee["covers"])
    assert "<th>arm: placebo</th>" in (folder / "table1.html").read_text()
    latex = (folder / "table1.tex").read_text()
    assert r"\toprule" in latex
    for text in (latex, (folder / "table1.html").read_text()):  # what is pasted says what it is
        assert "-DP per record, proved, simulated noise" in text
    owner = document["guarantee"]["owners"][0]
    assert (owner["status"], owner["releases"]) == ("proved", 1)
    assert owner["epsilon"] == pytest.approx(2.0, rel=1e-6)
    for report in ("report.html", "report_public.html"):
        page = (folder / report).read_text()
        assert "age, median [quartiles]" in page and "Arm: placebo" in page
        assert "standardised mean difference" in page


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    visits().to_csv(tmp_path / "visits.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


DECLARED = ("-b", "age=20:80", "-l", "sex=f,m", "-l", "arm=drug,placebo", "-l", "ill=false,true")
SEED = ("--seed", "0")
GROUPED = ("--by", "arm", "--site", "site")


@pytest.mark.long
def test_it_is_what_people_type(there: Path) -> None:
    typed = (*("table1", "visits.csv"), *GROUPED, *DECLARED, "--median", "age")
    document = told(*typed, *SEED, "--study", "mine.toml", "-e", "2", "--share", "age=2")
    table = pd.read_csv("table1/table1.csv", keep_default_na=False, na_values=[""])
    close_to_the_truth(table)
    owner = document["guarantee"]["owners"][0]
    assert not any("read off" in each for each in owner["assumptions"])
    # the same study from its file, and the same call from Python, give the same bits
    told("table1", "mine.toml", "-o", "again")
    assert Path("again/table1.csv").read_bytes() == Path("table1/table1.csv").read_bytes()
    found = tacit.table1(
        pd.read_csv("visits.csv"),
        by="arm",
        columns={
            "arm": data.Categorical(["drug", "placebo"]),
            "age": data.Numeric(20, 80),
            "sex": data.Categorical(["f", "m"]),
            "ill": data.Boolean(),
        },
        medians=["age"],
        shares={"age": 2.0},
        epsilon=2.0,
        seed=0,
    )
    np.testing.assert_array_equal(found.to_frame()["value"], table["value"])
    assert found.to_html() == Path("table1/table1.html").read_text()
    assert found.to_latex() == Path("table1/table1.tex").read_text()
    assert "-DP per record, proved, simulated noise" in found.to_latex()
    assert repr(found) == repr(found.table) and "Status: proved" in found.summary()
    assert found._repr_html_() == found.to_html() and found.left_out == ()


@pytest.mark.long
def test_what_is_not_declared_is_read_off_and_said(there: Path) -> None:
    frame = visits().assign(ticket=[f"p{i}" for i in range(RECORDS)], well=[0, 1] * 600)
    frame["day"] = "2024-03-01"
    with pytest.warns(PrivacyLeakWarning, match="bounds 20 to 80 of column age"):
        found = tacit.table1(frame, epsilon=2.0, seed=0, masks=None)
    assert found.left_out == ("ticket", "day")
    assert [column.name for column in found.table.columns] == ["arm", "age", "sex", "ill", "well"]
    assert found.table.columns[4].levels == ("false", "true", "missing")
    assumed = found.guarantee.worst.assumptions
    assert any("the bounds 20 to 80 of column age" in each for each in assumed)
    assert any("no two records have the same ticket" in each for each in assumed)
    done = CliRunner().invoke(app, ["table1", "visits.csv", "age", *GROUPED])
    assert done.exit_code == 0 and "WARNING: the bounds 20 to 80" in done.stderr
    assert "age, mean (SD)" in done.stdout and "sex" not in done.stdout


@pytest.mark.long
def test_the_number_of_records_may_be_private(there: Path) -> None:
    document = told("table1", "visits.csv", "sex", *DECLARED[2:4], "--size", "400", "-s", "site")
    owner = document["guarantee"]["owners"][0]
    assert owner["relation"] == "add_remove"
    assert not any("number of records of every owner is public" in a for a in owner["assumptions"])
    assert set(document["sites"].values()) == {None}
    row = document["answer"]["rows"][0]
    assert (row["variable"], row["statistic"]) == ("records", "n")
    assert 0.0 < abs(row["value"] - RECORDS) < 5.0 * row["standard_error"]
    assert "takes no share of the budget" in Path("table1/table1.html").read_text()


@pytest.mark.parametrize(
    ("typed", "what"),
    [
        (("agee",), "did you mean 'age'"),
        (("arm",), "that of the groups"),
        (("site",), "that of the sites"),
        (("age", "age"), "stands twice"),
        (("age", "--bounds", "sexx=1:2"), "is not a column of the data"),
        (("age", "--bounds", "age=2020-01-01:2021-01-01"), "must be numbers"),
        (("age", "--bounds", "age=80:20"), "bounds"),
        (("age", "--share", "age"), "--share 'age'"),
        (("age", "--share", "age=x"), "must be a positive number"),
        (("age", "--share", "ill=2"), "ill"),
        (("age", "--median", "sex"), "sex"),
    ],
)
def test_mistyped_commands_are_refused(there: Path, typed: tuple[str, ...], what: str) -> None:
    done = CliRunner().invoke(app, ["table1", "visits.csv", *typed, *GROUPED])
    assert done.exit_code == 2 and what in done.stderr


def test_a_study_takes_no_options_that_it_has_keys_for(there: Path) -> None:
    study = written(there)
    done = CliRunner().invoke(app, ["table1", str(study), "--by", "sex"])
    assert done.exit_code == 2 and "--by cannot be given with a study" in done.stderr
    study.write_text(
        STUDY.replace("table1", "counts")
        .replace('by = "arm"\n', "")
        .replace('columns = ["age", "sex", "ill"]\nmedians = ["age"]', 'columns = ["sex"]')
    )
    done = CliRunner().invoke(app, ["table1", str(study)])
    assert done.exit_code == 2 and "tacit run" in done.stderr


@pytest.mark.parametrize(
    ("given", "error", "what"),
    [
        ({"variables": ["day"]}, ProblemError, "holds dates"),
        ({"variables": []}, ProblemError, "no column is left"),
        ({"by": "none"}, ProblemError, "'none' is not a column"),
        ({"by": "age", "columns": {"age": data.Numeric(0, 90)}}, ConfigError, "fewer than"),
        ({"columns": {"age": 3}}, ConfigError, "is 3; declare each column"),
        ({"data": 3}, ConfigError, "give a table"),
        ({"relation": "add_remove"}, ProblemError, "size"),
    ],
)
@pytest.mark.filterwarnings("ignore::tacit.data.undeclared.PrivacyLeakWarning")
def test_mistakes_in_python_are_refused(given: dict[str, Any], error: Any, what: str) -> None:
    frame = visits().assign(day="2024-03-01")
    with pytest.raises(error, match=what):
        tacit.table1(**{"data": frame, **given})


def test_commands_about_studies_take_it(tmp_path: Path) -> None:
    study = written(tmp_path)
    assert told("account", study)["format"].startswith("tacit-account")
    found = told("describe", "table1")
    assert found["traits"]["masks"] == "yes"
    assert found["traits"]["adjacency"] == "record: replace, add/remove"
    names = [each["name"] for each in found["parameters"]]
    assert names == ["columns", "by", "medians", "bins", "shares", "suppress_below"]


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ('by = "arm"', 'by = "arms"', "by"),
        ('by = "arm"', 'by = "age"', "by"),
        ('by = "arm"', 'by = "sex"', "by"),
        ('columns = ["age", "sex", "ill"]', 'columns = ["age", "sox"]', "columns"),
        ('medians = ["age"]', 'medians = ["sex"]', "medians"),
        ('medians = ["age"]', 'medians = "age"', "medians"),
        ('medians = ["age"]', "shares = { sex = 0 }", "shares"),
        ('medians = ["age"]', "bins = 2.5", "bins"),
        ("epsilon = 2.0", "epsilon = 2.0\nrelation = 'add_remove'", "relation"),
    ],
)
def test_mistakes_are_told_with_their_place(tmp_path: Path, old: str, new: str, where: str) -> None:
    study = written(tmp_path, (old, new))
    with pytest.raises(ConfigError, match=r"study\.toml") as caught:
        execute(assemble(read_study(study)))
    assert where in str(caught.value)


@pytest.mark.long
def test_options_of_a_study(tmp_path: Path) -> None:
    study = written(
        tmp_path,
        ('by = "arm"', 'by = { column = "age", edges = [50] }'),
        ('columns = ["age", "sex", "ill"]', 'columns = ["sex", "ill"]\nsuppress_below = 50'),
        ('medians = ["age"]', "shares = { ill = 4 }"),
        ("masks = true", 'relation = "add_remove"'),
        ("[partition]", "[problem]\nsize = 400\n[partition]"),
    )
    answer: Any = execute(assemble(read_study(study))).result.answer
    assert answer.groups == ("[20, 50)", "[50, 80]", "missing")
    sex, ill = (
        entry.standard_error
        for entry in answer.entries
        if entry[1:4] in (("f", "overall", "n"), ("true", "overall", "n"))
    )
    assert sex > 1.5 * ill
    assert "The number of records is private" in answer.sentence()


@pytest.mark.long
def test_the_claim_survives_an_audit(tmp_path: Path) -> None:
    found = told("audit", written(tmp_path), "--trials", "1000", "--output", tmp_path / "audit")
    assert found["refuted"] is False
    # the worst case attains the claim: nothing but chance is between them
    assert 0.8 < found["lower_bound"] < 2.0
    assert not any(check["failed"] for check in found["checks"])


@pytest.mark.long
def test_a_ledger_is_charged_once_for_a_run(tmp_path: Path) -> None:
    from tacit.privacy.ledger import Ledger

    with Ledger.create(tmp_path / "clinics.ledger") as ledger:
        for site in SITES:
            ledger.set_budget(site, "visits", epsilon=2.5, delta=1e-5)
    study = written(tmp_path, ("masks = true\n", 'ledger = "clinics.ledger"\ndataset = "visits"\n'))
    assert told("run", study)["ledger"]["repeated"] is False
    assert told("run", study, "--force")["ledger"]["repeated"] is True
    study.write_text(study.read_text().replace('medians = ["age"]', ""))
    assert CliRunner().invoke(app, ["run", str(study), "--force"]).exit_code == 2


@pytest.mark.long
def test_persons_at_several_sites_in_a_study(tmp_path: Path) -> None:
    several = "sites_per_person = 2\nrecords_per_person = 3"
    study = written(tmp_path, ("masks = true", several))
    result = execute(assemble(read_study(study))).result
    worst = result.guarantee.worst
    assert (worst.unit, worst.status) == ("person", "proved")
    assert worst.epsilon == pytest.approx(2.0, rel=1e-6)
    with pytest.raises(ConfigError, match="does not go with masks"):
        execute(
            assemble(read_study(written(tmp_path, ("masks = true", f"masks = true\n{several}"))))
        )


@pytest.mark.long
@pytest.mark.parametrize("masks", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_real_processes_make_it(tmp_path: Path, masks: bool) -> None:
    study = written(tmp_path, *([] if masks else [("masks = true\n", "")]))
    found = perform(prepare(read_study(study), tmp_path / "rehearsal"))
    tables = [
        pd.read_csv(
            tmp_path / "rehearsal" / f"member-{member}" / "state" / "table1.csv",
            keep_default_na=False,
            na_values=[""],
        )
        for member in range(4)
    ]
    for table in tables[1:]:
        pd.testing.assert_frame_equal(table, tables[0])
    close_to_the_truth(tables[0])
    assert all(member["noise"] == "secure" for member in found)


@pytest.mark.slow
@pytest.mark.parametrize(
    "noise", ["masks = true\nrecords_per_person = 2", ""], ids=["masks", "local"]
)
def test_sites_and_a_simulation_have_the_same_bits(tmp_path: Path, noise: str) -> None:
    from tacit.testing import check_between_sites

    check_between_sites(written(tmp_path, ("masks = true", noise)))
