"""Wrong values on the command line: what is said of the value, its place and the remedy."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tacit.cli import app
from tacit.cli.programs import keep_programs
from tacit.data.schema import Altered
from tests.end_to_end.study import changed, write

OPTIONS = ("--records", "20", "--parameters", "10", "--agents", "5", "--epsilon", "1")


def told(*words: object) -> str:
    """What is said of an option or a file that is wrong."""
    done = CliRunner().invoke(app, [*map(str, words)])
    assert done.exit_code == 2, done.output
    return done.output


@pytest.fixture
def patients(tmp_path: Path) -> Path:
    rows = [f"{30 + k / 2},{k % 9 + 1},{k % 2},{'ab'[k % 2]},s{k % 3}" for k in range(60)]
    path = tmp_path / "patients.csv"
    path.write_text("\n".join(["age,years,died,arm,clinic", *rows]) + "\n")
    return path


def test_numbers_are_no_groups(patients: Path) -> None:
    said = told("table1", patients, "--by", "age")
    assert "'age' has 60 levels" in said
    assert "it holds numbers" in said and "a column such as age_group" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("survival", "years", "clinic"), "'clinic' cannot be both the event and the sites"),
        (("survival", "years", "years"), "'years' cannot be both the time and the event"),
        (("survival", "years", "died", "--by", "died"), "both the event and the groups"),
        (("cox", "years", "died", "arm", "--strata", "arm"), "both a covariate and the strata"),
        (("cox", "years", "died", "arm", "arm"), "'arm' stands twice as a covariate"),
        (("cox", "years", "died", "clinic"), "'clinic' cannot be both a covariate and the sites"),
    ],
)
def test_a_column_has_one_part(patients: Path, words: tuple[str, ...], said: str) -> None:
    command, *rest = words
    assert said in told(command, patients, *rest, "--site", "clinic")


def test_what_an_option_gave_is_blamed_on_the_option(tmp_path: Path) -> None:
    assert "error: --prevalence 30.0 must be above 0" in told(
        "advise", *OPTIONS, "--prevalence", "30"
    )
    text = changed('column = "site"', 'column = "site"\nsites = ["A", "B", "C", "D"]')
    study = write(tmp_path, text)
    for words, said in (
        (("--prevalence", "30", "--records", "20"), "error: --prevalence 30.0 must be above 0"),
        (("--records", "6,6"), "error: --records 6,6 has 2 numbers for 4 sites"),
        (("--records", "20", "--row-norm", "-1"), "error: --row-norm -1"),
    ):
        assert said in told("advise", study, *words)


def test_a_result_that_is_cut_off(tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text('{"format": "tacit-res')
    said = told("report", tmp_path)
    assert "result.json is no whole JSON document" in said and "Copy it again" in said


def test_a_cache_that_is_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path / "file" / "cache"))
    keep_programs()
    said = capsys.readouterr().err
    assert said.count("WARNING: TACIT_CACHE=") == 1 and "Not a directory" in said
    assert "JAX_COMPILATION_CACHE_DIR" not in os.environ


def test_bounds_that_hold_no_value(patients: Path) -> None:
    words = ("fit", patients, "died ~ age", "--site", "clinic", "--family", "binomial")
    said = told(*words, "--bounds", "age=1900:2010")
    assert "error: column 'age' has no value between its declared bounds" in said


def test_times_may_all_be_beyond_the_last_one() -> None:
    altered = Altered(60, 0, {"years": 60, "age": 59}, {})
    assert altered.outside("years") == []
    assert altered.outside(None) == ["years"]
    assert Altered(0, 0, {"years": 0}).outside(None) == []


def test_a_target_of_numbers_is_not_binomial(patients: Path) -> None:
    said = told("fit", patients, "age ~ arm", "--family", "binomial", "--site", "clinic")
    assert "'age' holds numbers, 60 different ones, and 'binomial' is for levels" in said
    assert "such as 'gaussian'" in said


def test_a_model_that_cannot_be_read_is_not_blamed_on_the_table(patients: Path) -> None:
    said = told("predict", patients.with_name("nowhere.json"), patients)
    assert said.startswith(f"error: {patients.with_name('nowhere.json')}: cannot be read")
    assert "check the path" in said


def test_a_status_of_something_else(tmp_path: Path) -> None:
    (tmp_path / "status.json").write_text("[]")
    assert "status.json is not the status of a member" in told("status", tmp_path)
