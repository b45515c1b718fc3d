"""The five-agent regression of Gratton et al. (2021), section VI, for tests and benchmarks."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from tacit import network, problem

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
        regulariser=problem.L2(1.0) if kind == "ridge" else problem.L1(1.0),
        weighting=weighting,
    )
