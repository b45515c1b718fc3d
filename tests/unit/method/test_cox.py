"""Private Cox regression: without noise that of statsmodels, with it intervals hold."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

import tacit
from tacit import data, network, problem
from tacit.errors import ConfigError
from tacit.method import HazardRatios, PrivateCox, Refused
from tacit.method.answer import NORMAL
from tacit.privacy import Masks, Privacy

pytestmark = pytest.mark.long

SITES = 4
STAR = network.Coordinator(SITES)
SCHEMA = data.Schema(
    {
        "years": data.Numeric(0, 10),
        "died": data.Boolean(),
        "age": data.Numeric(20, 80),
        "sex": data.Categorical(["f", "m"]),
        "ward": data.Categorical(["east", "north", "west"]),
    },
    target=None,
    intercept=False,
)
TRUE = np.array([0.02, 0.3])
BUDGET = Privacy(clip=1.0, epsilon=1.0, masks=Masks())


def frame(records: int, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    age, sex = rng.uniform(20, 80, records), rng.choice(["f", "m"], records)
    hazard = 0.08 * np.exp(TRUE[0] * (age - 50) + TRUE[1] * (sex == "m"))
    lived, followed = rng.exponential(size=records) / hazard, rng.uniform(0, 15, records)
    return pd.DataFrame(
        {
            "years": np.minimum(lived, followed),
            "died": lived <= followed,
            "age": age,
            "sex": sex,
            "ward": rng.choice(["east", "north", "west"], records, p=[0.5, 0.3, 0.2]),
        }
    )


def with_wards(table: Any) -> Any:
    """Records whose wards differ in hazard and in age."""
    rng = np.random.default_rng(8)
    ward = np.where(table["age"] + rng.normal(0, 15, len(table)) > 55, "north", table["ward"])
    times = np.where(ward == "north", 0.5, 1.0) * table["years"]
    return table.assign(ward=ward, years=times)


def task(table: Any) -> Any:
    sites = data.even(data.prepare(table, SCHEMA), SITES)
    return problem.record_tables(sites.features, SCHEMA, size=len(table) // SITES)


COLUMNS = data.columns_of(SCHEMA)
ASKED = (COLUMNS["years"], COLUMNS["died"], [COLUMNS["age"], COLUMNS["sex"]])


def fitted(method: PrivateCox, table: Any, seed: int = 0) -> Any:
    return tacit.run(task(table), STAR, method, rounds=method.only_rounds, seed=seed)


@cache
def table_of_many() -> Any:
    return frame(8000)


@cache
def private() -> Any:
    return fitted(PrivateCox(*ASKED, privacy=BUDGET), table_of_many())


def by_hand(table: Any, pieces: int = 6, strata: bool = False, cut: float | None = None) -> Any:
    """The same model as a Poisson regression of statsmodels, one row per record and piece."""
    ends = np.linspace(0, 10, pieces + 1)
    time = np.minimum(table["years"].to_numpy(), 10.0)
    died = (table["died"] & (table["years"] < 10)).to_numpy()
    wards = sorted(set(table["ward"])) if strata else [None]
    rows = []
    for j, (low, high) in enumerate(pairwise(ends)):
        exposure = np.clip(time - low, 0, high - low)
        there = exposure > 0
        columns = {
            "age": table["age"].to_numpy()[there],
            "male": (table["sex"] == "m").to_numpy()[there].astype(float),
        }
        if cut is not None:
            columns = {
                f"{name} {late}": each * (late == (low >= cut))
                for late in (False, True)
                for name, each in columns.items()
            }
        rows.append(
            pd.DataFrame(
                {
                    "events": (died & (time > low) & (time <= high))[there].astype(float),
                    "exposure": exposure[there],
                    **columns,
                    **{
                        f"piece {i} {ward}": (i == j)
                        * (1.0 if ward is None else (table["ward"] == ward).to_numpy()[there])
                        for ward in wards
                        for i in range(pieces)
                    },
                }
            )
        )
    whole = pd.concat(rows)
    design = whole.drop(columns=["events", "exposure"]).astype(float)
    model = sm.GLM(whole["events"], design, sm.families.Poisson(), offset=np.log(whole["exposure"]))
    return model.fit(tol=1e-12)


def test_without_noise_it_is_the_poisson_regression_of_statsmodels() -> None:
    table = frame(2000)
    found = fitted(PrivateCox(*ASKED), table).answer
    expected = by_hand(table)
    assert isinstance(found, HazardRatios) and found.names == ("age", "sex[T.m]")
    np.testing.assert_allclose(found.values, expected.params.to_numpy()[:2], atol=1e-5)
    np.testing.assert_allclose(found.errors, expected.bse.to_numpy()[:2], rtol=3e-3)
    base = np.log(found.hazards).ravel()
    np.testing.assert_allclose(base, expected.params.to_numpy()[2:], atol=1e-3)
    assert "no noise was added" in found.sentence() and found.limit is None


def test_without_noise_it_is_near_the_partial_likelihood() -> None:
    table = frame(2000)
    died = table["died"] & (table["years"] < 10)
    table = table.assign(died=died, years=table["years"].clip(0, 10))
    theirs: Any = sm.PHReg(
        table["years"],
        np.column_stack([table["age"], table["sex"] == "m"]).astype(float),
        table["died"].to_numpy(),
    ).fit()
    found = fitted(PrivateCox(*ASKED), table).answer
    assert (np.abs(found.values - theirs.params) < 0.05 * theirs.bse).all()


def test_strata_are_stratum_by_piece_indicators_and_near_the_stratified_partial_likelihood() -> (
    None
):
    table = with_wards(frame(2000))
    method = PrivateCox(*ASKED, pieces=3, strata=COLUMNS["ward"])
    found = fitted(method, table).answer
    expected = by_hand(table, pieces=3, strata=True)
    np.testing.assert_allclose(found.values, expected.params.to_numpy()[:2], atol=1e-4)
    np.testing.assert_allclose(found.errors, expected.bse.to_numpy()[:2], rtol=3e-3)
    base = np.log(found.hazards).ravel()
    np.testing.assert_allclose(base, expected.params.to_numpy()[2:], atol=1e-2)
    assert found.hazards.shape == (3, 3) and set(found.baseline()["ward"]) == set(found.levels)
    assert "for each ward on its own" in found.sentence()
    died = table["died"] & (table["years"] < 10)
    theirs: Any = sm.PHReg(
        table["years"].clip(0, 10),
        np.column_stack([table["age"], table["sex"] == "m"]).astype(float),
        died.to_numpy(),
        strata=table["ward"].to_numpy(),
    ).fit()
    assert (np.abs(found.values - theirs.params) < 0.1 * theirs.bse).all()
    plain = fitted(PrivateCox(*ASKED), table).answer
    assert np.abs(plain.values[0] - theirs.params[0]) > 1.0 * theirs.bse[0]


def test_periods_are_interactions_with_time_and_their_test_is_walds() -> None:
    table = frame(2000)
    found = fitted(PrivateCox(*ASKED, periods=(5.0,)), table).answer
    expected = by_hand(table, cut=5.0)
    assert found.names == ("age (0, 5]", "sex[T.m] (0, 5]", "age (5, 10]", "sex[T.m] (5, 10]")
    np.testing.assert_allclose(found.values, expected.params.to_numpy()[:4], atol=1e-4)
    np.testing.assert_allclose(found.errors, expected.bse.to_numpy()[:4], rtol=3e-3)
    base = np.log(found.hazards).ravel()
    np.testing.assert_allclose(base, expected.params.to_numpy()[4:], atol=1e-2)
    contrast = np.zeros((2, len(expected.params)))
    contrast[:, :4] = [[-1, 0, 1, 0], [0, -1, 0, 1]]
    tests = found.proportional().set_index("parameter")
    theirs = expected.wald_test(contrast, scalar=True)
    assert tests.loc["all", "chi_squared"] == pytest.approx(float(theirs.statistic), rel=0.01)
    assert tests.loc["all", "p_value"] == pytest.approx(float(theirs.pvalue), rel=0.02)
    alone = expected.wald_test(contrast[:1], scalar=True)
    assert tests.loc["age", "p_value"] == pytest.approx(float(alone.pvalue), rel=0.02)
    assert "Test of proportional hazards" in found.sentence()
    assert found.to_dict()["proportional_hazards"][-1]["degrees"] == 2


def test_strata_and_periods_hold_together_with_noise() -> None:
    table = with_wards(frame(16000))
    given = {"strata": COLUMNS["ward"], "periods": (10 / 3,), "pieces": 3}
    noisy = fitted(PrivateCox(*ASKED, **given, privacy=BUDGET), table).answer
    exact = fitted(PrivateCox(*ASKED, **given), table).answer
    apart = np.abs(noisy.values - exact.values)
    assert (apart < 4.0 * np.sqrt(np.diag(noisy.privacy) + np.diag(exact.sampling))).all()
    assert (noisy.errors > exact.errors).all()
    assert noisy.proportional()["degrees"].tolist() == [1, 1, 2]


def blocks(limit: float | None = None, **given: Any) -> Any:
    return PrivateCox(*ASKED, limit=limit, privacy=BUDGET, **given).queries[-1].blocks


def raw(rng: Any, records: int) -> Any:
    """Records as they are stored, at the ends of what is declared and within."""
    sex, ward = rng.integers(0, 2, records), np.eye(3)[rng.integers(0, 3, records)]
    time, died = rng.uniform(-1, 1.02, records), rng.integers(0, 2, records)
    age = rng.choice([-1.0, 1.0, 0.3, 0.0], records)
    return np.column_stack([time, died, age, 1 - sex, sex, ward])


@pytest.mark.parametrize("limit", [0.5, 1.0, 2.5])
@pytest.mark.parametrize(
    "given",
    [{}, {"periods": (5.0,)}, {"strata": COLUMNS["ward"], "periods": (5.0,)}],
    ids=["plain", "periods", "strata and periods"],
)
def test_bounds_hold_without_a_clip_and_are_attained(limit: float, given: dict[str, Any]) -> None:
    rng, n = np.random.default_rng(1), 4000
    method = PrivateCox(*ASKED, limit=limit, privacy=BUDGET, **given)
    records = raw(rng, n)
    points = rng.normal(0, 1.5, (n, method.points)) * rng.choice([0.0, 1.0, 3.0], (n, 1))
    vectors: Any
    *vectors, parts = method.queries[-1].blocks
    for block in vectors:
        asked = np.asarray(jax.vmap(block.asked)(jnp.asarray(records), jnp.asarray(points)))
        norms = np.linalg.norm(asked, axis=1)
        assert np.isfinite(norms).all()
        assert 0.75 * block.bound < norms.max() <= block.bound * (1 + 1e-6)
    asked = np.asarray(jax.vmap(parts.asked)(jnp.asarray(records), jnp.asarray(points)))
    assert asked.min() >= 0.0 and 0.75 < asked.sum(axis=1).max() <= 1.0 + 1e-6


def test_a_record_without_a_value_adds_nothing() -> None:
    given = {"strata": COLUMNS["ward"], "periods": (5.0,)}
    method = PrivateCox(*ASKED, privacy=BUDGET, **given)
    whole = jnp.asarray(raw(np.random.default_rng(2), 1)[0]).at[1].set(1.0)
    absent = [
        whole.at[1].set(jnp.nan),
        whole.at[2].set(jnp.nan),
        whole.at[0].set(jnp.nan),
        whole.at[5:].set(0.0),
    ]
    point = jnp.zeros(method.points)
    for query, records in (
        (method.queries[0], (absent[0], *absent[2:])),
        (method.queries[1], absent),
    ):
        for block in query.blocks:
            assert block.bounded(block.asked(whole, point)[None]).any()
            for record in records:
                assert not block.bounded(block.asked(record, point)[None]).any()


def test_the_score_is_unbiased_at_the_truth_and_a_clip_would_not_be() -> None:
    rng = np.random.default_rng(3)
    n, beta, base = 200_000, np.array([0.8, 0.5]), np.log(1.5)
    age, sex = rng.uniform(-1, 1, n), rng.integers(0, 2, n)
    hazard = np.exp(base + beta[0] * age + beta[1] * sex)
    lived, followed = rng.exponential(size=n) / hazard, rng.uniform(0.2, 2, n)
    time = np.minimum(np.minimum(lived, followed), 1.0)
    wards = np.tile([1.0, 0.0, 0.0], (n, 1))
    records = np.column_stack([2 * time - 1, lived <= followed, age, 1 - sex, sex, wards])
    # hazards are those of records half of which are men
    point = jnp.asarray([*beta, *[base + 0.5 * beta[1]] * 6])
    block = blocks()[0]
    asked = np.asarray(
        jax.jit(jax.vmap(lambda each: block.asked(each, point)))(jnp.asarray(records))
    )
    z = asked.mean(axis=0) / (asked.std(axis=0) / np.sqrt(n))
    assert np.abs(z).max() < 4.0
    # following everybody to the end and clipping to the same norm
    free = blocks(1000.0)[0]
    wild = np.asarray(jax.jit(jax.vmap(lambda each: free.asked(each, point)))(jnp.asarray(records)))
    norms = np.linalg.norm(wild, axis=1, keepdims=True)
    clipped = wild * np.minimum(1.0, block.bound / np.maximum(norms, 1e-12))
    assert np.abs(clipped.mean(axis=0) / (clipped.std(axis=0) / np.sqrt(n))).max() > 8.0


def test_with_noise_effects_are_near_and_say_what_the_noise_adds() -> None:
    found = private().answer
    assert isinstance(found, HazardRatios)
    assert (np.abs(found.values - TRUE) < 4.0 * found.errors).all()
    table: Any = found.frame()
    assert (table["privacy_error"] > 0).all()
    assert (table["standard_error"] < 2.0 * table["sampling_error"]).all()
    assert (table["lower"] < table["hazard_ratio"]).all()
    assert "followed up to a cumulative hazard of 1" in found.sentence()
    assert "sampling and the noise" in repr(found)
    assert found.to_latex().startswith(r"\begin{tabular}") and "<td>age</td>" in found.to_html()
    assert found.to_dict()["rows"][1]["parameter"] == "sex[T.m]" and found._repr_html_()
    assert list(found.baseline()["from"])[:2] == pytest.approx([0.0, 10 / 6])
    effect = found.effects()[0]
    assert effect["parameter"] == "age per 10"
    assert effect["value"] == pytest.approx(np.exp(10 * found.values[0]))
    half = NORMAL * found.errors[0]
    assert found.conf_int().loc["age", "upper"] == pytest.approx(found.values[0] + half)
    with pytest.raises(ConfigError, match="level"):
        found.conf_int(2.0)
    assert effect["lower"] < effect["sampling_lower"] < effect["value"] < effect["upper"]
    worst = private().guarantee.worst
    assert (worst.status, worst.releases) == ("proved", 4)
    assert worst.epsilon == pytest.approx(1.0, rel=1e-3)


def test_intervals_hold_the_truth() -> None:
    from benchmarks.cox import replicates

    found = replicates(records=8000, epsilon=1.0, draws=60)
    assert 0.91 < found.held.mean() < 0.99
    assert found.printed.mean() > 0.9
    ratio = np.sqrt(np.mean(found.apart**2)) / np.sqrt(np.mean(found.errors**2))
    assert 0.8 < ratio < 1.15


def test_the_test_of_proportional_hazards_has_its_size_and_finds_a_change() -> None:
    from benchmarks.cox import p_values

    chance, change = (p_values(16_000, 2.0, 40, later) < 0.05 for later in (0.0, 0.5))
    assert min(len(chance), len(change)) >= 36
    # at a size of .05 more than 7 of 40 come once in a thousand times
    assert chance.sum(axis=0).max() <= 7
    assert change.mean(axis=0).min() > 0.9


def test_a_sum_whose_step_leaves_much_is_not_pooled(monkeypatch: pytest.MonkeyPatch) -> None:
    """From a hazard that age changes 190-fold, four sums do not arrive, and nothing is printed."""
    rng, slope = np.random.default_rng(5), 0.087
    age, followed = rng.uniform(20, 80, 8000), rng.uniform(2, 12, 8000)
    lived = rng.exponential(60, 8000) * np.exp(-slope * (age - 20))
    table = frame(8000).assign(age=age, years=np.minimum(lived, followed), died=lived <= followed)
    method = PrivateCox(*ASKED, privacy=Privacy(clip=1.0, epsilon=4.0, masks=Masks()))
    refused = fitted(method, table).answer
    assert isinstance(refused, Refused) and "has not converged" in refused.reason
    monkeypatch.setattr("tacit.method._cox_estimate._LEFT", np.inf)  # as if all were pooled
    printed = fitted(method, table).answer
    assert printed.values[0] < slope - 4.0 * printed.errors[0]


def test_too_few_records_are_refused() -> None:
    answer = fitted(PrivateCox(*ASKED, privacy=BUDGET), frame(400)).answer
    assert isinstance(answer, Refused)
    assert "noise hides the direction" in answer.reason or "converged" in answer.reason
    assert "records" in answer.needs and "says nothing that the others do not" in answer.needs


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"time": COLUMNS["sex"]}, "has levels of its own"),
        ({"event": COLUMNS["age"]}, "is a number"),
        ({"columns": []}, "columns is empty"),
        ({"columns": [COLUMNS["died"]]}, "is among the columns as well"),
        ({"columns": [COLUMNS["age"]] * 2}, "stands twice"),
        ({"columns": "age"}, "must be a list"),
        ({"pieces": 0}, "pieces=0"),
        ({"time": ASKED[0].cut(2, 5), "pieces": 6}, "pieces=6 is for times without edges"),
        ({"limit": 0.0}, "limit=0"),
        ({"strata": COLUMNS["age"]}, "fewer than two levels"),
        ({"strata": COLUMNS["sex"]}, "strata='sex' is among the columns"),
        ({"strata": COLUMNS["died"]}, "column 'died' stands twice"),
        ({"strata": "ward"}, "write strata="),
        (
            {"periods": (4.0,)},
            r"periods=\[4\]: 4 is not an inner end of a piece; these are: 1.66667",
        ),
        ({"periods": (5.0, 5.0)}, "must be ascending"),
        ({"periods": (5.0,), "pieces": 1}, "none, with one piece"),
    ],
)
def test_mistakes_are_refused(given: dict[str, Any], what: str) -> None:
    time, event, columns = ASKED
    with pytest.raises(ConfigError, match=what):
        PrivateCox(**{"time": time, "event": event, "columns": columns, **given})


@pytest.mark.parametrize(
    ("columns", "what"),
    [
        (["age", "twice"], "columns age, twice are constant or collinear"),
        (["age", "same"], "column same is constant"),
    ],
)
def test_columns_that_are_not_told_apart_are_named(columns: list[str], what: str) -> None:
    table = frame(2000).assign(twice=lambda each: each["age"], same=3.0, site="a")
    table.loc[::2, "site"] = "b"
    declared: Any = {
        **SCHEMA.features,
        "twice": data.Numeric(20, 80),
        "same": data.Numeric(0, 5),
    }
    found = tacit.cox(table, "years", "died", columns, columns=declared, epsilon=None)
    with pytest.raises(ConfigError, match=f"{what}.*leave"):
        _ = found.table
