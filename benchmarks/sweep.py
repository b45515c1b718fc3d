"""What `tacit sweep` costs beside the batched simulation of the same runs on one core.

    python benchmarks/sweep.py [--seeds 1000] [--repeats 3]

A thousand small runs of a study (DPSG on logistic regression, 4 sites, 600 records, 20 rounds), all
of one cell, and then of ten: two methods at five budgets, a hundred seeds each. Both sides are
programs of their own, timed from start to end:

* batched: `tacit.run` with all seeds of a cell as trials, one cell after the other, on one core;
* sweep: the command `tacit sweep --workers 2` on two cores, its table and its page included.

The sweep may take at most 1.5 times as long.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

STUDY = """\
[data]
path = "visits.csv"
features.age = { lower = 0, upper = 100 }
features.smoker = { levels = ["no", "yes"], drop_first = true }
target = { column = "visits", positive = "> 0" }
[partition]
by = "even"
sites = 4
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
clip = 1.0
[run]
rounds = 20
"""

BATCHED = """
import sys
import tacit
from tacit.config import read_study
from tacit.runner import Simulation
from tacit.study import assemble
from tacit.sweep import Grid
from tacit.sweep.cells import plan

grid = Grid(
    int(sys.argv[1]), tuple(sys.argv[2].split(",")),
    {"privacy.epsilon": tuple(map(float, sys.argv[3].split(",")))},
)
reference = None
for cell in plan(read_study("study.toml"), grid).cells:
    found = assemble(cell.source)
    if reference is None:
        reference = found.problem.reference().solution
    tacit.run(
        found.problem, found.network, found.method, rounds=20, seed=0,
        runtime=Simulation(trials=grid.seeds), reference=reference,
    )
"""

GRIDS = {"one cell": (1, "dpsg", "1.0"), "ten cells": (10, "dpsg,pdop", "0.25,0.5,1.0,2.0,4.0")}
"""Cells, methods and budgets."""


def table(folder: Path) -> None:
    """Records of people, made up, and their study."""
    rng = np.random.default_rng(0)
    age = rng.integers(18, 96, 600)
    smoker, visits = rng.choice(["no", "yes"], 600), rng.poisson(age / 50)
    frame = pd.DataFrame({"age": age, "smoker": smoker, "visits": visits})
    frame.to_csv(folder / "visits.csv", index=False)
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")


def seconds(command: list[str], folder: Path, cores: set[int]) -> float:
    """Wall-clock time of a program that may use these cores only."""
    began = time.perf_counter()
    subprocess.run(
        command,
        cwd=folder,
        check=True,
        stdout=subprocess.DEVNULL,
        preexec_fn=lambda: os.sched_setaffinity(0, cores),
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    return time.perf_counter() - began


def main() -> None:
    """Measure both, by turns, and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=1000, help="runs in all")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))[:2]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table(folder)
        for grid, (cells, methods, budgets) in GRIDS.items():
            seeds = str(options.seeds // cells)
            times: list[tuple[float, float]] = []
            for turn in range(options.repeats):
                batched = [sys.executable, "-c", BATCHED, seeds, methods, budgets]
                swept = [sys.executable, "-m", "tacit", "sweep", "study.toml", "--workers", "2"]
                swept += ["--seeds", seeds, "--method", methods, "--epsilon", budgets]
                swept += ["--output", f"{grid.replace(' ', '-')}-{turn}"]
                # by turns, so that a change of the machine's speed meets both
                one = seconds(batched, folder, {cores[0]})
                times.append((one, seconds(swept, folder, set(cores))))
            alone, both = (statistics.median(side) for side in zip(*times, strict=True))
            print(
                f"{options.seeds} runs in {grid}: batched on one core {alone:.2f} s, swept with "
                f"two workers {both:.2f} s, ratio {both / alone:.2f} (at most 1.5)"
            )


if __name__ == "__main__":
    main()
