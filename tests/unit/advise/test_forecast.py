"""The width of a regression's intervals, forecast from public numbers."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tacit.advise.forecast import forecast
from tacit.cli import app
from tacit.errors import ConfigError
from tacit.privacy import Masks, Privacy

pytestmark = pytest.mark.not_quick


@pytest.mark.parametrize(
    ("family", "records", "epsilon", "parameters", "width"),
    [
        ("binomial", 20_000, 1.0, 3, 1.10),
        ("binomial", 20_000, 1.0, 10, 1.15),
        ("binomial", 5_000, 1.0, 10, 1.46),
        ("gaussian", 20_000, 1.0, 10, 1.18),
        ("gaussian", 5_000, 2.0, 6, 1.15),
    ],
)
def test_the_widths_are_those_that_the_page_of_the_planner_lists(
    family: str, records: int, epsilon: float, parameters: int, width: float
) -> None:
    budget = Privacy(clip=1.0, epsilon=epsilon, masks=Masks(coalition=1))
    found = forecast(family, parameters, [records // 8] * 8, budget, yes=0.5)
    assert abs(found.width - width) < 0.006
    assert found.intervals != "unlikely"


@pytest.mark.parametrize(
    ("family", "records", "epsilon", "yes", "curvatures"),
    [
        ("binomial", 20_000, 1.0, 0.5, (0.039, 0.041)),
        ("gaussian", 20_000, 1.0, 0.5, (0.061, 0.064)),
        ("binomial", 80_000, 1.0, 0.0375, (0.068,)),
        ("binomial", 5_000, 2.0, 0.5, (0.083, 0.087)),
        ("binomial", 80_000, 0.5, 0.0375, (0.130,)),
        ("gaussian", 5_000, 2.0, 0.5, (0.130, 0.136)),
        ("binomial", 20_000, 2.0, 0.0375, (0.144, 0.151)),
        ("binomial", 5_000, 1.0, 0.5, (0.158, 0.165)),
        ("binomial", 4_000, 1.0, 0.5, (0.197, 0.206)),
        ("binomial", 3_500, 1.0, 0.5, (0.225, 0.236)),
        ("gaussian", 5_000, 1.0, 0.5, (0.246, 0.257)),
    ],
)
def test_forecasts_beside_what_was_printed_are_those_that_the_page_of_advice_lists(
    family: str, records: int, epsilon: float, yes: float, curvatures: tuple[float, ...]
) -> None:
    """The share of yes is that of 400,000 records of `benchmarks/regression.py`."""
    budget = Privacy(clip=1.0, epsilon=epsilon, masks=Masks(coalition=1))
    for sites, curvature in zip((8, 5), curvatures, strict=False):
        found = forecast(family, 10, [records // sites] * sites, budget, yes=yes)
        assert abs(found.curvature - curvature) < 0.0006


def test_local_noise_repeated_records_and_a_small_budget_widen_intervals() -> None:
    def of(epsilon: float = 1.0, **given: Any) -> float:
        budget = Privacy(clip=1.0, epsilon=epsilon, **given)
        return forecast("binomial", 4, [1000] * 5, budget).width

    assert of() > of(masks=Masks()) > 1.0
    assert of(masks=Masks(), records_per_person=2) > of(masks=Masks())
    assert abs(of(masks=Masks(), records_per_person=2) - of(0.5, masks=Masks())) < 0.1
    tiny = Privacy(clip=1.0, epsilon=0.01, masks=Masks())
    assert forecast("binomial", 4, [100] * 5, tiny).intervals == "unlikely"
    with pytest.raises(ConfigError, match="widths are forecast for binomial and gaussian"):
        forecast("poisson", 4, [100] * 5, tiny)


STUDY = """
[data]
path = "none.csv"

[data.features]
age = { lower = 18, upper = 100 }
smoker = { levels = ["no", "yes"] }
ill = { levels = ["no", "yes"] }

[partition]
by = "column"
column = "clinic"
sites = ["North", "South", "East"]

[model]
formula = "ill ~ age + C(smoker)"
family = "binomial"

[privacy]
epsilon = 1.0
masks = true
"""


def test_advice_on_a_regression_is_its_width(tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    # two numbers of uniform spread are what the planner takes all columns for
    numbers = STUDY.replace("C(smoker)", "weight").replace(
        "[partition]", "weight = { lower = 30, upper = 200 }\n\n[partition]"
    )
    study.write_text(numbers)
    records = ["--records", "3000", "--json"]
    uniform = ["--spread", "age=23.671", "--spread", "weight=49.074"]
    done = CliRunner().invoke(app, ["advise", str(study), *records, *uniform])
    assert done.exit_code == 0, done.output
    plain = ["--parameters", "3", "--agents", "3", "--epsilon", "1", "--family", "binomial"]
    asked = CliRunner().invoke(app, ["advise", *records, *plain])
    own, planner = json.loads(done.output), json.loads(asked.output)
    assert (own["assumed_uniform"], planner["assumed_uniform"]) == ([], None)
    for one, other in zip(own["forecasts"], planner["forecasts"], strict=True):
        assert one["records"] == other["records"]
        assert one["width"] == pytest.approx(other["width"], rel=2e-3)
        assert one["curvature"] == pytest.approx(other["curvature"], rel=2e-3)
    missing = CliRunner().invoke(app, ["advise", str(study)])
    assert missing.exit_code == 2 and "give --records" in missing.output + missing.stderr


def told(*words: str) -> str:
    done = CliRunner().invoke(app, ["advise", *words])
    return done.output + done.stderr


def test_a_guess_of_the_spread_decides_what_is_said_of_intervals(tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(STUDY)
    asked = [str(study), "--records", "3000"]

    def curvature(*spread: str) -> tuple[float, float]:
        document = json.loads(told(*asked, "--json", *spread))["forecasts"][1]
        return document["curvature"], document["narrow"]

    plain, narrow = curvature()
    assert narrow > 1.5 * plain
    # half of the standard deviation of a uniform age
    half, known = curvature("--spread", "age=11.836")
    assert half == known == pytest.approx(narrow, rel=1e-3)
    rare, _ = curvature("--spread", "smoker=0.05")
    assert rare > 2.0 * plain
    assert "Nothing is known of the spread of age" in told(*asked)
    assert "Nothing is known" not in told(*asked, "--spread", "age=12")


@pytest.mark.parametrize(
    ("spread", "words"),
    [
        (("weight=3",), "has no such column; it has age, smoker"),
        (("age=40",), "fills its bounds evenly has a standard deviation of 23.67"),
        (("age=0",), "must be positive"),
        (("smoker=1.5",), "give the share of 'yes'"),
        (("age",), "must be a column and a number: age=12"),
        (("age=12", "age=13"), "names 'age' twice"),
    ],
)
def test_a_spread_that_no_column_has_is_refused(
    spread: tuple[str, ...], words: str, tmp_path: Path
) -> None:
    study = tmp_path / "study.toml"
    study.write_text(STUDY)
    given = [word for each in spread for word in ("--spread", each)]
    assert words in told(str(study), "--records", "3000", *given)


def test_several_epsilons_are_compared(tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(STUDY)
    asked = [str(study), "--records", "1000", "--spread", "age=12", "--epsilon", "4,0.5,1"]
    found = json.loads(told(*asked, "--json"))
    forecasts = [each["forecasts"][1] for each in found["epsilons"]]
    assert [each["epsilon"] for each in found["epsilons"]] == [0.5, 1.0, 4.0]
    assert [each["intervals"] for each in forecasts] == ["unlikely", "uncertain", "likely"]
    assert forecasts[0]["enough"] > forecasts[1]["enough"] > 3000 > forecasts[2]["enough"]
    assert found["least"] == 4.0
    said = told(*asked)
    assert "The least of these epsilons at which intervals are likely: 4." in said
    assert "At none of these epsilons" in told(*asked[:-1], "0.2,0.5")
    assert "must be a number, or several" in told(*asked[:-1], "1,,2")
    assert "several are compared for regressions" in told(
        "--records", "30", "--parameters", "3", "--agents", "3", "--epsilon", "1,2"
    )
