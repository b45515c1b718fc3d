"""The front-door matrix: every method on everything that a run can be made of, and what is refused.

A cell is a method with a loss, a regulariser, a set, a network and a way to run. Each of the values
that a method accepts beside plain ones (the other four) is in one of its cells at least; the values
are combined in a rotation, so that over the methods most pairs of them meet. A combination that is
refused is refused by a `TacitError` before anything is compiled.

    python -m tests.front_door          runs all cells and prints the counts (long)
    python -m tests.front_door pairs    prints the cells of front_door_pairs.txt (minutes)
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import networkx as nx
import numpy as np

import tacit
from tacit import network, problem
from tacit._engine.compiled import lay_out
from tacit._engine.contract import contract
from tacit._engine.inputs import check_arguments
from tacit.errors import TacitError
from tacit.method.stated import prepared
from tacit.problem.constraint import Affine, Ball, Box, ConvexSet, Free, Polyhedron, Simplex
from tacit.problem.regularisers import L1, L2, ElasticNet, GroupL1, NoRegulariser
from tests.conformance.table import AGENTS, FEATURES, FITTED, ROWS, Row
from tests.conformance.table import PLAIN as PLAIN_ROWS
from tests.matrix import Pair, cells, choices, covering, forget_programs, one

RECORDS = 6
ROUNDS = 3
SEED = 3


def _squared_distance(x: Any, record: Any, target: Any) -> Any:
    return (record @ x - target) ** 2 / 2.0


def _bowl(x: Any, centre: Any) -> Any:
    return jnp.sum((x - centre) ** 2) / 10.0


def _box_value(x: np.ndarray, agent: int) -> float:
    return float(np.sum((x - 0.1 * agent) ** 2)) / 10.0


def _in_ball(x: Any) -> Any:
    import cvxpy as cp

    return [cp.norm(x, 2) <= 1.0]


LOSSES: dict[str, Any] = {
    "logistic": problem.Logistic(),
    "squared": problem.Squared(),
    "softmax": problem.Softmax(3),
    "hinge": problem.Hinge(),
    "huber": problem.Huber(1.0),
    "quantile": problem.Quantile(0.5),
    "poisson": problem.Poisson(),
    "a loss in JAX": problem.JaxLoss(_squared_distance, FEATURES),
    "whole costs": None,
    "a black box": None,
}
REGULARISERS: dict[str, Callable[[int], Any]] = {
    "none": lambda size: NoRegulariser(),
    "l2": lambda size: L2(0.01),
    "l1": lambda size: L1(0.01),
    "elastic net": lambda size: ElasticNet(0.01, 0.01),
    "groups": lambda size: GroupL1(0.01, tuple(i % 2 for i in range(size))),
}
SETS: dict[str, Callable[[int], Any]] = {
    "free": lambda size: Free(),
    "box": lambda size: Box(-1.0, 1.0),
    "ball": lambda size: Ball(1.0),
    "simplex": lambda size: Simplex(),
    "affine": lambda size: Affine(np.ones((1, size)), np.zeros(1)),
    "polyhedron": lambda size: Polyhedron(np.ones((1, size)), np.ones(1)),
    "convex set": lambda size: ConvexSet(_in_ball),
}
_COMPLETE = network.complete(AGENTS)
NETWORKS: dict[str, Any] = {
    "ring": network.ring(AGENTS),
    "complete": _COMPLETE,
    "star": network.star(AGENTS),
    "directed": network.Graph.from_networkx(nx.cycle_graph(AGENTS, create_using=nx.DiGraph)),
    "links fail": network.LinkFailure(_COMPLETE, 0.3),
    "agents sleep": network.RandomActivation(_COMPLETE, 0.6),
    "periodic": network.Periodic(
        [nx.Graph([(0, 1), (2, 3)]), nx.Graph([(1, 2), (3, 0)])], connected=2
    ),
    "coordinator": network.Coordinator(AGENTS),
    "coordinator, clients drawn": network.Coordinator(AGENTS, probability=0.5),
    "coordinator, clients missing": network.Coordinator(AGENTS, dropout=0.1),
    "exact sums": network.ExactSum(network.ring(AGENTS)),
}
RUNTIMES: dict[str, tacit.Simulation] = {
    "batched": tacit.Simulation(trials=2),
    "exact": tacit.Simulation(exact=True),
    "float32": tacit.Simulation(precision="float32"),
}
PLAIN = {
    "loss": "logistic",
    "regulariser": "none",
    "set": "free",
    "network": "ring",
    "runtime": "batched",
}
VALUES: dict[str, list[str]] = {
    "loss": list(LOSSES),
    "regulariser": list(REGULARISERS),
    "set": list(SETS),
    "network": list(NETWORKS),
    "runtime": list(RUNTIMES),
}


@dataclass(frozen=True)
class Cell:
    """A method and what it is run on, by name."""

    row: Row
    loss: str
    regulariser: str
    set: str
    network: str
    runtime: str

    def __str__(self) -> str:
        parts = (self.loss, self.regulariser, self.set, self.network, self.runtime)
        return f"{self.row.name} | {' | '.join(parts)}"


@cache
def posed(loss: str, regulariser: str, convex: str) -> Any:
    """The problem of a cell."""
    rng = np.random.default_rng(SEED)
    size = 3 * FEATURES if loss == "softmax" else FEATURES
    public = {"regulariser": REGULARISERS[regulariser](size), "constraint": SETS[convex](size)}
    start = np.full(size, 1.0 / size) if convex == "simplex" else np.zeros(size)
    if loss == "whole costs":
        centres = rng.uniform(-1, 1, (AGENTS, size))
        return problem.costs(_bowl, centres, start, convex=True, **public)
    if loss == "a black box":
        return problem.black_box_problem(_box_value, AGENTS, start, **public)
    rows = [rng.uniform(-1, 1, (RECORDS, FEATURES)) for _ in range(AGENTS)]
    levels = {"logistic": 2, "hinge": 2, "softmax": 3, "poisson": 4}.get(loss)
    answers = [
        rng.normal(size=RECORDS)
        if levels is None
        else rng.integers(0, levels, RECORDS).astype(float)
        for _ in range(AGENTS)
    ]
    # a declared normaliser, for budgets in which a record comes or goes
    built = problem.empirical_risk(rows, answers, LOSSES[loss], normaliser=8.0, **public)
    return replace(built, x0=start)


def refusal(cell: Cell) -> str | None:
    """Why a cell is refused, before anything is compiled; `None` where it is accepted."""
    runtime = RUNTIMES[cell.runtime]
    try:
        task, where = posed(cell.loss, cell.regulariser, cell.set), NETWORKS[cell.network]
        method = cell.row.method
        check_arguments(task, where, method, ROUNDS, SEED, runtime.trials, runtime.precision)
        agreed = contract(
            task,
            where,
            prepared(method, task, where),
            rounds=ROUNDS,
            seed=SEED,
            trials=runtime.trials,
        )
        with jax.enable_x64(runtime.precision == "float64"):
            lay_out(agreed, task)
        list(agreed.guarantee)
    except TacitError as error:
        return str(error)
    return None


def run(cell: Cell) -> tacit.Result:
    """The cell, by the front door."""
    return tacit.run(
        posed(cell.loss, cell.regulariser, cell.set),
        NETWORKS[cell.network],
        cell.row.method,
        rounds=ROUNDS,
        seed=SEED,
        runtime=RUNTIMES[cell.runtime],
    )


def plain(row: Row) -> Cell:
    """The plainest cell of a method."""
    start = Cell(row=row, **PLAIN)
    for loss in ("logistic", "squared", "whole costs"):
        for where in ("ring", "coordinator", "complete", "exact sums"):
            for convex in ("free", "box"):
                cell = replace(start, loss=loss, network=where, set=convex)
                if refusal(cell) is None:
                    return cell
    raise AssertionError(f"{row.name}: nothing plain is accepted: {refusal(start)}")


def methods_of_all_kinds() -> list[Row]:
    """One row a method."""
    perturbed = next(row for row in ROWS if row.name == "functional perturbation, dgd")
    return [*(row for row in PLAIN_ROWS if not row.described), perturbed]


def each_once() -> list[Cell]:
    """A cell a method, in which it is on a mixture of what it accepts."""
    rows = methods_of_all_kinds()
    return [one(plain(row), VALUES, refusal, number) for number, row in enumerate(rows)]


def in_pairs() -> tuple[list[Cell], set[Pair]]:
    """More cells, so that each pair of values is in one; and the pairs that are always refused."""
    return covering(quick(), VALUES, refusal, each_once())


SLOW = {"d-zoa-solver", "functional perturbation, dgd"}
"""Methods that take several times as long as others; they are in one cell by default."""


def quick() -> list[Cell]:
    """The plain cells of the other methods."""
    return [plain(row) for row in methods_of_all_kinds() if row.name not in SLOW]


def read_pairs() -> list[Cell]:
    """The cells of front_door_pairs.txt."""
    rows = {row.name: row for row in ROWS}
    lines = Path(__file__).with_name("front_door_pairs.txt").read_text().splitlines()
    named = [line.split(" | ") for line in lines]
    return [Cell(rows[name], *parts) for name, *parts in named]


def main() -> int:
    """Run everything; print what ran, what was refused and what broke."""
    if sys.argv[1:] == ["pairs"]:
        print(*in_pairs()[0], sep="\n")
        return 0
    ran: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    broken: list[str] = []
    for number, row in enumerate(FITTED):
        refused = choices(plain(row), VALUES, refusal)[1]
        reasons.update(part for part, _ in refused)
        for cell in cells(plain(row), VALUES, refusal, number):
            try:
                result = run(cell)
                assert np.isfinite(result.solutions).all(), "not finite"
                assert result.status == "finished", result.status
            except Exception as error:
                broken.append(f"{cell}: {type(error).__name__}: {str(error)[:300]}")
                print(broken[-1], flush=True)
            else:
                ran.update([row.name])
        print(f"{row.name}: {ran[row.name]} ran, {len(refused)} values refused", flush=True)
        forget_programs()
    print(f"{ran.total()} cells of {len(ran)} methods ran, {reasons.total()} values are refused")
    print(f"refused by part: {dict(reasons)}; broken: {len(broken)}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
