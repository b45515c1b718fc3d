"""Widths of statistics, forecast from public numbers, beside those that runs have."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import tacit
from tacit import data
from tacit.advise.widths import Width
from tacit.advise.widths_cox import cox_widths
from tacit.advise.widths_survival import survival_widths
from tacit.advise.widths_table import table_widths
from tacit.cli import app
from tacit.data.cells import columns_of
from tacit.errors import ConfigError
from tacit.method import PrivateCox, PrivateSurvival, PrivateTableOne
from tacit.privacy import Masks, Privacy

pytestmark = pytest.mark.long

SITES = ["a", "b", "c", "d"]
DECLARED: dict[str, data.Feature] = {
    "years": data.Numeric(0, 10),
    "died": data.Boolean(),
    "age": data.Numeric(20, 80),
    "arm": data.Categorical(["placebo", "drug"]),
}
COLUMNS = columns_of(data.Schema(DECLARED, None, intercept=False))
ASKED = (COLUMNS["years"], COLUMNS["died"])


def budget(epsilon: float = 1.0, **given: Any) -> Privacy:
    return Privacy(clip=1.0, epsilon=epsilon, **({"masks": Masks()} | given))


def records(seed: int, size: int = 4000) -> pd.DataFrame:
    """As the forecasts assume: 30 % have an event within ten years, and no one leaves before."""
    rng = np.random.default_rng(seed)
    lived = rng.exponential(10.0 / -math.log(0.7), size)
    return pd.DataFrame(
        {
            "site": np.arange(size) % len(SITES),
            "years": np.minimum(lived, 10.0),
            "died": lived < 10.0,
            "age": rng.uniform(20, 80, size),
            "arm": rng.choice(["placebo", "drug"], size),
        }
    ).assign(site=lambda table: [SITES[i] for i in table["site"]])


def by_name(widths: list[Width]) -> dict[str, Width]:
    return {each.name: each for each in widths}


def test_the_intervals_of_a_table_are_as_wide_as_was_forecast() -> None:
    # missing values have a cell of their own in a table 1
    kept = columns_of(data.Schema(DECLARED, None, intercept=False, missing="indicator"))
    method = PrivateTableOne([kept["age"], kept["died"]], COLUMNS["arm"], ["age"], privacy=budget())
    found = by_name(table_widths(method, [1000] * 4, budget()))
    asked: Any = {"columns": DECLARED, "by": "arm", "medians": ["age"], "sites": SITES}
    for seed in range(3):
        frame = tacit.table1(records(seed), ["age", "died"], seed=seed, **asked).to_frame()
        frame["half"] = (frame["upper"] - frame["lower"]) / 2
        keyed = frame.set_index(["variable", "level", "group", "statistic"])["half"]
        for name, key in {
            "number of records": ("records", "", "overall", "n"),
            "number of records, a group": ("records", "", "placebo", "n"),
            "mean of age": ("age", "", "overall", "mean"),
            "mean of age, a group": ("age", "", "placebo", "mean"),
            "standard deviation of age, a group": ("age", "", "drug", "sd"),
            "share of died = true, a group": ("died", "true", "drug", "percent"),
        }.items():
            assert keyed[key] == pytest.approx(found[name].half, rel=0.12), name
        # quantiles are read off bins of 3 years
        median = float(keyed["age", "", "overall", "median"])
        assert abs(median - found["median of age"].half) <= 3.0
    assert {each.printed for each in found.values()} == {"likely"}


def test_the_intervals_of_curves_are_as_wide_as_was_forecast() -> None:
    method = PrivateSurvival(*ASKED, COLUMNS["arm"], privacy=budget())
    found = by_name(survival_widths(method, [1000] * 4, budget()))
    for seed in range(3):
        frame = tacit.survival(
            records(seed), "years", "died", by="arm", columns=DECLARED, sites=SITES, seed=seed
        ).to_frame()
        for time in (2.5, 5, 7.5):
            row = frame[(frame["time"] == time)].iloc[0]
            width = found[f"survival at {time:g}, a group"]
            half = (row["upper"] - row["lower"]) / 2
            assert half == pytest.approx(width.half, rel=0.12)
            assert width.over > 1.2


@pytest.mark.parametrize(
    ("records", "epsilon", "error", "noise", "printed"),
    [
        (16_000, 2.0, 0.023, 0.006, "likely"),
        (16_000, 1.0, 0.025, 0.011, "likely"),
        (8000, 2.0, 0.033, 0.012, "likely"),
        (8000, 1.0, 0.039, 0.023, "uncertain"),
        (4000, 2.0, 0.051, 0.025, "uncertain"),
        (8000, 0.5, 0.077, 0.070, "uncertain"),
        (4000, 1.0, 0.101, 0.091, "uncertain"),
    ],
)
def test_hazard_ratios_are_forecast_as_two_hundred_draws_had_them(
    records: int, epsilon: float, error: float, noise: float, printed: str
) -> None:
    """The draws of docs/survival.md; where they were not all printed, noise adds to the noise."""
    numbers = {f"x{i}": data.Numeric(-1, 1) for i in range(5)}
    columns = columns_of(data.Schema({**DECLARED, **numbers}, None, intercept=False))
    method = PrivateCox(*ASKED, [columns[name] for name in numbers], privacy=budget(epsilon))
    uniform = dict.fromkeys(numbers, 1.0 / math.sqrt(3.0))
    found = cox_widths(method, [records // 8] * 8, budget(epsilon), 0.46, uniform)
    assert {each.printed for each in found} == {printed}
    forecast = found[0].half / 1.96
    if noise < 0.03:
        assert forecast == pytest.approx(error, rel=0.09)
    else:
        assert noise / 3 < forecast < error
    assert all(each.half == pytest.approx(found[0].half, rel=0.02) for each in found)


def test_what_is_hidden_is_unlikely_and_what_would_do_is_likely() -> None:
    few = [20] * 4
    table = PrivateTableOne([COLUMNS["age"]], COLUMNS["arm"], privacy=budget(0.2))
    curves = PrivateSurvival(*ASKED, COLUMNS["arm"], privacy=budget(0.2))
    hazards = PrivateCox(*ASKED, [COLUMNS["age"]], privacy=budget(0.2))
    made: list[tuple[Any, Any]] = [
        (table_widths, table),
        (survival_widths, curves),
        (cox_widths, hazards),
    ]
    for of, method in made:
        poor = of(method, few, budget(0.2))
        assert "unlikely" in {each.printed for each in poor}
        assert all(each.enough is not None and each.enough > 80 for each in poor)
        needed = max(each.enough for each in poor)
        rich = of(method, [math.ceil(needed / 4)] * 4, budget(0.2))
        assert {each.printed for each in rich} == {"likely"}
    hidden = survival_widths(curves, few, budget(0.2))[0]
    assert math.isnan(hidden.half) and math.isnan(hidden.over)


def test_local_noise_and_people_with_several_records_widen_intervals() -> None:
    def of(**given: Any) -> float:
        agreed = budget(**given)
        method = PrivateTableOne([COLUMNS["age"]], privacy=agreed)
        return by_name(table_widths(method, [500] * 5, agreed))["mean of age"].half

    plain = of()
    assert of(records_per_person=2) == pytest.approx(2 * plain, rel=0.01)
    # the noise of one site in place of that of four honest ones
    assert of(masks=None) == pytest.approx(2 * plain, rel=0.01)
    with pytest.raises(ConfigError, match="at one site"):
        of(masks=None, sites_per_person=2)


STUDY = """
[data]
path = "none.csv"
missing = "drop"

[data.features]
years = { lower = 0, upper = 10 }
died = { kind = "boolean" }
arm = { levels = ["placebo", "drug"] }

[partition]
by = "column"
column = "clinic"
sites = ["North", "South", "East"]

[network]
graph = "coordinator"

[privacy]
epsilon = 1.0
masks = true

[method]
"""


@pytest.mark.parametrize(
    ("method", "name"),
    [
        ('name = "table1"\ncolumns = ["years"]\nby = "arm"', "mean of years, a group"),
        ('name = "survival"\ntime = "years"\nevent = "died"', "survival at 5"),
        (
            'name = "cox"\ntime = "years"\nevent = "died"\ncolumns = ["arm"]',
            "log hazard ratio of arm[T.drug]",
        ),
    ],
)
def test_advice_on_a_study_of_statistics_is_its_widths(
    tmp_path: Path, method: str, name: str
) -> None:
    study = tmp_path / "study.toml"
    study.write_text(STUDY + method)
    asked = ["advise", str(study), "--records", "3000"]
    done = CliRunner().invoke(app, [*asked, "--json"])
    assert done.exit_code == 0, done.output + done.stderr
    told = json.loads(done.stdout)
    found = {each["name"]: each for each in told["widths"]}
    assert (told["records"], told["agents"], told["prevalence"]) == (9000, 3, 0.3)
    assert found[name]["printed"] == "likely" and 0 < found[name]["half"] < 1
    said = CliRunner().invoke(app, asked)
    assert name in said.output and "no record was read" in said.output
    wrong = CliRunner().invoke(app, [*asked, "--gain", "0.2"])
    assert wrong.exit_code == 2 and "--gain is not for" in wrong.output + wrong.stderr
    wrong = CliRunner().invoke(app, [*asked, "--prevalence", "1"])
    assert wrong.exit_code == 2 and "must be above 0 and below 1" in wrong.output + wrong.stderr


def test_a_study_of_statistics_compares_epsilons_and_takes_the_spread_of_a_column(
    tmp_path: Path,
) -> None:
    study = tmp_path / "study.toml"

    def told(method: str, *words: str) -> str:
        made = STUDY.replace("arm =", "age = { lower = 18, upper = 100 }\narm =")
        study.write_text(made + method)
        done = CliRunner().invoke(app, ["advise", str(study), "--records", "3000", *words])
        return done.output + done.stderr

    cox = 'name = "cox"\ntime = "years"\nevent = "died"\ncolumns = ["age", "arm"]'
    plain, known = (
        json.loads(told(cox, "--epsilon", "0.5,2", "--json", *spread))
        for spread in ((), ("--spread", "age=11.836"))
    )
    assert [each["epsilon"] for each in known["epsilons"]] == [0.5, 2.0]
    assert (plain["least"], known["least"]) == (2.0, 2.0)
    for loose, tight in zip(plain["epsilons"], known["epsilons"], strict=True):
        assert (loose["assumed_uniform"], tight["assumed_uniform"]) == (["age"], [])
        # what is likely is likely of half the spread, and the width is that of the whole
        assert loose["widths"][0]["enough"] == tight["widths"][0]["enough"]
        assert tight["widths"][0]["half"] > 1.8 * loose["widths"][0]["half"]
    said = told(cox, "--epsilon", "0.5,2")
    assert "Nothing is known of the spread of age" in said and "all likely from" in said
    assert "The least of these epsilons at which all are likely: 2." in said
    table = 'name = "table1"\ncolumns = ["age"]\nby = "arm"'
    assert "Epsilon 0.5" in told(table, "--epsilon", "0.5,2")
    assert "--spread is not for table1" in told(table, "--spread", "age=12")
