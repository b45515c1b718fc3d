"""A private economic dispatch: power plants share a demand, and nobody learns what they pay.

Plant `i` produces `x_i` MW at the private cost `f_i(x) = b_i x_i + a_i x_i^2 / 2` an hour. All want
the schedule that serves a public demand at the least total cost:

    min sum_i f_i(x)   over x >= 0 with sum_i x_i = demand,

so the schedule `x` is the common variable, and the demand is a public constraint on it. A market
operator coordinates; it sees noised marginal costs only. Two cost curves of one plant whose
marginal costs differ by at most 1 a MWh at every output cannot be told apart better than epsilon
allows, and those that differ by 5 not better than with a fifth of the noise: a metric guarantee, of
the whole curve.

    python examples/economic_dispatch.py --epsilon 4
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Array, ArrayLike, Float

import tacit
from tacit import Privacy, network, problem
from tacit.method import GradientDescent

STEEPEST = 0.3
"""Largest `a_i`, in money per MW^2 and hour: public, since the step has to fit it."""


def cost(x: Float[Array, " plants"], curve: Float[Array, " columns"]) -> Float[Array, ""]:
    """What one plant pays for an hour; `curve` is `b`, `a`, and a 1 at the plant's own output."""
    output = curve[2:] @ x
    return curve[0] * output + curve[1] * output**2 / 2


def dispatch_problem(curves: Float[ArrayLike, "plants 2"], demand: float) -> problem.Problem:
    """The schedule that serves the demand at the least total cost.

    Args:
        curves: `b_i` and `a_i` of every plant, positive.
        demand: in MW, positive.
    """
    curves = np.asarray(curves, dtype=np.float64)
    plants = len(curves)
    return problem.costs(
        cost,
        np.column_stack([curves, np.eye(plants)]),
        np.full(plants, demand / plants),
        constraint=problem.Simplex(demand),
        parameter_names=[f"plant {i}" for i in range(plants)],
        convex=True,
    )


def dispatch(
    curves: Float[ArrayLike, "plants 2"],
    demand: float,
    epsilon: float,
    *,
    rounds: int = 300,
    seed: int = 0,
) -> tacit.Result:
    """Find the schedule through a coordinator.

    Args:
        curves: `b_i` and `a_i` of every plant, positive, with `a_i` at most `STEEPEST`.
        demand: in MW, positive.
        epsilon: of every plant, for marginal costs that differ by 1, for the whole run; positive.
        rounds: of the run.
        seed: of the simulated noise.
    """
    task = dispatch_problem(curves, demand)
    # relative to the mean cost, whose curvature is at most STEEPEST over the number of plants
    method = GradientDescent(
        step=0.25 * task.agents / STEEPEST,
        decay=0.5,
        privacy=Privacy(clip=np.inf, epsilon=epsilon, relation="metric"),
    )
    return tacit.run(
        task, network.Coordinator(task.agents), method, rounds=rounds, seed=seed, require="proved"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Draw cost curves, dispatch, and print the schedule, what it costs, and what was promised."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--plants", type=int, default=6)
    parser.add_argument("--demand", type=float, default=600.0)
    parser.add_argument("--epsilon", type=float, default=4.0)
    parser.add_argument("--seed", type=int, default=0)
    given: Any = parser.parse_args(arguments)
    curves = np.random.default_rng(given.seed).uniform(
        [20.0, 0.1], [40.0, STEEPEST], (given.plants, 2)
    )
    result = dispatch(curves, given.demand, given.epsilon, seed=given.seed)
    task = dispatch_problem(curves, given.demand)
    best = problem.solve(task)
    print(f"best schedule    {best.solution.round(1)} MW")
    print(f"private schedule {result.solution.round(1)} MW")
    print(f"total output     {result.solution.sum():.6f} MW of {given.demand:g}")
    print(f"costs more by    {100 * (task.value(result.solution) / best.value - 1):.2f} %")
    print(result.guarantee.sentence())


if __name__ == "__main__":
    main()
