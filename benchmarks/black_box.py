"""How well slow black boxes are spread over processes: wall time over evaluations / workers.

    python benchmarks/black_box.py [--agents 20] [--parameters 20] [--workers 2] [--seconds 0.05]

The simulators sleep, so that more workers than cores can be measured. 1 would be no overhead at
all. An evaluation is counted as what it takes alone: a program's start belongs to it. The first
run compiles while the workers start; the second finds both. Processor time is that of this process,
and tells how long the compilation takes where nothing else runs.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import time
from typing import Any

import numpy as np

import tacit
from tacit import method, network, problem


class Simulator:
    """Sleeps, then returns a quadratic cost.

    Args:
        seconds: time of one evaluation.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __call__(self, x: np.ndarray, agent: int) -> float:
        time.sleep(self.seconds)
        return float(np.sum((x - agent / 10) ** 2))


def measured(task: problem.Problem, rounds: int, seed: int) -> tuple[float, float, int]:
    """Seconds of a run by the clock and of this process, and its number of evaluations."""
    box: Any = task.objectives  # which counts its calls
    before = box.calls
    solver = method.ORZO(step=0.05, directions=10)
    began, busy = time.perf_counter(), time.process_time()
    tacit.run(task, network.Coordinator(task.agents), solver, rounds=rounds, seed=seed)
    taken = time.perf_counter() - began
    return taken, time.process_time() - busy, box.calls - before


def alone(program: list[str]) -> float:
    """Median seconds of a program that is run by itself, one after another."""
    line = [part.replace("{x0}", "1.0") for part in program]

    def once() -> float:
        began = time.perf_counter()
        subprocess.run(line, check=True, capture_output=True)
        return time.perf_counter() - began

    return statistics.median(once() for _ in range(20))


def main() -> None:
    """Measure a Python function and an external program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", type=int, default=20)
    parser.add_argument("--parameters", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=0.05)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    common: dict[str, Any] = {
        "agents": given.agents,
        "x0": np.ones(given.parameters),
        "workers": given.workers,
    }
    program = ["sh", "-c", f"sleep {given.seconds}; echo {{x0}}"]
    boxes = {
        "function": (problem.black_box_problem(Simulator(given.seconds), **common), given.seconds),
        "program": (problem.black_box_problem(command=program, **common), alone(program)),
    }
    print(
        f"{'':10s} {'run':>4s} {'evaluations':>12s} {'alone ms':>9s} {'wall s':>8s} "
        f"{'ideal s':>8s} {'ratio':>6s} {'processor s':>12s}"
    )
    for name, (task, one) in boxes.items():
        for run in (1, 2):
            taken, busy, calls = measured(task, given.rounds, run)
            ideal = calls * one / given.workers
            times = f"{taken:8.2f} {ideal:8.2f} {taken / ideal:6.3f} {busy:12.2f}"
            print(f"{name:10s} {run:4d} {calls:12,d} {one * 1e3:9.1f} {times}")


if __name__ == "__main__":
    main()
