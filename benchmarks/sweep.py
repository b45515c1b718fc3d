"""What `tacit sweep` costs beside the batched simulation of the same runs on one core.

    python benchmarks/sweep.py [--seeds 1000] [--repeats 3]

A thousand small runs of a study (DPSG on logistic regression, 4 sites, 600 records, 20 rounds), all
of one cell, and then of ten: two methods at five budgets, a hundred seeds each. Both sides are
programs of their own, timed from start to end:

* batched: `tacit.run` with all seeds of a cell as trials, one cell after the other, on one core;
* sweep: the command `tacit sweep --workers 2` on two cores, its table and its page included.

Most of either is loading and compiling. So one cell is measured once more in a program that has
done both before: `tacit.run` against `tacit.sweep.sweep`, with its files.

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
from tacit.study import read_study
from tacit._engine.runner import Simulation
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

LOADED = """
import sys
import time
import tacit
from tacit.study import read_study
from tacit._engine.runner import Simulation
from tacit.study import assemble
from tacit.sweep import Grid, sweep

seeds, source = int(sys.argv[1]), read_study("study.toml")
found = assemble(source)
reference = found.problem.reference().solution
for turn in range(int(sys.argv[2]) + 1):
    began = time.perf_counter()
    tacit.run(
        found.problem, found.network, found.method, rounds=20, seed=0,
        runtime=Simulation(trials=seeds), reference=reference,
    )
    middle = time.perf_counter()
    sweep(source, Grid(seeds), f"loaded-{turn}", where=2)
    if turn:  # the first one compiles
        print(middle - began, time.perf_counter() - middle)
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


def told(what: str, times: list[tuple[float, float]]) -> None:
    """Medians of both sides, and their ratio."""
    alone, both = (statistics.median(side) for side in zip(*times, strict=True))
    print(
        f"{what}: batched on one core {alone:.2f} s, swept with two workers {both:.2f} s, "
        f"ratio {both / alone:.2f} (at most 1.5)"
    )


def loaded(folder: Path, seeds: int, repeats: int) -> list[tuple[float, float]]:
    """Both sides in a program that has loaded and compiled everything."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED, str(seeds), str(repeats)],
        cwd=folder,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1]),
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    lines = [line.split() for line in done.stdout.splitlines()]
    return [(float(one), float(both)) for one, both in lines]


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
            told(f"{options.seeds} runs in {grid}", times)
        told(
            f"{options.seeds} runs in one cell, loaded and compiled",
            loaded(folder, options.seeds, max(3, options.repeats)),
        )


if __name__ == "__main__":
    main()
