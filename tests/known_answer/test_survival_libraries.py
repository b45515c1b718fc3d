"""Without noise: survival and Cox regression of statsmodels, lifelines and scikit-survival.

On the records that come with them. lifelines asks for an older pandas than tacit is developed with
and scikit-survival is large, so their records are used where they are installed:
`pip install lifelines scikit-survival`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from statsmodels.duration.survfunc import SurvfuncRight, survdiff

import tacit
from benchmarks.survival_records import LIBRARIES, STUDIES, Study, partial
from tacit.data import Boolean, Numeric


def study_of(name: str) -> Study:
    """The records, or a skipped test."""
    if name in LIBRARIES:
        pytest.importorskip(LIBRARIES[name])
    return STUDIES[name]()


GRID = 60
"""Number of times at which records may end."""


@pytest.mark.parametrize("name", STUDIES)
def test_curves_and_tests_are_theirs_where_no_interval_holds_both_kinds_of_ends(name: str) -> None:
    study = study_of(name)
    table = study.records[["time", "event", "group"]].astype(float)
    # one that is censored at a time is at risk at it, so two intervals of each unit keep both apart
    table["time"] = np.maximum(np.ceil(table["time"] * GRID / study.end), 1.0)
    apart = pd.DataFrame(
        {
            "time": table["time"] + 0.25 * (table["event"] == 0),
            "event": table["event"] > 0,
            "group": table["group"] > 0,
        }
    )
    declared = {"time": Numeric(0, GRID + 1), "event": Boolean(), "group": Boolean()}
    found = tacit.survival(
        {f"site {i}": apart.iloc[i::4] for i in range(4)},
        "time",
        "event",
        by="group",
        columns=declared,
        intervals=2 * (GRID + 1),
        epsilon=None,
    ).curves
    curves: Any = found.frame()
    for level, group in enumerate(found.groups):
        part: Any = table[table["group"] == level]
        theirs = SurvfuncRight(part["time"], part["event"].astype(int))
        ours = curves[curves["group"] == group.name].set_index("time").loc[theirs.surv_times]
        np.testing.assert_allclose(ours["survival"], theirs.surv_prob, rtol=1e-9, atol=1e-8)
        known = theirs.surv_prob > 0
        errors = ours["sampling_error"][known]
        np.testing.assert_allclose(errors, theirs.surv_prob_se[known], rtol=1e-6, atol=1e-12)
        assert group.median is not None and group.mean is not None
        half = theirs.quantile(0.5)
        assert np.isnan(half) or abs(group.median.value - half) <= 0.5
        # between two ends of intervals their curve is flat and the one here is straight
        steps = np.append(1.0, theirs.surv_prob)
        middles = np.arange(0.25, found.until, 0.5)
        area = 0.5 * steps[np.searchsorted(theirs.surv_times, middles, side="right")].sum()
        assert area - 0.26 <= group.mean.value <= area
    statistic, p = survdiff(table["time"], table["event"].astype(int), table["group"])
    assert found.test is not None
    assert found.test.statistic == pytest.approx(statistic, rel=1e-6)
    assert found.test.p_value == pytest.approx(p, rel=1e-6)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "pieces", "apart"),
    [
        # most die in the first weeks, so equal pieces of ten years would be too long
        ("transplants", (15, 30, 60, 90, 180, 365, 1000), 0.1),
        ("rossi", 1, 0.25),
        ("rossi", 4, 0.03),
        ("rossi", 13, 0.02),
        ("gbsg2", 6, 0.05),
        ("lung", 6, 0.06),
        ("flchain", 6, 0.5),
    ],
)
def test_hazard_ratios_are_near_those_of_the_partial_likelihood(
    name: str, pieces: Any, apart: float
) -> None:
    """Within these shares of a standard error."""
    study = study_of(name)
    found = tacit.cox(
        study.sites(),
        "time",
        "event",
        list(study.columns),
        columns={"time": Numeric(0, study.end + 1), "event": Boolean(), **study.columns},
        pieces=pieces if isinstance(pieces, int) else None,
        edges=() if isinstance(pieces, int) else pieces,
        epsilon=None,
    ).table
    theirs = np.array(list(partial(study).values()))
    assert (np.abs(found.values - np.log(theirs[:, 0])) < apart * theirs[:, 1]).all()
    np.testing.assert_allclose(found.errors, theirs[:, 1], rtol=0.1)


@pytest.mark.parametrize("name", ["rossi", "gbsg2", "lung", "flchain"])
def test_statsmodels_says_what_the_library_of_the_records_says(name: str) -> None:
    """So that what tacit is compared with above is what most people use."""
    study = study_of(name)
    table = study.records[["time", "event", *study.columns]].astype(float)
    ours = [ratio for ratio, _ in partial(study).values()]
    if name == "flchain":
        surv = pytest.importorskip("sksurv.util").Surv
        linear = pytest.importorskip("sksurv.linear_model")
        ends = surv.from_arrays(table["event"] > 0, table["time"])
        model = linear.CoxPHSurvivalAnalysis(ties="efron")
        theirs = model.fit(table[list(study.columns)], ends).coef_
        compare = pytest.importorskip("sksurv.compare").compare_survival
        statistic, _ = compare(ends, study.records["group"])
    else:
        lifelines = pytest.importorskip("lifelines")
        theirs = lifelines.CoxPHFitter().fit(table, "time", "event").params_.to_numpy()
        groups = [study.records[study.records["group"] == level] for level in (0, 1)]
        test = pytest.importorskip("lifelines.statistics").logrank_test
        statistic = test(
            *(each["time"] for each in groups), *(each["event"] for each in groups)
        ).test_statistic
    np.testing.assert_allclose(np.log(ours), theirs, rtol=1e-4)
    expected, _ = survdiff(table["time"], table["event"].astype(int), study.records["group"])
    assert statistic == pytest.approx(expected, rel=1e-6)
