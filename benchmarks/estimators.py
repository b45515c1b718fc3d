"""The general estimators with their defaults, beside pooled fits without privacy: held-out scores.

Eight sites with secure aggregation, splits, sites and noise drawn anew from seed to seed. The rule
for the clip was settled on `visit` and `years`, with other splits; `tumour` and `progression` were
not looked at before.

    python benchmarks/estimators.py [number of splits]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import r2_score, roc_auc_score

from tacit.estimators import PrivateClassifier, PrivateRegressor
from tacit.study import demo
from tacit.study.tables import divide, randhie

SITES = 8


@dataclass(frozen=True)
class Task:
    """Records with declared bounds.

    Attributes:
        name: what is predicted.
        features: columns, shape `(n, d)`.
        target: classes or numbers, shape `(n,)`.
        bounds: bounds of the columns.
        ends: bounds of a numeric target; `None` for classes.
        epsilons: budgets that are tried.
    """

    name: str
    features: Any
    target: Any
    bounds: tuple[Any, Any]
    ends: tuple[float, float] | None
    epsilons: tuple[float, ...]


def tasks() -> Iterator[Task]:
    """Records of statsmodels, and two tables of scikit-learn whose bounds are read off."""
    sites, _, held = divide(demo.study())
    assert held is not None
    rows = np.concatenate([*sites.features, held.features])[:, :-1]  # without the intercept
    answers = np.concatenate([*sites.targets, held.targets]) > 0
    low, high = np.array([-1, 0, -1, -1, 0, -1, 0, 0, 0]), np.array([1, 1, 1, 1, 1, 5, 1, 1, 1])
    yield Task("visit", rows, answers, (low, high), None, (1.0,))
    fair = pd.read_csv(Path(randhie()).parents[1] / "fair" / "fair.csv")
    ends: dict[str, tuple[float, float]] = {
        "rate_marriage": (1, 5),
        "age": (17.5, 42),
        "children": (0, 5.5),
        "religious": (1, 4),
        "educ": (9, 20),
        "occupation": (1, 6),
        "occupation_husb": (1, 6),
    }
    low, high = np.array(list(ends.values()), dtype=float).T
    known = fair[list(ends)].to_numpy(dtype=float)
    married = fair["yrs_married"].to_numpy(dtype=float)
    yield Task("years", known, married, (low, high), (0.5, 23.0), (1.0,))
    found: Any = load_breast_cancer()
    rows, answers = found.data, found.target
    yield Task("tumour", rows, answers > 0, (rows.min(0), rows.max(0)), None, (1.0, 4.0))
    found = load_diabetes()
    rows, answers = found.data, found.target
    yield Task("progression", rows, answers, (rows.min(0), rows.max(0)), (25.0, 346.0), (1.0, 4.0))


def scores(task: Task, epsilon: float, seed: int) -> tuple[float, float]:
    """Private and pooled score on a fifth of the records: AUC for classes, else R squared."""
    order = np.random.default_rng(seed).permutation(len(task.target))
    held, kept = np.split(order, [len(order) // 5])
    X, y = task.features[kept], task.target[kept]
    new, answers = task.features[held], task.target[held]
    shared: dict[str, Any] = {
        "epsilon": epsilon, "bounds": task.bounds, "sites": SITES, "random_state": seed
    }  # fmt: skip
    if task.ends is None:
        private = PrivateClassifier(**shared, classes=[False, True]).fit(X, y)
        middle = X.mean(axis=0)
        pooled = LogisticRegression(C=1e4, max_iter=10_000)
        pooled.fit((X - middle) / X.std(axis=0), y)
        said = pooled.decision_function((new - middle) / X.std(axis=0))
        found = private.decision_function(new)
        return float(roc_auc_score(answers, found)), float(roc_auc_score(answers, said))
    number = PrivateRegressor(**shared, target_bounds=task.ends).fit(X, y)
    said = LinearRegression().fit(X, y).predict(new)
    return float(r2_score(answers, number.predict(new))), float(r2_score(answers, said))


def main(splits: int = 20) -> None:
    print("target        epsilon   private   (smallest to largest)   pooled")
    for task in tasks():
        for epsilon in task.epsilons:
            private, pooled = np.array([scores(task, epsilon, seed) for seed in range(splits)]).T
            print(
                f"{task.name:12s}  {epsilon:7g}   {private.mean():7.3f}   "
                f"({private.min():7.3f} to {private.max():.3f})     {pooled.mean():7.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
