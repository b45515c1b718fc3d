"""The rule that prints or withholds intervals, on random cells, and what a refusal promises.

Each cell is a random regression: 5, 10 or 16 coefficients, columns with an AR(0, .5 or .8) Gaussian
copula, up to half of them binary, weak to strong effects, 500 to 30,000 records at 8 sites, epsilon
.25 to 3, under masks with one colluder. A cell is bad if the intervals of all its fits, printed or
not, cover less than .90 of the coefficients, and good if they cover .93 or more.

    python benchmarks/regression_rule.py --cells 150 --replicates 40
    python benchmarks/regression_rule.py --cells 150 --rerun    also fit with the records promised

The cells are those of a seed, so that more replicates add to the same cells; every line is kept in
the file `--out`, and a run goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from multiprocessing import get_context
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

import numpy as np
from scipy.stats import norm

import tacit
from tacit import data, network, problem
from tacit.data.cells import columns_of
from tacit.data.design import design_of
from tacit.method import CoefficientTable
from tacit.method.glm import PrivateGLM
from tacit.privacy import Masks

SITES = 8
FAMILIES = ("gaussian", "binomial", "rare", "poisson", "gamma")
MOST = 20.0
"""Declared largest count and positive number."""
RERUN_MOST = 60_000
"""Most records for which what a refusal promises is tried; beyond, its epsilon is."""

CELLS_PER_PROCESS = 8
"""Cells after which processes are replaced, for the memory of what they compiled."""


@dataclass(frozen=True)
class Cell:
    """A random regression, by its number."""

    number: int
    seed: int

    @cached_property
    def drawn(self) -> dict[str, Any]:
        """Everything that makes the cell."""
        rng = np.random.default_rng([self.seed, self.number])
        width = int(rng.choice([5, 10, 16])) - 1
        return {
            "family": str(rng.choice(FAMILIES)),
            "width": width,
            "ar": float(rng.choice([0.0, 0.5, 0.8])),
            # by column: probability of a binary one, 0 for a number
            "ones": np.where(
                np.arange(width) < rng.integers(0, width // 2 + 1),
                rng.uniform(0.05, 0.5, width),
                0.0,
            ),
            "slopes": rng.normal(size=width) * rng.choice([0.2, 0.4, 0.8]),
            "rate": float(rng.uniform(0.02, 0.08)),
            "records": int(np.exp(rng.uniform(np.log(500), np.log(30_000)))),
            "epsilon": float(np.exp(rng.uniform(np.log(0.25), np.log(3.0)))),
        }

    @property
    def link_log(self) -> bool:
        """Whether means are exponentials."""
        return self.drawn["family"] in ("poisson", "gamma")

    @cached_property
    def truth(self) -> np.ndarray:
        """Slopes and intercept: no mean is above a fifth of the declared bound."""
        slopes, family = self.drawn["slopes"], self.drawn["family"]
        x = self.columns(np.random.default_rng([self.seed, self.number, 1]), 20_000)
        if self.link_log:
            slopes = slopes * min(1.0, np.log(MOST / 5.0) / np.abs(x @ slopes).max())
        predictor = x @ slopes
        intercept = 0.0
        if family == "rare":
            low, high = -12.0, 4.0
            for _ in range(60):
                intercept = (low + high) / 2.0
                rate = np.mean(1.0 / (1.0 + np.exp(-predictor - intercept)))
                low, high = (intercept, high) if rate < self.drawn["rate"] else (low, intercept)
        return np.append(slopes, intercept)

    def columns(self, rng: np.random.Generator, records: int) -> np.ndarray:
        """Columns in [-1, 1]."""
        width, ar, ones = (self.drawn[key] for key in ("width", "ar", "ones"))
        z = np.empty((records, width))
        z[:, 0] = rng.normal(size=records)
        for j in range(1, width):
            z[:, j] = ar * z[:, j - 1] + np.sqrt(1 - ar**2) * rng.normal(size=records)
        uniform = norm.cdf(z)
        return np.where(ones > 0, np.where(uniform < ones, 1.0, -1.0), 2.0 * uniform - 1.0)

    def target(self, rng: np.random.Generator, predictor: np.ndarray) -> np.ndarray:
        """Targets, within the declared bounds."""
        family, n = self.drawn["family"], len(predictor)
        if family in ("binomial", "rare"):
            return (rng.random(n) < 1.0 / (1.0 + np.exp(-predictor))).astype(float)
        if family == "gaussian":
            return np.clip(predictor + rng.normal(size=n), -8.0, 8.0)
        mean = np.exp(predictor)
        drawn = rng.poisson(mean) if family == "poisson" else rng.gamma(2.0, mean / 2.0)
        return np.minimum(drawn, MOST)

    def method(self, epsilon: float = 0.0) -> tuple[data.Schema, PrivateGLM]:
        """Schema and method; with 0, at the cell's epsilon."""
        family, width = self.drawn["family"], self.drawn["width"]
        features: dict[str, Any] = {f"x{j}": data.Numeric(-1, 1) for j in range(width)}
        bounds = (-8.0, 8.0) if family == "gaussian" else (0.0, MOST)
        binary = family in ("binomial", "rare")
        features["y"] = data.Boolean() if binary else data.Numeric(*bounds)
        schema = data.Schema(features, target=None, intercept=False)
        found = columns_of(schema)
        epsilon = epsilon or self.drawn["epsilon"]
        budget = tacit.Privacy(clip=1.0, epsilon=epsilon, masks=Masks(coalition=1))
        design = design_of([found[f"x{j}"] for j in range(width)])
        name = "binomial" if binary else family
        return schema, PrivateGLM(design, found["y"], name, privacy=budget)

    def fit(self, replicate: int, records: int = 0, epsilon: float = 0.0) -> dict[str, Any]:
        """One fit to fresh records; with 0, to as many as the cell has, at its epsilon."""
        records = records or self.drawn["records"]
        rng = np.random.default_rng([self.seed, self.number, 2, replicate, records])
        schema, method = self.method(epsilon)
        x = self.columns(rng, records)
        y = self.target(rng, x @ self.truth[:-1] + self.truth[-1])
        scale = method.target.scale
        assert scale is not None
        table = np.column_stack([x, (y - scale.centre) / scale.unit])
        task = problem.record_tables(np.array_split(table, SITES), schema)
        coordinator = network.Coordinator(SITES)
        found = tacit.run(task, coordinator, method, rounds=method.sums, seed=replicate).answer
        if not isinstance(found, CoefficientTable):
            return {"covered": None, "printed": False, "lacks": None, "width": None}
        error = np.sqrt(np.diag(found.covariance))
        covered = np.abs(found.values - np.roll(self.truth, 1)) <= 1.96 * error
        return {
            "covered": float(covered.mean()),
            "printed": found.refusal is None,
            "lacks": found.checks.lacks if found.checks.fits else None,
            "guess": found.checks.lost,
            "bound": found.refusal is not None and "at least" in found.refusal.needs,
            "epsilon": _epsilon(found.refusal.needs) if found.refusal is not None else None,
            "width": float(np.median(error / np.roll(self.pooled(x, y), 1))),
        }

    def pooled(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Standard errors of the pooled fit."""
        import statsmodels.api as sm

        families = sm.families
        family = {
            "gaussian": families.Gaussian(),
            "binomial": families.Binomial(),
            "rare": families.Binomial(),
            "poisson": families.Poisson(),
            "gamma": families.Gamma(families.links.Log()),
        }[self.drawn["family"]]
        rows = np.column_stack([x, np.ones(len(x))])
        y = np.maximum(y, 1e-9) if self.drawn["family"] == "gamma" else y
        try:
            return np.asarray(sm.GLM(y, rows, family=family).fit().bse)
        except (ValueError, np.linalg.LinAlgError):  # perfectly separated, or a constant column
            return np.full(rows.shape[1], np.nan)


@dataclass(frozen=True)
class Job:
    """What is left to do of a cell."""

    cell: Cell
    replicates: tuple[int, ...]
    done: tuple[dict[str, Any], ...]
    rerun: bool

    def fits(self) -> list[dict[str, Any]]:
        """Rows for the file."""
        cell = self.cell
        of = {"seed": cell.seed, "cell": cell.number}
        found = [
            {**of, "replicate": each, "rerun": False, **cell.fit(each)} for each in self.replicates
        ]
        refused = [
            each
            for each in (*self.done, *found)
            if not each["printed"] and each["lacks"] is not None
        ]
        if self.rerun and refused:
            first = refused[0]
            records = int(np.ceil(first["lacks"] * cell.drawn["records"]))
            wanted = (records, 0.0) if records <= RERUN_MOST else (0, first["epsilon"])
            again = cell.fit(1000 + first["replicate"], *wanted)
            of |= {"replicate": first["replicate"], "rerun": True, "wanted": wanted}
            found.append({**of, "was": [first["guess"], first["bound"]], **again})
        return found


def _epsilon(needs: str) -> float | None:
    """The epsilon that a refusal names."""
    found = re.search(r"an epsilon of (?:about|at least) (\S+) with", needs)
    return None if found is None else float(found[1].replace(",", ""))


def _jobs(given: argparse.Namespace, rows: list[dict[str, Any]]) -> list[Job]:
    """Cells with replicates, or the rerun, left to do."""
    by: dict[int, list[dict[str, Any]]] = {number: [] for number in range(given.cells)}
    for each in rows:
        by.setdefault(each["cell"], []).append(each)
    jobs = []
    for number in given.only or range(given.cells):
        fits = [each for each in by[number] if not each["rerun"]]
        left = set(range(given.replicates)) - {each["replicate"] for each in fits}
        rerun = given.rerun and len(fits) == len(by[number])
        if left or rerun:
            jobs.append(Job(Cell(number, given.seed), tuple(sorted(left)), tuple(fits), rerun))
    return jobs


def summary(rows: list[dict[str, Any]]) -> str:
    """Error rates of the rule."""
    fits = [each for each in rows if not each["rerun"] and each["covered"] is not None]
    by: dict[int, list[dict[str, Any]]] = {}
    for each in fits:
        by.setdefault(each["cell"], []).append(each)
    covers = {cell: float(np.mean([e["covered"] for e in found])) for cell, found in by.items()}
    bad = [e for e in fits if covers[e["cell"]] < 0.90]
    good = [e for e in fits if covers[e["cell"]] >= 0.93]
    lines = [
        f"{len(by)} cells ({sum(c < 0.90 for c in covers.values())} bad, "
        f"{sum(c >= 0.93 for c in covers.values())} good), {len(fits)} fits, "
        f"{np.mean([e['printed'] for e in fits]):.2f} printed",
        f"printed though bad: {sum(e['printed'] for e in bad)} of {len(bad)} fits of bad cells",
    ]
    for width in (1.5, 2.0):
        narrow = {
            cell for cell, found in by.items() if np.nanmedian([e["width"] for e in found]) <= width
        }
        kept = [e for e in good if e["cell"] in narrow]
        refused = sum(not e["printed"] for e in kept)
        lines.append(f"refused though good, width up to {width}: {refused} of {len(kept)} fits")
    printed = [e["covered"] for e in fits if e["printed"]]
    if printed:
        lines.append(f"coverage of what is printed: {np.mean(printed):.3f}")
    mostly = [
        (float(np.mean([e["covered"] for e in found if e["printed"]])), cell)
        for cell, found in by.items()
        if np.mean([e["printed"] for e in found]) > 0.5
    ]
    if mostly:
        lowest = sorted(mostly)[:3]
        lines.append(f"mostly printed cells: {len(mostly)}, lowest coverage {lowest}")
    again = [e for e in rows if e["rerun"]]
    for what, was in (("promised", [0, 0]), ("guessed", [1, 0]), ("called the least", [1, 1])):
        tried = [e for e in again if e["was"] == was]
        passed = sum(e["printed"] for e in tried)
        lines.append(f"fits with what was {what}: {passed} of {len(tried)} printed")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=150)
    parser.add_argument("--only", type=int, nargs="*", help="numbers of cells; all if left out")
    parser.add_argument("--replicates", type=int, default=100)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--rerun", action="store_true", help="fit with the records promised, too")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("build/regression_rule.jsonl"))
    given = parser.parse_args()
    rows = []
    if given.out.exists():
        rows = [json.loads(line) for line in given.out.read_text().splitlines()]
    if any(each["seed"] != given.seed for each in rows):
        parser.error(f"{given.out} holds cells of another seed; give another --out")
    given.out.parent.mkdir(parents=True, exist_ok=True)
    jobs = _jobs(given, rows)
    with given.out.open("a") as file:
        size = given.workers * CELLS_PER_PROCESS
        for some in (jobs[at : at + size] for at in range(0, len(jobs), size)):
            # every cell is compiled for itself, and a process keeps what it compiled; one that is
            # replaced within a pool may leave it waiting for ever (max_tasks_per_child)
            with ProcessPoolExecutor(given.workers, get_context("spawn")) as pool:
                for found in pool.map(Job.fits, some):
                    rows += found
                    file.writelines(json.dumps(each) + "\n" for each in found)
                    file.flush()
                    done = len({e["cell"] for e in rows})
                    print(f"\r{done} cells", end="", file=sys.stderr, flush=True)
    print(f"\n{summary(rows)}")


if __name__ == "__main__":
    main()
