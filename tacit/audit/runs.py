"""Many runs of a method on both of two neighbouring data sets, in batches."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from tacit._engine.compiled import lay_out
from tacit._engine.contract import Contract
from tacit._engine.keys import trial_key
from tacit._engine.plan import Plan
from tacit.audit.transcript import Likelihood, Pair, gather, observer
from tacit.method.worst_case import Neighbours
from tacit.problem.task import Task

_NUMBERS = 2**24
"""Numbers that one batch may hold at a time, roughly: 128 MB of them."""

_AT_ONCE = 1000
"""Most values that a query is taken to ask for at a time."""


class Runs:
    """What each run reveals about the data, on both sides.

    Runs are numbered; the result of a run does not depend on the batch in which it is computed.

    Args:
        agreed: contract of every run; its seed is that of all randomness.
        problem: problem whose public parts are used; the data are those of `neighbours`.
        neighbours: the two data sets.

    Attributes:
        exact: whether a run gives one number, its exact log-likelihood ratio, or features.
    """

    def __init__(self, agreed: Contract, problem: Task, neighbours: Neighbours) -> None:
        self.seed = agreed.seed
        with jax.enable_x64(True):
            plan, _ = lay_out(agreed, problem)
            pair = Pair.of(neighbours)
            self.observe = observer(plan.method, pair, agreed.rounds)
            self.exact = isinstance(self.observe, Likelihood)
            self.sides = tuple(
                eqx.tree_at(lambda p: p.objectives, plan, side, is_leaf=lambda leaf: leaf is None)
                for side in (pair.objectives, pair.others)
            )
            self.largest = max(1, _NUMBERS // max(_numbers(side) for side in self.sides))

    def batch(self, trials: int, parts: int) -> int:
        """The number of runs per side to compute at once: equal parts that fit in memory."""
        return min(self.largest, -(-trials // parts))

    def __call__(
        self, first: int, count: int
    ) -> tuple[Float[np.ndarray, "count features"], Float[np.ndarray, "count features"]]:
        """The results of `count` runs on each of D and D', from run number `first` on."""
        with jax.enable_x64(True):
            numbers = 2 * (first + jnp.arange(count))
            found = [
                gather(plan, self.observe, _roots(self.seed, numbers + side))
                for side, plan in enumerate(self.sides)
            ]
        return found[0], found[1]


def _roots(seed: int, numbers: Any) -> Any:
    return jax.vmap(lambda number: trial_key(seed, number))(numbers)


def _numbers(plan: Plan) -> int:
    """Numbers that one run holds at a time: vectors of all agents, and the queries' values."""
    dimension = len(plan.x0)
    queries = [phase.query for phase in plan.method.phases() if phase.query is not None]
    # a query that asks for thousands of values asks for them one after the other
    points = max(min(query.evaluations(dimension), _AT_ONCE) for query in queries)
    return plan.agents * (16 * dimension + points * (dimension + plan.objectives.units))
