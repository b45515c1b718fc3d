"""A table and a study file as a user would write them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from typer.testing import CliRunner

from tacit.cli import app

STUDY = """\
title = "Visits"
[data]
path = "visits.csv"
missing = "drop"
[data.features.age]
lower = 0
upper = 100
[data.features.sex]
levels = ["f", "m"]
drop_first = true
[data.features.smoker]
kind = "boolean"
[data.target]
column = "visits"
positive = "> 0"
[partition]
by = "column"
column = "site"
[problem]
loss = "logistic"
regulariser = { kind = "l2", strength = 1e-3 }
[network]
graph = "ring"
[method]
name = "dpsg"
step = 0.5
[privacy]
epsilon = 1.0
delta = 1e-6
clip = 1.0
[run]
rounds = 20
seed = 0
hold_out = 0.2
output = "results"
"""


def visits(records: int = 600) -> pd.DataFrame:
    """Mixed types, a site column, missing values."""
    rng = np.random.default_rng(0)
    age = rng.integers(18, 90, records).astype(float)
    sex = rng.choice(["f", "m"], records)
    visits = rng.poisson(np.exp(0.02 * (age - 60) + 0.5 * (sex == "f")))
    age[rng.choice(records, 20, replace=False)] = np.nan
    return pd.DataFrame(
        {
            "age": age,
            "sex": sex,
            "smoker": rng.choice([True, False], records),
            "site": rng.choice(["north", "south", "east", "west"], records),
            "visits": visits,
        }
    )


def write(folder: Path, text: str = STUDY, frame: pd.DataFrame | None = None) -> Path:
    """The table and the study in a folder; gives the study's path."""
    (visits() if frame is None else frame).to_csv(folder / "visits.csv", index=False)
    path = folder / "study.toml"
    path.write_text(text)
    return path


def changed(old: str, new: str, text: str = STUDY) -> str:
    """The study with one line changed; the line must be there once."""
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in the study"
    return text.replace(old, new)


def told(*arguments: str | Path) -> Any:
    """The document that a command prints, which must end well."""
    done = CliRunner().invoke(app, [*map(str, arguments), "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)
