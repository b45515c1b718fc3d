"""Pieces of work on the noise of D-ZOA: its size, and what it hides."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import numpy as np

import tacit
from tacit._engine.runner import Simulation
from tacit.papers.gratton2021.admm_claim import claimed_multiplier
from tacit.papers.gratton2021.setting import (
    METHODS,
    PENALTY,
    Kind,
    Version,
    paper_network,
    paper_problem,
)


def claimed_deviation(
    epsilon: float, delta: float, degree: int, count: int, gradient_bound: float = 1.0
) -> float:
    """Standard deviation of the iterate that theorem 1 assumes: `z c1 / (rho |V_k| N_k)`.

    Source: Gratton et al. (2021), section IV-D, lemma 3, eq (19); section IV-E, theorem 1, eq (20).

    Example:
        >>> round(claimed_deviation(0.15, 1e-3, degree=2, count=20), 3)
        0.161
    """
    return claimed_multiplier(epsilon, delta) * gradient_bound / (PENALTY * degree * count)


def one_iteration(
    kind: Kind,
    epsilon: float,
    delta: float,
    data: int,
    owner: int,
    seed: int,
    trials: int,
    version: Version = "2021",
) -> dict[str, Any]:
    """The effect of one record of an agent on its first iterate, beside the iterate's own noise.

    Both data sets satisfy the theorem's bound on gradients (`worst_case` of the method).

    Returns:
        `mu`, the distance in standard deviations of a fitted Gaussian law: a model estimate, which
        proves nothing; `moved`, the same distance in units of the parameters; `deviation` of an
        entry, and `claimed`, the same by theorem 1.
    """
    task, net = paper_problem(kind, data), paper_network()
    method = METHODS[version](task, net, kind, epsilon, delta)
    pair = method.worst_case(task, owner)
    # the same directions on both sides: their difference has little noise
    one, other = (
        tacit.run(
            eqx.tree_at(lambda p: p.objectives, task, objectives),
            net,
            method,
            rounds=1,
            seed=seed,
            record=[],
            runtime=Simulation(trials=trials),
        ).solutions[:, owner]
        for objectives in (pair.objectives, pair.others)
    )
    moved = (one - other).mean(axis=0)
    covariance = (np.cov(one.T) + np.cov(other.T)) / 2.0
    return {
        "mu": float(np.sqrt(moved @ np.linalg.solve(covariance, moved))),
        "moved": float(np.linalg.norm(moved)),
        "deviation": float(np.sqrt(np.trace(covariance) / len(moved))),
        "claimed": claimed_deviation(
            epsilon, delta, int(net.degrees[owner]), int(task.counts[owner])
        ),
    }


def audited(
    kind: Kind,
    epsilon: float,
    delta: float,
    data: int,
    owner: int,
    seed: int,
    trials: int,
    version: Version = "2021",
) -> dict[str, float]:
    """A lower bound on epsilon per iteration, with 95 % confidence, and its largest value."""
    task, net = paper_problem(kind, data), paper_network()
    found = tacit.audit_method(
        task,
        net,
        METHODS[version](task, net, kind, epsilon, delta),
        rounds=1,
        owner=owner,
        trials=trials,
        seed=seed,
        stop=False,
    )
    return {"epsilon": found.best.epsilon, "most": found.ceiling, "claim": found.claim.epsilon}
