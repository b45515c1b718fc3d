"""The certified methods at equal proved epsilon, on the five-agent ridge regression.

    python benchmarks/certified.py [--trials 20] [--data 5] [--whole-penalty]

Gratton et al.'s (2021) network and data law with N_k = 200 and 2000 records an agent, 10 features,
the sum loss with eta = 1 (as a mean loss: eta / N_k), replace-one, delta = 1e-6; total epsilon
1.72 and 14.27. The error is `sum_k ||b_k - b*||^2 / ||b*||^2` (answering 0 scores 5), mean over
trials and data sets. Every cell's hyper-parameters are chosen on data sets of the same law with
other seeds (1000 and 1001), by the same grid for each method: that choice is not accounted for, as
it looks at none of the data reported.

With eta / N_k the penalty is 200 or 2,000 times weaker than in a mean loss with eta = 1, solutions
lie where gradients are short, and every method's error is smaller for that reason alone:
`--whole-penalty` takes eta = 1 and the mean.
"""

from __future__ import annotations

import argparse
import itertools
import time
from typing import Any

import numpy as np

import tacit
from tacit._engine.runner import Simulation
from tacit.papers.gratton2021.setting import paper_network, paper_problem

DELTA = 1e-6
METHODS = ("vector-ZO", "scalar-ZO", "PVP", "DPSG")
CELLS = ((1.72, 200), (1.72, 2000), (14.27, 200), (14.27, 2000))
"""Total epsilon and records an agent."""
CLIPS = (0.3, 0.5, 1.0, 2.0)


def candidates(name: str, epsilon: float) -> list[tuple[Any, int]]:
    """The methods of a grid of 24 settings each, with their numbers of rounds."""
    found: list[tuple[Any, int]] = []
    for clip in CLIPS:
        # one random direction sees a share 1/sqrt(p) of a gradient
        clip = clip / 3 if name == "scalar-ZO" else clip
        privacy = tacit.Privacy(clip=clip, epsilon=epsilon, delta=DELTA)
        if name == "DPSG":
            for step, decay in itertools.product((0.3, 1.0, 3.0), (0.0, 0.5)):
                found.append((tacit.DPSG(step=step, decay=decay, privacy=privacy), 100))
        elif name == "PVP":
            # gradients that are clipped within the problem: a square that is linear far out
            for penalty in (0.03, 0.1, 0.3, 1.0, 3.0, 10.0):
                method = tacit.method.PVP(penalty=penalty, tolerance=1e-6, privacy=privacy)
                found.append((method, 100))
        else:
            estimator = name.split("-")[0]
            # 2 values a record instead of 11 leave room for more rounds
            rounds = 100 if estimator == "vector" else 400
            for penalty, proximity in itertools.product((0.1, 0.3), (1.0, 3.0, 10.0)):
                method = tacit.DZOA(
                    privacy=privacy, penalty=penalty, proximity=proximity, estimator=estimator
                )
                found.append((method, rounds))
    return found


def error(
    method: Any, rounds: int, records: int, strength: float, seeds: range, trials: int
) -> float:
    """Mean error over data sets and trials."""
    errors = []
    for seed in seeds:
        task = paper_problem("ridge", seed, weighting="agent", records=records, strength=strength)
        result = tacit.run(
            task,
            paper_network(),
            method,
            rounds=rounds,
            seed=seed,
            record=[],
            runtime=Simulation(trials=trials),
            reference=task.reference().solution,
            require="proved",
        )
        errors.append(result.history.measured["distance"][-1].mean())
    return float(np.mean(errors))


def main() -> None:
    """Tune and report every cell."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--data", type=int, default=5, help="data sets reported on")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--whole-penalty", action="store_true", help="eta, and not eta / N_k")
    options = parser.parse_args()
    print(f"{'method':<10} {'epsilon':>7} {'N_k':>5} {'error':>9}  chosen")
    for name, (epsilon, records) in itertools.product(options.methods, CELLS):
        strength = 1.0 if options.whole_penalty else 1.0 / records
        began = time.perf_counter()
        scored = [
            (error(method, rounds, records, strength, range(1000, 1002), 4), i, method, rounds)
            for i, (method, rounds) in enumerate(candidates(name, epsilon))
        ]
        _, _, method, rounds = min(scored)
        found = error(method, rounds, records, strength, range(options.data), options.trials)
        sizes = {
            k: float(getattr(method, k))
            for k in ("step", "penalty", "proximity")
            if hasattr(method, k)
        }
        print(
            f"{name:<10} {epsilon:>7} {records:>5} {found:>9.2g}  "
            f"clip {float(method.privacy.clip):.2g}, {rounds} rounds, {sizes}; "
            f"{time.perf_counter() - began:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
