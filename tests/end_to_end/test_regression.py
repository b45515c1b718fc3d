"""A regression by `tacit fit`, in a study by every command, from Python, and between sites."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import tacit
from tacit.cli import app
from tacit.data.undeclared import PrivacyLeakWarning
from tacit.deploy.operate.rehearse import perform, prepare
from tacit.errors import ConfigError, ProblemError
from tacit.method import load_regression
from tacit.privacy.ledger import Ledger
from tacit.study import assemble, execute, read_study
from tests.end_to_end.study import told

SITES = ["north", "south", "west"]
RECORDS = 6000
FORMULA = "ill ~ age + C(sex)"
TRUTH = np.array([-2.5, 0.04, 0.5])
STUDY = """\
title = "Who is ill"
[data]
path = "visits.csv"
[data.features]
age = { lower = 20, upper = 80 }
sex = { levels = ["f", "m"] }
ill = { kind = "boolean" }
[partition]
by = "column"
column = "site"
sites = ["north", "south", "west"]
[model]
formula = "ill ~ age + C(sex)"
family = "binomial"
[privacy]
epsilon = 2.0
masks = true
"""
DECLARED = ("--bounds", "age=20:80", "--levels", "sex=f,m", "--levels", "ill=false,true")
SEED = ("--seed", "0")


def visits() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "site": [SITES[i % 3] for i in range(RECORDS)],
            "age": rng.uniform(20, 80, RECORDS).round(1),
            "sex": rng.choice(["f", "m"], RECORDS),
        }
    )
    predictor = TRUTH[0] + TRUTH[1] * frame["age"] + TRUTH[2] * (frame["sex"] == "m")
    return frame.assign(ill=rng.random(RECORDS) < 1.0 / (1.0 + np.exp(-predictor)))


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
    far = np.abs(table["coefficient"] - TRUTH) / table["standard_error"]
    assert 0.0 < far.max() < 5.0


@pytest.fixture
def fitted(tmp_path: Path) -> Path:
    visits().to_csv(tmp_path / "visits.csv", index=False)
    return tmp_path


def fit(folder: Path, *more: str) -> Any:
    where = ("--site", "site", "--output", str(folder / "fit"), "--force")
    return told(
        *("fit", folder / "visits.csv", FORMULA, "--family", "binomial", "-e", "2"), *where, *more
    )


def test_it_is_what_people_type(fitted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(fitted)
    document = fit(fitted, *DECLARED, *SEED, "--study", "mine.toml", "--public")
    table = pd.read_csv(fitted / "fit" / "coefficients.csv")
    assert table["parameter"].tolist() == ["Intercept", "age", "sex[T.m]"]
    close_to_the_truth(table)
    assert (table["odds_ratio"] == np.exp(table["coefficient"])).all()
    guarantee = json.loads((fitted / "fit" / "guarantee.json").read_text())
    assert guarantee["covers"] == []  # the seed is declared
    owner = document["guarantee"]["owners"][0]
    assert (owner["status"], owner["releases"]) == ("proved", 4)
    assert not any("read off" in each for each in owner["assumptions"])
    for report in ("report.html", "report_public.html"):
        page = (fitted / "fit" / report).read_text()
        assert "effects-figure" in page and "sex[T.m]" in page and "Odds ratio" in page
    internal, public = (fitted / "fit" / f"report{each}.html" for each in ("", "_public"))
    for figure in ("calibration-figure", "roc-figure"):
        assert figure in internal.read_text() and figure not in public.read_text()
    assert "Not private: computed from these records" in internal.read_text()
    # the same study from its file, and the same call from Python, give the same bits
    told("run", "mine.toml", "--output", "again")
    pd.testing.assert_frame_equal(pd.read_csv("again/coefficients.csv"), table)
    found = tacit.glm(
        FORMULA,
        pd.read_csv("visits.csv"),
        columns={
            "age": tacit.data.Numeric(20, 80),
            "sex": tacit.data.Categorical(["f", "m"]),
            "ill": tacit.data.Boolean(),
        },
        family="binomial",
        epsilon=2.0,
        missing="drop",
        seed=0,
    ).to_frame()
    np.testing.assert_array_equal(found["coefficient"], table["coefficient"])


def test_a_fit_predicts_new_records(fitted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(fitted)
    fit(fitted, *DECLARED)
    new = pd.DataFrame({"age": [50.0, np.nan, 300.0], "sex": ["f", "f", "m"]})
    new.to_csv("new.csv", index=False)
    rows = told("predict", "fit", "new.csv")["rows"]
    table = pd.read_csv("fit/coefficients.csv").set_index("parameter")["coefficient"]
    # the second lacks a value, the third is moved to the bound
    predictor = [
        table["Intercept"] + 50.0 * table["age"],
        table["Intercept"] + 80.0 * table["age"] + table["sex[T.m]"],
    ]
    means = [rows[0]["mean"], rows[2]["mean"]]
    np.testing.assert_allclose(means, 1.0 / (1.0 + np.exp(-np.array(predictor))), rtol=1e-9)
    assert rows[1] == {"mean": None, "lower": None, "upper": None}
    assert all(row["lower"] < row["mean"] < row["upper"] for row in (rows[0], rows[2]))
    done = CliRunner().invoke(app, ["predict", "fit", "new.csv", "-o", "out.csv"])
    assert done.exit_code == 0, done.output
    assert "NOTE: values beyond declared bounds are moved to them: age 1\n" in done.stderr
    np.testing.assert_allclose(pd.read_csv("out.csv")["mean"].dropna(), means)
    assert CliRunner().invoke(app, ["predict", "fit", "new.csv", "-o", "out.csv"]).exit_code == 2
    covered = json.loads(Path("fit/guarantee.json").read_text())["covers"]
    assert {"coefficients.csv", "regression.json"} <= set(covered)


@pytest.fixture(scope="module")
def exact() -> tacit.Regression:
    return tacit.glm(
        FORMULA,
        visits(),
        columns={
            "age": tacit.data.Numeric(20, 80),
            "sex": tacit.data.Categorical(["f", "m"]),
            "ill": tacit.data.Boolean(),
        },
        family="binomial",
        epsilon=None,
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: text[: len(text) // 2], "Invalid JSON"),
        (lambda text: "{}", "Field required"),
        (lambda text: text.replace("ill ~ age", "ill ~ sox"), "'sox'"),
        (lambda text: text.replace('"age",', '"edge",'), "not those of its formula"),
        (lambda text: text.replace('"numeric"', '"number"'), "number"),
        (lambda text: text.replace('"logit"', '"probit"'), "link"),
    ],
)
def test_a_damaged_file_is_refused(
    exact: tacit.Regression, tmp_path: Path, change: Any, words: str
) -> None:
    exact.save(tmp_path / "fit.json")
    whole = (tmp_path / "fit.json").read_text()
    loaded = load_regression(tmp_path / "fit.json")
    pd.testing.assert_frame_equal(loaded.predict(visits()), exact.predict(visits()))
    assert loaded.to_json() + "\n" == whole
    assert change(whole) != whole
    (tmp_path / "fit.json").write_text(change(whole))
    with pytest.raises(ProblemError, match=words):
        load_regression(tmp_path / "fit.json")


@pytest.mark.long
def test_a_table_without_intervals_can_have_an_exit_code(fitted: Path) -> None:
    given = ["fit", str(fitted / "visits.csv"), FORMULA, "-f", "binomial", "-s", "site", *DECLARED]
    given += [*SEED, "--fail-if-useless", "--force", "-o", str(fitted / "fit"), "-e"]
    assert CliRunner().invoke(app, [*given, "2"]).exit_code == 0
    done = CliRunner().invoke(app, [*given, "0.05"])
    assert done.exit_code == 5
    assert "Not worth having: no intervals" in done.stderr


def test_what_is_not_declared_is_read_off_and_said(fitted: Path) -> None:
    given = ("fit", str(fitted / "visits.csv"), FORMULA, "-f", "binomial", "-s", "site")
    done = CliRunner().invoke(
        app, [*given, "-o", str(fitted / "fit"), "--bounds", "age=20:80", *SEED]
    )
    assert done.exit_code == 0, done.output
    assert "levels f, m of column sex" in done.stderr and "--levels sex=" in done.stderr
    assert "age" not in done.stderr
    guarantee = json.loads((fitted / "fit" / "guarantee.json").read_text())
    said = [each for each in guarantee["owners"][0]["assumptions"] if "read off" in each]
    assert len(said) == 2 and "kind (true or false) of column ill" in said[0]
    assert "column sex" in said[1]
    assert "read off the records" in (fitted / "fit" / "report.html").read_text()
    with pytest.warns(PrivacyLeakWarning, match="levels f, m of column sex"):
        found = tacit.glm(
            FORMULA,
            visits(),
            columns={"age": tacit.data.Numeric(20, 80)},
            family="binomial",
            seed=0,
        )
    assert any("column sex were read off" in each for each in found.guarantee.worst.assumptions)


def test_a_file_with_semicolons_and_decimal_commas_is_read(fitted: Path) -> None:
    visits().to_csv(fitted / "other.csv", index=False, sep=";", decimal=",")
    given = ("fit", fitted / "other.csv", FORMULA, "-f", "binomial", "-s", "site", "-e", "2")
    reading = ("--separator", ";", "--decimal", ",", "--output", fitted / "other")
    found = told(*given, *reading, *DECLARED, *SEED)
    same = fit(fitted, *DECLARED, *SEED)["answer"]["rows"]
    assert found["answer"]["rows"] == same
    assert "decimal mark" not in json.dumps(found["guarantee"])
    # the same without options, which is said
    done = CliRunner().invoke(
        app, [str(each) for each in (*given, *DECLARED, *SEED, "--json", "-o", fitted / "again")]
    )
    assert "WARNING: the decimal mark ',' was read off the records" in done.stderr
    found = json.loads(done.stdout)
    assert found["answer"]["rows"] == same
    assert "the decimal mark ',' was read off the records" in json.dumps(found["guarantee"])


def test_dates_and_other_words_for_yes_and_no(fitted: Path) -> None:
    frame = visits()
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(frame["age"].round() - 20, "D")
    frame["Tag"] = day.dt.strftime("%d.%m.%Y")
    frame["ill"] = frame["ill"].map({True: "Ja", False: "Nein"})
    frame.to_csv(fitted / "other.csv", index=False)
    given = [
        "fit",
        str(fitted / "other.csv"),
        "ill ~ Tag",
        "-f",
        "binomial",
        "-s",
        "site",
        "--json",
    ]
    for more, words in (
        ((), "the bounds 2024-01-01 to 2024-03-01 and format %d.%m.%Y of column Tag were read off"),
        (("--bounds", "Tag=2024-01-01:2024-03-01"), "the format %d.%m.%Y of column Tag was read"),
    ):
        done = CliRunner().invoke(
            app, [*given, "--json", "-o", str(fitted / "fit"), "--force", *more]
        )
        assert done.exit_code == 0, done.stderr
        found = json.loads(done.stdout)
        assumed = " ".join(found["guarantee"]["owners"][0]["assumptions"])
        assert words in assumed
        assert "the words for true and false of column ill were read off" in assumed
        row = found["answer"]["rows"][1]
        assert row["parameter"] == "Tag"
        assert abs(row["coefficient"] - 0.04) < 5 * row["standard_error"]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--bounds", "age=80:20"), "must be below"),
        (("--bounds", "age=20"), "age=18:90"),
        (("--bounds", "age"), "age=18:90"),
        (("--levels", "sex=f,f"), "twice"),
        (("--bounds", "height=1:2"), "is not a column of the data"),
        (("--epsilon", "0"), "positive"),
        (("--family", "poisson"), "needs a number with bounds"),
        (("--family", "poison"), "did you mean 'poisson'?"),
        (("--decimal", ";"), "must be . or ,"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_written(
    fitted: Path, more: tuple[str, ...], words: str
) -> None:
    given = ("fit", str(fitted / "visits.csv"), FORMULA, "-f", "binomial", "-o", "fit")
    done = CliRunner().invoke(app, [*given, *more])
    assert done.exit_code == 2
    assert words in re.sub(r"\s+", " ", done.stderr)
    assert not (fitted / "fit").exists()


@pytest.mark.long
def test_what_a_study_costs_is_known_beforehand(tmp_path: Path) -> None:
    study = written(tmp_path)
    planned, ran = told("account", study), told("run", study)
    assert planned["format"].startswith("tacit-account")
    owner = ran["guarantee"]["owners"][0]
    assert owner["epsilon"] == pytest.approx(2.0, rel=1e-6)
    assert ran["rounds"] == owner["releases"] == 4
    close_to_the_truth(pd.read_csv(tmp_path / "results" / "coefficients.csv"))


@pytest.mark.long
def test_offsets_and_weights_are_the_same_typed_written_and_called(
    fitted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(fitted)
    formula = "ill ~ C(sex) + offset(log(age))"
    given = ("--family", "binomial", "-e", "2", "--site", "site", *DECLARED, *SEED)
    more = ("--weights", "age", "--study", "mine.toml", "--output", "fit")
    told("fit", "visits.csv", formula, *given, *more)
    assert 'weights = "age"' in Path("mine.toml").read_text()
    # which would count every record once
    assert "calibration-figure" not in Path("fit/report.html").read_text()
    table = pd.read_csv("fit/coefficients.csv")
    told("run", "mine.toml", "--output", "again")
    pd.testing.assert_frame_equal(pd.read_csv("again/coefficients.csv"), table)
    found = tacit.glm(
        formula,
        visits(),
        columns={
            "age": tacit.data.Numeric(20, 80),
            "sex": tacit.data.Categorical(["f", "m"]),
            "ill": tacit.data.Boolean(),
        },
        family="binomial",
        weights="age",
        epsilon=2.0,
        missing="drop",
        seed=0,
    ).to_frame()
    np.testing.assert_array_equal(found["coefficient"], table["coefficient"])


@pytest.mark.parametrize("command", ["sweep"])
def test_there_is_nothing_to_sweep(tmp_path: Path, command: str) -> None:
    done = CliRunner().invoke(app, [command, str(written(tmp_path))])
    assert done.exit_code == 2, done.output
    assert "glm has no step" in re.sub(r"\s+", " ", done.stderr)


@pytest.mark.long
def test_a_ledger_is_charged_once_for_a_run(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "clinics.ledger") as ledger:
        for site in SITES:
            ledger.set_budget(site, "visits", epsilon=2.5, delta=1e-5)
    charged = ("masks = true\n", 'masks = true\nledger = "clinics.ledger"\ndataset = "visits"\n')
    study = written(tmp_path, charged)
    assert told("run", study)["ledger"]["repeated"] is False
    assert told("run", study, "--force")["ledger"]["repeated"] is True
    study.write_text(study.read_text().replace("age + C(sex)", "age"))
    assert CliRunner().invoke(app, ["run", str(study), "--force"]).exit_code == 2


@pytest.mark.slow
def test_the_claim_survives_an_audit(tmp_path: Path) -> None:
    found = told("audit", written(tmp_path), "--trials", "1000", "--output", tmp_path / "audit")
    assert found["refuted"] is False and not any(each["failed"] for each in found["checks"])
    assert 0.5 < found["lower_bound"] < 2.0


def test_it_is_described_and_listed() -> None:
    found = told("describe", "glm")
    assert (found["oracle"], found["traits"]["masks"]) == ("rows", "yes")
    assert [each["name"] for each in found["parameters"]] == ["sums", "covariance"]
    assert found["status"] == "proved with [privacy]; none without"


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ("~ age", "~ agee", r"\[model\].*'agee'"),
        ("ill ~ age", "ill age", r"\[model\] formula"),
        ('"binomial"', '"bin"', r"\[model\] family"),
        ('"binomial"', '"poisson"', r"\[model\].*'ill'"),
        ('"binomial"', '"binomial"\nweights = "agee"', r"\[model\].*'agee'"),
        ('"binomial"', '"binomial"\nweights = "sex"', r"\[model\].*'sex' has levels"),
        ("[privacy]", '[method]\nname = "dpsg"\n[privacy]', r"\[method\] name"),
        ("[privacy]", '[method]\nname = "glm"\nsums = 5\n[privacy]', r"\[method\] sums"),
        ("[privacy]", "[run]\nrounds = 7\n[privacy]", r"\[run\] rounds"),
        ("[privacy]", "[run]\nhold_out = 0.1\n[privacy]", r"\[run\] hold_out"),
        ("[privacy]", "[problem]\nloss = 'logistic'\n[privacy]", r"\[problem\] loss"),
        ("[partition]", "[data.target]\ncolumn = 'ill'\npositive = 'x'\n[partition]", "target"),
        ("epsilon = 2.0", "epsilon = 2.0\nclip = 3.0", r"\[privacy\].*clip"),
        ("epsilon = 2.0", "epsilon = 2.0\nnoise = 'laplace'", r"\[privacy\].*noise"),
        ("epsilon = 2.0", "epsilon = 2.0\nrelation = 'add_remove'", "relation"),
        ("[model]", "[modell]", r"modell. unknown key"),
    ],
)
def test_mistakes_are_told_with_their_place(tmp_path: Path, old: str, new: str, where: str) -> None:
    study = written(tmp_path, (old, new))
    with pytest.raises(ConfigError, match=where) as caught:
        execute(assemble(read_study(study)))
    assert "study.toml" in str(caught.value)


@pytest.mark.long
@pytest.mark.parametrize(
    "other",
    [
        pytest.param(("masks = true\n", ""), marks=pytest.mark.slow),
        ('family = "binomial"\n', 'family = "binomial"\n[method]\nname = "glm"\nsums = 3\n'),
    ],
)
def test_real_processes_fit_it(tmp_path: Path, other: tuple[str, str]) -> None:
    study = written(tmp_path, other)
    found = perform(prepare(read_study(study), tmp_path / "rehearsal"))
    assert len(found) == 4
    tables = [
        pd.read_csv(tmp_path / "rehearsal" / f"member-{member}" / "state" / "coefficients.csv")
        for member in range(4)
    ]
    for table in tables[1:]:
        pd.testing.assert_frame_equal(table, tables[0])
    close_to_the_truth(tables[0])
    loaded = load_regression(tmp_path / "rehearsal" / "member-0" / "state" / "regression.json")
    assert loaded.table.values.tolist() == tables[0]["coefficient"].tolist()
    assert loaded.predict(visits()[:5])["mean"].between(0.0, 1.0).all()
    assert all(member["noise"] == "secure" for member in found)


OFFSET = (
    'formula = "ill ~ age + C(sex)"\n',
    'formula = "ill ~ C(sex) + offset(log(age))"\nweights = "age"\n',
)


@pytest.mark.slow
@pytest.mark.parametrize("changes", [(), (OFFSET,)], ids=["plain", "offset and weights"])
def test_sites_and_a_simulation_have_the_same_bits(
    tmp_path: Path, changes: tuple[tuple[str, str], ...]
) -> None:
    from tacit.testing import check_between_sites

    check_between_sites(written(tmp_path, *changes))


@pytest.mark.long
def test_records_that_come_and_go_over_a_graph(tmp_path: Path) -> None:
    study = written(
        tmp_path,
        ("[model]", '[network]\ngraph = "ring"\nexact_sum = "tree"\n[model]'),
        ("masks = true", 'relation = "add_remove"'),
        ("[partition]", "[problem]\nsize = 2000\n[partition]"),
    )
    answer: Any = execute(assemble(read_study(study))).result.answer
    close_to_the_truth(answer.frame())


@pytest.mark.long
def test_several_levels_from_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    frame = visits()
    rng = np.random.default_rng(1)
    logits = np.column_stack(
        [np.zeros(RECORDS), 0.03 * (frame["age"] - 50), -0.5 + 0.0 * frame["age"]]
    )
    chosen = np.argmax(logits + rng.gumbel(size=logits.shape), axis=1)
    care = np.array(["at home", "ward", "care: intensive"])[chosen]
    frame.drop(columns="ill").assign(care=care).to_csv("visits.csv", index=False)
    document = told(
        *(
            "fit",
            "visits.csv",
            "care ~ age",
            "--family",
            "multinomial",
            "-e",
            "4",
            "--site",
            "site",
        ),
        *("--bounds", "age=20:80", "--levels", "care=at home,ward,care: intensive"),
        *("--study", "mine.toml", "--output", "fit", *SEED),
    )
    table = pd.read_csv("fit/coefficients.csv")
    assert table["parameter"].tolist() == [
        f"{level}: {name}" for level in ("ward", "care: intensive") for name in ("Intercept", "age")
    ]
    far = np.abs(table["coefficient"] - [-1.5, 0.03, -0.5, 0.0]) / table["standard_error"]
    assert far.max() < 5.0
    assert document["answer"]["levels"] == ["at home", "ward", "care: intensive"]
    told("run", "mine.toml", "--output", "again")
    pd.testing.assert_frame_equal(pd.read_csv("again/coefficients.csv"), table)
    pd.DataFrame({"age": [30.0]}).to_csv("new.csv", index=False)
    (row,) = told("predict", "fit", "new.csv")["rows"]
    assert sum(row[f"{level} mean"] for level in document["answer"]["levels"]) == pytest.approx(1.0)
    page = Path("fit/report.html").read_text()
    assert "care: intensive: age" in page and "calibration-figure" not in page


def test_of_several_draws_it_is_counted_how_many_gave_intervals(tmp_path: Path) -> None:
    from tacit.study import assemble, execute, read_study
    from tacit.study._output.words import findings

    noisy = ("epsilon = 2.0", "epsilon = 0.2")
    path = written(tmp_path, noisy, ("[privacy]", "[run]\ntrials = 8\nseed = 1\n\n[privacy]"))
    outcome = execute(assemble(read_study(path)))
    answers = outcome.result.answers
    assert len(answers) == 8 and answers[0] == outcome.result.answer
    printed = sum(getattr(each, "refusal", each) is None for each in answers)
    assert 0 < printed < 8
    assert f"{printed} of 8 draws of the noise gave intervals; the first is shown." in findings(
        outcome
    )
