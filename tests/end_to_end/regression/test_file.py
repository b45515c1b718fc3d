"""A regression's file: predictions of new records, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import tacit
from tacit.cli import app
from tacit.errors import ProblemError
from tacit.method import load_regression
from tests.end_to_end.regression.visits import DECLARED, FORMULA, fit, visits
from tests.end_to_end.study import told


@pytest.mark.long
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
    assert "NOTE: values beyond declared bounds are moved to them: age 1.\n" in done.stderr
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
        (lambda text: text.replace('"refusal"', '"papers": ["No (1900)"], "refusal"'), "No .1900"),
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
