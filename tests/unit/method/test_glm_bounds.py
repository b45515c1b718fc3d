"""A withheld regression names the column whose declared bounds are too wide."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit import data
from tacit.data.cells import columns_of
from tacit.data.formula import parse_formula
from tacit.method._glm_bounds import Narrower, narrower
from tacit.method.glm import PrivateGLM

DECLARED: dict[str, data.Feature] = {
    "income": data.Numeric(0, 1_000_000),
    "age": data.Numeric(20, 80),
    "ill": data.Boolean(),
}
SITES = ["a", "b", "c", "d", "e"]


def method(formula: str = "ill ~ income + age") -> PrivateGLM:
    schema = data.Schema(DECLARED, None, intercept=False)
    target, design = parse_formula(formula, columns_of(schema))
    return PrivateGLM(design, target, "binomial")


def information(income: tuple[float, float], age: tuple[float, float] = (0.0, 0.58)) -> Any:
    """That of 1000 records with these means and deviations of the columns in [-1, 1]."""
    means = np.array([income[0], age[0], 1.0])
    return 1000.0 * (np.outer(means, means) + np.diag([income[1] ** 2, age[1] ** 2, 0.0]))


def found(*given: Any, noise: float = 0.01, formula: str = "ill ~ income + age") -> Narrower:
    of = narrower(method(formula), information(*given), noise)
    assert of is not None
    return of


def test_the_narrowest_column_is_named_with_bounds_at_three_deviations() -> None:
    wide = found((-0.4, 0.05))
    assert (wide.name, wide.declared) == ("income", (0.0, 1_000_000.0))
    np.testing.assert_allclose([wide.mean, wide.deviation], [300_000, 25_000], rtol=1e-4)
    assert wide.bounds == (225_000.0, 375_000.0) and not wide.hidden
    # the standard deviation is a third of half of these bounds, and was a twentieth
    np.testing.assert_allclose(wide.gain, (1 / 0.15) ** 2)
    assert "of 225,000 to 375,000 would do" in wide.sentence(0.75)
    assert found((-0.4, 0.24), (0.3, 0.1)).name == "age"


def test_bounds_stay_within_those_that_are_declared() -> None:
    assert found((-0.95, 0.1)).bounds == (0.0, 180_000.0)


def test_the_curvature_with_these_bounds_is_that_of_the_columns_moved_by_them() -> None:
    wide = found((-0.4, 0.05), noise=0.2)
    size = 0.2 * np.sqrt(6.0)
    np.testing.assert_allclose(wide.curvature, size / (1000.0 / 9.0), rtol=0.12)
    assert wide.curvature > size / (1000.0 / 9.0)  # of the least that the variance may be


def test_of_what_the_noise_hides_only_the_most_is_said() -> None:
    wide = found((-0.4, 0.02), noise=2.0)
    assert wide.hidden and wide.deviation > 10_000 and wide.curvature == np.inf
    said = wide.sentence(0.75)
    assert "standard deviation of at most about" in said and "would do" not in said
    assert "times as large at the same noise" in said


@pytest.mark.parametrize(
    ("income", "noise"),
    [
        ((-0.4, 0.3), 0.01),  # fills its bounds
        ((-0.4, 0.05), 600.0),  # the number of records is hidden
    ],
)
def test_nothing_is_said_where_nothing_follows(income: tuple[float, float], noise: float) -> None:
    assert narrower(method(), information(income), noise) is None


def test_a_column_of_an_interaction_is_not_named() -> None:
    whole = method("ill ~ income * age")
    records = np.random.default_rng(0).normal(size=(1000, 2)) * [0.05, 0.5]
    rows = np.column_stack([records, records.prod(axis=1), np.ones(1000)])
    assert narrower(whole, rows.T @ rows, 0.01) is None


@pytest.mark.long
def test_a_fit_is_withheld_for_wide_bounds_and_printed_with_those_that_it_names() -> None:
    rng = np.random.default_rng(0)
    income, age = rng.normal(300e3, 60e3, 6000), rng.uniform(20, 80, 6000)
    chance = 1 / (1 + np.exp(-0.02 * (age - 50) - (income - 300e3) / 120e3))
    columns = {"income": income, "age": age, "ill": rng.random(6000) < chance}
    table = pd.DataFrame({"site": rng.choice(SITES, 6000), **columns})

    def fit(**given: data.Feature) -> Any:
        asked: Any = {"columns": {**DECLARED, **given}, "family": "binomial", "sites": SITES}
        return tacit.glm("ill ~ income + age", table, epsilon=0.7, seed=1, **asked).table

    withheld = fit().refusal
    assert withheld is not None and "bounds of 'income' cost most" in withheld.needs
    ends = re.search(r"; bounds of ([\d,]+) to ([\d,]+) ", withheld.needs)
    assert ends is not None
    low, high = (float(each.replace(",", "")) for each in ends.groups())
    assert 0 <= low < 240e3 and 360e3 < high < 700e3
    assert fit(income=data.Numeric(low, high)).refusal is None
