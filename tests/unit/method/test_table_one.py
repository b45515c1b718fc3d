"""Private table 1: without noise that of pandas and SciPy, with it intervals and tests hold."""

from __future__ import annotations

import dataclasses
import math
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import tacit
from tacit import data, network, problem
from tacit.errors import ConfigError, PrivacyError, ProblemError
from tacit.method import PrivateTableOne, Refused, TableOne
from tacit.method._table_margins import consistent
from tacit.method._table_tests import levels_differ, means_differ
from tacit.privacy import Privacy

pytestmark = pytest.mark.long

SITES = 3
STAR = network.Coordinator(SITES)
ARMS, STAGES = ("control", "high", "low"), ("I", "II", "III")
SCHEMA = data.Schema(
    {
        "arm": data.Categorical(ARMS, missing="drop"),
        "age": data.Numeric(20, 80),
        "sex": data.Categorical(["f", "m"]),
        "ill": data.Boolean(missing="drop"),
        "stage": data.Categorical(STAGES, missing="drop"),
    },
    target=None,
    intercept=False,
    missing="indicator",
)


def frame(records: int = 600) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    arm = rng.choice(ARMS, records, p=[0.5, 0.3, 0.2])
    age = np.clip(rng.normal(50 + 4 * (arm == "high"), 14, records), 20, 80)
    return pd.DataFrame(
        {
            "arm": arm,
            "age": np.where(rng.random(records) < 0.1, np.nan, age),
            "sex": rng.choice(np.array(["f", "m", None]), records, p=[0.5, 0.4, 0.1]),
            "ill": rng.random(records) < 0.3,
            "stage": rng.choice(STAGES, records, p=[0.7, 0.25, 0.05]),
        }
    )


TABLE = frame()
SITES_OF = data.even(data.prepare(TABLE, SCHEMA), SITES)
TASK = problem.record_tables(SITES_OF.features, SCHEMA, size=200)
COLUMNS = tuple(TASK.column(name) for name in ("age", "sex", "ill", "stage"))
BY = TASK.column("arm")
BUDGET = Privacy(clip=1.0, epsilon=1.0)


def described(method: Any, on: Any = STAR, trials: int = 1, seed: int = 0, task: Any = TASK) -> Any:
    runtime = tacit.Simulation(trials=trials)
    return tacit.run(task, on, method, rounds=1, seed=seed, runtime=runtime)


@cache
def exact() -> TableOne:
    answer = described(PrivateTableOne(COLUMNS, BY, ["age"])).answer
    assert isinstance(answer, TableOne)
    return answer


def number(table: TableOne, *key: str) -> Any:
    (found,) = [entry for entry in table.entries if entry[:4] == key]
    return found


def groups() -> dict[str, Any]:
    return {"overall": TABLE, **{arm: TABLE[TABLE["arm"] == arm] for arm in ARMS}}


def test_without_noise_it_is_what_pandas_computes() -> None:
    table = exact()
    for name, part in groups().items():
        of = (name, "n")
        assert number(table, "records", "", *of).value == pytest.approx(len(part), abs=1e-9)
        age = part["age"]
        for statistic, value in {"mean": age.mean(), "sd": age.std()}.items():
            found = number(table, "age", "", name, statistic)
            assert found[4:] == pytest.approx((value, 0.0, value, value, ""), abs=1e-9)
        missing = number(table, "age", "missing", *of)
        assert missing.value == pytest.approx(age.isna().sum(), abs=1e-9)
        for column in ("sex", "ill", "stage"):
            share = part[column].value_counts(normalize=True)
            for level, count in part[column].value_counts().items():
                key = (column, str(level).lower() if column == "ill" else str(level), name)
                assert number(table, *key, "n").value == pytest.approx(count, abs=1e-9)
                percent = number(table, *key, "percent").value
                assert percent == pytest.approx(100.0 * share[level], abs=1e-9)


def test_quantiles_are_those_of_a_histogram_and_their_intervals_hold_without_noise() -> None:
    edges = np.linspace(20, 80, 21)
    for name, part in groups().items():
        age = part["age"].dropna()
        below = np.concatenate([[0], np.cumsum(np.histogram(age, edges)[0])]) / len(age)
        for statistic, share in {"q1": 0.25, "median": 0.5, "q3": 0.75}.items():
            found = number(exact(), "age", "", name, statistic)
            assert found.value == pytest.approx(np.interp(share, below, edges), abs=1e-9)
            assert found.lower <= age.quantile(share) <= found.upper
            assert found.upper - found.lower == pytest.approx(3.0)


def test_without_noise_tests_are_those_of_scipy() -> None:
    parts = [part["age"].dropna() for part in list(groups().values())[1:]]
    welch = stats.f_oneway(*parts, equal_var=False) if _welch() else None
    found = number(exact(), "age", "", "", "p_value")
    if welch is not None:
        assert found.value == pytest.approx(welch.pvalue, rel=1e-6)
    assert found.note == "Welch's analysis of variance"
    for column in ("sex", "ill", "stage"):
        counts = pd.crosstab(TABLE["arm"], TABLE[column])
        found = number(exact(), column, "", "", "p_value")
        expected: Any = stats.chi2_contingency(counts, correction=False)
        assert found.value == pytest.approx(expected.pvalue, rel=1e-6)
        assert found.note == "chi-squared" and expected.expected_freq.min() >= 5.0


def _welch() -> bool:
    import inspect

    return "equal_var" in inspect.signature(stats.f_oneway).parameters


def test_two_groups_have_the_t_test_and_the_usual_standardised_differences() -> None:
    two = TABLE[TABLE["arm"] != "low"]
    method = PrivateTableOne((COLUMNS[0], COLUMNS[2]), BY)
    age = [two.loc[two["arm"] == arm, "age"].dropna() for arm in ARMS[:2]]
    ill = [two.loc[two["arm"] == arm, "ill"] for arm in ARMS[:2]]
    parts = []
    for values in age:
        z = (values - 50.0) / 30.0
        parts += [((1 - z) ** 2 / 4).sum(), ((1 - z * z) / 2).sum(), ((1 + z) ** 2 / 4).sum(), 0.0]
    parts[3], parts[7] = (float(len(i) - len(a)) for a, i in zip(age, ill, strict=True))
    cells = [np.array(parts), np.array([x for i in ill for x in (len(i) - i.sum(), i.sum())])]
    by = dataclasses.replace(BY, levels=ARMS[:2], places=BY.places[:2])
    method = PrivateTableOne((COLUMNS[0], COLUMNS[2]), by)
    table = method.told(cells, [0.0, 0.0], 3, 3)
    found = number(table, "age", "", "", "p_value")
    expected: Any = stats.ttest_ind(*age, equal_var=False)
    assert (found.value, found.note) == (pytest.approx(expected.pvalue, rel=1e-6), "Welch's t-test")
    apart = abs(age[0].mean() - age[1].mean()) / math.sqrt((age[0].var() + age[1].var()) / 2)
    assert number(table, "age", "", "", "smd").value == pytest.approx(apart, rel=1e-9)
    p, q = ill[0].mean(), ill[1].mean()
    apart = abs(p - q) / math.sqrt((p * (1 - p) + q * (1 - q)) / 2)
    assert number(table, "ill", "", "", "smd").value == pytest.approx(apart, rel=1e-9)


METHOD = PrivateTableOne(COLUMNS, BY, ["age"])


def cells(table: pd.DataFrame) -> list[np.ndarray]:
    """What all sites together answer without noise."""
    found: list[np.ndarray] = []
    for column, asked in METHOD.asked:
        rows = np.zeros((len(ARMS), asked.each))
        for place, arm in enumerate(ARMS):
            values = table.loc[table["arm"] == arm, column.name]
            if column.levels:
                names = values.map(
                    lambda each: str(each).lower() if each in (True, False) else each
                )
                rows[place] = [(names.fillna("missing") == level).sum() for level in column.levels]
                continue
            known = values.dropna().to_numpy()
            rows[place, -1] = len(values) - len(known)
            z = (known - 50.0) / 30.0
            rows[place, :-1] = (
                np.histogram(known, np.linspace(20, 80, 21))[0]
                if asked.each > 4
                else [((1 - z) ** 2 / 4).sum(), ((1 - z * z) / 2).sum(), ((1 + z) ** 2 / 4).sum()]
            )
        found.append(rows.ravel())
    return found


def noised(parts: list[np.ndarray], rng: Any, scale: float) -> TableOne:
    return METHOD.told([p + rng.normal(0, scale, p.shape) for p in parts], [scale] * 5, 3, 3)


def test_cells_written_down_here_are_those_that_sites_send() -> None:
    assert (
        METHOD.told(cells(TABLE), [0.0] * 5, 3, 3)
        .frame()
        .drop(columns="note")
        .round(8)
        .equals(exact().frame().drop(columns="note").round(8))
    )


def test_intervals_cover_what_they_should() -> None:
    rng = np.random.default_rng(1)
    parts, draws = cells(frame(6000)), 150
    truth = METHOD.told(parts, [0.0] * 5, 3, 3).entries
    inside: dict[str, list[bool]] = {}
    for _ in range(draws):
        for entry, true in zip(noised(parts, rng, 12.0).entries, truth, strict=True):
            if not math.isnan(entry.lower):
                held = entry.lower <= true.value <= entry.upper
                inside.setdefault(entry.statistic, []).append(held)
    covered = {statistic: float(np.mean(each)) for statistic, each in inside.items()}
    for statistic in ("n", "percent", "mean", "sd"):
        assert covered[statistic] == pytest.approx(0.95, abs=0.02), covered
    # these reach to the edges, and hold for any distribution between them
    assert min(covered[each] for each in ("median", "q1", "q3")) >= 0.94


def test_margins_agree_whatever_the_noise() -> None:
    frame: Any = noised(cells(TABLE), np.random.default_rng(2), 9.0).frame()
    counts = frame[(frame["statistic"] == "n")]
    for group in ("overall", *ARMS):
        here = counts[counts["group"] == group]
        total = here.loc[here["variable"] == "records", "value"].item()
        for column in ("sex", "ill", "stage"):
            assert here.loc[here["variable"] == column, "value"].sum() == pytest.approx(total)
    wide = counts.pivot_table("value", ["variable", "level"], "group", sort=False)
    np.testing.assert_allclose(wide["overall"], wide[list(ARMS)].sum(axis=1))


def test_agreeing_margins_have_less_noise() -> None:
    found = noised(cells(TABLE), np.random.default_rng(2), 9.0)
    # the harmonic mean of what 4, 3, 2, 3 and 21 cells tell
    variance = 81.0 / sum(1.0 / size for size in (4, 21, 3, 2, 3))
    error = number(found, "records", "", "high", "n").standard_error
    assert error == pytest.approx(math.sqrt(variance))
    assert number(found, "sex", "f", "high", "n").standard_error < 9.0


def test_tests_keep_their_size() -> None:
    rng, draws = np.random.default_rng(5), 400
    rejected = np.zeros(3)
    for _ in range(draws):
        moments, many, few = np.zeros((3, 3)), np.zeros((3, 3)), np.zeros((3, 2))
        for group, size in enumerate((1500, 900, 600)):
            counts = rng.multinomial(size, [0.1, 0.35, 0.55])
            moments[group] = sum(c * part(z) for c, z in zip(counts, (-0.5, 0.0, 0.9), strict=True))
            many[group] = rng.multinomial(size, [0.5, 0.4, 0.1])
            few[group] = rng.multinomial(size, [0.98, 0.02])
        drawn = [each + rng.normal(0, 15.0, each.shape) for each in (moments, many, few)]
        _, (age, sex, ill) = consistent(drawn, [15.0] * 3)
        found = [means_differ(age), levels_differ(sex), levels_differ(ill)]
        rejected += [each.p_value < 0.05 for each in found]
    # one standard error is .011
    assert np.all(np.abs(rejected / draws - 0.05) < 0.035), rejected / draws


def part(z: float) -> np.ndarray:
    return np.array([(1 - z) ** 2 / 4, (1 - z * z) / 2, (1 + z) ** 2 / 4])


def test_small_counts_have_a_monte_carlo_test_that_repeats() -> None:
    by = dataclasses.replace(BY, levels=ARMS[:2], places=BY.places[:2])
    method = PrivateTableOne((COLUMNS[3],), by)
    counts = np.array([40.0, 9.0, 1.0, 35.0, 4.0, 6.0])
    once, again = (method.told([counts], [0.0], 3, 3) for _ in range(2))
    found = number(once, "stage", "", "", "p_value")
    assert found.note == "chi-squared, Monte Carlo"
    assert found.value == number(again, "stage", "", "", "p_value").value
    exact: Any = stats.chi2_contingency(counts.reshape(2, 3), correction=False)
    assert found.value == pytest.approx(exact.pvalue, abs=0.05)


def test_a_difference_is_found_and_one_that_noise_makes_is_not() -> None:
    by = dataclasses.replace(BY, levels=ARMS[:2], places=BY.places[:2])
    method = PrivateTableOne((COLUMNS[3],), by)
    apart = np.array([700.0, 200.0, 100.0, 550.0, 300.0, 150.0])
    p = [
        number(method.told([apart], [scale], 3, 3), "stage", "", "", "p_value").value
        for scale in (0.0, 10.0, 60.0)
    ]
    assert p[0] < 1e-6 and p[0] < p[1] < 0.001 < p[2]


def test_records_without_a_group_are_described_and_not_compared() -> None:
    counts = np.array([70.0, 20.0, 10.0, 55.0, 30.0, 15.0, 1.0, 2.0, 30.0])
    named, unnamed = (
        PrivateTableOne((COLUMNS[3],), dataclasses.replace(BY, levels=(*ARMS[:2], third)))
        for third in ("low", "missing")
    )
    both = dataclasses.replace(BY, levels=ARMS[:2], places=BY.places[:2])
    two = PrivateTableOne((COLUMNS[3],), both).told([counts[:6]], [0.0], 3, 3)
    three, without = (method.told([counts], [0.0], 3, 3) for method in (named, unnamed))
    p = [number(table, "stage", "", "", "p_value").value for table in (two, three, without)]
    assert p[0] == pytest.approx(p[2]) and p[1] < p[0]
    assert number(without, "stage", "III", "missing", "n").value == pytest.approx(30.0)
    alone = dataclasses.replace(BY, levels=(ARMS[0], "missing"), places=BY.places[:2])
    single = PrivateTableOne((COLUMNS[3],), alone).told([counts[:6]], [0.0], 3, 3)
    assert single.cells()[0] == ["", "Overall", "arm: control", "arm: missing"]


def test_what_is_mostly_noise_is_marked_and_not_hidden() -> None:
    table = noised(cells(TABLE), np.random.default_rng(4), 30.0)
    small = number(table, "stage", "III", "low", "n")
    assert small.note == "mostly noise" and small.lower < 0.0 < small.upper
    assert "†" in table.summary() and "Mostly noise" in table.sentence()
    assert number(table, "records", "", "overall", "n").note == ""
    low = METHOD.told([p * 0.0 - 40.0 for p in cells(TABLE)], [30.0] * 5, 3, 3)
    assert number(low, "age", "", "high", "mean").note == "mostly noise"
    assert "no test" in number(low, "age", "", "", "p_value").note
    assert math.isnan(number(low, "sex", "", "", "p_value").value)


def test_a_variance_below_zero_has_no_square_root() -> None:
    few = PrivateTableOne(COLUMNS[:1]).told([np.array([3.0, 5.0, 4.0, 0.0])], [20.0], 3, 3)
    assert "age, mean (SD)                -" in few.summary()
    assert "age, mean (SD) & $-$" in few.to_latex()
    assert "∞" not in few.summary() and "infty" not in few.to_latex()
    parts = [np.array([10.0, 300.0, 10.0, 0.0])]
    table = PrivateTableOne(COLUMNS[:1]).told(parts, [20.0], 3, 3)
    found = number(table, "age", "", "overall", "sd")
    assert math.isnan(found.value) and "variance" in found.note
    assert "(-)" in table.summary() and '"-" cannot be had: a variance' in table.sentence()
    assert "cannot be had" not in exact().sentence()


def test_a_standard_deviation_that_may_be_0_is_marked() -> None:
    parts = [np.array([1000.0, 1080.0, 1000.0, 0.0])]
    table = PrivateTableOne(COLUMNS[:1]).told(parts, [300.0], 3, 3)
    mean, found = (number(table, "age", "", "overall", each) for each in ("mean", "sd"))
    assert mean.note == "" and found.lower == 0.0 < found.value and found.note == "mostly noise"
    (row,) = [row for row in table.cells() if row[0] == "age, mean (SD)"]
    assert row[1].endswith("†)") and row[1].count("†") == 1
    assert "standard deviation that may be 0" in table.sentence()


def test_small_counts_are_suppressed_where_asked() -> None:
    method = dataclasses.replace(METHOD, suppress_below=30)
    table = method.told(cells(TABLE), [0.0] * 5, 3, 3)
    hidden = number(table, "stage", "III", "low", "n")
    assert math.isnan(hidden.value) and hidden.note == "suppressed"
    assert math.isnan(number(table, "stage", "III", "low", "percent").value)
    assert "<30" in table.summary() and "adds no privacy" in table.sentence()
    assert "$<$30" in table.to_latex() and "&lt;30" in table.to_html()
    assert "nothing is shown" not in table.sentence()


@pytest.mark.parametrize("noise", [0.0, 300.0])
def test_where_every_count_is_suppressed_nothing_is_said_of_noise(noise: float) -> None:
    method = dataclasses.replace(METHOD, suppress_below=10**6)
    said = method.told(cells(TABLE), [noise] * 5, 3, 3).sentence()
    assert "That is every count, so nothing is shown: lower suppress_below." in said
    assert "No noise was added" not in said


def test_it_prints_as_text_html_and_latex() -> None:
    table = exact()
    assert "Overall" in str(table).splitlines()[1] and "No noise" in table.sentence()
    heads, *rows = table.cells()
    assert heads == ["", "Overall", *(f"arm: {arm}" for arm in ARMS), "P", "SMD"]
    assert [row[0] for row in rows[:5]] == [
        *("Records, n", "age, mean (SD)", "age, median [quartiles]", "  missing, n (%)"),
        "sex, n (%)",
    ]
    assert all(len(row) == len(heads) for row in rows)
    assert r"\quad missing, n (\%)" in table.to_latex()
    assert table._repr_html_() == table.to_html() and "<th>arm: control</th>" in table.to_html()
    alone = described(PrivateTableOne(COLUMNS)).answer
    assert alone.cells()[0] == ["", "Overall"]
    assert "p_value" not in set(alone.frame()["statistic"])


@pytest.mark.parametrize("relation", ["replace_one", "add_remove"])
def test_with_a_budget_it_has_noise_of_the_stated_size(relation: Any) -> None:
    budget = Privacy(clip=1.0, epsilon=1.0, relation=relation)
    method = PrivateTableOne(COLUMNS, BY, privacy=budget)
    result = described(method, trials=40)
    answer = result.answer
    released = result.solutions[:, 0, :-1]
    sites = PrivateTableOne(COLUMNS, BY)
    truth = described(sites).solutions[0, 0, :-1]
    error = number(answer, "records", "", "low", "n").standard_error
    spread = error * math.sqrt(sum(1.0 / size for size in (4, 3, 2, 3)))
    assert float(np.std(released - truth)) == pytest.approx(spread, rel=0.1)
    assert ("private" in answer.sentence()) is (relation == "add_remove")
    assert result.guarantee.worst.status == "proved"
    assert result.guarantee.worst.releases == 1


def test_a_share_makes_a_column_more_precise() -> None:
    even, uneven = (
        PrivateTableOne(COLUMNS, BY, ["age"], shares=shares).query.spread(1.0)
        for shares in (None, {"age": 4.0})
    )
    assert even == pytest.approx([math.sqrt(2.0 * 5.0)] * 5)
    assert uneven == pytest.approx([math.sqrt(2.0 * 11.0 / each) for each in (4, 4, 1, 1, 1)])


def test_an_incomplete_record_is_in_no_column() -> None:
    rows = np.array(SITES_OF.features[0])
    rows[0, 3] = np.nan
    task = problem.record_tables([rows, *SITES_OF.features[1:]], SCHEMA)
    answer = described(PrivateTableOne(COLUMNS, BY), task=task).answer
    total = number(answer, "records", "", "overall", "n").value
    assert total == pytest.approx(len(TABLE) - 1)
    stages = [number(answer, "stage", level, "overall", "n").value for level in STAGES]
    assert sum(stages) == pytest.approx(len(TABLE) - 1)


def test_without_sites_there_is_no_table() -> None:
    method = PrivateTableOne(COLUMNS)
    found = method.answer(np.zeros(len(method.start(TASK))), None)
    assert isinstance(found, Refused)


@pytest.mark.parametrize(
    ("given", "error", "told"),
    [
        ({"columns": []}, ConfigError, "columns is empty"),
        ({"columns": "sex"}, ConfigError, "list of columns"),
        ({"columns": (COLUMNS[0],) * 2}, ConfigError, "stands twice"),
        ({"by": COLUMNS[1]}, ConfigError, "among the columns"),
        ({"by": TASK.column("age"), "columns": COLUMNS[1:]}, ConfigError, "fewer than two"),
        ({"by": "arm"}, ConfigError, "by"),
        ({"medians": ["height"]}, ConfigError, "height"),
        ({"medians": ["sex"]}, ConfigError, "has levels"),
        ({"medians": "age"}, ConfigError, "list of names"),
        ({"bins": 1}, ConfigError, "bins=1"),
        ({"shares": {"height": 2.0}}, ConfigError, "height"),
        ({"shares": {"age": 0.0}}, ConfigError, "positive"),
        ({"shares": [1.0]}, ConfigError, "by column"),
        ({"suppress_below": -1}, ConfigError, "suppress_below"),
        ({"privacy": Privacy(clip=1.0, epsilon=1.0, noise="laplace")}, PrivacyError, "Gaussian"),
        ({"privacy": Privacy(clip=0.5, epsilon=1.0)}, PrivacyError, "clip"),
    ],
)
def test_mistakes_are_refused(given: dict[str, Any], error: Any, told: str) -> None:
    with pytest.raises(error, match=told):
        PrivateTableOne(**{"columns": COLUMNS, "by": BY, **given})


def test_records_that_do_not_fit_are_refused() -> None:
    other = data.Schema({"age": data.Numeric(0, 80)}, None, intercept=False)
    task = problem.record_tables([np.zeros((2, 1))] * SITES, other)
    with pytest.raises(ProblemError, match="declared otherwise"):
        described(PrivateTableOne(COLUMNS[:1]), task=task)


def test_a_mean_that_noise_has_taken_away_is_not_printed() -> None:
    rng = np.random.default_rng(4)
    visits = pd.DataFrame(
        {"site": ["a", "b", "c"] * 700, "age": rng.uniform(20, 80, 2100), "arm": "drug"}
    )
    declared = {
        "age": data.Numeric(20, 80, missing="error"),
        "arm": data.Categorical(["drug", "x"]),
    }
    hidden = 0
    for seed in range(4):
        # nobody is in the arm "x" or in the group of missing arms
        found = tacit.table1(visits, ["age"], by="arm", columns=declared, epsilon=0.5, seed=seed)
        cells = found.table.cells()
        line = next(row for row in cells if row[0].startswith("age"))
        assert "∞" not in str(cells) and line[1].startswith("5")
        means = found.to_frame().query("variable == 'age' and statistic == 'mean'")
        for row, cell in zip(means.itertuples(), line[1:], strict=False):
            inside = 20 <= row.value <= 80 and np.isfinite([row.lower, row.upper]).all()
            assert (cell == "-") == (not inside)
            hidden += cell == "-"
        assert ("beyond its declared bounds" in found.table.sentence()) == ("-" in line)
    assert hidden
