"""Survival curves in a study by every command, from Python, and between sites."""

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
from tacit.errors import ConfigError, ProblemError
from tacit.study import assemble, execute, read_study
from tests.end_to_end.study import told

SITES = ["east", "north", "south", "west"]
RECORDS = 4000
STUDY = """\
title = "How long"
[data]
path = "patients.csv"
missing = "drop"
[data.features]
years = { lower = 0, upper = 10 }
died = { kind = "boolean" }
arm = { levels = ["old", "new"] }
[partition]
by = "column"
column = "clinic"
sites = ["east", "north", "south", "west"]
[network]
graph = "coordinator"
[method]
name = "survival"
time = "years"
event = "died"
by = "arm"
intervals = 20
[privacy]
epsilon = 2.0
masks = true
"""


def patients() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    arm = rng.choice(["old", "new"], RECORDS)
    lived = rng.exponential(np.where(arm == "old", 5.0, 8.0))
    followed = rng.uniform(1, 14, RECORDS)
    years = np.minimum(lived, followed)
    return pd.DataFrame(
        {
            "clinic": [SITES[i % 4] for i in range(RECORDS)],
            "years": np.where(rng.random(RECORDS) < 0.01, np.nan, years),
            "died": np.where(lived <= followed, "true", "false"),
            "arm": arm,
        }
    )


def written(folder: Path, *changes: tuple[str, str]) -> Path:
    text = STUDY
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    patients().to_csv(folder / "patients.csv", index=False)
    path = folder / "study.toml"
    path.write_text(text)
    return path


def close_to_the_truth(table: pd.DataFrame) -> None:
    """Whether curves are those that the records were drawn from, within their errors."""
    assert set(table["group"]) == {"old", "new"}
    for group, mean in (("old", 5.0), ("new", 8.0)):
        rows = table[table["group"] == group]
        error = np.hypot(rows["sampling_error"], rows["noise_error"])
        apart = np.abs(rows["survival"] - np.exp(-rows["time"] / mean))
        assert (apart <= 5.0 * error + 1e-3).all()


@pytest.mark.long
def test_a_study_is_run_and_its_curves_are_written(tmp_path: Path) -> None:
    study = written(tmp_path)
    document = told("run", study, "--public")
    folder = tmp_path / "results"
    table = pd.read_csv(folder / "survival.csv")
    close_to_the_truth(table)
    answer = document["answer"]
    assert (answer["kind"], answer["event"], answer["by"]) == ("survival", "died = true", "arm")
    assert len(answer["rows"]) == len(table) and answer["log_rank"]["p_value"] < 0.001
    guarantee = json.loads((folder / "guarantee.json").read_text())
    assert {"survival.csv", "survival.html", "survival.tex"} <= set(guarantee["covers"])
    assert "<th>arm: new</th>" in (folder / "survival.html").read_text()
    owner = document["guarantee"]["owners"][0]
    assert (owner["status"], owner["releases"]) == ("proved", 1)
    assert owner["epsilon"] == pytest.approx(2.0, rel=1e-6)
    for report in ("report.html", "report_public.html"):
        page = (folder / report).read_text()
        assert "survival-figure" in page and "Log-rank test" in page and "Median years" in page
        # follow-up ends at the bound, which is nothing to be mended
        assert ("lack a value" in page, "widen the bounds" in page) == (
            report == "report.html",
            False,
        )
    # the same call from Python gives the same bits
    found = tacit.survival(
        pd.read_csv(tmp_path / "patients.csv"),
        "years",
        "died",
        by="arm",
        columns=DECLARED,
        intervals=20,
        site="clinic",
        sites=SITES,
        epsilon=2.0,
        seed=json.loads((folder / "result.json").read_text())["seed"],
    )
    np.testing.assert_allclose(found.to_frame()["survival"], table["survival"], rtol=1e-12)
    assert found.to_html() == (folder / "survival.html").read_text()
    assert repr(found) == repr(found.curves) and "Status: proved" in found.summary()
    assert found._repr_html_() == found.to_html() and found.to_latex().startswith(r"\begin")
    figure: Any = found.plot()
    assert len(figure.data) == 8


DECLARED: dict[str, data.Feature] = {
    "years": data.Numeric(0, 10),
    "died": data.Boolean(),
    "arm": data.Categorical(["old", "new"]),
}
TYPED = {
    "survival": ("years", "died", "--by", "arm", "--intervals", "20", "--until", "5"),
    "cox": (
        *("years", "died", "arm", "--edges", "2,5", "--limit", "1.5"),
        *("--strata", "clinic", "--periods", "5"),
    ),
}


@pytest.mark.parametrize("name", ["survival", pytest.param("cox", marks=pytest.mark.long)])
def test_it_is_what_people_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    patients().to_csv("patients.csv", index=False)
    asked = (name, "patients.csv", *TYPED[name], "--site", "clinic", "--sites", ",".join(SITES))
    declared = ("-b", "years=0:10", "-l", "arm=old,new", "-l", "died=false,true")
    declared += ("-e", "4", "--seed", "3")
    document = told(*asked, *declared, "--records-per-person", "2", "--study", "mine.toml")
    owner = document["guarantee"]["owners"][0]
    assert (owner["unit"], owner["status"]) == ("person", "proved")
    assert not any("read off" in each for each in owner["assumptions"])
    # the same study from its file, and the same call from Python, give the same bits
    told("run", "mine.toml", "-o", "again")
    written = Path(f"{name}/{name}.csv").read_bytes()
    assert Path(f"again/{name}.csv").read_bytes() == written
    given: dict[str, Any] = {"columns": DECLARED, "site": "clinic", "sites": SITES, "epsilon": 4}
    given |= {"seed": 3, "records_per_person": 2}
    table = pd.read_csv("patients.csv")
    found = (
        tacit.survival(table, "years", "died", by="arm", intervals=20, until=5, **given)
        if name == "survival"
        else tacit.cox(
            *(table, "years", "died", ["arm"]),
            edges=[2, 5],
            limit=1.5,
            strata="clinic",
            periods=[5],
            **given,
        )
    )
    assert found.to_frame().to_csv(index=False).encode() == written
    assert found.to_html() == Path(f"{name}/{name}.html").read_text()


@pytest.mark.filterwarnings("ignore::tacit.data.undeclared.PrivacyLeakWarning")
@pytest.mark.parametrize(
    ("given", "error", "what"),
    [
        ({"time": "day"}, ProblemError, "'day' is not a column"),
        ({"event": "years"}, (ConfigError, ProblemError), "both the time and the event"),
        ({"by": "clinics"}, ProblemError, "did you mean 'clinic'"),
        ({"until": 3.3, "columns": {"years": data.Numeric(0, 10)}}, ConfigError, "not an end"),
        ({"edges": [11.0], "columns": {"years": data.Numeric(0, 10)}}, ProblemError, "edges"),
        ({"relation": "add_remove"}, ProblemError, "size"),
    ],
)
def test_mistakes_in_python_are_refused(given: dict[str, Any], error: Any, what: str) -> None:
    with pytest.raises(error, match=what):
        tacit.survival(
            **{"data": patients(), "time": "years", "event": "died", "site": "clinic", **given}
        )


def test_what_is_not_declared_is_read_off_and_said() -> None:
    with pytest.warns(PrivacyLeakWarning, match="column years"):
        found = tacit.survival(
            patients(), "years", "died", site="clinic", epsilon=0.02, masks=None, seed=0
        )
    with pytest.raises(ConfigError, match="there are no curves: the noise hides"):
        _ = found.curves


def test_commands_about_studies_take_it(tmp_path: Path) -> None:
    study = written(tmp_path)
    assert told("account", study)["format"].startswith("tacit-account")
    found = told("describe", "survival")
    assert found["traits"]["masks"] == "yes"
    assert found["traits"]["adjacency"] == "record: replace, add/remove"
    names = [each["name"] for each in found["parameters"]]
    assert names == ["time", "event", "by", "intervals", "until"]


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ('by = "arm"', 'by = "arms"', "by"),
        ('time = "years"', 'time = "arm"', "time"),
        ('event = "died"', 'event = "arm"', "arm"),
        ("intervals = 20", "intervals = 0", "intervals"),
        ("intervals = 20", "until = 0.1", "until"),
        ('time = "years"', 'time = { column = "years", edges = [12] }', "edges"),
        ("years = { lower = 0", "years = { lower = -1", "start at 0"),
    ],
)
def test_mistakes_are_told_with_their_place(tmp_path: Path, old: str, new: str, where: str) -> None:
    study = written(tmp_path, (old, new))
    with pytest.raises(ConfigError, match=r"study\.toml") as caught:
        execute(assemble(read_study(study)))
    assert where in str(caught.value)


@pytest.mark.long
@pytest.mark.parametrize(
    "people",
    [
        "masks = true",
        "masks = true\nrecords_per_person = 3",
        "records_per_person = 2\nsites_per_person = 2",
    ],
)
def test_the_claim_survives_an_audit(tmp_path: Path, people: str) -> None:
    study = written(tmp_path, ("masks = true", people))
    found = told("audit", study, "--trials", "1000", "--output", tmp_path / "audit")
    assert found["refuted"] is False
    # the worst case attains the claim: nothing but chance is between them
    assert 0.8 < found["lower_bound"] < 2.0
    assert not any(check["failed"] for check in found["checks"])


@pytest.mark.long
def test_options_of_a_study_and_persons_at_several_sites(tmp_path: Path) -> None:
    study = written(
        tmp_path,
        ('time = "years"', 'time = { column = "years", edges = [1, 2, 5] }'),
        ("intervals = 20", "until = 5"),
        ("masks = true", "sites_per_person = 2\nrecords_per_person = 2"),
    )
    result = execute(assemble(read_study(study))).result
    answer: Any = result.answer
    assert answer.edges == (0.0, 1.0, 2.0, 5.0, 10.0) and answer.until == 5.0
    assert (result.guarantee.worst.unit, result.guarantee.worst.status) == ("person", "proved")


@pytest.mark.long
def test_real_processes_make_it(tmp_path: Path) -> None:
    output = tmp_path / "rehearsal"
    done = CliRunner().invoke(app, ["rehearse", str(written(tmp_path)), "--output", str(output)])
    assert done.exit_code == 0, done.stderr
    # one round has no times of rounds, and what came out is printed
    assert "Median round" not in done.stdout
    assert "Survival of the records" in done.stdout and "survival.csv" in done.stdout
    tables = [
        pd.read_csv(tmp_path / "rehearsal" / f"member-{member}" / "state" / "survival.csv")
        for member in range(5)
    ]
    for table in tables[1:]:
        pd.testing.assert_frame_equal(table, tables[0])
    close_to_the_truth(tables[0])
    latex = (output / "member-0" / "state" / "survival.tex").read_text()
    assert "-DP per record, proved" in latex and "simulated" not in latex
    results = [json.loads(each.read_text()) for each in output.glob("member-*/state/result.json")]
    assert len(results) == 5 and all(member["noise"] == "secure" for member in results)


REPEATED = ("masks = true", "masks = true\nrecords_per_person = 2")


@pytest.mark.slow
def test_sites_and_a_simulation_have_the_same_bits(tmp_path: Path) -> None:
    from tacit.testing import check_between_sites

    check_between_sites(written(tmp_path, REPEATED))


def test_people_at_several_sites_are_refused_between_sites(tmp_path: Path) -> None:
    study = written(tmp_path, ("masks = true", "sites_per_person = 2"))
    assert told("account", study)["guarantee"]["owners"][0]["sites_per_person"] == 2
    done = CliRunner().invoke(app, ["rehearse", str(study)])
    assert done.exit_code == 2 and "each site's ledger sees its own" in done.stderr


COX = (
    ('name = "survival"', 'name = "cox"'),
    ('by = "arm"\nintervals = 20', 'columns = ["arm"]\npieces = 3'),
)

STRATIFIED = (
    COX[0],
    (
        'by = "arm"\nintervals = 20',
        'columns = ["arm"]\nstrata = "clinic"\nperiods = [2.5]\npieces = 4',
    ),
    ("[partition]", 'clinic = { levels = ["east", "north", "south", "west"] }\n[partition]'),
    ("epsilon = 2.0", "epsilon = 8.0"),
)


@pytest.mark.long
def test_a_cox_study_is_run_and_its_table_is_written(tmp_path: Path) -> None:
    document = told("run", written(tmp_path, *COX))
    folder = tmp_path / "results"
    table = pd.read_csv(folder / "cox.csv").set_index("parameter").loc["arm[T.new]"]
    assert abs(table["log_hazard_ratio"] - np.log(5 / 8)) < 4.0 * table["standard_error"]
    assert document["answer"]["kind"] == "cox" and len(document["answer"]["baseline"]) == 3
    owner = document["guarantee"]["owners"][0]
    assert (owner["status"], owner["releases"]) == ("proved", 4)
    assert owner["epsilon"] == pytest.approx(2.0, rel=1e-3)
    page = (folder / "report.html").read_text()
    assert "effects-figure" in page and "hazard ratio" in page
    found = tacit.cox(
        pd.read_csv(tmp_path / "patients.csv"),
        "years",
        "died",
        ["arm"],
        columns=DECLARED,
        pieces=3,
        site="clinic",
        sites=SITES,
        epsilon=2.0,
        seed=json.loads((folder / "result.json").read_text())["seed"],
    )
    assert found.table.values[0] == pytest.approx(table["log_hazard_ratio"], rel=1e-9)
    assert "Status: proved" in found.summary() and found._repr_html_() and found.to_latex()
    assert len(found.to_frame()) == 1 and found.forest() is not None


@pytest.mark.long
def test_a_cox_study_with_strata_and_periods_tests_proportional_hazards(tmp_path: Path) -> None:
    document = told("run", written(tmp_path, *STRATIFIED))
    answer = document["answer"]
    assert (answer["strata"], answer["periods"]) == ("clinic", [0.0, 2.5, 10.0])
    assert [row["clinic"] for row in answer["baseline"]] == [each for each in SITES for _ in "abcd"]
    tested = answer["proportional_hazards"][-1]
    assert tested["degrees"] == 1 and tested["p_value"] > 0.001
    assert document["guarantee"]["owners"][0]["status"] == "proved"
    page = (tmp_path / "results" / "report.html").read_text()
    assert "Test of proportional hazards" in page and "arm[T.new] (2.5, 10]" in page
    # the column of sites needs no declaration where their names are given
    found = tacit.cox(
        pd.read_csv(tmp_path / "patients.csv"),
        "years",
        "died",
        ["arm"],
        columns={
            "years": data.Numeric(0, 10),
            "died": data.Boolean(),
            "arm": data.Categorical(["old", "new"]),
        },
        pieces=4,
        strata="clinic",
        periods=[2.5],
        site="clinic",
        sites=SITES,
        epsilon=8.0,
        seed=json.loads((tmp_path / "results" / "result.json").read_text())["seed"],
    )
    values = [row["log_hazard_ratio"] for row in answer["rows"]]
    np.testing.assert_allclose(found.table.values, values, rtol=1e-9)


@pytest.mark.long
def test_the_claim_of_a_cox_study_survives_an_audit(tmp_path: Path) -> None:
    found = told("audit", written(tmp_path, *COX), "--trials", "500", "--output", tmp_path / "a")
    assert found["refuted"] is False and found["lower_bound"] < 2.0


@pytest.mark.long
def test_a_cox_study_without_a_budget_is_that_of_python(tmp_path: Path) -> None:
    study = written(tmp_path, *COX, ("[privacy]\nepsilon = 2.0\nmasks = true\n", ""))
    document = told("run", study)
    assert document["rounds"] == 7
    found = tacit.cox(
        pd.read_csv(tmp_path / "patients.csv"),
        *("years", "died", ["arm"]),
        columns=DECLARED,
        pieces=3,
        site="clinic",
        sites=SITES,
        epsilon=None,
    )
    table = pd.read_csv(tmp_path / "results" / "cox.csv")
    np.testing.assert_allclose(table["log_hazard_ratio"], found.table.values, rtol=1e-12)
    assert (table["privacy_error"] == 0.0).all()


@pytest.mark.slow
def test_the_claim_of_strata_and_periods_survives_an_audit(tmp_path: Path) -> None:
    study = written(tmp_path, *STRATIFIED)
    found = told("audit", study, "--trials", "500", "--output", tmp_path / "a")
    assert found["refuted"] is False and found["lower_bound"] < 8.0


@pytest.mark.slow
@pytest.mark.parametrize("changes", [COX, STRATIFIED], ids=["plain", "strata and periods"])
def test_sites_and_a_simulation_fit_the_same_cox_model(
    tmp_path: Path, changes: tuple[tuple[str, str], ...]
) -> None:
    from tacit.testing import check_between_sites

    check_between_sites(written(tmp_path, *changes, REPEATED))


@pytest.mark.long
def test_a_refusal_is_told_once_and_may_be_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    patients().head(400).to_csv("patients.csv", index=False)
    asked = ["cox", "patients.csv", *TYPED["cox"], "--site", "clinic", "--sites", ",".join(SITES)]
    asked += ["-b", "years=0:10", "-l", "arm=old,new", "-l", "died=false,true"]
    asked += ["--epsilon", "0.1", "--seed", "3", "--output", "refused"]
    done = CliRunner().invoke(app, [*asked, "--fail-if-useless"])
    assert done.exit_code == 5
    assert done.stdout.count("There is no answer") == 1
    # lines of progress come before it where the machine is slow
    assert done.stderr.splitlines()[-1].startswith("Not worth having: the noise hides")
    page = Path("refused/report.html").read_text(encoding="utf-8")
    assert page.index('id="answer"') < page.index('id="guarantee"')
    assert page.count("There is no answer") == 1
    # the results are there, and without the option nothing has failed
    assert told("report", "refused")
