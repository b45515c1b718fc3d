"""What a private Cox regression holds: error, coverage, and how often it prints intervals.

Eight sites under masks with one colluder, replace-one, delta 1e-6; five numbers with effects of .5,
-.5, .3, 0 and .2 on the log hazard over half of their range, six pieces of time, 54 % censored. The
sums are made of the records and the noise of that run is added, as a run does; the method takes its
steps and makes the table of them.

    python benchmarks/cox.py --draws 200
"""

from __future__ import annotations

import argparse
import os
from functools import cache
from typing import Any, NamedTuple

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd

import tacit
from tacit import data, network, problem
from tacit.method import PrivateCox
from tacit.method._newton import Fit
from tacit.method.coefficients import CURVATURE
from tacit.privacy import Masks

SITES, DELTA = 8, 1e-6
EFFECTS = np.array([0.5, -0.5, 0.3, 0.0, 0.2])
NUMBERS = (4000, 8000, 32_000)
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


class _Setup(NamedTuple):
    method: PrivateCox
    contract: Any
    sums: tuple[Any, Any]


@cache
def setup(epsilon: float | None, limit: float | None = None) -> _Setup:
    """The method with its budget, its contract, and both kinds of sums of an array of records."""
    columns: dict[str, Any] = {f"x{i}": data.Numeric(-1, 1) for i in range(len(EFFECTS))}
    columns |= {"time": data.Numeric(0, 1), "event": data.Boolean()}
    schema = data.Schema(columns, None, intercept=False)
    task = problem.record_tables([np.zeros((1, len(columns)))] * SITES, schema)
    budget = None
    if epsilon is not None:
        budget = tacit.Privacy(clip=1.0, epsilon=epsilon, delta=DELTA, masks=Masks())
    asked = [task.column(f"x{i}") for i in range(len(EFFECTS))]
    method = PrivateCox(
        task.column("time"), task.column("event"), asked, limit=limit, privacy=budget
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
    terms = tacit.contract(task, network.Coordinator(SITES), method, rounds=4)
    return _Setup(method, terms, (summed(first), summed(later)))


def drawn(rng: Any, records: int) -> Any:
    """Records with a hazard of 1 where all columns are 0."""
    x = rng.uniform(-1, 1, (records, len(EFFECTS)))
    lived = rng.exponential(size=records) * np.exp(-x @ EFFECTS)
    followed = np.minimum(rng.uniform(0, 1.6, records), 1.0)
    return jnp.asarray(np.column_stack([x, 2 * np.minimum(lived, followed) - 1, lived <= followed]))


def replicates(
    records: int, epsilon: float | None, draws: int, limit: float | None = None
) -> Replicates:
    """Fits to as many draws of records and noise.

    Args:
        records: number of records.
        epsilon: budget of the run, or `None`.
        draws: number of draws.
        limit: cumulative hazard up to which a record is followed; `None` for the default.
    """
    with jax.enable_x64(True):
        method, contract, sums = setup(epsilon, limit)
        rng = np.random.default_rng(17)
        rest, size, first, other = method.sizes
        rows: list[tuple[Any, ...]] = []
        for _ in range(draws):
            table = drawn(rng, records)
            state = Fit(
                *(
                    jnp.zeros(s)
                    for s in (size, (rest, size), first, (rest, other), method.only_rounds)
                )
            )
            points, others, first_sum = [], [], jnp.zeros(first)
            for t in range(method.only_rounds):
                scale = SITES * float(contract.spread(t + 1, SITES))
                total = sums[min(t, 1)](table, state.point)
                total = total + scale * rng.normal(size=total.shape)
                if t == 0:
                    first_sum, point = total, method.begun(total, scale)
                else:
                    others.append(total)
                    point = method.moved(state, total, scale)
                if t < rest:
                    points.append(point)
                state = Fit(point, state.points, first_sum, state.others, state.sites)
            numbers = np.concatenate(
                [*points, first_sum, *others, np.full(method.only_rounds, float(SITES))]
            )
            found = method.estimate(numbers, contract)
            d = len(EFFECTS)
            privacy = np.sqrt(np.diag(found.privacy)[:d])
            errors = np.sqrt(np.diag(found.sampling)[:d] + privacy**2)
            apart = found.values[:d] - EFFECTS
            printed = found.curvature <= CURVATURE and found.moved <= found.allowed
            rows.append((apart, errors, privacy, np.abs(apart) < 1.96 * errors, printed))
        return Replicates(*(np.array(each) for each in zip(*rows, strict=True)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=200)
    given = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for epsilon in EPSILONS:
        for size in NUMBERS:
            found = replicates(size, epsilon, given.draws)
            shown = found.printed
            rows.append(
                {
                    "epsilon": epsilon or "none",
                    "records": size,
                    "error": f"{np.sqrt(np.mean(found.apart**2)):.4f}",
                    "standard error": f"{np.sqrt(np.mean(found.errors**2)):.4f}",
                    "of it noise": f"{np.sqrt(np.mean(found.privacy**2)):.4f}",
                    "printed": f"{shown.mean():.2f}",
                    "coverage of these": f"{found.held[shown].mean():.3f}" if shown.any() else "",
                    "of all": f"{found.held.mean():.3f}",
                }
            )
            print(rows[-1], flush=True)
    print(pd.DataFrame(rows).to_string(index=False))


if __name__ == "__main__":
    main()
