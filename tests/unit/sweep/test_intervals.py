"""Sweeps of statistics: widths and errors beside the tables of the runs themselves."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from tacit.cli import app
from tacit.method.answer import NORMAL, Refused
from tacit.method.counts import CountTable
from tacit.study import assemble, execute, parse_study, read_study
from tacit.sweep import Grid, sweep
from tacit.sweep.intervals import compared
from tacit.sweep.page import sweep_data

pytestmark = pytest.mark.long

SHARED = """
[data]
path = "records.csv"
missing = "drop"

[data.features]
years = { lower = 0, upper = 10 }
died = { kind = "boolean" }
age = { lower = 20, upper = 80 }
arm = { levels = ["placebo", "drug"] }

[partition]
by = "even"
sites = 4
"""
COORDINATOR = '[network]\ngraph = "coordinator"\n'
LIVED = 'time = "years"\nevent = "died"\n'
STUDIES = {
    "survival": f'{COORDINATOR}[method]\nname = "survival"\nby = "arm"\n{LIVED}',
    "cox": f'{COORDINATOR}[method]\nname = "cox"\ncolumns = ["age", "arm"]\n{LIVED}',
    "table1": f'{COORDINATOR}[method]\nname = "table1"\nby = "arm"\ncolumns = ["age", "died"]\n',
    "glm": '[model]\nformula = "died ~ age + arm"\nfamily = "binomial"\n',
}
KEYS = {
    "survival": ["group", "time"],
    "table1": ["variable", "level", "group", "statistic"],
    "cox": ["parameter"],
    "glm": ["parameter"],
}
VALUES = {
    "survival": "survival",
    "table1": "value",
    "cox": "log_hazard_ratio",
    "glm": "coefficient",
}


def written(folder: Path, name: str) -> Path:
    """A study of this statistic, with its records."""
    rng = np.random.default_rng(0)
    size = 4000
    age, arm = rng.uniform(20, 80, size), rng.choice(["placebo", "drug"], size)
    lived, followed = rng.exponential(12 * np.exp(-0.02 * (age - 50))), rng.uniform(2, 15, size)
    table = {"years": np.minimum(lived, followed), "died": lived <= followed, "age": age}
    pd.DataFrame({**table, "arm": arm}).to_csv(folder / "records.csv", index=False)
    path = folder / "study.toml"
    path.write_text(f"{SHARED}{STUDIES[name]}[privacy]\nepsilon = 4\nmasks = true\n")
    return path


def rows(answer: Any, name: str) -> Any:
    """Value and half of the interval of each number, by what it is of."""
    frame: Any = answer.frame().set_index(KEYS[name])
    half = (frame["upper"] - frame["lower"]) / 2.0
    if name in ("cox", "glm"):
        half = NORMAL * frame["standard_error"]
    found: Any = pd.DataFrame({"value": frame[VALUES[name]], "half": half})
    if name == "survival":
        return found[frame.index.get_level_values("time") > 0]
    return found[found["half"].notna()]


@pytest.mark.parametrize(
    "name",
    [
        "survival",
        "table1",
        "cox",
        "glm",
    ],
)
def test_a_row_has_width_and_error_of_the_run_of_that_seed(tmp_path: Path, name: str) -> None:
    path = written(tmp_path, name)
    budgets = {"privacy.epsilon": (2.0, 4.0)}
    found = sweep(read_study(path), Grid(seeds=3, settings=budgets), tmp_path / "out").runs()
    text = path.read_text() + "[run]\ntrials = 3\nseed = 0\n"
    ran = execute(assemble(parse_study(text, folder=tmp_path))).result
    bare = parse_study(text.split("[privacy]")[0], folder=tmp_path)
    exact = rows(execute(assemble(bare)).result.answer, name)
    unit = exact["value"].abs() if name == "table1" else exact["half"]
    exact, unit = exact[unit > 0.0], unit[unit > 0.0]
    for answer, row in zip(ran.answers, found.iloc[3:].itertuples(), strict=True):
        own = rows(answer, name).reindex(exact.index)
        assert row.printed == 1.0
        width, error = (own["half"] / unit).median(), ((own["value"] - exact["value"]) / unit).abs()
        assert row.interval_width == pytest.approx(width, rel=1e-9)
        assert row.noise_error == pytest.approx(error.median(), rel=1e-9)
    narrow, wide = found.iloc[3:]["interval_width"], found.iloc[:3]["interval_width"]
    assert narrow.mean() < wide.mean()


def test_what_is_refused_or_mostly_noise_counts_as_not_printed() -> None:
    exact = CountTable(("sex", "sex"), ("f", "m"), (100.0, 50.0), (0.0, 0.0), 2, 2)
    noisy = replace(exact, counts=(110.0, 40.0), errors=(5.0, 5.0))
    half = NORMAL * 5.0
    told = {"printed": 1.0, "interval_width": half * (0.01 + 0.02) / 2.0, "noise_error": 0.15}
    assert compared(noisy, exact) == pytest.approx(told)
    none = compared(Refused("noise", "more records"), exact)
    assert none["printed"] == 0.0 and math.isnan(none["interval_width"])


def test_a_mean_is_of_the_runs_that_printed_intervals(tmp_path: Path) -> None:
    path = written(tmp_path, "glm")
    grid = Grid(seeds=8, settings={"privacy.epsilon": (0.5,)})
    found = sweep(read_study(path), grid, tmp_path / "out")
    runs: Any = found.runs()
    cell: Any = found.cells().iloc[0]
    assert 0.0 < cell["printed"] < 1.0
    there = runs[runs["printed"] == 1.0]["interval_width"]
    assert cell["interval_width"] == pytest.approx(there.mean()) and there.notna().all()
    assert runs[runs["printed"] == 0.0]["interval_width"].isna().all()
    # the share stands beside the width wherever that is shown
    share = f"{cell['printed']:.0%}"
    page = sweep_data(found.plan, found.found, None)
    assert page.cells[0]["printed"] == share
    assert page.measure == "median width of the printed intervals, over that without noise"
    asked = ["sweep", str(path), "-n", "8", "-e", "0.5", "-o", str(tmp_path / "out")]
    said = CliRunner().invoke(app, asked).output
    assert "Printed" in said and f" {share} " in said and "of counts" not in said
    assert "& Printed" in (tmp_path / "out" / "cells.tex").read_text()


def test_the_command_sweeps_a_statistic_and_no_other_method_beside_it(tmp_path: Path) -> None:
    path, out = written(tmp_path, "survival"), tmp_path / "out"
    asked = ["sweep", str(path), "-n", "2", "-o", str(out)]
    done = CliRunner().invoke(app, [*asked, "-e", "1,4"])
    assert done.exit_code == 0, done.output
    assert len(pd.read_csv(out / "results.csv")) == 4
    assert "over that without noise" in (out / "report.html").read_text()
    for methods in ("survival,dgd", "dgd", "table1"):
        refused = CliRunner().invoke(app, [*asked, "--force", "-m", methods])
        assert refused.exit_code == 2 and "sweep a study of it" in refused.output
