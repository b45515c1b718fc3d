"""Coverage and width of the intervals of private regression, and how often they are refused.

Every replicate draws new records, splits them among sites, runs `tacit.run` under masks with one
colluder, and compares each 95 % interval with the true coefficient and its width with that of the
pooled maximum likelihood fit. Records: seven uniform and two binary columns with an AR(.5) Gaussian
copula. Beside the families there are `binomial5` (3.8 % positives), `overdispersed` (counts that
a Poisson model does not fit, and must be refused), `negative_binomial` (the same counts, fitted),
`counts` (Poisson counts under a negative binomial model), `multinomial` (one of three levels, with
two sets of slopes) and `exposure` (counts over times that
differ by a factor of 20, with `offset(log(time))`).

    python benchmarks/regression.py                        the whole table (hours)
    python benchmarks/regression.py --cells binomial:20000:1 --replicates 40
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

import numpy as np
from scipy.special import softmax
from scipy.stats import norm

import tacit
from tacit import data, network, problem
from tacit.data.cells import columns_of
from tacit.data.formula import parse_formula
from tacit.method.glm import PrivateGLM
from tacit.privacy import Masks

SLOPES = np.array([0.5, -0.4, 0.3, 0.0, 0.6, -0.2, 0.1, 0.3, -0.3])
UNEQUAL = np.array([0.4, 0.25, 0.2, 0.1, 0.05])
EPSILONS = (0.5, 1.0, 2.0)
TIMES = (0.1, 2.0)
FITTED = {
    "binomial5": "binomial",
    "overdispersed": "poisson",
    "exposure": "poisson",
    "counts": "negative_binomial",
}
"""Family that is fitted, where it has another name than the records."""
MOST = {"gaussian": 6.0, "negative_binomial": 40.0}
"""Declared upper bounds of the target, if not 20."""


@dataclass(frozen=True)
class Cell:
    """One row of the table."""

    family: str
    records: int
    epsilon: float
    sites: int = 8
    sums: int = 4
    covariance: str = "model"
    relation: str = "replace_one"

    def __str__(self) -> str:
        return f"{self.family} n={self.records} eps={self.epsilon:g} sites={self.sites}"


def columns(rng: np.random.Generator, records: int) -> np.ndarray:
    """Seven uniform and two binary columns in [-1, 1]."""
    z = np.empty((records, 9))
    z[:, 0] = rng.normal(size=records)
    for j in range(1, 9):
        z[:, j] = 0.5 * z[:, j - 1] + np.sqrt(0.75) * rng.normal(size=records)
    uniform = 2.0 * norm.cdf(z) - 1.0
    return np.where(np.arange(9) >= 7, np.sign(uniform), uniform)


CLASSES = np.array([np.append(0.2, SLOPES), np.append(-0.4, SLOPES[::-1])])
"""Intercept and slopes of the second and the third of three levels, against the first."""


def shares(x: np.ndarray) -> np.ndarray:
    """True probabilities of three levels."""
    logits = np.column_stack([np.zeros(len(x)), CLASSES[:, 0] + x @ CLASSES[:, 1:].T])
    return softmax(logits, axis=1)


def truth(family: str) -> tuple[np.ndarray, float]:
    """Slopes and intercept."""
    if family == "binomial5":
        return SLOPES, -3.4
    return (SLOPES, 0.0) if family in ("binomial", "gaussian") else (0.7 * SLOPES, 0.0)


def target(rng: np.random.Generator, family: str, predictor: np.ndarray) -> np.ndarray:
    """Targets, within the declared bounds."""
    n = len(predictor)
    if family.startswith("binomial"):
        return (rng.random(n) < 1.0 / (1.0 + np.exp(-predictor))).astype(float)
    if family == "gaussian":
        return np.clip(predictor + rng.normal(size=n), -6.0, 6.0)
    mean = np.exp(predictor)
    if family in ("poisson", "exposure", "counts"):
        return np.minimum(rng.poisson(mean), 20.0)
    if family in ("overdispersed", "negative_binomial"):
        return np.minimum(rng.poisson(mean * rng.gamma(1.5, 1 / 1.5, n)), MOST.get(family, 20.0))
    return np.minimum(rng.gamma(2.0, mean / 2.0), 20.0)


def pooled(family: str, x: np.ndarray, y: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Standard errors of the pooled maximum likelihood fit; of several levels at the truth."""
    rows = np.column_stack([x, np.ones(len(x))])
    if family == "multinomial":
        p, rows = shares(x)[:, 1:], np.roll(rows, 1, axis=1)
        weights = p[:, :, None] * (np.eye(2) - p[:, None, :])
        information = np.einsum("nkl,ni,nj->kilj", weights, rows, rows, optimize=True)
        return np.sqrt(np.diag(np.linalg.inv(information.reshape(20, 20))))
    if family == "gaussian":
        gram = np.linalg.inv(rows.T @ rows)
        off = y - rows @ (gram @ (rows.T @ y))
        return np.sqrt(np.diag(gram) * (off @ off) / (len(y) - rows.shape[1]))
    slopes, intercept = truth(family)
    w = np.append(slopes, intercept)
    for _ in range(20):
        predictor = rows @ w + offset
        mean = np.exp(predictor)
        mean = mean / (1 + mean) if family.startswith("binomial") else mean
        if family.startswith("binomial"):
            weight, score = mean * (1 - mean), y - mean
        elif family == "gamma":
            weight, score = np.ones(len(y)), y / mean - 1.0
        else:
            damped = 1.0 + mean / 1.5 if family == "negative_binomial" else 1.0
            weight, score = mean / damped, (y - mean) / damped
        information = (rows * weight[:, None]).T @ rows
        move = np.linalg.solve(information, rows.T @ score)
        w = w + move
        if np.abs(move).max() < 1e-8:
            break
    scale = np.sum(score**2) / (len(y) - len(w)) if family == "gamma" else 1.0
    return np.sqrt(np.diag(np.linalg.inv(information)) * scale)


def setting(cell: Cell) -> tuple[Any, PrivateGLM]:
    """Schema and method."""
    name = cell.family
    features: dict[str, Any] = {f"x{j}": data.Numeric(-1, 1) for j in range(9)}
    if name.startswith("binomial"):
        features["y"] = data.Boolean()
    elif name == "multinomial":
        features["y"] = data.Categorical(["none", "some", "many"])
    else:
        most = MOST.get(name, 20.0)
        features["y"] = data.Numeric(-most if name == "gaussian" else 0.0, most)
    if name == "exposure":
        features["time"] = data.Numeric(*TIMES)
    schema = data.Schema(features, target=None, intercept=False)
    found = columns_of(schema)
    budget = tacit.Privacy(
        clip=1.0, epsilon=cell.epsilon, masks=Masks(coalition=1), relation=cell.relation
    )
    terms = [f"x{j}" for j in range(9)] + ["offset(log(time))"] * (name == "exposure")
    target, design = parse_formula("y ~ " + " + ".join(terms), found)
    return schema, PrivateGLM(
        design, target, FITTED.get(name, name), cell.sums, cell.covariance, privacy=budget
    )


def one(cell: Cell, replicate: int) -> dict[str, Any]:
    """One replicate."""
    rng = np.random.default_rng([replicate, cell.records])
    schema, method = setting(cell)
    x = columns(rng, cell.records)
    slopes, intercept = truth(cell.family)
    times = np.ones(len(x))
    if cell.family == "exposure":
        times = np.exp(rng.uniform(*np.log(TIMES), len(x)))
    if cell.family == "multinomial":
        y = (rng.random(len(x))[:, None] > shares(x).cumsum(axis=1)[:, :2]).sum(axis=1)
    else:
        y = target(rng, cell.family, x @ slopes + intercept + np.log(times))
    numbers = {"y": y, "time": times}
    stored = [
        (numbers[name] - column.scale.centre) / column.scale.unit
        for name, column in columns_of(schema).items()
        if name in numbers and column.scale is not None
    ]
    if cell.family == "multinomial":
        stored.insert(0, np.eye(3)[y])
    table = np.column_stack([x, *stored])
    if cell.sites == 5:
        ends = np.cumsum((UNEQUAL * cell.records).astype(int))[:-1]
        parts = np.split(table, ends)
    else:
        parts = np.array_split(table, cell.sites)
    size = max(map(len, parts)) if cell.relation == "add_remove" else None
    task = problem.record_tables(parts, schema, size=size)
    result = tacit.run(
        task, network.Coordinator(cell.sites), method, rounds=cell.sums, seed=replicate
    )
    found = result.answer
    several = cell.family == "multinomial"
    true = CLASSES.ravel() if several else np.append(intercept, slopes)
    whole = pooled(cell.family, x, y, np.log(times))
    error = np.sqrt(np.diag(found.covariance))
    return {
        "covered": np.abs(found.values - true) <= 1.96 * error,
        "width": np.median(error / (whole if several else np.roll(whole, 1))),
        "bias": (found.values - true) / error,
        "naive": np.abs(found.values - true) <= 1.96 * np.sqrt(np.diag(found.sampling)),
        "passed": found.checks.passed,
        "checks": (
            found.checks.curvature <= 0.75,
            found.checks.moved <= found.checks.allowed,
            abs(found.checks.excess) <= 3.0,
        ),
        "curvature": found.checks.curvature,
    }


def _one(job: tuple[Cell, int]) -> dict[str, Any]:
    return one(*job)


def report(cell: Cell, found: list[dict[str, Any]]) -> str:
    """One line of the table."""
    covered = np.array([each["covered"] for each in found], dtype=float)
    each = covered.mean(axis=0)
    bias = np.abs(np.mean([row["bias"] for row in found], axis=0)).max()
    kept = np.array([row["checks"] for row in found], dtype=float).mean(axis=0)
    return (
        f"{cell!s:38s} coverage {covered.mean():.3f} worst {each.min():.3f} "
        f"width {np.median([row['width'] for row in found]):.2f} "
        f"printed {np.mean([row['passed'] for row in found]):.2f} "
        f"(curvature {kept[0]:.2f} step {kept[1]:.2f} fit {kept[2]:.2f}) "
        f"kappa {np.median([row['curvature'] for row in found]):.2f} bias {bias:.2f} "
        f"without privacy term {np.mean([row['naive'] for row in found]):.2f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", nargs="*", help="family:records:epsilon, ...")
    parser.add_argument("--replicates", type=int, default=400)
    parser.add_argument("--sites", type=int, nargs="*", default=[8, 5])
    parser.add_argument("--sums", type=int, default=4)
    parser.add_argument("--covariance", choices=["model", "robust"], default="model")
    parser.add_argument("--relation", default="replace_one")
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    if given.cells:
        picked = [each.split(":") for each in given.cells]
        rows = [(family, int(n), float(eps)) for family, n, eps in picked]
    else:
        families = ("binomial", "gaussian", "poisson", "gamma")
        rows = list(itertools.product(families, (5000, 20000, 80000), (1.0, 2.0)))
        rows += [("binomial5", 20000, 2.0)]
        rows += [("binomial5", 80000, epsilon) for epsilon in EPSILONS]
        others = ("overdispersed", "negative_binomial", "counts", "multinomial", "exposure")
        rows += itertools.product(others, (20000,), (1.0, 2.0))
    with ProcessPoolExecutor(given.workers) as pool:
        for (family, records, epsilon), sites in itertools.product(rows, given.sites):
            cell = Cell(
                family, records, epsilon, sites, given.sums, given.covariance, given.relation
            )
            began = time.monotonic()
            jobs = [(cell, replicate) for replicate in range(given.replicates)]
            found = list(pool.map(_one, jobs, chunksize=10))
            print(report(cell, found), f"{time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    sys.exit(main())
