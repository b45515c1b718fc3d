"""What a private Cox regression holds: error, coverage, strata, test of proportional hazards.

Eight sites under masks with one colluder, replace-one, delta 1e-6; five numbers with effects of .5,
-.5, .3, 0 and .2 on the log hazard over half of their range, six pieces of time, 54 % censored. The
sums are made of the records and the noise of that run is added, as a run does; the method takes its
steps and makes the table of them.

    python benchmarks/cox.py error --draws 200    error, standard errors and coverage
    python benchmarks/cox.py central --draws 200  error over that of one owner with all records
    python benchmarks/cox.py strata --draws 200   a baseline of its own for each of several strata
    python benchmarks/cox.py test --draws 200     size and power of the test of proportional hazards
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
from scipy.stats import chi2

import tacit
from tacit import data, network, problem
from tacit.method import PrivateCox
from tacit.method._cox_estimate import TESTED, Estimate, refused
from tacit.method._newton import Fit
from tacit.privacy import Masks

SITES, DELTA = 8, 1e-6
EFFECTS = np.array([0.5, -0.5, 0.3, 0.0, 0.2])
NUMBERS = (4000, 8000, 16_000)
EPSILONS = (None, 2.0, 1.0, 0.5)


class Replicates(NamedTuple):
    """Outcomes of several draws of records and noise, one row each.

    Attributes:
        apart: estimates less the truth.
        errors: their standard errors.
        privacy: those due to the noise alone.
        held: whether 95 % intervals hold the truth.
        printed: whether intervals are printed.
    """

    apart: np.ndarray
    errors: np.ndarray
    privacy: np.ndarray
    held: np.ndarray
    printed: np.ndarray


class Model(NamedTuple):
    """What is fitted, and to what records.

    Attributes:
        strata: number of strata, each with a baseline of its own; 1 for none.
        periods: ends of the first periods of time.
        pieces: number of pieces of time.
        limit: cumulative hazard up to which a record is followed; `None` for the default.
        central: whether one owner has all records.
        later: what the first effect is more by after half of the time.
    """

    strata: int = 1
    periods: tuple[float, ...] = ()
    pieces: int = 6
    limit: float | None = None
    central: bool = False
    later: float = 0.0


_PLAIN = Model()


class _Setup(NamedTuple):
    method: PrivateCox
    contract: Any
    sums: tuple[Any, Any]


@cache
def setup(epsilon: float | None, model: Model) -> _Setup:
    """The method with its budget, its contract, and both kinds of sums of an array of records."""
    columns: dict[str, Any] = {f"x{i}": data.Numeric(-1, 1) for i in range(len(EFFECTS))}
    columns |= {"time": data.Numeric(0, 1), "event": data.Boolean()}
    if model.strata > 1:
        columns["stratum"] = data.Categorical([f"s{i}" for i in range(model.strata)])
    schema, width = data.Schema(columns, None, intercept=False), len(EFFECTS) + 2
    width += model.strata if model.strata > 1 else 0
    task = problem.record_tables([np.zeros((1, width))] * SITES, schema)
    budget = None
    if epsilon is not None:
        budget = tacit.Privacy(
            clip=1.0, epsilon=epsilon, delta=DELTA, masks=None if model.central else Masks()
        )
    asked = [task.column(f"x{i}") for i in range(len(EFFECTS))]
    method = PrivateCox(
        task.column("time"),
        task.column("event"),
        asked,
        model.pieces,
        model.limit,
        strata=task.column("stratum") if model.strata > 1 else None,
        periods=model.periods,
        privacy=budget,
    )

    def summed(query: Any) -> Any:
        def of(records: Any, point: Any) -> Any:
            units = 1.0 / np.array(query.spread(1.0))

            def one(block: Any, unit: float) -> Any:
                asked = jax.vmap(lambda each: block.asked(each, point))(records)
                return unit * jnp.sum(block.bounded(asked), axis=0)

            parts = [one(each, unit) for each, unit in zip(query.blocks, units, strict=True)]
            return jnp.concatenate(parts)

        return jax.jit(of)

    first, later = method.queries[:2]
    terms = tacit.contract(task, network.Coordinator(SITES), method, rounds=method.only_rounds)
    return _Setup(method, terms, (summed(first), summed(later)))


def drawn(rng: Any, records: int, model: Model) -> Any:
    """Records with a hazard of 1 where all columns are 0, and from .5 to 2 over the strata."""
    x = rng.uniform(-1, 1, (records, len(EFFECTS)))
    spent = rng.exponential(size=records)
    stratum = np.arange(records) % model.strata
    early = np.exp(x @ EFFECTS + np.linspace(-0.7, 0.7, model.strata + 2)[1:-1][stratum])
    late = early * np.exp(model.later * x[:, 0])
    lived = np.where(spent < 0.5 * early, spent / early, 0.5 + (spent - 0.5 * early) / late)
    followed = np.minimum(rng.uniform(0, 1.6, records), 1.0)
    hot = np.eye(model.strata)[stratum][:, : model.strata if model.strata > 1 else 0]
    return jnp.asarray(
        np.column_stack([x, 2 * np.minimum(lived, followed) - 1, lived <= followed, hot])
    )


def fits(
    records: int, epsilon: float | None, draws: int, model: Model = _PLAIN
) -> Iterator[Estimate]:
    """Estimates from as many draws of records and noise, one at a time.

    Args:
        records: number of records.
        epsilon: budget of the run, or `None`.
        draws: number of draws.
        model: what is fitted.
    """
    with jax.enable_x64(True):
        method, contract, sums = setup(epsilon, model)
        owners = 1 if model.central else SITES
        rng, noises = np.random.default_rng(17), np.random.default_rng(18)
        rest, size, first, other = method.sizes
        begun, moved = jax.jit(method.begun), jax.jit(method.moved)
        for _ in range(draws):
            table = drawn(rng, records, model)
            state = Fit(
                *(
                    jnp.zeros(s)
                    for s in (size, (rest, size), first, (rest, other), method.only_rounds)
                )
            )
            points, others, first_sum = [], [], jnp.zeros(first)
            for t in range(method.only_rounds):
                scale = owners * float(contract.spread(t + 1, owners))
                total = sums[min(t, 1)](table, state.point)
                total = total + scale * noises.normal(size=total.shape)
                if t == 0:
                    first_sum, point = total, begun(total, scale)
                else:
                    others.append(total)
                    point = moved(state, total, scale)
                if t < rest:
                    points.append(point)
                state = Fit(point, state.points, first_sum, state.others, state.sites)
            numbers = np.concatenate(
                [*points, first_sum, *others, np.full(method.only_rounds, float(owners))]
            )
            yield method.estimate(numbers, contract)


def replicates(
    records: int, epsilon: float | None, draws: int, model: Model = _PLAIN
) -> Replicates:
    """Fits to as many draws of records and noise; arguments as for `fits`."""
    rows: list[tuple[Any, ...]] = []
    for found in fits(records, epsilon, draws, model):
        privacy = np.sqrt(np.diagonal(found.privacy, axis1=1, axis2=2))
        errors = np.sqrt(np.diagonal(found.sampling, axis1=1, axis2=2) + privacy**2)
        apart = found.effects - EFFECTS
        rows.append(
            (
                apart,
                errors,
                privacy,
                np.abs(apart) < 1.96 * errors,
                refused(found, (), True) is None,
            )
        )
    return Replicates(*(np.array(each) for each in zip(*rows, strict=True)))


def shown(found: Replicates) -> dict[str, Any]:
    """Error, standard errors, and coverage of the intervals that are printed and of all."""
    told = found.printed
    return {
        "error": f"{np.sqrt(np.mean(found.apart**2)):.4f}",
        "standard error": f"{np.sqrt(np.mean(found.errors**2)):.4f}",
        "of it noise": f"{np.sqrt(np.mean(found.privacy**2)):.4f}",
        "printed": f"{told.mean():.3f}",
        "coverage of these": f"{found.held[told].mean():.3f}" if told.any() else "",
        "of all": f"{found.held.mean():.3f}",
    }


def error(draws: int) -> Iterator[dict[str, Any]]:
    """Error and coverage."""
    for epsilon in EPSILONS:
        for size in NUMBERS:
            found = replicates(size, epsilon, draws)
            yield {"epsilon": epsilon or "none", "records": size, **shown(found)}


def central(draws: int) -> Iterator[dict[str, Any]]:
    """Error over that of the same fit where one owner has all records."""
    for epsilon in (2.0, 1.0):
        for size in (4000, 8000):
            both = [
                np.sqrt(np.mean(replicates(size, epsilon, draws, model).apart ** 2))
                for model in (_PLAIN, Model(central=True))
            ]
            row = {"epsilon": epsilon, "records": size, "between sites": f"{both[0]:.5f}"}
            yield {**row, "central": f"{both[1]:.5f}", "ratio": f"{both[0] / both[1]:.3f}"}


def strata(draws: int) -> Iterator[dict[str, Any]]:
    """Error and coverage with a baseline of its own for each stratum."""
    for epsilon in EPSILONS:
        for size in NUMBERS:
            for number, pieces in ((4, 3), (8, 3)):
                found = replicates(size, epsilon, draws, Model(number, (), pieces))
                row = {"epsilon": epsilon or "none", "records": size, "strata": number}
                yield {**row, "pieces": pieces, **shown(found)}


def p_values(records: int, epsilon: float | None, draws: int, later: float) -> np.ndarray:
    """P-values of the test of proportional hazards, of all effects and of the first one alone.

    Args:
        records: number of records.
        epsilon: budget of the run, or `None`.
        draws: number of draws.
        later: what the first effect is more by in the second half of the time.

    Returns:
        One row for each draw in which it is printed.
    """
    rows: list[tuple[float, float]] = []
    for found in fits(records, epsilon, draws, Model(periods=(0.5,), later=later)):
        if refused(found, (), True) is None and found.curvature <= TESTED:
            apart = found.effects[1] - found.effects[0]
            spread = (found.sampling + found.privacy).sum(axis=0)
            square = float(apart @ np.linalg.solve(spread, apart))
            alone = float(chi2.sf(apart[0] ** 2 / spread[0, 0], 1))
            rows.append((float(chi2.sf(square, len(apart))), alone))
    return np.array(rows).reshape(-1, 2)


def test(draws: int) -> Iterator[dict[str, Any]]:
    """How often the test of proportional hazards rejects at .05, by chance and where they are not.

    There the first effect is more by 0.5 in the second half of the time.
    """
    for epsilon in EPSILONS:
        for size in NUMBERS:
            row: dict[str, Any] = {"epsilon": epsilon or "none", "records": size}
            for name, later in (("size", 0.0), ("power", 0.5)):
                found = p_values(size, epsilon, draws, later)
                row[f"{name}: printed"] = f"{len(found) / draws:.3f}"
                if len(found):
                    together, alone = np.mean(found < 0.05, axis=0)
                    row |= {name: f"{together:.3f}", f"{name}, first effect": f"{alone:.3f}"}
            yield row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    kinds = {"error": error, "central": central, "strata": strata, "test": test}
    parser.add_argument("what", nargs="?", default="error", choices=tuple(kinds))
    parser.add_argument("--draws", type=int, default=200)
    given = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for row in kinds[given.what](given.draws):
        rows.append(row)
        print(row, flush=True)
    print(pd.DataFrame(rows).to_string(index=False))


if __name__ == "__main__":
    main()
