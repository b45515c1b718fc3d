"""`tacit predict` reads a table as its owner writes it, and keeps columns that name the records."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from tacit import data
from tacit.cli import app
from tacit.method import FittedModel

TABLE = "Nr;mean;age;sex\nP7;1;0;w\nP9;2;50,5;m\nP8;3;-9;m\n"
READ = ("--decimal", ",", "--map", 'sex={ "w" = "f" }', "--missing-values", "-9")


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    columns = {"age": data.Numeric(0, 101), "sex": data.Categorical(("f", "m"), drop_first=True)}
    FittedModel(
        "Visits",
        "squared",
        ("age", "sex=m", "intercept"),
        np.array([2.0, 1.0, 0.5]),
        data.Schema(columns, None, missing="drop"),
        data.NumericTarget("cost", -10, 10),
        "(1, 1e-6)-DP",
    ).save(tmp_path / "model.json")
    (tmp_path / "new.csv").write_text(TABLE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def predicted(*options: str, code: int = 0) -> Any:
    done = CliRunner().invoke(app, ["predict", "model.json", "new.csv", *options])
    assert done.exit_code == code, done.output
    return done


def test_columns_stand_beside_the_predictions(there: Path) -> None:
    predicted(*READ, "--keep", "Nr", "--keep", "age", "-o", "out.csv")
    found = pd.read_csv("out.csv")
    assert list(found.columns) == ["Nr", "age", "mean"]
    assert found["Nr"].tolist() == ["P7", "P9", "P8"] and found["age"].tolist()[1] == "50,5"
    assert found["mean"].tolist()[:2] == [-1.5, 1.5] and np.isnan(found["mean"][2])
    rows = json.loads(predicted(*READ, "--keep", "Nr", "--json").stdout)["rows"]
    assert rows[1] == {"Nr": "P9", "mean": 1.5} and rows[2] == {"Nr": "P8", "mean": None}
    assert predicted(*READ).stdout.splitlines()[0] == "mean"


def test_an_unread_number_is_answered_with_the_option(there: Path) -> None:
    said = predicted("--map", 'sex={ "w" = "f" }', code=2).stderr
    assert "'50,5'" in said and "load the table with --decimal ','" in " ".join(said.split())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ("--keep", "nr"),
            "--keep names 'nr', which is not a column of the data; did you mean 'Nr'",
        ),
        (("--keep", "mean"), "--keep mean: the predictions have a column of that name"),
        (("--keep", "Nr", "--keep", "Nr"), "name each column once"),
        (("--sheet", "one"), "is for Excel workbooks"),
        (("--decimal", ";"), "must be . or ,"),
        (("--map", "sexx={ w = 'f' }"), "--map names 'sexx'"),
    ],
)
def test_what_cannot_be_kept_or_read(there: Path, options: tuple[str, ...], said: str) -> None:
    assert said in " ".join(predicted(*READ, *options, code=2).stderr.split())


def test_dates_are_kept_as_text(there: Path) -> None:
    table = pd.DataFrame({"day": pd.to_datetime(["2024-02-01"]), "age": [50.5], "sex": ["m"]})
    table.to_parquet("new.parquet")
    done = CliRunner().invoke(
        app, ["predict", "model.json", "new.parquet", "--keep", "day", "--json"]
    )
    assert json.loads(done.stdout)["rows"] == [{"day": "2024-02-01 00:00:00", "mean": 1.5}]
