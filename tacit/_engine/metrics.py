"""Metrics of a user's own along a run, computed on the host from the agents' answers.

A metric is given the iterates and nothing else. What it reads besides, such as records that it
closes over, tacit cannot see, so it is marked *simulation only* like every measurement that looks
at private objectives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Bool, Float, Int

from tacit import checks
from tacit._engine.loop import Engine
from tacit._engine.measures import ANSWERS, MEASURED
from tacit.errors import ConfigError, TacitError
from tacit.types import State

Metric: TypeAlias = Callable[[Float[np.ndarray, "agents p"]], float]
"""A function of the answers of all agents in one trial that returns a number."""

_TAKEN = {"round", "trial", *MEASURED, "evaluations", "bytes", "epsilon"}
"""Columns that a history has already."""

_MOST_BYTES = 8 << 30
"""More iterates would not fit in most memories."""


def named(metrics: object) -> dict[str, Metric]:
    """The metrics of a run by name.

    Raises:
        ConfigError: not a mapping from new names to functions.
    """
    if metrics is None:
        return {}
    if not isinstance(metrics, Mapping):
        raise ConfigError(
            f"metrics is {checks.shown(metrics)}; give names with functions of the answers, such "
            "as metrics={'norm': np.linalg.norm}"
        )
    for name, metric in metrics.items():
        if not isinstance(name, str) or not name or name in _TAKEN:
            why = "the history has such a column already" if name in _TAKEN else "it is no name"
            raise ConfigError(f"metrics: {checks.shown(name)} cannot be a metric: {why}; rename it")
        if not callable(metric) or isinstance(metric, type):
            raise ConfigError(
                f"metrics[{name!r}] is {checks.shown(metric)}; give a function of the answers "
                "(agents, p) that returns a number"
            )
    return dict(metrics)


def check_size(rows: int, trials: int, agents: int, numbers: int) -> None:
    """Refuse to keep more iterates than fit in memory.

    Raises:
        ConfigError: too many; the message says how many would do.
    """
    one = 8 * trials * agents * numbers
    if rows * one > _MOST_BYTES:
        raise ConfigError(
            f"keep=True: {rows:,} records of {trials:,} x {agents:,} x {numbers:,} numbers take "
            f"{rows * one / 2**30:,.0f} GB, and at most {_MOST_BYTES >> 30} GB are kept; record at "
            f"most {max(0, _MOST_BYTES // one - 1):,} times"
        )


def value_of(name: str, metric: Metric, answers: Float[np.ndarray, "agents p"]) -> float:
    """A metric's value.

    Raises:
        ConfigError: it raised an exception, or returned something that is not one number.
    """
    answers = answers.view()
    answers.flags.writeable = False
    try:
        value: Any = metric(answers)
        number = np.asarray(value)
    except TacitError:
        raise
    except Exception as error:  # any exception of a user's code
        raise ConfigError(
            f"metrics[{name!r}] raised {type(error).__name__} ({error}); it is given the answers "
            f"of all agents, here an array of shape {answers.shape}, and returns one number"
        ) from error
    if number.size != 1 or number.dtype.kind not in "biuf":  # None would become NaN
        raise ConfigError(
            f"metrics[{name!r}] returned {checks.shown(value)} for answers of shape "
            f"{answers.shape}; return one number"
        )
    return float(number.reshape(()))


@dataclass(frozen=True)
class Metered:
    """An engine that adds a user's metrics to what is measured.

    Attributes:
        engine: the engine, which measures the answers.
        metrics: functions by name.
        keep: whether the answers stay among what is measured.
    """

    engine: Engine
    metrics: Mapping[str, Metric]
    keep: bool

    def start(self) -> Any:
        """States of all trials before round 0."""
        return self.engine.start()

    def advance(
        self, states: State, bounds: Int[np.ndarray, "stops 2"]
    ) -> tuple[Any, dict[str, np.ndarray]]:
        """Run through the intervals and measure after each."""
        states, measured = self.engine.advance(states, bounds)
        answers, bounded = np.asarray(measured.pop(ANSWERS)), np.asarray(measured["bounded"])
        fresh = [i == 0 or first < last for i, (first, last) in enumerate(bounds)]
        for name in self.metrics:
            measured[name] = self._values(name, answers, bounded.astype(bool), fresh)
        if self.keep:
            measured[ANSWERS] = answers
        return states, measured

    def _values(
        self,
        name: str,
        answers: Float[np.ndarray, "stops trials agents p"],
        bounded: Bool[np.ndarray, "stops trials"],
        fresh: list[bool],
    ) -> Float[np.ndarray, "stops trials"]:
        """Values after each interval; an empty interval repeats the one before it."""
        metric, found = self.metrics[name], np.full(bounded.shape, np.nan)
        for i, new in enumerate(fresh):
            if not new:
                found[i] = found[i - 1]
                continue
            for trial in np.flatnonzero(bounded[i]):
                found[i, trial] = value_of(name, metric, answers[i, trial])
        return found
