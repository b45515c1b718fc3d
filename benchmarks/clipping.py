"""What clipping record by record costs: factorised, against every gradient by itself.

    python benchmarks/clipping.py [--repeats 5] [--records 20000] [--large]

A linear loss has gradients that are outer products of slope and row; their norms are products and
none is ever stored. The comparison is `vmap(grad)` of the same loss, each gradient stored, clipped
and summed, and the plain gradient without any clip. CPU time of the process beside wall-clock time,
since a busy machine spoils only the latter. With --large instead: softmax regression on 60,000
records of 784 features in 10 classes in float32, beside two bare matrix products over all records
at once, the least of the runs.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tacit.clipping import clipped
from tacit.problem import EmpiricalRisk, Logistic, Softmax, Squared

CLIP = 0.5


def median_seconds(call: Callable[[], Any], repeats: int) -> tuple[float, float]:
    """Median wall-clock and CPU time of a call, after one that compiles."""
    jax.block_until_ready(call())
    wall, busy = [], []
    for _ in range(repeats):
        began, spent = time.perf_counter(), time.process_time()
        jax.block_until_ready(call())
        wall.append(time.perf_counter() - began)
        busy.append(time.process_time() - spent)
    return statistics.median(wall), statistics.median(busy)


def by_itself(loss: Any, risk: EmpiricalRisk, order: float) -> Callable[[Any], Any]:
    """Every record's gradient by automatic differentiation, stored, clipped and summed."""

    def one(x: Any, row: Any, target: Any) -> Any:
        weights = loss.weights(x, row.shape[0])
        return loss.value((row @ weights)[None], target[None])[0]

    def total(x: Any) -> Any:
        rows, targets = jnp.asarray(risk.features), jnp.asarray(risk.targets)
        gradients = jax.vmap(jax.grad(one), in_axes=(None, 0, 0))(x, rows, targets)
        return jnp.sum(clipped(gradients, CLIP, order), axis=0) / risk.normaliser

    return jax.jit(total)


def measure(loss: Any, records: int, features: int, order: float, repeats: int) -> None:
    generator = np.random.default_rng(0)
    classes = loss.classes if isinstance(loss, Softmax) else 2
    risk = EmpiricalRisk(
        normaliser=np.float64(records),
        features=generator.standard_normal((records, features)),
        targets=generator.integers(0, classes, records).astype(np.float64),
        mask=np.ones(records),
        loss=loss,
    )
    x = jnp.asarray(0.1 * generator.standard_normal(loss.dimension(features)))
    ways = {
        "factorised": jax.jit(lambda x: risk.clipped_gradient(x, CLIP, order, None)),
        "vmap(grad)": by_itself(loss, risk, order),
        "unclipped": jax.jit(lambda x: risk.gradient(x)),
    }
    answers = {name: np.asarray(way(x)) for name, way in ways.items()}
    apart = np.max(np.abs(answers["factorised"] - answers["vmap(grad)"]))
    times = {name: median_seconds(lambda way=way: way(x), repeats) for name, way in ways.items()}
    shown = ", ".join(
        f"{name} {wall * 1e3:.2f} ms ({busy * 1e3:.2f} CPU)" for name, (wall, busy) in times.items()
    )
    wall, busy = (times["vmap(grad)"][i] / times["factorised"][i] for i in (0, 1))
    print(
        f"{type(loss).__name__} {records} x {features}, l{order}: {shown}; "
        f"{wall:.1f} times faster ({busy:.1f} in CPU time), answers {apart:.0e} apart",
        flush=True,
    )


def measure_large(repeats: int) -> None:
    rng = np.random.default_rng(0)
    risk = EmpiricalRisk(
        normaliser=np.float64(60_000),
        features=rng.integers(0, 256, (60_000, 784)) / 255.0,
        targets=rng.integers(0, 10, 60_000).astype(np.float64),
        mask=np.ones(60_000),
        loss=Softmax(10),
    )
    risk = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float32), risk)
    x = jnp.asarray(0.1 * rng.standard_normal(7840), jnp.float32)
    clipped = jax.jit(lambda risk, x: risk.clipped_gradient(x, CLIP, 2, None))
    bare = jax.jit(lambda rows, w: rows.T @ (rows @ w))
    rows, weights = jnp.asarray(risk.features), x.reshape(784, 10)
    for name, call in (
        ("clipped gradient", lambda: clipped(risk, x)),
        ("two bare products", lambda: bare(rows, weights)),
    ):
        jax.block_until_ready(call())
        wall, busy = [], []
        for _ in range(repeats):
            began, spent = time.perf_counter(), time.process_time()
            jax.block_until_ready(call())
            wall.append(time.perf_counter() - began)
            busy.append(time.process_time() - spent)
        print(f"{name}: {min(wall) * 1e3:.1f} ms ({min(busy) * 1e3:.1f} CPU)", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--records", type=int, default=20_000)
    parser.add_argument("--large", action="store_true")
    chosen = parser.parse_args()
    if chosen.large:
        measure_large(chosen.repeats)
        return
    with jax.enable_x64(True):
        for loss in (Squared(), Logistic(), Softmax(10)):
            for order in (1, 2, np.inf):
                measure(loss, chosen.records, 50, order, chosen.repeats)


if __name__ == "__main__":
    main()
