"""A whole run in this process, with seeded noise: the loop of `tacit.run` and of every sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from tacit._engine import batched
from tacit._engine.exact import ExactEngine
from tacit._engine.loop import Engine, Progress, drive
from tacit._engine.measures import ANSWERS, solutions
from tacit._engine.metrics import Metered, Metric
from tacit._engine.mistakes import nothing_kept
from tacit._engine.plan import Plan
from tacit.problem.boxes import computed
from tacit.types import State


@dataclass(frozen=True)
class Simulated:
    """The outcome of a run.

    Attributes:
        answers: every agent's answer in every trial, shape `(trials, agents, p)`; for a trial that
            diverged, the last one before it did.
        rounds: rounds after which measurements were taken, starting from 0.
        measured: measurements at them, each of shape `(rows, trials)`.
        diverged: first round after which a trial had diverged, or -1; shape `(trials,)`.
        kept: answers at them, shape `(rows, trials, agents, p)`, if they were kept.
    """

    answers: Float[np.ndarray, "trials agents p"]
    rounds: Int[np.ndarray, " rows"]
    measured: dict[str, Float[np.ndarray, "rows trials"]]
    diverged: Int[np.ndarray, " trials"]
    kept: Float[np.ndarray, "rows trials agents p"] | None = None


def simulate(
    plan: Plan,
    roots: Key[Array, " trials"],
    *,
    rounds: int,
    record: Sequence[int],
    exact: bool = False,
    identity: str = "",
    seed: int | None = None,
    path: Path | None = None,
    progress: Progress | None = None,
    metrics: Mapping[str, Metric] = MappingProxyType({}),
    keep: bool = False,
) -> Simulated:
    """Run all rounds of all trials.

    Args:
        plan: the run.
        roots: root keys, one per trial.
        rounds: number of rounds.
        record: rounds after which to measure, ascending, ending with `rounds`.
        exact: whether to run agent by agent through bytes, instead of batched.
        identity: fingerprint of the run, for the checkpoint.
        seed: seed of the run, for the checkpoint.
        path: checkpoint file, written every few seconds and read first if it exists.
        progress: callback that receives the progress of the run.
        metrics: the user's metrics by name; they and `keep` need a plan that keeps answers.
        keep: whether to return the answers at all recorded rounds.

    Raises:
        TacitError: an exception of a host function, such as a black box or a projection.
        ConfigError: a function of the method keeps a value where another one finds it, or a metric
            raised an exception, or returned something that is not one number.
    """
    engine: Engine = _Watched(ExactEngine(plan, roots) if exact else _Batched(plan, roots), plan)
    with nothing_kept(plan.method):
        trace = drive(
            Metered(engine, metrics, keep) if plan.keep else engine,
            rounds=rounds,
            record=record,
            identity=identity,
            seed=seed,
            path=path,
            progress=progress,
        )
        answers = np.asarray(_solutions(plan, trace.states))
    measured = dict(trace.measured)
    kept = measured.pop(ANSWERS, None)
    for name in metrics:  # a trial that has diverged is repeated from its last finite state
        gone = (trace.diverged >= 0) & (trace.rounds[:, None] >= trace.diverged)
        measured[name] = np.where(gone, np.nan, measured[name])
    return Simulated(answers, trace.rounds, measured, trace.diverged, kept)


@dataclass(frozen=True)
class _Batched:
    """The batched simulation as an engine."""

    plan: Plan
    roots: Any

    def start(self) -> Any:
        return batched.start(self.plan, self.roots)

    def advance(self, states: State, bounds: Any) -> Any:
        states, measured = batched.advance(self.plan, self.roots, states, jnp.asarray(bounds))
        return states, {name: np.asarray(value) for name, value in measured.items()}


@dataclass(frozen=True)
class _Watched:
    """An engine that Ctrl-C ends while black boxes are slow, and that raises their errors."""

    engine: Engine
    plan: Plan

    def start(self) -> Any:
        return computed(self.engine.start, self.plan.objectives)

    def advance(self, states: State, bounds: Any) -> Any:
        return computed(lambda: self.engine.advance(states, bounds), self.plan.objectives)


@eqx.filter_jit
def _solutions(plan: Plan, states: State) -> Any:
    return jax.vmap(lambda one: solutions(plan, one))(states)
