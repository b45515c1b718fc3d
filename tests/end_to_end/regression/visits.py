"""Visits to three sites, a study that fits who is ill, and `tacit fit` of the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tests.end_to_end.study import told

SITES = ["north", "south", "west"]
RECORDS = 6000
FORMULA = "ill ~ age + C(sex)"
TRUTH = np.array([-2.5, 0.04, 0.5])
STUDY = """\
title = "Who is ill"
[data]
path = "visits.csv"
[data.features]
age = { lower = 20, upper = 80 }
sex = { levels = ["f", "m"] }
ill = { kind = "boolean" }
[partition]
by = "column"
column = "site"
sites = ["north", "south", "west"]
[model]
formula = "ill ~ age + C(sex)"
family = "binomial"
[privacy]
epsilon = 2.0
masks = true
"""
DECLARED = ("--bounds", "age=20:80", "--levels", "sex=f,m", "--levels", "ill=false,true")
SEED = ("--seed", "0")


def visits() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "site": [SITES[i % 3] for i in range(RECORDS)],
            "age": rng.uniform(20, 80, RECORDS).round(1),
            "sex": rng.choice(["f", "m"], RECORDS),
        }
    )
    predictor = TRUTH[0] + TRUTH[1] * frame["age"] + TRUTH[2] * (frame["sex"] == "m")
    return frame.assign(ill=rng.random(RECORDS) < 1.0 / (1.0 + np.exp(-predictor)))


def written(folder: Path, *changes: tuple[str, str]) -> Path:
    text = STUDY
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    visits().to_csv(folder / "visits.csv", index=False)
    path = folder / "study.toml"
    path.write_text(text)
    return path


def close_to_the_truth(table: pd.DataFrame) -> None:
    far = np.abs(table["coefficient"] - TRUTH) / table["standard_error"]
    assert 0.0 < far.max() < 5.0


def fit(folder: Path, *more: str) -> Any:
    where = ("--site", "site", "--output", str(folder / "fit"), "--force")
    return told(
        *("fit", folder / "visits.csv", FORMULA, "--family", "binomial", "-e", "2"), *where, *more
    )
