"""Measurements during a run, and the history that they form.

All of it is computed for the experimenter: the objective's value, and distances to the centralised
solution, look at every agent's private objective. They are marked *simulation only* wherever they
are shown; a deployment has none of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from tacit._engine.mistakes import solved
from tacit.types import Role

if TYPE_CHECKING:
    import pandas as pd

DIVERGENCE = 1e6
"""How far an answer may move by default before it counts as diverged."""

MEASURED = ("bounded", "consensus", "distance", "objective", "answers")
"""Everything that is measured, as far as it is known."""

ANSWERS = "answers"
"""The answers of all agents, which are measured where somebody asks for them."""

_SHOWN = 10
"""Rows of a history that a notebook shows, half of them from its end."""

_SEES_OBJECTIVES = ("objective", "distance")
"""Measurements that see private objectives."""


def solutions(plan: Any, states: Any) -> Float[Array, "agents p"]:
    """Every agent's current answer; with a coordinator, the one that it holds for all."""
    if Role.SERVER in states:
        answer = jnp.asarray(solved(plan.method, states[Role.SERVER], plan.x0))
        return jnp.broadcast_to(answer, (plan.agents, *answer.shape))
    return jax.vmap(lambda state: solved(plan.method, state, plan.x0))(states[plan.sender_role])


def within(plan: Any, answers: Float[Array, "*agents p"]) -> Bool[Array, ""]:
    """Whether the answers are in the range of a run that has not diverged."""
    return jnp.all(jnp.abs(answers - plan.x0) <= plan.divergence)


def measure(plan: Any, states: Any) -> dict[str, Array]:
    """Measurements of one trial at one time.

    * `bounded`: whether every number of every agent is finite, and no coordinate of an answer has
      moved further than `plan.divergence` from its start;
    * `consensus`: root mean square distance of the agents from their mean;
    * `distance`: `sum_k ||x_k - x*||^2 / ||x*||^2`, if a reference is known (answering 0 scores
      `K`);
    * `objective`: `sum_k f_k + R` at the mean of the answers, if watched;
    * `answers`: the answers themselves, shape `(agents, p)`, if kept.
    """
    answers = solutions(plan, states)
    mean = jnp.mean(answers, axis=0)
    apart = answers - answers[0]  # exactly 0 where all are equal, which no mean of them is for sure
    leaves = [leaf for leaf in jax.tree.leaves(states) if jnp.issubdtype(leaf.dtype, jnp.inexact)]
    bounded = within(plan, answers)
    for leaf in leaves:
        bounded = bounded & jnp.all(jnp.isfinite(leaf))
    measured = {
        "bounded": bounded,
        "consensus": jnp.sqrt(jnp.mean(jnp.sum((apart - jnp.mean(apart, axis=0)) ** 2, axis=1))),
    }
    if plan.reference is not None:
        scale = jnp.sum(plan.reference**2)
        measured["distance"] = jnp.sum((answers - plan.reference) ** 2) / scale
    if plan.watch:
        values = jax.vmap(lambda objective: objective.measured(mean))(plan.objectives)
        measured["objective"] = jnp.sum(values) + plan.agents * plan.public.value(mean)
    if plan.keep:
        measured[ANSWERS] = answers
    return measured


class _Measured(dict[str, Any]):
    """Measurements by name; of one that was not taken, its error says how to take it."""

    def __missing__(self, name: object) -> Any:
        ways = {
            "distance": "it needs a reference; run with reference='solve', or with a point",
            "objective": "it is watched where the problem has costs with gradients",
        }
        how = ways.get(str(name), "one of your own is given to run as metrics={name: function}")
        raise KeyError(f"{name!r} was not measured: {how}. There is {', '.join(self)}")


@dataclass(frozen=True)
class History:
    """Measurements at the recorded rounds; the first row is from before round 0.

    Attributes:
        rounds: rounds completed, shape `(rows,)`.
        measured: arrays `consensus` and, where known, `objective` and `distance`, and metrics of
            one's own, each `(rows, trials)`; such a metric is NaN once a trial has diverged.
        evaluations: number of oracle calls of all agents so far, shape `(rows,)`.
        bytes: number of bytes in all messages so far, shape `(rows,)`.
        epsilon: epsilon spent so far by each owner, shape `(rows, agents)`; infinite without
            privacy.
        metrics: names of the metrics that the user gave.
        solutions: every agent's iterate, shape `(rows, trials, agents, p)`, if they were kept.
        stationary: whether `distance` is that from a point known to be stationary only.
    """

    rounds: Int[np.ndarray, " rows"]
    measured: dict[str, Float[np.ndarray, "rows trials"]]
    evaluations: Int[np.ndarray, " rows"]
    bytes: Int[np.ndarray, " rows"]
    epsilon: Float[np.ndarray, "rows agents"]
    metrics: tuple[str, ...] = ()
    solutions: Float[np.ndarray, "rows trials agents p"] | None = None
    stationary: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "measured", _Measured(self.measured))

    @property
    def simulation_only(self) -> tuple[str, ...]:
        """Measurements that no guarantee covers: they see private objectives, or are metrics of the
        user's own, of which tacit cannot know what they read besides the iterates.
        """
        return tuple(n for n in self.measured if n in (*_SEES_OBJECTIVES, *self.metrics))

    def __repr__(self) -> str:
        last, names = int(self.rounds[-1]), ", ".join(self.measured)
        if self.stationary:
            names += "; the reference is a stationary point, the objective may be smaller elsewhere"
        return f"<History of {last} rounds, recorded {len(self.rounds)} times: {names}>"

    def _repr_html_(self) -> str:
        """The first and the last rows, at the end of a notebook cell."""
        private = ", ".join(self.simulation_only)
        said = f"<p>For simulations, and not private: {escape(private)}.</p>" if private else ""
        return self.frame().to_html(index=False, max_rows=_SHOWN) + said

    def frame(self) -> pd.DataFrame:
        """One row per (recorded round, trial), as a frame; `epsilon` is the largest owner's."""
        import pandas as pd

        trials = next(iter(self.measured.values())).shape[1]
        columns: dict[str, Any] = {
            "round": np.repeat(self.rounds, trials),
            "trial": np.tile(np.arange(trials), len(self.rounds)),
        }
        columns |= {name: value.reshape(-1) for name, value in self.measured.items()}
        columns["evaluations"] = np.repeat(self.evaluations, trials)
        columns["bytes"] = np.repeat(self.bytes, trials)
        columns["epsilon"] = np.repeat(self.epsilon.max(axis=1), trials)
        return pd.DataFrame(columns)
