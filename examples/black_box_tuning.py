"""Private black-box tuning: pharmacies tune one reordering rule by simulating it on their sales.

Every day a pharmacy orders `fraction * max(0, level - stock)` of each product, in units of its
usual daily sales, and the order comes the next morning. A simulation of the rule on 30 days of a
product's sales says what it would have cost: storage, plus what could not be sold. It is a plain
Python function that only gives values, so ORZO asks for those alone: differences between nearby
rules, product by product, clipped and noised before they leave the pharmacy.

    python examples/black_box_tuning.py --epsilon 2
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

import tacit
from tacit import Privacy, network, problem
from tacit.method import ORZO

STORAGE, MISSED = 0.2, 2.0
"""Costs of keeping a unit for a day, and of one that a customer asked for in vain."""

START = (1.0, 0.5)
"""The public rule to begin with: level and fraction."""


def simulate(
    x: Float[np.ndarray, " 2"], sales: Float[np.ndarray, "products days"]
) -> Float[np.ndarray, " products"]:
    """Mean daily cost of each product under the rule `x`.

    Args:
        x: level and fraction.
        sales: of every product and day, in units of its usual daily sales.
    """
    level, fraction = x
    stock = np.ones(len(sales))
    cost = np.zeros(len(sales))
    for asked in sales.T:
        stock = stock + fraction * np.maximum(0.0, level - stock)
        cost += MISSED * np.maximum(0.0, asked - stock)
        stock = np.maximum(0.0, stock - asked)
        cost += STORAGE * stock
    return cost / sales.shape[1]


def histories(
    pharmacies: int, products: int, seed: int
) -> list[Float[np.ndarray, "products days"]]:
    """Sales of 30 days, gamma distributed around 1.

    Args:
        pharmacies: how many.
        products: of each.
        seed: of the records.
    """
    rng = np.random.default_rng(seed)
    return [rng.gamma(4.0, 0.25, (products, 30)) for _ in range(pharmacies)]


def tuning(sales: Sequence[Float[np.ndarray, "products days"]]) -> problem.Problem:
    """The problem of finding the rule that is cheapest for all.

    Args:
        sales: one table a pharmacy.
    """
    return problem.black_box_problem(
        simulate,
        sales,
        np.array(START),
        constraint=problem.Box([0.0, 0.0], [5.0, 1.0]),
        parameter_names=("level", "fraction"),
    )


def tune(
    sales: Sequence[Float[np.ndarray, "products days"]],
    epsilon: float,
    *,
    rounds: int = 60,
    seed: int = 0,
) -> tacit.Result:
    """Tune the rule through a coordinator.

    Args:
        sales: one table a pharmacy.
        epsilon: of every product's sales, for the whole run at delta = 1e-6; positive.
        rounds: of the run.
        seed: of the simulated noise.
    """
    task = tuning(sales)
    method = ORZO(step=0.5, directions=4, privacy=Privacy(clip=1.0, epsilon=epsilon, delta=1e-6))
    star = network.Coordinator(task.agents)
    return tacit.run(task, star, method, rounds=rounds, seed=seed, require="proved")


def main(arguments: Sequence[str] | None = None) -> None:
    """Draw sales, tune, and print the rule, what it costs on new sales, and what was promised."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--pharmacies", type=int, default=5)
    parser.add_argument("--products", type=int, default=400)
    parser.add_argument("--epsilon", type=float, default=2.0)
    parser.add_argument("--seed", type=int, default=0)
    given: Any = parser.parse_args(arguments)
    result = tune(histories(given.pharmacies, given.products, given.seed), given.epsilon)
    new = np.concatenate(histories(given.pharmacies, 2000, given.seed + 1))
    for name, x in (("at the start", np.array(START)), ("tuned", result.solution)):
        print(f"{name:12s} {x.round(2)}, {simulate(x, new).mean():.3f} a product and day")
    print(result.guarantee.sentence())


if __name__ == "__main__":
    main()
