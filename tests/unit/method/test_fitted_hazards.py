"""Relative hazards and survival from a Cox regression: those of statsmodels without noise."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from statsmodels.duration.hazard_regression import PHReg
from typer.testing import CliRunner

import tacit
from tacit import data
from tacit.cli import app
from tacit.errors import ConfigError, ProblemError
from tacit.method import load_hazards
from tacit.method.citation import MASKS, bibtex

pytestmark = pytest.mark.long

DECLARED: dict[str, data.Feature] = {
    "years": data.Numeric(0, 10),
    "died": data.Boolean(),
    "age": data.Numeric(20, 80),
    "sex": data.Categorical(["f", "m"]),
    "ward": data.Categorical(["east", "west"]),
}
NEW = pd.DataFrame(
    {"age": [30.0, 50.0, 70.0], "sex": ["f", "m", "f"], "ward": ["west", "east", "west"]}
)
SITES = ["a", "b", "c", "d"]


def records(seed: int = 0, size: int = 4000, west: float = 2.0) -> pd.DataFrame:
    """A baseline hazard of 0.06 at an age of 50, so many times as high in the ward west."""
    rng = np.random.default_rng(seed)
    age, sex, ward = (
        rng.uniform(20, 80, size),
        rng.choice(["f", "m"], size),
        rng.choice(["east", "west"], size),
    )
    hazard = (
        0.06 * np.exp(0.02 * (age - 50) + 0.3 * (sex == "m")) * np.where(ward == "west", west, 1)
    )
    lived, followed = rng.exponential(size=size) / hazard, rng.uniform(2, 15, size)
    table = {"years": np.minimum(lived, followed), "died": lived <= followed}
    return pd.DataFrame({"site": rng.choice(SITES, size), **table, "age": age, "sex": sex}).assign(
        ward=ward
    )


def fitted(table: pd.DataFrame, **given: Any) -> tacit.Cox:
    asked: Any = {"columns": DECLARED, "epsilon": None, "seed": 0, "sites": SITES} | given
    return tacit.cox(table, "years", "died", ["age", "sex"], **asked)


@cache
def exact() -> tacit.Cox:
    return fitted(records(), pieces=40, strata="ward")


@cache
def partial() -> Any:
    """The same by the partial likelihood of statsmodels."""
    table = records()
    ends = np.minimum(table["years"], 10.0)
    columns = np.column_stack([table["age"], table["sex"] == "m"]).astype(float)
    status = (table["died"] & (table["years"] < 10.0)).astype(int)
    return PHReg(ends, columns, status=status, strata=table["ward"], ties="breslow").fit()


def test_relative_hazards_are_those_of_the_partial_likelihood() -> None:
    expected, rows = partial(), np.array([[30.0, 0.0], [50.0, 1.0], [70.0, 0.0]])
    found = exact().predict(NEW, level=0.9)
    log = rows @ expected.params
    error = np.sqrt(np.einsum("ij,jk,ik->i", rows, expected.cov_params(), rows))
    half = norm.ppf(0.95) * error
    np.testing.assert_allclose(np.log(found["relative_hazard"]), log, atol=0.1 * error.max())
    np.testing.assert_allclose(np.log(found["upper"]) - np.log(found["lower"]), 2 * half, rtol=0.02)


def test_a_reference_moves_the_record_whose_hazard_is_one() -> None:
    found = exact().predict(NEW, reference={"age": 50, "sex": "m"})
    assert found["relative_hazard"][1] == found["lower"][1] == found["upper"][1] == 1.0
    plain = exact().predict(NEW)["relative_hazard"]
    np.testing.assert_allclose(found["relative_hazard"], plain / plain[1])
    # an age alone leaves the level at the first
    aged = exact().predict(NEW, reference={"age": 50})
    np.testing.assert_allclose(np.log(aged["relative_hazard"][1]), exact().table.values[1])


def test_survival_is_that_of_breslows_baseline_in_each_stratum() -> None:
    found = exact().predict(NEW, at=[2, 5, 10])
    rows = np.array([[30.0, 0.0], [50.0, 1.0], [70.0, 0.0]])
    risk = np.exp(rows @ partial().params)
    for row, stratum in enumerate([1, 0, 1]):
        times, cumulative, _ = partial().baseline_cumulative_hazard[stratum]
        for time in (2, 5, 10):
            expected = np.exp(-risk[row] * np.interp(time, times, cumulative))
            assert abs(found[f"survival {time}"][row] - expected) < 0.004
    between = found["survival 5 lower"] < found["survival 5"]
    assert (between & (found["survival 5"] < found["survival 5 upper"])).all()


def test_the_error_of_survival_is_that_of_a_rate() -> None:
    """With one piece of time and an age that says nothing, that of the events of a level."""
    table = records().assign(age=np.tile([20.0, 80.0], 2000))
    fit = fitted(table, pieces=1)
    found = fit.predict(pd.DataFrame({"age": [50.0], "sex": ["f"]}), at=[4])
    low, high = (np.log(-np.log(found[f"survival 4 {end}"][0])) for end in ("upper", "lower"))
    events = ((table["sex"] == "f") & table["died"] & (table["years"] < 10.0)).sum()
    assert abs((high - low) / (2 * norm.ppf(0.975)) * np.sqrt(events) - 1.0) < 0.02


def test_intervals_hold_with_noise_over_seeds() -> None:
    truth = np.exp(0.02 * (NEW["age"] - 50) + 0.3 * (NEW["sex"] == "m")).to_numpy()
    held: list[list[Any]] = []
    for seed in range(12):
        fit = fitted(records(seed, 12_000, west=1.0), epsilon=1.0, seed=seed)
        found = fit.predict(NEW, at=[3, 8], reference={"age": 50})
        wide = np.log(found["upper"] / found["lower"]) / 2 / norm.ppf(0.975)
        held.append([(found["lower"] <= truth) & (truth <= found["upper"])])
        for time in (3, 8):
            survival = np.exp(-0.06 * time * truth)
            low, high = found[f"survival {time} lower"], found[f"survival {time} upper"]
            held[-1].append((low <= survival) & (survival <= high))
        assert wide[0] > 20 * np.sqrt(fit.table.sampling[0, 0])
    # 108 intervals of 12 fits, each of a nominal coverage of 95 %
    assert np.mean(held) > 0.85


def test_periods_have_relative_hazards_of_their_own() -> None:
    found = fitted(records(), periods=[5])
    shown = found.predict(NEW, at=[8])
    early, late = found.table.values[:2], found.table.values[2:]
    rows = np.array([[30.0, 0.0], [50.0, 1.0], [70.0, 0.0]])
    np.testing.assert_allclose(np.log(shown["(0, 5] relative_hazard"]), rows @ early)
    np.testing.assert_allclose(np.log(shown["(5, 10] relative_hazard"]), rows @ late)
    h, edges = found.table.hazards[0], found.table.edges
    total = np.zeros(3)
    for start, end, hazard in zip(edges[:-1], edges[1:], h, strict=True):
        risk = np.exp(rows @ (early if end <= 5.01 else late))
        total += risk * hazard * max(min(8.0, end) - start, 0.0)
    np.testing.assert_allclose(shown["survival 8"], np.exp(-total))


def test_the_file_predicts_the_same(tmp_path: Path) -> None:
    fit = exact()
    fit.save(tmp_path / "regression.json")
    again = load_hazards(tmp_path / "regression.json")
    pd.testing.assert_frame_equal(again.to_frame(), fit.to_frame())
    pd.testing.assert_frame_equal(again.conf_int(0.9), fit.conf_int(0.9))
    assert again.to_latex() == fit.to_latex() and again.summary() == fit.summary()
    asked: Any = {"at": [1, 9.5], "reference": {"sex": "m"}}
    pd.testing.assert_frame_equal(again.predict(NEW, **asked), fit.predict(NEW, **asked))
    assert (again.guarantee, again.table.summary()) == (str(fit.guarantee), fit.table.summary())
    assert again.formula == "hazard of died = true on age, sex by ward"
    assert again.cite() == fit.cite()
    document = json.loads((tmp_path / "regression.json").read_text())
    values = document["table"]["values"]
    document["table"]["values"] = [float("nan"), *values[1:]]
    (tmp_path / "cut.json").write_text(json.dumps(document))
    with pytest.raises(ProblemError, match="it is damaged: a number in it is not finite"):
        load_hazards(tmp_path / "cut.json")
    document["table"]["values"] = values
    document["table"]["joint"] = document["table"]["joint"][:-1]
    (tmp_path / "cut.json").write_text(json.dumps(document))
    with pytest.raises(ProblemError, match=r"cut\.json: is not a Cox regression that tacit has"):
        load_hazards(tmp_path / "cut.json")
    document["table"]["names"] = ["sex[T.m]", "age"]
    (tmp_path / "cut.json").write_text(json.dumps(document))
    with pytest.raises(ProblemError, match="its effects are not those of its columns"):
        load_hazards(tmp_path / "cut.json")


def test_a_file_names_what_to_cite_and_one_of_an_earlier_version_cites_tacit_alone(
    tmp_path: Path,
) -> None:
    path = tmp_path / "regression.json"
    fit = fitted(records(), epsilon=8)
    fit.save(path)
    assert load_hazards(path).cite() == fit.model.cite() == fit.cite()
    assert fit.model.papers == fit.result.papers == (MASKS,)
    document = json.loads(path.read_text())
    path.write_text(json.dumps({**document, "papers": ["Nobody (2020)"]}))
    with pytest.raises(ProblemError, match=r"is not a Cox regression .* \('Nobody \(2020\)'\)"):
        load_hazards(path)
    del document["papers"]
    path.write_text(json.dumps(document))
    assert load_hazards(path).cite() == bibtex(())


def test_records_without_a_value_are_not_predicted_and_values_beyond_bounds_are_moved() -> None:
    model = exact().model
    table = pd.DataFrame({"age": [np.nan, 99.0, 80.0], "sex": ["f", "f", "f"], "ward": "east"})
    with pytest.warns(UserWarning, match="moved to them: age 1"):
        found = model.predict(table, at=[5])
    assert found.iloc[0].isna().all() and found.iloc[1].equals(found.iloc[2])
    assert dict(model.moved(table)) == {"age": 1}
    assert len(model.predict(table.iloc[:1], at=[5])) == 1


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"at": [0]}, "above 0 and up to 10: the baseline that was released ends there"),
        ({"at": [10.5]}, "at=10.5 must be a time above 0 and up to 10"),
        ({"at": "5"}, "must be a list of times"),
        ({"reference": {"agee": 5}}, "names 'agee', which is no column of the regression"),
        ({"reference": {"age": 95}}, "beyond its declared bounds"),
        ({"level": 1.0}, "level=1.0 must be a number between 0 and 1"),
    ],
)
def test_what_cannot_be_predicted_is_refused(given: Any, what: str) -> None:
    with pytest.raises((ConfigError, ProblemError), match=what):
        exact().predict(NEW, **given)


def test_survival_needs_the_column_of_the_strata_and_relative_hazards_do_not() -> None:
    table = NEW.drop(columns="ward")
    assert len(exact().predict(table)) == 3
    with pytest.raises(ProblemError, match="ward"):
        exact().predict(table, at=[5])


def test_the_command_line_predicts_from_what_a_run_wrote(tmp_path: Path) -> None:
    records().to_csv(tmp_path / "records.csv", index=False)
    NEW.to_csv(tmp_path / "new.csv", index=False)
    options = ["--site", "site", "--sites", ",".join(SITES), "--bounds", "years=0:10", "--strata"]
    options += ["ward", "--levels", "ward=east,west", "--bounds", "age=20:80", "--pieces", "2"]
    options += ["--levels", "sex=f,m", "--levels", "died=false,true", "--epsilon", "8"]
    asked = [str(tmp_path / "records.csv"), "years", "died", "age", "sex", "--seed", "0"]
    results = str(tmp_path / "cox")
    done = CliRunner().invoke(app, ["cox", *asked, *options, "--output", results])
    assert done.exit_code == 0, done.output + done.stderr
    again = ["predict", results, str(tmp_path / "new.csv"), "--at", "5", "--reference", "age=50"]
    told = CliRunner().invoke(app, [*again, "--json"])
    assert told.exit_code == 0, told.output + told.stderr
    rows = json.loads(told.stdout)["rows"]
    loaded = load_hazards(tmp_path / "cox" / "regression.json")
    assert loaded.papers == (MASKS,)
    expected = loaded.predict(NEW, at=[5], reference={"age": 50})
    assert [row["survival 5"] for row in rows] == pytest.approx(expected["survival 5"].tolist())
    assert [row["lower"] for row in rows] == pytest.approx(expected["lower"].tolist())
    wrong = CliRunner().invoke(app, [*again[:-3], "late"])
    assert wrong.exit_code == 2 and "--at 'late' must be times" in wrong.output + wrong.stderr
