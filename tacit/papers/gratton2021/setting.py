"""The five-agent regression of Gratton et al. (2020, 2021), section VI, and D-ZOA as run on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np

from tacit.method import PaperClaim
from tacit.method.d_zoa_claim import initial_step, inner_directions, printed_step
from tacit.network import Graph
from tacit.papers.gratton2021.d_zoa import DZOAPrinted
from tacit.problem import L1, L2, Problem, Squared, empirical_risk

Kind = Literal["ridge", "lasso"]

EDGES = ((0, 1), (0, 3), (1, 2), (2, 3), (3, 4))
"""12, 14, 23, 34 and 45 of the paper, counted from 0."""

AGENTS, RECORDS, DIMENSION = 5, 20, 10
"""`K`, `N_k` and `P`."""

PENALTY, ROUNDS, INNER_STEPS, ALPHA0, SMOOTHING = 4.0, 200, 100, 0.54, 1.0
"""`rho`, outer iterations, inner iterations, `alpha0` and `u1`."""

NOISE_VARIANCE = 0.1

Version = Literal["2020", "2021"]
"""The earlier version, on arXiv, or the journal's."""

EARLIER_DIRECTIONS = 30
"""`J` of the earlier version."""


def paper_network() -> Graph:
    """Five agents, edges 12, 14, 23, 34, 45."""
    return Graph.from_edges(AGENTS, EDGES)


def paper_problem(
    kind: Kind,
    seed: int,
    weighting: Literal["agent", "sum"] = "sum",
    records: int = RECORDS,
    dimension: int = DIMENSION,
    strength: float = 1.0,
) -> Problem:
    """The problem: normalised Gaussian features, true weights N(0, I), noise variance 0.1.

    Every column is divided by its maximum, which is then 1, and every row that is longer than 1 by
    its length, as section VI says.

    Source: Gratton et al. (2021), section III-A, eq (2); section VI, eqs (30) to (32); Gratton et
    al. (2020), section VI, eqs (33), (34).

    Args:
        kind: kind of regulariser.
        seed: seed of the data.
        weighting: weighting of the loss: "sum", as in the paper's experiments, or the mean of its
            theory.
        records: number of records of each agent.
        dimension: number of parameters.
        strength: strength `eta` of the regulariser.
    """
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(AGENTS * records, dimension))
    features /= np.max(features, axis=0)
    features /= np.maximum(np.linalg.norm(features, axis=1, keepdims=True), 1.0)
    truth = rng.normal(size=dimension)
    targets = features @ truth + np.sqrt(NOISE_VARIANCE) * rng.normal(size=AGENTS * records)
    return empirical_risk(
        list(features.reshape(AGENTS, records, dimension)),
        list(targets.reshape(AGENTS, records)),
        Squared(),
        regulariser=L2(strength) if kind == "ridge" else L1(strength),
        weighting=weighting,
    )


def paper_method(
    task: Problem,
    net: Graph,
    kind: Kind,
    epsilon: float,
    delta: float = 1e-3,
    *,
    optimum: float | None = None,
    inner_steps: int = INNER_STEPS,
) -> DZOAPrinted:
    """D-ZOA as printed: rho = 4, T = 100, alpha0 = 0.54, u1 = 1, cold start, J from eq (22).

    Args:
        task: the sum-loss problem, with `R = ||b*||`.
        net: network of its agents.
        kind: kind of regulariser, which decides the constant L.
        epsilon: epsilon claimed per iteration.
        delta: delta claimed per iteration.
        optimum: norm of the optimum `||b*||`, if already known.
        inner_steps: number of inner steps `T` actually run; J and step are those of T = 100.

    Raises:
        PrivacyError: eq (22) allows less than one direction.
    """
    if optimum is None:
        optimum = float(np.linalg.norm(task.reference().solution))
    claim = PaperClaim(epsilon, delta)
    directions = inner_directions(
        claim,
        penalty=PENALTY,
        degrees=net.degrees,
        counts=task.counts,
        dimension=task.dimension,
        inner_steps=INNER_STEPS,
        radius=optimum,
        optimum=optimum,
    )
    return DZOAPrinted(
        epsilon=epsilon,
        step=paper_step(kind, optimum, task.dimension),
        claimed_delta=delta,
        penalty=PENALTY,
        inner_steps=inner_steps,
        directions=directions,
        smoothing=SMOOTHING,
    )


def earlier_method(
    task: Problem,
    net: Graph,
    kind: Kind,
    epsilon: float,
    delta: float = 1e-3,
    *,
    optimum: float | None = None,
) -> DZOAPrinted:
    """D-ZOA of the earlier version (2020): J = 30, closed neighbourhoods, alpha0 from epsilon.

    Everything else is that of `paper_method`, whose arguments it takes.
    """
    if optimum is None:
        optimum = float(np.linalg.norm(task.reference().solution))
    claim = PaperClaim(epsilon, delta)
    alpha0 = initial_step(
        claim,
        penalty=PENALTY,
        degrees=net.degrees + 1,
        counts=task.counts,
        dimension=task.dimension,
        inner_steps=INNER_STEPS,
        radius=optimum,
        optimum=optimum,
        directions=EARLIER_DIRECTIONS,
    )
    return DZOAPrinted(
        epsilon=epsilon,
        step=paper_step(kind, optimum, task.dimension) * alpha0 / ALPHA0,
        claimed_delta=delta,
        penalty=PENALTY,
        inner_steps=INNER_STEPS,
        directions=EARLIER_DIRECTIONS,
        smoothing=SMOOTHING,
        closed=True,
    )


METHODS: Mapping[Version, Callable[..., DZOAPrinted]] = {
    "2020": earlier_method,
    "2021": paper_method,
}


def paper_step(kind: Kind, optimum: float, dimension: int = DIMENSION) -> float:
    """The first step size with the L that reproduces the figures; it is not a Lipschitz constant.

    Args:
        kind: kind of regulariser: ridge has `L = 1 + 2 ||b*|| / K`, lasso `1 + sqrt(P) / K`.
        optimum: norm of the optimum `||b*||`.
        dimension: dimension `P`.
    """
    lipschitz = 1 + (2 * optimum if kind == "ridge" else np.sqrt(dimension)) / AGENTS
    return printed_step(dimension, optimum, float(lipschitz), ALPHA0)
