"""D-ZOA as published, in the sum-loss setting: the errors of Gratton et al. (2021), figures 4 to 7.

    python benchmarks/d_zoa_paper.py [--trials 10] [--data 10] [--epsilon 0.15]

Five agents with 20 records each, 10 features, columns then rows normalised, noise variance 0.1,
eta = 1, rho = 4, 200 rounds of 100 inner steps, alpha0 = 0.54, J from eq (22), delta = 1e-3. The
error is `sum_k ||b_k - b*||^2 / ||b*||^2`, mean of the last 20 rounds; answering 0 scores 5.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import tacit
from tacit._engine.runner import Simulation
from tacit.papers.gratton2021.setting import paper_method, paper_network, paper_problem


def main() -> None:
    """Print one row a problem."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=1, help="noise draws a data set")
    parser.add_argument("--data", type=int, default=10, help="data sets")
    parser.add_argument("--epsilon", type=float, default=0.15, help="claimed for one iteration")
    options = parser.parse_args()
    for kind in ("ridge", "lasso"):
        began = time.perf_counter()
        errors, result = [], None
        for seed in range(options.data):
            task, net = paper_problem(kind, seed), paper_network()
            method = paper_method(task, net, kind, options.epsilon)
            result = tacit.run(
                task,
                net,
                method,
                rounds=200,
                seed=seed,
                runtime=Simulation(trials=options.trials),
                record=list(range(180, 200)),
                reference="solve",
            )
            errors.append(result.history.measured["distance"][-20:].mean())
        print(
            f"{kind}, claimed epsilon {options.epsilon:g}: error {np.mean(errors):.1e} "
            f"(median {np.median(errors):.1e}, {min(errors):.1e} to {max(errors):.1e} over "
            f"{options.data} data sets); "
            f"{time.perf_counter() - began:.0f} s"
        )
    assert result is not None
    print(result.guarantee.sentence())


if __name__ == "__main__":
    main()
