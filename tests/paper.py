"""The five-agent regression of Gratton et al. (2021), section VI, for tests and benchmarks."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from tacit import network, problem
from tacit.method import DZOASolver, PaperClaim
from tacit.method.d_zoa_claim import inner_directions, printed_step

EDGES = ((0, 1), (0, 3), (1, 2), (2, 3), (3, 4))


def paper_network() -> Any:
    """Five agents, edges 12, 14, 23, 34, 45."""
    return network.Graph.from_edges(5, EDGES)


def paper_problem(
    kind: str,
    seed: int,
    weighting: Literal["agent", "sum"] = "sum",
    records: int = 20,
    dimension: int = 10,
    strength: float = 1.0,
) -> Any:
    """Gaussian features, columns then rows normalised; true weights N(0, I); noise variance 0.1."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(5 * records, dimension))
    features /= np.linalg.norm(features, axis=0)
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    truth = rng.normal(size=dimension)
    targets = features @ truth + np.sqrt(0.1) * rng.normal(size=5 * records)
    return problem.empirical_risk(
        list(features.reshape(5, records, dimension)),
        list(targets.reshape(5, records)),
        problem.Squared(),
        regulariser=problem.L2(strength) if kind == "ridge" else problem.L1(strength),
        weighting=weighting,
    )


def paper_method(task: Any, net: Any, kind: str, epsilon: float, delta: float = 1e-3) -> Any:
    """D-ZOA as printed: rho = 4, T = 100, alpha0 = 0.54, u1 = 1, cold start, J from eq (22)."""
    optimum = float(np.linalg.norm(task.reference().solution))
    lipschitz = 1 + 2 * optimum / 5 if kind == "ridge" else 1 + np.sqrt(task.dimension) / 5
    claim = PaperClaim(epsilon, delta)
    directions = inner_directions(
        claim,
        penalty=4.0,
        degrees=net.degrees,
        counts=task.counts,
        dimension=task.dimension,
        inner_steps=100,
        radius=optimum,
        optimum=optimum,
    )
    return DZOASolver(
        step=printed_step(task.dimension, optimum, float(lipschitz)),
        penalty=4.0,
        directions=directions,
        smoothing=1.0,
        printed=True,
        warm_start=False,
        claim=claim,
    )
