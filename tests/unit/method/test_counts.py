"""Private counts: exact without noise, noised as stated, and refused where they would not hold."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import tacit
from tacit import data, network, problem
from tacit._engine.contract import contract
from tacit.errors import ConfigError, NetworkError, PrivacyError, ProblemError
from tacit.method import DGD, GradientDescent, PrivateCounts, Refused
from tacit.privacy import Masks, Privacy

SITES, SEEDS = 4, 500
SCHEMA = data.Schema(
    {
        "sex": data.Categorical(["f", "m"], missing="indicator"),
        "age": data.Numeric(0.1, 120.3),
        "well": data.Boolean(missing="indicator"),
    },
    target=None,
    intercept=False,
)
STAR = network.Coordinator(SITES)


def frame(records: int = 400) -> Any:
    import pandas as pd

    rng = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "sex": rng.choice(np.array(["f", "m", None]), records, p=[0.5, 0.4, 0.1]),
            "age": rng.choice([0.1, 17.9, 18.0, 39.99, 40.0, 64.7, 120.3], records),
            "well": rng.choice(np.array([True, False, None]), records),
        }
    )


TABLE = frame()
SITES_OF = data.even(data.prepare(TABLE, SCHEMA), SITES)
TASK = problem.record_tables(SITES_OF.features, SCHEMA, size=100)
COLUMNS = (TASK.column("sex"), TASK.column("age").cut(18.0, 40.0), TASK.column("well"))
BUDGET = Privacy(clip=1.0, epsilon=1.0)


def expected() -> list[int]:
    ages = np.digitize(TABLE["age"], [18.0, 40.0])
    sex, well = TABLE["sex"], TABLE["well"]
    return [
        *(int((sex == level).sum()) for level in ("f", "m")),
        int(sex.isna().sum()),
        *(int((ages == cell).sum()) for cell in range(3)),
        *(int((well == level).sum()) for level in (False, True)),
        int(well.isna().sum()),
    ]


def counted(method: Any, on: Any = STAR, trials: int = 1, seed: int = 0, task: Any = TASK) -> Any:
    runtime = tacit.Simulation(trials=trials)
    return tacit.run(task, on, method, rounds=1, seed=seed, runtime=runtime)


def test_counts_without_noise_are_exact() -> None:
    answer = counted(PrivateCounts(COLUMNS)).answer.frame()
    assert answer["count"].tolist() == pytest.approx(expected(), abs=1e-9)
    assert answer["standard_error"].tolist() == [0.0] * 9
    assert answer["column"].tolist() == ["sex"] * 3 + ["age"] * 3 + ["well"] * 3
    levels = ["f", "m", "missing", "[0.1, 18)", "[18, 40)", "[40, 120.3]"]
    assert answer["level"].tolist() == [*levels, "false", "true", "missing"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("masks", "on"),
    [
        (None, STAR),
        (Masks(1), STAR),
        (None, network.ExactSum(network.ring(SITES), by="tree")),
    ],
    ids=["local", "masks", "relayed"],
)
def test_noise_has_the_stated_size_and_intervals_cover(masks: Any, on: Any) -> None:
    budget = Privacy(clip=1.0, epsilon=1.0, masks=masks)
    result = counted(PrivateCounts(COLUMNS, privacy=budget), on, trials=SEEDS)
    answer = result.answer.frame()
    errors = answer["standard_error"].to_numpy()
    noise = result.solutions[:, 0, :-1] - np.array(expected())
    # 4,500 normal numbers: sd of their size 1.1 %, of their coverage .3 %
    assert float(np.sqrt(np.mean((noise / errors) ** 2))) == pytest.approx(1.0, abs=0.06)
    covered = np.mean(np.abs(noise) <= 1.959964 * errors)
    assert covered == pytest.approx(0.95, abs=0.02)
    assert np.all(np.abs(noise.mean(axis=0)) < 5.0 * errors / np.sqrt(SEEDS))
    assert len(set(errors.round(9))) == 1  # shares are equal


@pytest.mark.long
def test_masks_leave_nearly_the_noise_of_one_for_all() -> None:
    alone, hidden = (
        counted(PrivateCounts(COLUMNS, privacy=Privacy(clip=1.0, epsilon=1.0, masks=masks)))
        for masks in (None, Masks(1))
    )
    sizes = [result.answer.frame()["standard_error"][0] for result in (alone, hidden)]
    assert sizes[0] / sizes[1] == pytest.approx(np.sqrt(SITES - 1), rel=1e-6)


@pytest.mark.long
def test_coming_and_going_costs_less_noise_by_the_root_of_two() -> None:
    replaced = counted(PrivateCounts(COLUMNS, privacy=BUDGET)).answer.frame()
    coming = Privacy(clip=1.0, epsilon=1.0, relation="add_remove")
    added = counted(PrivateCounts(COLUMNS, privacy=coming)).answer.frame()
    ratio = replaced["standard_error"][0] / added["standard_error"][0]
    assert ratio == pytest.approx(np.sqrt(2.0))


def test_the_answer_is_plain_values_and_says_whose_records_they_are() -> None:
    result = counted(PrivateCounts(COLUMNS, privacy=BUDGET))
    found = result.answer.to_dict()
    assert (found["kind"], found["sites"], found["of_sites"]) == ("counts", SITES, SITES)
    row = found["rows"][0]
    assert row["lower"] < row["count"] < row["upper"]
    assert "census" in result.answer.sentence()
    assert result.answer.sentence() in str(result)
    assert result.parameter_names[:2] == ("sex=f", "sex=m")
    assert set(result.history.measured) == {"consensus"}


def test_sites_that_sleep_are_not_counted_and_the_answer_says_so() -> None:
    drawn = network.Coordinator(SITES, probability=0.5)
    for seed in range(30):
        answer = counted(PrivateCounts(COLUMNS), drawn, seed=seed).answer
        if isinstance(answer, Refused) or answer.sites == SITES:
            continue
        assert 0 < answer.sites < SITES == answer.of_sites
        assert 0 < sum(answer.counts[:3]) < len(TABLE)
        return
    raise AssertionError("all sites took part in each of 30 runs")


def test_an_answer_of_nobody_is_refused_and_not_raised() -> None:
    method = PrivateCounts(COLUMNS, privacy=BUDGET)
    agreed = contract(TASK, STAR, method, rounds=1)
    for numbers in (np.zeros(10), np.full(10, np.nan)):
        answer = agreed.method.answer(numbers, agreed)
        assert isinstance(answer, Refused)
        assert answer.reason in answer.sentence()
        assert answer.to_dict()["needs"] == answer.frame()["needs"][0] == answer.needs


def test_records_that_do_not_fit_are_counted_nowhere() -> None:
    from tacit.data.total import prepare_total

    table = frame(40)
    table["age"] = table["age"].astype(object)
    table.loc[0, "age"], table.loc[1, "sex"] = "old", "x"
    total = prepare_total(table, SCHEMA)
    assert total.unfit.sum() == 2
    sites = data.even(total.prepared, 2)
    task = problem.record_tables(sites.features, SCHEMA)
    answer = counted(PrivateCounts(COLUMNS), network.Coordinator(2), task=task).answer.frame()
    assert answer.groupby("column")["count"].sum().tolist() == pytest.approx([38.0] * 3)


@pytest.mark.parametrize(
    ("change", "error", "key"),
    [
        ({"columns": ()}, ConfigError, "columns"),
        ({"columns": (TASK.column("age"),)}, ConfigError, "'age'"),
        ({"columns": (COLUMNS[0], COLUMNS[0])}, ConfigError, "'sex'"),
        ({"columns": ("sex",)}, ConfigError, "columns"),
        ({"privacy": Privacy(clip=0.5, epsilon=1.0)}, PrivacyError, "clip=0.5"),
        ({"privacy": Privacy(clip=1.0, epsilon=1.0, noise="laplace")}, PrivacyError, "noise="),
        (
            {"privacy": Privacy(clip=1.0, epsilon=1.0, relation="add_remove", sampling=0.5)},
            PrivacyError,
            "sampling=0.5",
        ),
    ],
)
def test_what_cannot_be_counted_is_refused_early(change: Any, error: Any, key: str) -> None:
    with pytest.raises(error, match=key):
        PrivateCounts(**({"columns": COLUMNS} | change))


def test_runs_that_do_not_fit_are_refused_before_they_begin() -> None:
    method = PrivateCounts(COLUMNS, privacy=BUDGET)
    with pytest.raises(ConfigError, match="rounds=2"):
        tacit.run(TASK, STAR, method, rounds=2)
    with pytest.raises(NetworkError, match="Coordinator"):
        counted(method, network.ring(SITES))
    other = dataclasses.replace(COLUMNS[0], levels=("a", "b", "missing"))
    with pytest.raises(ProblemError, match="'sex'"):
        counted(PrivateCounts([other]))
    unknown = dataclasses.replace(COLUMNS[0], name="six")
    with pytest.raises(ProblemError, match="'six'"):
        counted(PrivateCounts([unknown]))
    undeclared = problem.record_tables(SITES_OF.features, SCHEMA)
    coming = Privacy(clip=1.0, epsilon=1.0, relation="add_remove")
    with pytest.raises(ProblemError, match="size="):
        counted(PrivateCounts(COLUMNS, privacy=coming), task=undeclared)


def test_records_have_nothing_to_minimise() -> None:
    for method, on in ((DGD(step=0.1), network.ring(SITES)), (GradientDescent(step=0.1), STAR)):
        with pytest.raises(ProblemError, match="no loss"):
            tacit.run(TASK, on, method, rounds=2)
    with pytest.raises(ConfigError, match="reference="):
        tacit.run(TASK, STAR, PrivateCounts(COLUMNS), rounds=1, reference="solve")
    with pytest.raises(ProblemError, match="nothing to minimise"):
        TASK.start()
    risk = problem.empirical_risk(
        [np.ones((3, 2))] * SITES, [np.ones(3)] * SITES, problem.Squared()
    )
    with pytest.raises(ProblemError, match="record_tables"):
        counted(PrivateCounts(COLUMNS), task=risk)
