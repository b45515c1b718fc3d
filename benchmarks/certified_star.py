"""The certified two-point methods and gradient descent at equal proved epsilon, with a coordinator.

    python benchmarks/certified_star.py [--trials 20] [--data 5]

The ridge regression of `certified.py` (its data law, tuning seeds and number of settings), 100
rounds, J = P = 10 directions. Every cell's clip, step and decay are chosen on data sets with other
seeds (1000 and 1001) by the same grid of 24 settings for each method.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Callable, Iterable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import tacit
from tacit import network
from tacit.method import ORZO, ZOOADMM

sys.path.insert(0, str(Path(__file__).parents[1]))  # for tests.paper
from tests.paper import paper_problem

ROUNDS, DELTA = 100, 1e-6
CELLS = ((1.72, 200), (1.72, 2000), (14.27, 200), (14.27, 2000))
METHODS: dict[str, Callable[..., Any]] = {
    "OR-ZO": ORZO,
    "ZOO-ADMM": partial(ZOOADMM, penalty=0.3),
    "gradient descent": tacit.GradientDescent,
}


@cache
def task(seed: int, records: int) -> Any:
    """The ridge regression, with its solution computed once."""
    return paper_problem("ridge", seed, weighting="agent", records=records, strength=1.0 / records)


def error(method: Any, records: int, seeds: Iterable[int], trials: int) -> float:
    """Mean of `sum_k ||b_k - b*||^2 / ||b*||^2` over data sets and trials; 0 scores 5."""
    errors = []
    for seed in seeds:
        data = task(seed, records)
        result = tacit.run(
            data,
            network.Coordinator(5),
            method,
            rounds=ROUNDS,
            seed=seed,
            record=[],
            runtime=tacit.Simulation(trials=trials),
            reference=data.reference().solution,
            require="proved",
        )
        errors.append(result.history.measured["distance"][-1].mean())
    return float(np.mean(errors))


def settings(build: Callable[..., Any], epsilon: float) -> Iterable[Any]:
    """The grid."""
    for clip, step, decay in itertools.product((0.3, 0.5, 1.0, 2.0), (0.3, 1.0, 3.0), (0.0, 0.5)):
        privacy = tacit.Privacy(clip=clip, epsilon=epsilon, delta=DELTA)
        yield build(step=step, decay=decay, privacy=privacy)


def main() -> None:
    """Tune and report every cell."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--data", type=int, default=5, help="data sets reported on")
    options = parser.parse_args()
    for (epsilon, records), (name, build) in itertools.product(CELLS, METHODS.items()):
        began = time.perf_counter()
        tried = list(settings(build, epsilon))
        scores = [error(method, records, (1000, 1001), 4) for method in tried]
        method = tried[int(np.nanargmin(scores))]
        found = error(method, records, range(options.data), options.trials)
        print(
            f"{epsilon:>6} {records:>5} {name:<17} {found:>8.2g}  clip "
            f"{float(method.privacy.clip):g}, step {float(method.step):g}, decay "
            f"{float(method.decay):g}; {time.perf_counter() - began:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
