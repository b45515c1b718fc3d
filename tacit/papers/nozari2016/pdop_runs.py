"""PDOP on example III.2: the method with which functional perturbation is compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

import tacit
from tacit import Privacy, Simulation, network, problem
from tacit.method import PDOP
from tacit.papers.huang2015.method import PDOPPrinted
from tacit.papers.nozari2016.problem import AGENTS, HALF, RECORDS, STRENGTH, Costs

STEP, RATIO, NOISE_RATIO = 0.5, 0.1, 0.11
"""`c`, `q` and `p` of the paper."""

ROUNDS = 30
"""Rounds after which steps are below 1e-29."""

CERTIFIED_ROUNDS = 60

CANDIDATES = tuple((step, ratio) for step in (0.001, 0.005, 0.02) for ratio in (0.7, 0.85, 0.95))
"""First steps and ratios of the certified method; each epsilon gets the best pair."""

CLIP = 50.0
"""Clip of the certified method, in the l1 norm."""

OTHER = 1000
"""Seed of the records on which the certified method is tuned."""


def cost(x: Float[Array, " 2"], records: Any) -> Float[Array, ""]:
    """An agent's sum of logistic losses and ridge."""
    rows, labels = records
    ridge = RECORDS * STRENGTH / 2.0 * jnp.sum(x**2)
    return jnp.sum(jnp.logaddexp(0.0, -labels * (rows @ x))) + ridge


def printed(epsilons: Sequence[float], bound: float, draws: int, trials: int) -> dict[str, Any]:
    """The algorithm as printed at each epsilon it claims.

    Args:
        epsilons: claimed epsilons, for whole costs.
        bound: gradient bound `C2`, which determines the noise.
        draws: number of draws of the records, with seeds from 0 on.
        trials: number of draws of the noise for each.

    Returns:
        "distance": for each epsilon a distance from the minimiser for every run, the mean over the
        agents. "loss": the true privacy loss of a run.
    """
    distances: list[list[float]] = []
    losses: list[float] = []
    for epsilon in epsilons:
        method = PDOPPrinted(
            step=STEP,
            ratio=RATIO,
            noise_ratio=NOISE_RATIO,
            epsilon=epsilon,
            gradient_bound=bound,
        )
        found = [_run(method, seed, ROUNDS, trials) for seed in range(draws)]
        distances.append([each for run, _ in found for each in run])
        losses.append(found[0][1])
    return {"distance": distances, "loss": losses}


def certified(epsilons: Sequence[float], draws: int, trials: int) -> dict[str, Any]:
    """The certified PDOP at each epsilon of the whole run; step and ratio from other records."""
    distances: list[list[float]] = []
    chosen: list[tuple[float, float]] = []
    for epsilon in epsilons:
        privacy = Privacy(clip=CLIP, epsilon=epsilon, delta=0.0, noise="laplace")
        methods = [PDOP(step=c, ratio=q, privacy=privacy) for c, q in CANDIDATES]
        tried = [np.mean(_run(m, OTHER, CERTIFIED_ROUNDS, 20)[0]) for m in methods]
        best = int(np.argmin(tried))
        found = [
            _run(methods[best], seed, CERTIFIED_ROUNDS, trials, proved=True)[0]
            for seed in range(draws)
        ]
        distances.append([each for run in found for each in run])
        chosen.append(CANDIDATES[best])
    return {"distance": distances, "chosen": chosen}


def posed(costs: Costs) -> problem.Problem:
    """The paper's example, on its box."""
    return problem.costs(
        cost,
        (costs.rows, costs.labels),
        np.zeros(2),
        constraint=problem.Box(-HALF, HALF),
        convex=True,
    )


def _run(
    method: Any, seed: int, rounds: int, trials: int, *, proved: bool = False
) -> tuple[list[float], float]:
    """Distances from the minimiser, one per trial, and the loss."""
    costs = Costs(np.random.default_rng(seed))
    task = posed(costs)
    result = tacit.run(
        task,
        network.complete(AGENTS),
        method,
        rounds=rounds,
        seed=seed,
        record=[],
        runtime=Simulation(trials=trials),
        require="proved" if proved else None,
    )
    apart = np.linalg.norm(result.solutions - costs.best, axis=2).mean(axis=1)
    return apart.tolist(), float(result.guarantee.worst.epsilon)
