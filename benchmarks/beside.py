"""This version of tacit beside another one, as ratios of their times.

    git worktree add ../before v0.1 && python benchmarks/beside.py ../before [--turns 20]

Both run the tasks of `simulation.py` through `tacit.run`, one process each, and take turns: on a
machine whose speed drifts, two runs one after the other differ by more than what is looked for.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parents[1]
RECORDS, FEATURES = 50, 20
ROUNDS = {10: 40_000, 100: 8_000, 1_000: 600, 10_000: 100}
METHODS = ("dgd", "dpsg")


def serve(name: str, agents: int) -> None:
    """Run one task for every line that comes, and answer with its seconds."""
    import jax
    import numpy as np

    import tacit
    from tacit import network, problem

    rng = np.random.default_rng(0)
    features = rng.normal(size=(agents, RECORDS, FEATURES))
    targets = (rng.random((agents, RECORDS)) < 0.5).astype(float)
    task = problem.empirical_risk(list(features), list(targets), problem.Logistic())
    graph = network.random_regular(agents, 4, seed=0)
    method: Any = tacit.DGD(step=0.1)
    if name == "dpsg":
        method = tacit.DPSG(step=0.1, privacy=tacit.Privacy(clip=1.0, epsilon=1.0))
    rounds = ROUNDS[agents]

    def once() -> None:
        every = rounds // 20
        result = tacit.run(task, graph, method, rounds=rounds, seed=0, record=every)
        jax.block_until_ready(result.solutions)

    once()  # compiles
    print(tacit.__file__, flush=True)
    for _ in sys.stdin:
        began = time.perf_counter()
        once()
        print(time.perf_counter() - began, flush=True)


def started(tree: Path, name: str, agents: int) -> subprocess.Popen[str]:
    """A process that serves the version of a tree."""
    serving = subprocess.Popen(
        [sys.executable, __file__, str(tree), "--serve", name, str(agents)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree)},
    )
    assert serving.stdout is not None
    found = serving.stdout.readline().strip()
    if not found or not Path(found).is_relative_to(tree):
        raise SystemExit(f"{tree}: its tacit was not imported, but {found or 'nothing'}")
    return serving


def asked(serving: subprocess.Popen[str]) -> float:
    """Seconds of one run."""
    assert serving.stdin is not None and serving.stdout is not None
    serving.stdin.write("\n")
    serving.stdin.flush()
    return float(serving.stdout.readline())


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tree", type=Path, help="checkout of the other version")
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve[0], int(options.serve[1]))
        return
    print("seconds here / seconds there, median (quartiles); and median seconds of each")
    for name in METHODS:
        for agents in ROUNDS:
            here, there = (started(tree, name, agents) for tree in (HERE, options.tree.resolve()))
            turns: list[tuple[float, float]] = []
            for turn in range(options.turns):
                first, second = (here, there) if turn % 2 == 0 else (there, here)
                one, other = asked(first), asked(second)
                turns.append((one, other) if first is here else (other, one))
            low, middle, high = statistics.quantiles([a / b for a, b in turns], n=4)
            own, others = (statistics.median(each) for each in zip(*turns, strict=True))
            print(
                f"{name} {agents:>6} agents: {middle:.3f} ({low:.3f} to {high:.3f}), "
                f"{own:.3f} s and {others:.3f} s"
            )
            for serving in (here, there):
                assert serving.stdin is not None
                serving.stdin.close()
                serving.wait()


if __name__ == "__main__":
    main()
