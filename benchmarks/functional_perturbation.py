"""How far functional perturbation moves the minimiser: figure 2 of its paper, and quadratics.

Ten agents with 100 records each, ridge and logistic loss on [-5, 5]^2, as in Nozari, Tallapragada,
Cortes (2018), example III.2 and section VI: q = 1.1, p = .55, lambda = .01, features uniform in
[0, 1]^2, labels fair. Epsilon is the paper's, per unit of distance between whole costs; one record
is about 42 units. Every released cost is put back into the paper's set by constraint generation.
First the quadratic mechanism, whose epsilon is of one record: without noise for several reaches of
its points, then as it is, and with a share of the radius of the ball of all records as clip and a
weight of products that other draws chose. All are runs of the method. Prints means over the runs.

    python benchmarks/functional_perturbation.py --runs 20 --degrees 2 4 6 14
"""

import argparse
import itertools
import time

import numpy as np

from tacit.papers.nozari2016.certified import quadratic
from tacit.papers.nozari2016.problem import AGENTS
from tacit.papers.nozari2016.runs import perturbed

EPSILONS = (0.01, 0.1, 1.0, 10.0, 1000.0)
REACHES = (0.1, 0.2, 0.5)
SILENT = 1e12


def figure_two(degree: int, runs: int) -> None:
    for epsilon in EPSILONS:
        began = time.process_time()
        found = perturbed(degree, epsilon, first=0, runs=runs, tolerance=1e-6)
        distance, excess = np.mean(found["distance"]), np.mean(found["excess"])
        seconds = (time.process_time() - began) / (runs * AGENTS)
        print(
            f"{degree:6d}  {epsilon:7g}  {distance:10.4f}  {excess:13.4f}  {seconds:12.2f}",
            flush=True,
        )


def distance(dimension: int, draws: range, epsilon: float, **settings: float) -> float:
    """Mean distance of the quadratic mechanism over draws of the agents' records."""
    found = quadratic([epsilon], len(draws), 1, dimension=dimension, first=draws.start, **settings)
    return float(np.mean(found["distance"][0]))


def quadratics(dimension: int, runs: int) -> None:
    """Without noise by reach, then with a clip and a weight chosen on ten other draws."""
    draws, others = range(runs), range(1000, 1010)
    silent = [distance(dimension, draws, SILENT, reach=reach) for reach in REACHES]
    plain = distance(dimension, draws, 10.0)
    settings = [
        {"share": share, "weight_of_products": weight}
        for share, weight in itertools.product((1.0, 0.5), (0.2, 0.05))
    ]
    best = min(settings, key=lambda each: distance(dimension, others, 10.0, **each))
    tuned = distance(dimension, draws, 10.0, **best)
    print(
        f"{dimension:9d}  " + "  ".join(f"{each:6.4f}" for each in silent) + f"  {plain:8.4f}  "
        f"{best['share']:5g}  {best['weight_of_products']:6g}  {tuned:8.4f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--dimensions", type=int, nargs="*", default=(2, 3, 5, 10))
    parser.add_argument("--degrees", type=int, nargs="*", default=(2, 4, 6, 14))
    arguments = parser.parse_args()
    print("without noise, by reach, and at a record epsilon of 10")
    print(f"dimension  {'  '.join(f'{reach:6g}' for reach in REACHES)}  as it is   clip  weight")
    for dimension in arguments.dimensions:
        quadratics(dimension, arguments.runs)
    print("degree  epsilon   |x~ - x*|  f(x~) - f(x*)  s/projection")
    for degree in arguments.degrees:
        figure_two(degree, arguments.runs)


if __name__ == "__main__":
    main()
