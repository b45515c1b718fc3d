"""The certified methods with a coordinator at equal proved epsilon.

    python benchmarks/certified_star.py [--trials 20] [--data 5] [--problem lasso] [--whole-penalty]

The ridge regression of `certified.py` (its data law, tuning seeds and number of settings) or the
lasso of the same strength, 100 rounds, J = P = 10 directions. Every cell's clip, step and one more
number are chosen on data sets with other seeds (1000 and 1001) among 24 settings for each method.
All answer with the mean of the second half of their iterates, gradient descent with its last one,
too. The penalty is eta / N_k, or eta with `--whole-penalty`, as there.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Any

import numpy as np

import tacit
from tacit import network
from tacit.method import DPADMM, ORZO, ZOOADMM, DPIADMMProx
from tacit.papers.gratton2021.setting import paper_problem

ROUNDS, DELTA = 100, 1e-6
CELLS = ((1.72, 200), (1.72, 2000), (14.27, 200), (14.27, 2000))


def _prox(step: float, **rest: Any) -> Any:
    return DPIADMMProx(proximity=step, average=True, **rest)


DECAY, PENALTY = ("decay", (0.0, 0.5)), ("penalty", (0.1, 0.3))
Floats = tuple[float, ...]
SHORT, LONG = (0.3, 1.0, 3.0), (1.0, 3.0, 10.0)
METHODS: dict[str, tuple[Callable[..., Any], Floats, tuple[str, Floats]]] = {
    "OR-ZO": (ORZO, SHORT, DECAY),
    "ZOO-ADMM": (partial(ZOOADMM, penalty=0.3), SHORT, DECAY),
    "DP-ADMM": (partial(DPADMM, average=True), LONG, PENALTY),
    "DP-IADMM-Prox": (_prox, LONG, PENALTY),
    "gradient descent": (partial(tacit.GradientDescent, average=True), SHORT, DECAY),
    "its last iterate": (tacit.GradientDescent, SHORT, DECAY),
}
"""What builds a method, its steps, and the other number with its values."""


@cache
def task(kind: str, seed: int, records: int, strength: float) -> Any:
    """The regression, with its solution computed once."""
    return paper_problem(kind, seed, weighting="agent", records=records, strength=strength)


def error(
    kind: str, method: Any, records: int, strength: float, seeds: Iterable[int], trials: int
) -> float:
    """Mean of `sum_k ||b_k - b*||^2 / ||b*||^2` over data sets and trials; 0 scores 5."""
    errors = []
    for seed in seeds:
        data = task(kind, seed, records, strength)
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


def settings(name: str, epsilon: float) -> Iterable[tuple[Any, str]]:
    """The grid, with what each setting is called."""
    build, steps, (key, values) = METHODS[name]
    for clip, step, value in itertools.product((0.3, 0.5, 1.0, 2.0), steps, values):
        privacy = tacit.Privacy(clip=clip, epsilon=epsilon, delta=DELTA)
        called = f"clip {clip:g}, step {step:g}, {key} {value:g}"
        yield build(step=step, privacy=privacy, **{key: value}), called


def main() -> None:
    """Tune and report every cell."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--data", type=int, default=5, help="data sets reported on")
    parser.add_argument("--problem", choices=("ridge", "lasso"), default="ridge")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--whole-penalty", action="store_true", help="eta, and not eta / N_k")
    options = parser.parse_args()
    for (epsilon, records), name in itertools.product(CELLS, options.methods):
        began = time.perf_counter()
        strength = 1.0 if options.whole_penalty else 1.0 / records
        tried = list(settings(name, epsilon))
        scores = [error(options.problem, m, records, strength, (1000, 1001), 4) for m, _ in tried]
        method, called = tried[int(np.nanargmin(scores))]
        found = error(
            options.problem, method, records, strength, range(options.data), options.trials
        )
        print(
            f"{epsilon:>6} {records:>5} {name:<17} {found:>8.2g}  {called}; "
            f"{time.perf_counter() - began:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
