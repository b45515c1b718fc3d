"""Offsets and weights of private regression, beside statsmodels and equations solved by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats
from scipy.optimize import root
from scipy.special import expit

import tacit
from tacit import data
from tacit.data.cells import Column, Scale
from tacit.data.design import design_of
from tacit.errors import ConfigError, ProblemError
from tacit.method import PrivateGLM, load_regression
from tacit.method.glm import FamilyName
from tests.quick import only

pytestmark = pytest.mark.long

RECORDS = 4000
TARGETS = {
    "gaussian": data.Numeric(-10, 10),
    "binomial": data.Boolean(),
    "poisson": data.Numeric(0, 300),
}
DECLARED = {"x": data.Numeric(-1, 1), "time": data.Numeric(0.1, 10), "weight": data.Numeric(0, 4)}


def drawn(family: str) -> pd.DataFrame:
    """Records whose `x` is -1 or 1, so that Mallows' factor is one constant."""
    rng = np.random.default_rng(3)
    x = rng.choice([-1.0, 1.0], RECORDS)
    time, weight = np.exp(rng.uniform(-2.3, 2.3, RECORDS)), rng.uniform(0.2, 4.0, RECORDS)
    predictor = 0.5 * x - 0.3 + np.log(time)
    if family == "gaussian":
        # errors within two standard deviations, which are not clipped
        y = predictor + rng.uniform(-1.0, 1.0, RECORDS)
    elif family == "binomial":
        y = rng.random(RECORDS) < expit(predictor)
    else:
        y = rng.poisson(np.exp(predictor)).astype(float)
    site = np.arange(RECORDS) % 4
    return pd.DataFrame({"site": site, "x": x, "time": time, "weight": weight, "y": y})


def fitted(family: FamilyName, **given: Any) -> tacit.Regression:
    columns = {name: DECLARED[name] for name in ("x", "time")} | {"y": TARGETS[family]}
    columns |= {"weight": DECLARED["weight"]} if "weights" in given else {}
    return tacit.glm(
        "y ~ x + offset(log(time))",
        drawn(family),
        columns=columns,
        family=family,
        epsilon=None,
        **given,
    )


@pytest.fixture(scope="module")
def weighted() -> tacit.Regression:
    return fitted("binomial", weights="weight")


def test_without_noise_it_is_the_fit_of_statsmodels(
    weighted: tacit.Regression, tmp_path: Path
) -> None:
    records = drawn("binomial")
    theirs: Any = sm.GLM(
        records["y"].astype(float),
        sm.add_constant(records["x"]),
        family=sm.families.Binomial(),
        offset=np.log(records["time"]),
        var_weights=records["weight"],
    ).fit()
    table = weighted.table
    np.testing.assert_allclose(table.values, theirs.params, atol=1e-6)
    # the sandwich of survey statistics, from which the constant factor of Mallows cancels
    x, w, mean = theirs.model.exog, records["weight"].to_numpy(), np.asarray(theirs.fittedvalues)
    bread = np.linalg.inv((x * (w * mean * (1.0 - mean))[:, None]).T @ x)
    score = x * (w * (records["y"].to_numpy() - mean))[:, None]
    meat = score.T @ score
    sandwich = bread @ meat @ bread  # ours is pooled from two points near the estimate
    assert np.abs(table.covariance - sandwich).max() < 1e-3 * sandwich.max()
    assert table.records == RECORDS and table.checks.passed

    weighted.save(tmp_path / "fit.json")
    new = pd.DataFrame({"x": [-1.0, 1.0, 1.0], "time": [2.0, 0.5, np.nan]})
    model = load_regression(tmp_path / "fit.json")
    assert set(model.schema.features) == {"y", "x", "time"}
    assert np.isnan(model.predict(new)["mean"]).tolist() == [False, False, True]
    found = model.predict(new[:2])["mean"]
    np.testing.assert_allclose(
        found, theirs.predict(sm.add_constant(new["x"][:2]), offset=np.log(new["time"][:2]))
    )


@pytest.mark.parametrize("weights", only(["weight"], [None, "weight"]))
def test_an_offset_of_a_linear_regression_is_in_the_units_of_the_target(
    weights: str | None,
) -> None:
    records = drawn("gaussian")
    given = {} if weights is None else {"weights": weights}
    table = fitted("gaussian", **given).table
    theirs: Any = sm.GLM(
        records["y"],
        sm.add_constant(records["x"]),
        offset=np.log(records["time"]),
        var_weights=None if weights is None else records["weight"],
    ).fit()
    assert np.abs((table.values - theirs.params) / theirs.bse).max() < 0.01


@pytest.mark.slow
@pytest.mark.parametrize("weights", only(["weight"], [None, "weight"]))
def test_counts_over_times_solve_the_equations_of_their_family(weights: str | None) -> None:
    records = drawn("poisson")
    x, y = np.column_stack([np.ones(RECORDS), records["x"]]), records["y"].to_numpy()
    w = np.ones(RECORDS) if weights is None else records["weight"].to_numpy() / 4.0
    found = fitted("poisson", **({} if weights is None else {"weights": weights}))
    table = found.table

    def score(values: Any, centre: float) -> Any:
        mean = np.exp(x @ values + np.log(records["time"].to_numpy()))
        bound, counts = 1.5 * np.sqrt(centre), np.arange(400)
        chance = stats.poisson.pmf(counts, mean[:, None])
        away = np.clip(counts - mean[:, None], -bound, bound)
        weight = np.sum(chance * away * (counts - mean[:, None]), axis=1)
        light = np.minimum(1.0, 2.0 * centre / weight)
        r = light * (np.clip(y - mean, -bound, bound) - np.sum(chance * away, axis=1))
        return (w * r)[:, None] * x

    # the number by which counts were clipped stands behind the two coefficients of a point
    centre = float(found.result.solution[2])
    exact = root(lambda values: score(values, centre).sum(axis=0), table.values).x
    # the estimate is pooled from two points near the solution
    assert np.abs((table.values - exact) / table.standard_errors).max() < 0.05


def test_weights_and_covariances_that_cannot_be_are_refused() -> None:
    x, y = Column("x", (), (0,), Scale(-1.0, 1.0, 0.0, 1.0)), Column("y", ("a", "b"), (1, 2))
    weight = Column("weight", (), (3,), Scale(0.0, 2.0, 0.0, 1.0))
    below = Column("weight", (), (3,), Scale(-1.0, 2.0, 0.0, 1.0))

    def made(**given: Any) -> PrivateGLM:
        return PrivateGLM(design_of([x]), y, "binomial", **given)

    assert made(weights=weight).robust and not made().robust
    with pytest.raises(ConfigError, match="covariance='model' with weights='weight'"):
        made(weights=weight, covariance="model")
    with pytest.raises(ConfigError, match="from -1 to 2"):
        made(weights=below)
    with pytest.raises(ConfigError, match="levels"):
        made(weights=Column("sex", ("f", "m"), (3, 4)))
    with pytest.raises(ConfigError, match="weights is 'weight'"):
        made(weights="weight")
    records = drawn("binomial")[:40]
    number: Any = 3
    with pytest.raises(ConfigError, match="weights=3"):
        tacit.glm("y ~ x", records, family="binomial", weights=number)
    with pytest.raises(ProblemError, match=r"'weigh'.*'weight'"):
        tacit.glm("y ~ x", records, family="binomial", weights="weigh")
