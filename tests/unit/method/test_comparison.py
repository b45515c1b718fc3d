"""A regression beside records: calibration, ROC, AUC, against counting and scipy."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tacit import data
from tacit.errors import ProblemError
from tacit.method import Checks, CoefficientTable, Comparison, FittedRegression
from tacit.report import calibration_figure, roc_figure
from tacit.report.comparing import NOT_PRIVATE

pytestmark = pytest.mark.long

SLOPES = np.array([-3.0, 0.05, 0.5])


def model(family: str = "binomial", link: str = "logit") -> FittedRegression:
    """`ill` or `cost` by age and sex."""
    table = CoefficientTable(
        *(("Intercept", "age", "sex[T.m]"), SLOPES, np.eye(3), np.eye(3)),
        *(Checks(0.1, 0.0, 1.0, 0.0), None, family, link, 10, (1.0, 60.0, 1.0)),
    )
    target = "ill" if family == "binomial" else "cost"
    kinds: dict[str, Any] = {"ill": data.Boolean(), "cost": data.Numeric(0, 4, missing="drop")}
    features = {
        target: kinds[target],
        "age": data.Numeric(20, 80, missing="drop"),
        "sex": data.Categorical(["f", "m"]),
    }
    schema = data.Schema(features, None, intercept=False)
    return FittedRegression(f"{target} ~ age + C(sex)", table, schema, "nothing")


def records(count: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"age": rng.uniform(20, 80, count).round(), "sex": rng.choice(["f", "m"], count)}
    )
    mean = SLOPES[0] + SLOPES[1] * frame["age"] + SLOPES[2] * (frame["sex"] == "m")
    ill = rng.random(count) < 1.0 / (1.0 + np.exp(-mean))
    return frame.assign(ill=ill, cost=rng.gamma(2.0, 1.0, count))


def test_predictions_are_those_of_predict_and_records_without_a_value_are_left_out() -> None:
    frame = records()
    frame.loc[0, "age"] = np.nan
    found = model().compare(frame)
    np.testing.assert_allclose(found.predicted, model().predict(frame)["mean"].dropna())
    np.testing.assert_array_equal(found.observed, frame["ill"][1:])


def test_targets_beyond_their_bounds_are_moved_as_in_the_fit() -> None:
    found = model("gaussian", "identity").compare(records())
    np.testing.assert_allclose(found.observed, records()["cost"].clip(0, 4), atol=1e-12)
    assert math.isnan(found.auc) and not found.both
    with pytest.raises(ProblemError, match="Gaussian model has no ROC"):
        found.roc()


def test_the_area_is_the_chance_that_one_who_is_ill_has_the_larger_prediction() -> None:
    found = model().compare(records())
    yes, no = (found.predicted[found.observed == kind] for kind in (1.0, 0.0))
    wins = (yes[:, None] > no).mean() + (yes[:, None] == no).mean() / 2.0
    assert found.auc == pytest.approx(wins)
    curve = found.roc().to_numpy()
    assert np.trapezoid(curve[:, 1], curve[:, 0]) == pytest.approx(wins)
    assert curve[0].tolist() == [0.0, 0.0] and curve[-1].tolist() == [1.0, 1.0]
    assert len(curve) == len(np.unique(found.predicted)) + 1


def test_a_calibration_counts_every_record_once_and_has_the_intervals_of_scipy() -> None:
    found = model().compare(records())
    rows = found.calibration()
    assert len(rows) == 10 and rows["records"].sum() == 400
    assert rows["predicted"].is_monotonic_increasing
    first = found.predicted <= np.quantile(found.predicted, 0.1)
    hits = int(found.observed[first].sum())
    ends = stats.binomtest(hits, int(first.sum())).proportion_ci(method="wilson")
    assert rows.loc[0, ["records", "observed", "lower", "upper"]].tolist() == pytest.approx(
        [first.sum(), hits / first.sum(), ends.low, ends.high]
    )
    other = model("gaussian", "identity").compare(records())
    last = other.observed[other.predicted > np.quantile(other.predicted, 0.9)]
    ends = stats.ttest_1samp(last, 0.0).confidence_interval()
    assert other.calibration().iloc[-1][["lower", "upper"]].tolist() == pytest.approx(list(ends))


def test_equal_predictions_are_in_one_group_and_one_record_has_no_interval() -> None:
    same = Comparison("poisson", np.array([1.0, 1.0, 1.0, 2.0]), np.array([0.0, 1.0, 2.0, 5.0]))
    rows = same.calibration()
    assert rows["records"].tolist() == [3, 1]
    assert rows["observed"].tolist() == [1.0, 5.0]
    assert np.isnan(rows["lower"].iloc[1])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"ill": True}, "both"),
        ({"age": np.nan}, "no record has a value in every column"),
    ],
)
def test_records_that_say_nothing_are_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ProblemError, match=words):
        model().compare(records().assign(**change)).roc()
    with pytest.raises(ProblemError, match="no column 'sex'"):
        model().compare(records().drop(columns="sex"))


def test_both_figures_say_that_they_are_not_private() -> None:
    found = model().compare(records())
    for figure in (calibration_figure(found), roc_figure(found)):
        assert figure.layout.title.text == NOT_PRIVATE
    assert roc_figure(found).data[0].name == f"AUC {found.auc:.3f}"
    drawn = calibration_figure(found).data[1]
    np.testing.assert_allclose(drawn.y, found.calibration()["observed"])
    single = replace(found, family="gamma", observed=found.observed + 1.0)
    assert len(calibration_figure(single).data[0].x) == 30


@pytest.mark.parametrize(
    ("predicted", "observed", "told"),
    [
        ([0.2, 0.3, 0.4], [1.0, 0.0], r"shapes \(3,\) and \(2,\)"),
        ([], [], "at least one record"),
        ([[0.2]], [[1.0]], "predicted=.* must be an array"),
        ([2.0, -3.0], [1.0, 0.0], r"predicted holds numbers outside \[0, 1\]"),
        ([0.2, np.nan], [1.0, 0.0], r"predicted holds numbers outside \[0, 1\]"),
        ([0.2, 0.3], [1.0, 7.0], r"observed holds numbers outside \[0, 1\]"),
    ],
)
def test_what_is_no_comparison_is_refused(predicted: Any, observed: Any, told: str) -> None:
    with pytest.raises(ProblemError, match=told):
        Comparison("binomial", np.array(predicted), np.array(observed))


def test_other_families_have_any_means() -> None:
    assert len(Comparison("poisson", np.array([2.0, 3.0]), np.array([1.0, 7.0])).calibration()) == 2
