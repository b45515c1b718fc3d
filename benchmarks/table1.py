"""What a private table 1 holds: sizes and power of its tests, coverage of its intervals, noise.

Eight sites under masks with one colluder, replace-one, delta 1e-6, a table of 20 columns by two
groups of equal size. What is released is drawn here, cell by cell, with the noise of that table,
and the method makes the table of it.

    python benchmarks/table1.py size --draws 2000       how often tests reject at .05 by chance
    python benchmarks/table1.py power --draws 1000      and where there is a difference
    python benchmarks/table1.py coverage --draws 1000   how often 95 % intervals hold the truth
    python benchmarks/table1.py noise                   half-widths on the records of RAND HIE
"""

from __future__ import annotations

import argparse
import os
import warnings
from functools import cache
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import numpy as np
import pandas as pd

import tacit
from tacit import data, network, problem
from tacit.data.cells import Column, Scale
from tacit.method import PrivateTableOne
from tacit.method._table_margins import Cells, consistent
from tacit.method._table_tests import levels_differ, means_differ
from tacit.privacy import Masks

SITES, COLUMNS = 8, 20
EPSILONS = (None, 2.0, 1.0, 0.5, 0.25)
NUMBERS = (200, 1000, 5000, 20_000)
LEVELS = {"3 levels": (0.5, 0.3, 0.2), "rare level": (0.69, 0.3, 0.01)}
VALUES = np.array([-0.6, -0.2, 0.1, 0.4, 0.9])
"""Values of a number, scaled to [-1, 1]."""


@cache
def noise(epsilon: float | None) -> float:
    """Standard deviation of the noise in a cell of a table of 20 columns."""
    if epsilon is None:
        return 0.0
    levels = [data.Categorical(["a", "b", "c"])] * COLUMNS
    schema = data.Schema({f"x{i}": each for i, each in enumerate(levels)}, None, intercept=False)
    task = problem.record_tables([np.zeros((1, 3 * COLUMNS))] * SITES, schema)
    budget = tacit.Privacy(clip=1.0, epsilon=epsilon, masks=Masks())
    method = PrivateTableOne([task.column(name) for name in schema.features], privacy=budget)
    terms = tacit.contract(task, network.Coordinator(SITES), method, rounds=1)
    return float(method.query.spread(SITES * float(terms.spread(1, SITES)))[0])


def moments(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Cells of a number that has these values as often as that."""
    parts = [(1 - values) ** 2 / 4, (1 - values**2) / 2, (1 + values) ** 2 / 4]
    return np.stack([counts @ part for part in parts])


def drawn(rng: Any, records: int, scale: float, effect: float) -> dict[str, Cells]:
    """Fitted cells of a table with three columns that are looked at, and 17 others of 3 levels."""
    half = records // 2
    found: list[np.ndarray] = []
    for levels in LEVELS.values():
        rows = []
        for sign in (-0.5, 0.5):
            p = np.array(levels)
            p[0] += sign * effect * np.sqrt(p[0] * (1 - p[0]))
            p[1:] *= (1 - p[0]) / p[1:].sum()
            rows.append(rng.multinomial(half, p))
        found.append(np.stack(rows).astype(float))
    spread = float(VALUES.std())
    found.append(
        np.stack(
            [
                moments(VALUES + s * effect * spread, rng.multinomial(half, np.full(5, 0.2)))
                for s in (-0.5, 0.5)
            ]
        )
    )
    found += [np.full((2, 3), half / 3.0)] * (COLUMNS - 3)
    noised = [each + rng.normal(0.0, scale, each.shape) if scale else each for each in found]
    _, cells = consistent(noised, [scale] * COLUMNS)
    return dict(zip((*LEVELS, "mean"), cells[:3], strict=True))


def rejected(draws: int, effect: float) -> pd.DataFrame:
    """How often each test rejects at .05; a test that is refused does not reject."""
    rows: list[dict[str, Any]] = []
    for epsilon in EPSILONS:
        for records in NUMBERS:
            rng = np.random.default_rng(7)
            counted = {name: [0, 0] for name in (*LEVELS, "mean")}
            for _ in range(draws):
                for name, cells in drawn(rng, records, noise(epsilon), effect).items():
                    test = means_differ if name == "mean" else levels_differ
                    p = test(cells).p_value
                    counted[name][0] += p < 0.05
                    counted[name][1] += bool(np.isnan(p))
            row: dict[str, Any] = {"epsilon": epsilon or "none", "records": records}
            for name, (hits, none) in counted.items():
                row[name] = f"{hits / draws:.3f}" + (
                    f" ({none / draws:.2f} refused)" if none else ""
                )
            rows.append(row)
            print(".", end="", flush=True)
    print()
    return pd.DataFrame(rows)


def coverage(draws: int) -> pd.DataFrame:
    """How often intervals hold the numbers of the records, by statistic."""
    columns = [
        Column("x", ("a", "b", "c"), (0, 1, 2)),
        Column("z", (), (3,), Scale(-1.0, 1.0, 0.0, 1.0)),
    ]
    by = Column("g", ("g", "h"), (4, 5))
    method = PrivateTableOne(columns, by, ["z"])
    rows: list[dict[str, Any]] = []
    for epsilon in EPSILONS[1:]:
        # three blocks here, whose noise is that of 20
        for records in NUMBERS:
            rng = np.random.default_rng(11)
            z = np.clip(rng.normal(0.1, 0.4, (2, records // 2)), -1, 1)
            parts = [
                np.array([[0.5, 0.4, 0.1]] * 2) * (records // 2),
                np.stack([moments(each, np.ones(len(each))) for each in z]),
                np.stack([np.histogram(each, np.linspace(-1, 1, 21))[0] for each in z]),
            ]
            truth = method.told([part.ravel() for part in parts], [0.0] * 3, SITES, SITES)
            exact = {("", *entry[:4]): entry.value for entry in truth.entries}
            for place, name in enumerate(("g", "h")):
                for statistic, share in {"median": 0.5, "q1": 0.25, "q3": 0.75}.items():
                    exact["", "z", "", name, statistic] = float(np.quantile(z[place], share))
            for statistic, share in {"median": 0.5, "q1": 0.25, "q3": 0.75}.items():
                exact["", "z", "", "overall", statistic] = float(np.quantile(z, share))
            inside: dict[str, list[bool]] = {}
            for _ in range(draws):
                noised = [p.ravel() + rng.normal(0, noise(epsilon), p.size) for p in parts]
                table = method.told(noised, [noise(epsilon)] * 3, SITES, SITES)
                for entry in table.entries:
                    if not np.isnan(entry.lower):
                        held = entry.lower <= exact["", *entry[:4]] <= entry.upper
                        inside.setdefault(entry.statistic, []).append(held)
            shown = {name: f"{np.mean(each):.3f}" for name, each in inside.items()}
            rows.append({"epsilon": epsilon, "records": records, **shown})
            print(".", end="", flush=True)
    print()
    return pd.DataFrame(rows)


def hie() -> pd.DataFrame:
    """Half-widths on the records of RAND HIE, by deductible, with all of their other columns."""
    from statsmodels.datasets import randhie

    loaded: Any = randhie.load_pandas()
    records: Any = loaded.data.eval("site = index // 2524")
    rows: list[dict[str, Any]] = []
    for epsilon in EPSILONS[1:]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = tacit.table1(records, by="idp", epsilon=epsilon, seed=1, medians=["disea"])
        table: Any = found.to_frame()
        half = (table["upper"] - table["lower"]) / 2.0
        mean = table["statistic"] == "mean"
        rows.append(
            {
                "epsilon": epsilon,
                "overall count": half[(table["variable"] == "hlthf")].iloc[0],
                "overall percent": half[
                    (table["variable"] == "hlthf") & (table["statistic"] == "percent")
                ].iloc[0],
                **{
                    f"mean {name}": half[mean & (table["variable"] == name)].iloc[0]
                    for name in ("disea", "physlm", "mdvis")
                },
                "marked": f"{(table['note'] == 'mostly noise').sum()} of {len(table)}",
            }
        )
    return pd.DataFrame(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", default="noise")
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--effect", type=float, default=0.2, help="difference in deviations")
    given = parser.parse_args()
    tables = {
        "size": lambda: rejected(given.draws, 0.0),
        "power": lambda: rejected(given.draws, given.effect),
        "coverage": lambda: coverage(given.draws),
        "noise": hie,
    }
    if given.what not in tables:
        parser.error(f"{given.what!r} must be one of {', '.join(tables)}")
    print({epsilon: round(noise(epsilon), 2) for epsilon in EPSILONS})
    print(tables[given.what]().to_string(index=False))


if __name__ == "__main__":
    main()
