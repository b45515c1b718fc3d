"""Without noise: the table 1 of statsmodels and SciPy, on the records of the RAND experiment."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from scipy import stats
from statsmodels.datasets import randhie
from statsmodels.stats.contingency_tables import Table
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW

import tacit
from tacit.data import Boolean, Categorical, Numeric

BOUNDS = {"lncoins": (0, 4.62), "disea": (0, 60)}
LEVELS = ("0", "1", "2", "3 or more")


@pytest.fixture(scope="module")
def both() -> tuple[pd.DataFrame, pd.DataFrame]:
    """The records, and the table made of them."""
    loaded: Any = randhie.load_pandas()
    records = loaded.data.iloc[::4].reset_index(drop=True)
    records["poor"] = records["hlthp"] > 0
    records["visits"] = [LEVELS[min(int(each), 3)] for each in records["mdvis"]]
    records["deductible"] = records["idp"] > 0
    columns = {
        **{name: Numeric(*bounds, missing="error") for name, bounds in BOUNDS.items()},
        "poor": Boolean(missing="error"),
        "visits": Categorical(LEVELS, missing="error"),
        "deductible": Boolean(),
    }
    found = tacit.table1(
        {f"site {i}": records.iloc[i::3] for i in range(3)},
        ["lncoins", "disea", "poor", "visits"],
        by="deductible",
        columns=columns,
        medians=["disea"],
        bins=120,
        epsilon=None,
    )
    return records, found.to_frame().set_index(["variable", "level", "group", "statistic"])


def groups(records: pd.DataFrame) -> dict[str, Any]:
    told = records["deductible"]
    return {"overall": records, "false": records[~told], "true": records[told]}


@pytest.mark.parametrize("name", BOUNDS)
def test_numbers(both: tuple[pd.DataFrame, pd.DataFrame], name: str) -> None:
    records, table = both
    described: dict[str, Any] = {
        key: DescrStatsW(part[name], ddof=1) for key, part in groups(records).items()
    }
    for key, theirs in described.items():
        for statistic, value in {"mean": theirs.mean, "sd": theirs.std}.items():
            assert table.loc[name, "", key, statistic]["value"] == pytest.approx(value, rel=1e-9)
    no, yes = described["false"], described["true"]
    tested = table.loc[name, "", "", "p_value"]
    _, p, _ = CompareMeans(no, yes).ttest_ind(usevar="unequal")
    assert (tested["value"], tested["note"]) == (pytest.approx(p, rel=1e-6), "Welch's t-test")
    apart = abs(no.mean - yes.mean) / ((no.var + yes.var) / 2) ** 0.5
    assert table.loc[name, "", "", "smd"]["value"] == pytest.approx(apart, rel=1e-9)


def test_quantiles_within_a_bin(both: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    records, table = both
    for key, part in groups(records).items():
        theirs = DescrStatsW(part["disea"]).quantile([0.25, 0.5, 0.75], return_pandas=False)
        for statistic, value in zip(("q1", "median", "q3"), theirs, strict=True):
            row = table.loc["disea", "", key, statistic]
            assert abs(row["value"] - value) <= 0.5 and row["lower"] <= value <= row["upper"]


@pytest.mark.parametrize("name", ["poor", "visits"])
def test_levels(both: tuple[pd.DataFrame, pd.DataFrame], name: str) -> None:
    records, table = both
    counts = pd.crosstab(records["deductible"], records[name])
    for level in counts.columns:
        for group, value in zip(("false", "true"), counts[level], strict=True):
            key = str(level).lower() if name == "poor" else level
            assert table.loc[name, key, group, "n"]["value"] == pytest.approx(value, abs=1e-6)
    tested = table.loc[name, "", "", "p_value"]
    theirs: Any = Table(counts, shift_zeros=False).test_nominal_association()
    assert tested["note"] == "chi-squared"
    assert tested["value"] == pytest.approx(theirs.pvalue, rel=1e-6)
    scipy: Any = stats.chi2_contingency(counts, correction=False)
    assert tested["value"] == pytest.approx(scipy.pvalue, rel=1e-6)
