"""Records drawn from known regressions, and private fits of them."""

from typing import Any

import numpy as np
from scipy.special import expit

import tacit
from tacit import data, network, problem
from tacit.data.cells import columns_of
from tacit.data.design import design_of
from tacit.method import CoefficientTable, PrivateGLM
from tacit.privacy import Masks

SITES, SLOPES = 4, np.array([0.8, -0.5, 0.3])
TRUE = {"gaussian": 0.5, "binomial": -0.4, "poisson": 0.3, "gamma": 0.2}
BOUNDS = {
    "gaussian": data.Numeric(-7, 7),
    "poisson": data.Numeric(0, 20),
    "negative_binomial": data.Numeric(0, 20),
}


def schema(family: str) -> data.Schema:
    features: dict[str, Any] = {f"x{j}": data.Numeric(-1, 1) for j in range(2)}
    features["x2"] = data.Boolean()
    features["y"] = (
        data.Boolean() if family == "binomial" else BOUNDS.get(family, data.Numeric(0, 30))
    )
    return data.Schema(features, target=None, intercept=False)


def drawn(family: str, records: int, seed: int = 0) -> tuple[Any, Any]:
    """Columns and target."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, size=(records, 3))
    x[:, 1] = 0.6 * x[:, 0] + 0.4 * x[:, 1]
    x[:, 2] = x[:, 2] > 0.2
    eta = x @ SLOPES + TRUE[family]
    if family == "gaussian":
        return x, np.clip(eta + rng.normal(size=records), -7, 7)
    if family == "binomial":
        return x, (rng.random(records) < expit(eta)).astype(float)
    if family == "poisson":
        return x, np.minimum(rng.poisson(np.exp(eta)), 20).astype(float)
    return x, np.minimum(rng.gamma(2.0, np.exp(eta) / 2.0), 30.0)


def setting(family: str, x: Any, y: Any, **given: Any) -> tuple[Any, Any, PrivateGLM]:
    """Task, network and method."""
    declared = schema(family)
    columns = columns_of(declared)
    scale = columns["y"].scale
    assert scale is not None
    table = np.column_stack([x, (y - scale.centre) / scale.unit])
    task = problem.record_tables(
        np.array_split(table, SITES), declared, size=given.pop("size", None)
    )
    design = design_of([columns[f"x{j}"] for j in range(3)])
    return task, network.Coordinator(SITES), PrivateGLM(design, columns["y"], family, **given)


def fitted(family: str, x: Any, y: Any, seed: int = 0, **given: Any) -> CoefficientTable:
    task, net, method = setting(family, x, y, **given)
    result = tacit.run(task, net, method, rounds=method.sums, seed=seed)
    assert isinstance(result.answer, CoefficientTable)
    return result.answer


def budget(epsilon: float = 1.0, **given: Any) -> tacit.Privacy:
    return tacit.Privacy(clip=1.0, epsilon=epsilon, **({"masks": Masks()} | given))
