"""A regression by `tacit fit`, from a table and options."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import tacit
from tacit.cli import app
from tacit.data.undeclared import PrivacyLeakWarning
from tests.end_to_end.regression.visits import (
    DECLARED,
    FORMULA,
    RECORDS,
    SEED,
    close_to_the_truth,
    fit,
    visits,
)
from tests.end_to_end.study import told


@pytest.mark.long
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


@pytest.mark.long
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


@pytest.mark.long
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
