"""Private survival: without noise that of statsmodels, with it intervals, bands and test hold."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import Any

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from statsmodels.duration.survfunc import SurvfuncRight, survdiff

import tacit
from tacit import data, network, problem
from tacit.errors import ConfigError, ProblemError
from tacit.method import PrivateSurvival, Refused, SurvivalCurves
from tacit.method._survival_curve import Cells, Estimate, curve, median, restricted_mean
from tacit.method._survival_test import log_rank
from tacit.method.survival_answer import _interval
from tacit.privacy import Masks, Privacy

pytestmark = pytest.mark.long

SITES = 4
STAR = network.Coordinator(SITES)
SCHEMA = data.Schema(
    {
        "years": data.Numeric(0, 10),
        "died": data.Boolean(),
        "arm": data.Categorical(["old", "new"]),
        "age": data.Numeric(20, 80),
    },
    target=None,
    intercept=False,
)


def frame(records: int = 4000, ratio: float = 1.3) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    arm = rng.choice(["old", "new"], records)
    lived = 7.0 * (rng.exponential(size=records) / np.where(arm == "new", 1.0, ratio)) ** 0.8
    followed = rng.uniform(0, 16, records)
    return pd.DataFrame(
        {
            "years": np.minimum(lived, followed),
            "died": lived <= followed,
            "arm": arm,
            "age": rng.uniform(20, 80, records),
        }
    )


TABLE: Any = frame()
SITES_OF = data.even(data.prepare(TABLE, SCHEMA), SITES)
TASK = problem.record_tables(SITES_OF.features, SCHEMA, size=1000)
YEARS, DIED, ARM = (TASK.column(name) for name in ("years", "died", "arm"))
BUDGET = Privacy(clip=1.0, epsilon=1.0, masks=Masks())


def lived(method: PrivateSurvival, seed: int = 0, trials: int = 1) -> Any:
    runtime = tacit.Simulation(trials=trials)
    return tacit.run(TASK, STAR, method, rounds=1, seed=seed, runtime=runtime)


@cache
def answered(private: bool) -> SurvivalCurves:
    answer = lived(PrivateSurvival(YEARS, DIED, ARM, privacy=BUDGET if private else None)).answer
    assert isinstance(answer, SurvivalCurves)
    return answer


def bounded(part: pd.DataFrame) -> pd.DataFrame:
    """Records whose time reaches the bound are followed to it without an event."""
    return part.assign(years=part["years"].clip(upper=10), died=part["died"] & (part["years"] < 10))


def exact(part: pd.DataFrame, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Kaplan and Meier's estimate and Greenwood's error at some times."""
    part = bounded(part)
    found = SurvfuncRight(part["years"], part["died"].astype(int))
    at = np.searchsorted(found.surv_times, times, side="right")
    return np.append(1.0, found.surv_prob)[at], np.append(0.0, found.surv_prob_se)[at]


def test_without_noise_it_is_the_estimate_of_kaplan_and_meier() -> None:
    table: Any = answered(False).frame()
    for arm in ("old", "new"):
        part = bounded(TABLE[TABLE["arm"] == arm])
        rows: Any = table[table["group"] == arm]
        times = rows["time"].to_numpy()
        assert times == pytest.approx(np.linspace(0, 10, 41))
        survival, error = exact(part, times)
        np.testing.assert_allclose(rows["survival"], survival, atol=5e-4)
        np.testing.assert_allclose(rows["sampling_error"], error, rtol=0.02, atol=1e-6)
        # a censoring at the bound leaves nobody at risk after it only once it is counted
        after = [(part["years"] > time).sum() for time in times[:-1]]
        np.testing.assert_allclose(rows["at_risk"].iloc[:-1], after, atol=1e-6)
        assert rows["events"].sum() == pytest.approx(part["died"].sum())
        assert not rows["noise_error"].any() and not rows["at_risk_error"].any()
        assert (rows["band_lower"] <= rows["lower"]).all()
        assert (rows["upper"] <= rows["band_upper"]).all()


def test_without_noise_the_test_is_that_of_statsmodels() -> None:
    part = bounded(TABLE)
    expected, _ = survdiff(part["years"], part["died"].astype(int), part["arm"])
    found = answered(False).test
    assert found is not None
    assert found.statistic == pytest.approx(expected, rel=0.02) and found.degrees == 1
    assert sum(found.observed) == pytest.approx(sum(found.expected))
    assert sum(found.observed) == pytest.approx(part["died"].sum())


def test_without_noise_medians_and_means_are_those_of_the_curve() -> None:
    for group in answered(False).groups:
        part = bounded(TABLE[TABLE["arm"] == group.name])
        found = SurvfuncRight(part["years"], part["died"].astype(int))
        assert group.median is not None and group.mean is not None
        assert group.median.value == pytest.approx(found.quantile(0.5), abs=0.02)
        assert group.median.lower < found.quantile(0.5) < group.median.upper
        times = np.linspace(0, 10, 4001)
        mean = np.trapezoid(exact(part, times)[0], times)
        assert group.mean.value == pytest.approx(mean, abs=0.005)


def test_a_record_is_in_one_cell() -> None:
    asked = PrivateSurvival(YEARS.cut(2, 5), DIED, ARM).query.blocks[0]

    def cell(years: float, died: float, *arm: float) -> float:
        record = jnp.array([(years - 5.0) / 5.0, died, *(arm or (1.0, 0.0)), 0.0])
        return float(asked.asked(record, None))

    # three intervals: events, censorings and the rest of the first group, then the second
    assert [cell(t, 1) for t in (0, 2, 2.001, 5, 9.999)] == [0, 0, 1, 1, 2]
    assert [cell(t, 0) for t in (0, 2, 2.001, 5, 9.999)] == [3, 3, 4, 4, 5]
    assert [cell(10, 0), cell(10, 1), cell(1, 1, 0.0, 1.0)] == [6, 6, 7]
    assert [cell(np.nan, 1), cell(1, np.nan), cell(1, 1, 0.0, 0.0)] == [-1, -1, -1]


def test_the_error_of_the_noise_is_that_of_many_draws() -> None:
    cells, rng = answered(False).groups[0].cells, np.random.default_rng(0)
    edges, noise, ends = np.linspace(0, 10, 41), 3.0, 36
    weights = np.append(np.full(ends - 1, 0.25), 0.125)
    curves, means, variances, errors = [], [], [], []
    for _ in range(120):
        d, c = (each + rng.normal(0, noise, 40) for each in (cells.events, cells.censored))
        found = curve(Cells(d, c, cells.beyond + rng.normal(0, noise), noise))
        curves.append(found.survival[:ends])
        means.append(restricted_mean(found, edges, ends).value)
        variances.append(np.diag(found.noise)[:ends])
        errors.append(weights @ found.noise[:ends, :ends] @ weights)
    ratio = np.std(curves, axis=0) / np.sqrt(np.mean(variances, axis=0))
    assert ratio.min() > 0.75 and ratio.max() < 1.25
    assert np.std(means) == pytest.approx(np.sqrt(np.mean(errors)), rel=0.2)


def drawn(rng: Any, records: int, noise: float, ratio: float = 1.0) -> Cells:
    """Counts of records with a hazard of 1/5 a year, with noise."""
    lived = rng.exponential(5.0 / ratio, records)
    followed = np.minimum(rng.uniform(0, 20, records), 10.0)
    time, died = np.minimum(lived, followed), lived <= followed
    within = time < 10.0
    place = np.minimum((4.0 * time[within]).astype(int), 39)
    counts = [np.bincount(place[died[within] == each], minlength=40) for each in (True, False)]
    d, c = (each + rng.normal(0, noise, 40) for each in counts)
    return Cells(d, c, float((~within).sum() + rng.normal(0, noise)), noise)


@pytest.mark.parametrize(
    ("records", "noise"),
    [(1500, 6.4), (4000, 25.0)],
)
def test_intervals_and_bands_hold_the_curve(records: int, noise: float) -> None:
    rng, edges = np.random.default_rng(1), np.linspace(0, 10, 41)
    truth = np.exp(-edges[1:] / 5.0)
    inside, whole, halves, means = [], [], [], []
    for _ in range(100):
        cells = drawn(rng, records, noise)
        found = curve(cells)
        assert cells.known >= 20
        true = truth[: cells.known]
        inside.append(np.mean((found.lower <= true) & (true <= found.upper)))
        whole.append(bool(np.all((found.band_lower <= true) & (true <= found.band_upper))))
        half, mean = median(found, edges), restricted_mean(found, edges, 20)
        halves.append(half.lower <= 5.0 * np.log(2.0) <= half.upper)
        means.append(mean.lower <= 5.0 * (1.0 - np.exp(-1.0)) <= mean.upper)
    assert 0.92 < np.mean(inside) < 0.99
    assert np.mean(whole) > 0.88
    assert np.mean(halves) > 0.93
    assert np.mean(means) > 0.88


def test_the_test_rejects_as_often_as_it_says() -> None:
    rng, edges = np.random.default_rng(3), np.linspace(0, 10, 41).tolist()
    noise, draws = 12.0, 600
    chance = [
        log_rank([drawn(rng, 1500, noise), drawn(rng, 1500, noise)], edges) for _ in range(draws)
    ]
    assert abs(np.mean([each.p_value < 0.05 for each in chance]) - 0.05) < 0.025
    # without the noise in its variance, it would reject far too often
    detectable = float(np.median([each.detectable for each in chance]))
    effect = [
        log_rank([drawn(rng, 1500, noise), drawn(rng, 1500, noise, detectable)], edges)
        for _ in range(draws)
    ]
    assert abs(np.mean([each.p_value < 0.05 for each in effect]) - 0.8) < 0.08


def test_three_groups_have_two_degrees_of_freedom() -> None:
    rng, edges = np.random.default_rng(5), np.linspace(0, 10, 41).tolist()
    found = log_rank([drawn(rng, 2000, 3.0, each) for each in (1.0, 1.0, 1.5)], edges)
    assert found.degrees == 2 and found.p_value < 1e-6 and np.isnan(found.detectable)


def test_with_noise_curves_are_near_and_say_so() -> None:
    found = answered(True)
    without: Any = answered(False).frame()
    table: Any = found.frame()
    apart = np.abs(table["survival"] - without["survival"])
    assert 0.0 < apart.max() < 5.0 * table["noise_error"].max()
    assert (np.diff(table["survival"]) <= 0).sum() >= len(table) - 2  # but at the next group
    shown = found.summary()
    assert "Records, n" in shown and "arm: old" in shown and "sampling and the noise" in shown
    assert "Log-rank test up to years" in found.sentence() and "died = true" in found.sentence()
    assert found.to_html().count("<tr>") == len(found.cells())
    assert r"$\pm$" in found.to_latex() and found._repr_html_() == found.to_html()
    assert found.to_dict()["groups"][0]["until"] == 10.0
    assert repr(found) == shown


def test_groups_and_intervals_take_no_share_of_the_budget() -> None:
    noises = {
        answer.groups[0].cells.noise
        for answer in (
            lived(PrivateSurvival(YEARS, DIED, privacy=BUDGET)).answer,
            lived(PrivateSurvival(YEARS.cut(1, 2), DIED, ARM, privacy=BUDGET)).answer,
        )
    }
    assert len(noises) == 1
    added = Privacy(clip=1.0, epsilon=1.0, masks=Masks(), relation="add_remove")
    fewer = lived(PrivateSurvival(YEARS, DIED, privacy=added)).answer
    assert fewer.groups[0].cells.noise == pytest.approx(noises.pop() / np.sqrt(2.0))


def test_a_curve_ends_where_the_noise_hides_who_is_at_risk() -> None:
    small = Privacy(clip=1.0, epsilon=0.25, masks=Masks())
    found = lived(PrivateSurvival(YEARS, DIED, ARM, privacy=small)).answer
    assert isinstance(found, SurvivalCurves)
    assert all(0 < group.size < 40 for group in found.groups)
    assert found.until == min(found.edges[group.size] for group in found.groups)
    assert "The curve of old ends at" in found.sentence()
    assert found.cells()[-1][1:] == ["-", "-"]
    note = "- stands where a curve has ended"
    assert note in found.sentence() and note in found.to_latex() and note in found.to_html()
    none = Privacy(clip=1.0, epsilon=0.01, masks=Masks())
    refused = lived(PrivateSurvival(YEARS, DIED, ARM, privacy=none)).answer
    assert isinstance(refused, Refused) and "records in a group would do" in refused.needs


def test_one_group_may_have_no_curve() -> None:
    rng = np.random.default_rng(0)
    method = PrivateSurvival(YEARS, DIED, ARM)
    many, few = (drawn(rng, each, 6.0) for each in (4000, 10))
    parts = [np.concatenate([each.events, each.censored, [each.beyond]]) for each in (many, few)]
    found = method.told([np.concatenate(parts)], [6.0], SITES, SITES)
    assert isinstance(found, SurvivalCurves)
    assert found.groups[1].size == 0 and found.groups[1].median is None
    assert "No log-rank test: the noise hides" in found.sentence()
    assert set(found.frame()["group"]) == {"old"} and found.to_dict()["log_rank"]["p_value"] is None


def test_declared_ends_and_a_time_to_restrict_means_to() -> None:
    method = PrivateSurvival(YEARS.cut(1, 2, 5), DIED, until=5.0)
    assert method.edges == (0.0, 1.0, 2.0, 5.0, 10.0)
    found = lived(method).answer
    assert found.until == 5.0 and found.test is None
    assert [row[0] for row in found.cells()[4:]] == [
        "Mean years up to 5",
        *(f"Survival at {end}" for end in (1, 2, 5, 10)),
    ]
    assert method.numbers(TASK)[:5] == (
        *(f"event in {each}" for each in ("(0, 1]", "(1, 2]", "(2, 5]", "(5, 10]")),
        "censored in (0, 1]",
    )


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"time": "years"}, "time is 'years'"),
        ({"time": DIED, "event": TASK.column("arm")}, "has levels of its own"),
        ({"time": ARM}, "has levels of its own"),
        ({"event": TASK.column("age")}, "is a number"),
        ({"event": TASK.column("age").cut(30, 50)}, "declare a yes or no"),
        ({"by": DIED}, "stands twice"),
        ({"by": TASK.column("age")}, "fewer than two levels"),
        ({"until": 3.1}, "not an end of an interval"),
        ({"until": "late"}, "must be a number"),
        ({"intervals": 0}, "intervals=0"),
        ({"time": YEARS.cut(2, 5), "intervals": 40}, "intervals=40 is for times without edges"),
    ],
)
def test_mistakes_are_refused(given: dict[str, Any], what: str) -> None:
    with pytest.raises(ConfigError, match=what):
        PrivateSurvival(**{"time": YEARS, "event": DIED, **given})


def test_a_time_starts_at_zero_or_later() -> None:
    schema = data.Schema({"t": data.Numeric(-1, 3), "e": data.Boolean()}, None, intercept=False)
    columns = data.columns_of(schema)
    with pytest.raises(ConfigError, match="before the start at 0"):
        PrivateSurvival(columns["t"], columns["e"])
    changed = data.Schema({"years": data.Numeric(0, 9), "died": data.Boolean()}, None)
    method = PrivateSurvival(data.columns_of(changed)["years"], DIED)
    with pytest.raises(ProblemError, match="declared otherwise"):
        lived(method)


def test_it_is_drawn() -> None:
    pytest.importorskip("plotly")
    result = lived(PrivateSurvival(YEARS, DIED, ARM, privacy=BUDGET))
    figure: Any = tacit.plot.survival(result)
    assert [line.name for line in figure.data if line.showlegend is not False] == ["old", "new"]
    assert "at risk" in figure.layout.yaxis2.title.text
    with pytest.raises(ConfigError, match="no survival curves"):
        tacit.plot.survival(replace(result, answer=None))


@pytest.mark.parametrize(
    ("value", "lower", "upper", "said"),
    [
        (12.0, 9.0, 15.0, "12.0 (9.0 to 15.0)"),
        (12.0, 9.0, math.inf, "12.0 (9.0 to > 36)"),
        (math.inf, 30.0, math.inf, "> 36 (30.0 to > 36)"),
        (math.inf, 36.0, math.inf, "> 36"),
    ],
)
def test_a_median_beyond_the_follow_up_says_where_that_ends(
    value: float, lower: float, upper: float, said: str
) -> None:
    assert _interval(Estimate(value, lower, upper), 3, 36.0) == said
