"""What `tacit advise` calls likely, held against how often intervals are printed.

The records are those of a cohort whose columns are narrower than their declared bounds and depend
on each other, and whose effects are strong: docs/advise.md has all cells that were measured.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tacit.advise.widths_cox import cox_widths
from tacit.advise.widths_regression import regression_width
from tacit.method import PrivateCox, PrivateGLM
from tacit.method.answer import Refused
from tacit.study import assemble, parse_study
from tacit.study.dimensions import Asked, statistic_of
from tacit.study.run import execute

SITES = {"Graz": 1 / 3, "Leeds": 13 / 45, "Lyon": 2 / 9, "Oslo": 7 / 45}
SPREAD = {"age": 12.0, "smoker": 0.25, "creatinine": 0.4}
TRIALS = 40

STUDY = """
[data]
path = "cohort.csv"
missing = "drop"

[data.features]
age = {{ lower = 18, upper = 100 }}
sex = {{ levels = ["f", "m"] }}
smoker = {{ levels = ["no", "yes"] }}
creatinine = {{ lower = 0.3, upper = 3 }}
arm = {{ levels = ["usual", "new"] }}
readmitted = {{ kind = "boolean" }}
months = {{ lower = 0, upper = 36 }}
died = {{ kind = "boolean" }}

[partition]
by = "column"
column = "site"
sites = ["Graz", "Leeds", "Lyon", "Oslo"]

[privacy]
epsilon = {epsilon}
masks = true

[run]
trials = {trials}
seed = {seed}
"""

MODELS = {
    "cox": """
[network]
graph = "coordinator"

[method]
name = "cox"
time = "months"
event = "died"
columns = ["arm", "age", "smoker"]
""",
    "logit": """
[model]
formula = "readmitted ~ age + sex + smoker + creatinine + arm"
family = "binomial"
""",
}


def cohort(size: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = np.clip(rng.normal(66, 12, size), 30, 95)
    smoker, sex = rng.random(size) < 0.25, rng.random(size) < 0.55
    creatinine = np.clip(rng.lognormal(0.05, 0.35, size), 0.3, 3)
    new = rng.random(size) < 1 / (1 + np.exp(0.03 * (age - 66)))
    score = -2.2 + 0.035 * (age - 66) + 0.5 * smoker + 0.4 * (creatinine - 1.1) - 0.35 * new
    hazard = 0.012 * np.exp(0.04 * (age - 66) + 0.3 * smoker - 0.3 * new)
    event, censored = rng.exponential(1 / hazard), rng.uniform(6, 48, size)
    return pd.DataFrame(
        {
            "site": rng.choice(list(SITES), size, p=list(SITES.values())),
            "age": age,
            "sex": np.where(sex, "m", "f"),
            "smoker": np.where(smoker, "yes", "no"),
            "creatinine": creatinine,
            "arm": np.where(new, "new", "usual"),
            "readmitted": rng.random(size) < 1 / (1 + np.exp(-score)),
            "months": np.minimum(np.minimum(event, censored), 36),
            "died": (event <= censored) & (event < 36),
        }
    )


@pytest.mark.parametrize(
    ("model", "records", "epsilon", "seed", "said", "at_least", "at_most"),
    [
        pytest.param("cox", 9000, 3, 1, "likely", 36, 40, marks=pytest.mark.long),
        pytest.param("cox", 13_000, 2, 2, "likely", 36, 40, marks=pytest.mark.slow),
        pytest.param("cox", 24_000, 1, 3, "likely", 36, 40, marks=pytest.mark.slow),
        pytest.param("cox", 8400, 1, 4, "uncertain", 0, 24, marks=pytest.mark.slow),
        pytest.param("logit", 17_000, 2, 5, "likely", 36, 40, marks=pytest.mark.long),
        pytest.param("logit", 34_000, 1, 6, "likely", 36, 40, marks=pytest.mark.slow),
        pytest.param("logit", 8400, 1, 7, "unlikely", 0, 16, marks=pytest.mark.slow),
    ],
)
def test_intervals_are_printed_as_often_as_is_said(
    model: str,
    records: int,
    epsilon: float,
    seed: int,
    said: str,
    at_least: int,
    at_most: int,
    tmp_path: Path,
) -> None:
    table = cohort(records, seed)
    table.to_csv(tmp_path / "cohort.csv", index=False)
    text = STUDY.format(epsilon=epsilon, trials=TRIALS, seed=seed) + MODELS[model]
    source = parse_study(text, folder=tmp_path)
    counts = [int(np.sum(table["site"] == name)) for name in SITES]
    method, _ = statistic_of(source, Asked(records=counts))
    assert method.privacy is not None
    if isinstance(method, PrivateCox):
        known = {name: SPREAD[name] for name in ("age", "smoker")}
        widths = cox_widths(
            method, counts, method.privacy, float(np.mean(table["died"])), spread=known
        )
        words = {each.printed for each in widths}
    else:
        assert isinstance(method, PrivateGLM)
        yes = float(np.mean(table["readmitted"]))
        words = {regression_width(method, counts, method.privacy, yes, SPREAD).intervals}
    assert words == {said}
    result = execute(assemble(source)).result
    printed = sum(
        not isinstance(each, Refused) and getattr(each, "refusal", None) is None
        for each in result.answers
    )
    assert len(result.answers) == TRIALS and at_least <= printed <= at_most
