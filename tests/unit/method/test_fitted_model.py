"""A model in a file predicts new rows as the run would have."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from tacit import data
from tacit.cli import app
from tacit.errors import ProblemError, RuntimeFailure
from tacit.method import FittedModel, load_model, load_regression

YES = data.BinaryTarget("ill", positive="yes")
COLUMNS = {"age": data.Numeric(0, 100), "sex": data.Categorical(("f", "m"), drop_first=True)}
ROWS = pd.DataFrame({"age": [0, 50, 200], "sex": ["f", "m", "m"]})


def model(loss: str = "logistic", target: Any = YES, **change: Any) -> FittedModel:
    """A model whose linear predictor is 2 a + s + 0.5, with a in [-1, 1] and s for male."""
    found = FittedModel(
        "Visits",
        loss,
        ("age", "sex=m", "intercept"),
        np.array([2.0, 1.0, 0.5]),
        data.Schema(COLUMNS, None),
        target,
        "(1, 1e-6)-DP",
        "ab" * 32,
        "2026-11-26",
    )
    return replace(found, **change)


SCORES = np.array([-1.5, 1.5, 3.5])  # 200 is moved to the bound of 100


@pytest.mark.parametrize(
    ("loss", "target", "column", "expected"),
    [
        ("logistic", YES, "mean", 1 / (1 + np.exp(-SCORES))),
        ("hinge", YES, "score", SCORES),
        ("poisson", data.NumericTarget("visits", 0, 50), "mean", np.exp(SCORES)),
        ("squared", data.NumericTarget("cost", 0, 50), "mean", SCORES),
        ("huber", data.NumericTarget("cost", 0, 50), "mean", SCORES),
        ("quantile", data.NumericTarget("cost", 0, 50, to=(-1, 1)), "mean", 25 + 25 * SCORES),
    ],
)
def test_predictions_are_in_the_units_of_the_target(
    tmp_path: Path, loss: str, target: Any, column: str, expected: np.ndarray
) -> None:
    made = model(loss, target)
    made.save(tmp_path / "model.json")
    for each in (made, load_model(tmp_path / "model.json")):
        with pytest.warns(UserWarning, match="moved to them: age 1"):
            found = each.predict(ROWS)
        assert list(found) == [column]
        np.testing.assert_allclose(found[column], expected)


def test_classes_have_probabilities(tmp_path: Path) -> None:
    target = data.ClassTarget("visits", ("none", "some", "often"))
    values = np.array([[1.0, 0.0, -1.0], [0.0, 0.0, 0.0], [0.0, 0.5, 0.0]]).T.ravel()
    made = model("softmax", target, values=values, names=tuple("abcdefghi"))
    made.save(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    with pytest.warns(UserWarning, match="moved to them: age 1"):
        found = loaded.predict(ROWS)
    assert list(found) == ["none mean", "some mean", "often mean"]
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    weights = np.asarray(loaded.built.weights(values, 3))
    scores = np.array([[-1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 1.0, 1.0]]) @ weights
    np.testing.assert_allclose(found, np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True))


def test_what_the_fit_left_out_is_not_predicted() -> None:
    rows = ROWS.assign(age=[10.0, math.nan, 50.0])
    dropping = model(schema=data.Schema(COLUMNS, None, missing="drop"))
    assert dropping.predict(rows)["mean"].isna().tolist() == [False, True, False]
    assert dropping.predict(rows.iloc[1:2])["mean"].isna().all()
    strict = model(schema=data.Schema(COLUMNS, None))
    assert strict.predict(rows)["mean"].isna().tolist() == [False, True, False]
    with pytest.raises(ProblemError, match="sex"):
        model().predict(ROWS.drop(columns="sex"))


def test_a_file_says_what_the_model_is(tmp_path: Path) -> None:
    model().save(tmp_path / "model.json")
    document = json.loads((tmp_path / "model.json").read_text())
    assert document["columns"]["age"] == {"kind": "numeric"} | document["columns"]["age"]
    assert (document["columns"]["age"]["lower"], document["columns"]["age"]["upper"]) == (0, 100)
    assert document["guarantee"] == "(1, 1e-6)-DP"
    assert (document["date"], document["study_sha256"]) == ("2026-11-26", "ab" * 32)
    assert document["target"]["column" if "column" in document["target"] else "name"] == "ill"
    assert repr(load_model(tmp_path / "model.json")).startswith("<FittedModel of ill: logistic")
    with pytest.raises(RuntimeFailure, match="cannot be written"):
        model().save(tmp_path / "nowhere" / "model.json")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"values": [1.0]}, "its parameters are not those of a model of 'ill'"),
        ({"loss": "softmax"}, "is not a model that tacit has saved"),
        ({"loss": "mine"}, "loss"),
        ({"more": 1}, "more"),
        ({"target": {"kind": "other"}}, "is not a model"),
        ({"columns": {"age": {"kind": "numeric", "lower": 3, "upper": 2}}}, "is not a model"),
    ],
)
def test_a_file_that_was_changed_is_refused(
    tmp_path: Path, change: dict[str, Any], told: str
) -> None:
    path = tmp_path / "model.json"
    model().save(path)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(ProblemError, match=told):
        load_model(path)


def test_what_is_no_file_of_a_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "half.json").write_text(model().to_json()[:200])
    (tmp_path / "bytes.json").write_bytes(b"\xff")
    whole = r"is not a model .*give the model\.json of a run, or copy it again"
    for name, told in (("half", whole), ("bytes", "not text"), ("gone", "No such")):
        with pytest.raises(ProblemError, match=told):
            load_model(tmp_path / f"{name}.json")


@pytest.mark.not_quick
def test_the_command_predicts_by_a_model(tmp_path: Path) -> None:
    model().save(tmp_path / "model.json")
    ROWS.to_csv(tmp_path / "new.csv", index=False)

    def invoke(*arguments: str, code: int = 0) -> str:
        done = CliRunner().invoke(app, ["predict", *arguments])
        assert done.exit_code == code, done.output
        notes.append(done.stderr)
        return done.stderr if code else done.stdout

    notes: list[str] = []
    new, out = str(tmp_path / "new.csv"), tmp_path / "out.csv"
    assert invoke(str(tmp_path), new).splitlines()[0] == "mean"
    found = json.loads(invoke(str(tmp_path / "model.json"), new, "--json"))
    assert [row["mean"] for row in found["rows"]] == pytest.approx(1 / (1 + np.exp(-SCORES)))
    assert found["date"] == "2026-11-26"
    said = invoke(str(tmp_path), new, "-o", str(out))
    assert "3 means of ill" in said
    assert "NOTE: without intervals: the noise in" in notes[-1] and "lack" not in notes[-1]
    assert len(pd.read_csv(out)) == 3
    (tmp_path / "empty").mkdir()
    assert "has no regression.json and no model.json" in invoke(
        str(tmp_path / "empty"), new, code=2
    )


@pytest.mark.parametrize("read", [load_model, load_regression])
def test_a_file_of_another_version_is_named_by_its_format(tmp_path: Path, read: Any) -> None:
    path = tmp_path / "saved.json"
    path.write_text('{"format": "tacit-regression-9"}')
    other = "tacit.method.load_regression reads" if read is load_model else "this version of tacit"
    with pytest.raises(ProblemError, match=f"has the format 'tacit-regression-9'; {other}"):
        read(path)
