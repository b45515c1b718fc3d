"""What private survival curves hold: their error, coverage, and size and power of the test.

Eight sites under masks with one colluder, replace-one, delta 1e-6, 40 intervals of 10 years. Times
follow a Weibull distribution and are censored at random and after 10 years. What is released is
drawn here, with the noise of that run, and the method makes the curves of it.

    python benchmarks/survival.py error --draws 100      sup distance from the exact curve
    python benchmarks/survival.py coverage --draws 1000  how often intervals hold the truth
    python benchmarks/survival.py test --draws 2000      size and power of the log-rank test
"""

from __future__ import annotations

import argparse
import os
from functools import cache
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import numpy as np
import pandas as pd

import tacit
from tacit import data, network, problem
from tacit.method import PrivateSurvival
from tacit.method._survival_curve import Cells, curve, median, restricted_mean
from tacit.method._survival_test import log_rank
from tacit.privacy import Masks

SITES, INTERVALS, END = 8, 40, 10.0
EDGES = np.linspace(0.0, END, INTERVALS + 1)
EPSILONS = (None, 2.0, 1.0, 0.5, 0.25)
NUMBERS = (1000, 4000, 8000, 32_000)
SHAPE, SCALE, CENSORED = 1.2, 7.0, 15.0


@cache
def noise(epsilon: float | None) -> float:
    """Standard deviation of the noise in a cell."""
    if epsilon is None:
        return 0.0
    schema = data.Schema(
        {"years": data.Numeric(0, END), "died": data.Boolean()}, None, intercept=False
    )
    task = problem.record_tables([np.zeros((1, 2))] * SITES, schema)
    budget = tacit.Privacy(clip=1.0, epsilon=epsilon, masks=Masks())
    method = PrivateSurvival(task.column("years"), task.column("died"), privacy=budget)
    terms = tacit.contract(task, network.Coordinator(SITES), method, rounds=1)
    return float(method.query.spread(SITES * float(terms.spread(1, SITES)))[0])


def records(rng: Any, size: int, ratio: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Times, and whether they end with an event."""
    lived = SCALE * (rng.exponential(size=size) / ratio) ** (1.0 / SHAPE)
    followed = np.minimum(rng.uniform(0.0, CENSORED, size), END)
    return np.minimum(lived, followed), lived <= followed


def counted(rng: Any, time: np.ndarray, died: np.ndarray, scale: float) -> Cells:
    """The cells of records, with noise."""
    within = time < END
    place = np.searchsorted(EDGES[1:], time, side="left")
    d, c = (
        np.bincount(place[within & (died == each)], minlength=INTERVALS)[:INTERVALS]
        + (rng.normal(0.0, scale, INTERVALS) if scale else 0.0)
        for each in (True, False)
    )
    beyond = float((~within).sum()) + (rng.normal(0.0, scale) if scale else 0.0)
    return Cells(d, c, beyond, scale)


def exact(time: np.ndarray, died: np.ndarray) -> np.ndarray:
    """Kaplan and Meier's estimate from the records, at the ends of the intervals."""
    order = np.argsort(time)
    survival = np.cumprod(1.0 - died[order] / np.arange(len(time), 0, -1))
    at = np.searchsorted(time[order], EDGES[1:], side="right")
    return np.append(1.0, survival)[at]


def error(draws: int) -> pd.DataFrame:
    """Largest distance from the exact curve, as far as the private one reaches."""
    rows: list[dict[str, Any]] = []
    for epsilon in EPSILONS:
        for size in NUMBERS:
            rng = np.random.default_rng(3)
            apart, reached = [], []
            for _ in range(draws):
                time, died = records(rng, size)
                found = curve(counted(rng, time, died, noise(epsilon)))
                ends = len(found.survival)
                reached.append(EDGES[ends])
                if ends:
                    away = np.abs(found.survival - exact(time, died)[:ends])
                    apart.append(float(away.max()))
            rows.append(
                {
                    "epsilon": epsilon or "none",
                    "records": size,
                    "median sup error": round(float(np.median(apart)), 5) if apart else None,
                    "90 %": round(float(np.quantile(apart, 0.9)), 5) if apart else None,
                    "reaches": round(float(np.median(reached)), 2),
                }
            )
    return pd.DataFrame(rows)


def coverage(draws: int) -> pd.DataFrame:
    """How often intervals and bands hold what the records were drawn from."""
    truth = np.exp(-((EDGES[1:] / SCALE) ** SHAPE))
    half = SCALE * np.log(2.0) ** (1.0 / SHAPE)
    fine = np.linspace(0.0, END, 40_001)
    below = np.exp(-((fine / SCALE) ** SHAPE))
    rows: list[dict[str, Any]] = []
    for epsilon in EPSILONS:
        for size in NUMBERS:
            rng = np.random.default_rng(5)
            held: dict[str, list[float]] = {}
            for _ in range(draws):
                found = curve(counted(rng, *records(rng, size), noise(epsilon)))
                ends = len(found.survival)
                if not ends:
                    continue
                true = truth[:ends]
                until = fine <= EDGES[ends]
                mean = float(np.trapezoid(below[until], fine[until]))
                middle, means = median(found, EDGES), restricted_mean(found, EDGES, ends)
                band = (found.band_lower <= true) & (true <= found.band_upper)
                for name, each in {
                    "points": float(np.mean((found.lower <= true) & (true <= found.upper))),
                    "band": float(band.all()),
                    "median": float(middle.lower <= half <= middle.upper),
                    "mean": float(means.lower <= mean <= means.upper),
                }.items():
                    held.setdefault(name, []).append(each)
            shown = {name: f"{np.mean(each):.3f}" for name, each in held.items()}
            rows.append({"epsilon": epsilon or "none", "records": size, **shown})
    return pd.DataFrame(rows)


def test(draws: int) -> pd.DataFrame:
    """How often the log-rank test rejects at .05: by chance, and at the ratio it says it finds."""
    rows: list[dict[str, Any]] = []
    for epsilon in EPSILONS:
        for size in NUMBERS:
            rng = np.random.default_rng(7)

            scale = noise(epsilon)

            def groups(
                ratio: float, size: int = size, rng: Any = rng, scale: float = scale
            ) -> list[Cells]:
                return [
                    counted(rng, *records(rng, size // 2, each), scale) for each in (1.0, ratio)
                ]

            chance = [log_rank(groups(1.0), EDGES.tolist()) for _ in range(draws)]
            there = [each for each in chance if not each.why]
            row: dict[str, Any] = {"epsilon": epsilon or "none", "records": size}
            if there:
                ratio = float(np.median([each.detectable for each in there]))
                found = [log_rank(groups(ratio), EDGES.tolist()) for _ in range(draws)]
                row |= {
                    "size": f"{np.mean([each.p_value < 0.05 for each in there]):.3f}",
                    "detectable ratio": f"{ratio:.2f}",
                    "power there": f"{np.mean([each.p_value < 0.05 for each in found]):.3f}",
                }
            rows.append(row)
    return pd.DataFrame(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", default="error", choices=("error", "coverage", "test"))
    parser.add_argument("--draws", type=int, default=100)
    given = parser.parse_args()
    print({epsilon: round(noise(epsilon), 2) for epsilon in EPSILONS})
    found = {"error": error, "coverage": coverage, "test": test}[given.what](given.draws)
    print(found.to_string(index=False))


if __name__ == "__main__":
    main()
