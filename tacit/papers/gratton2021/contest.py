"""Choosing a method's setting on some data sets, and measuring it on others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

import tacit
from tacit._engine.result import Result
from tacit._engine.runner import Simulation
from tacit.method.phase import AbstractMethod
from tacit.network.base import AbstractNetwork
from tacit.papers.gratton2021.contenders import Setting
from tacit.problem.problem import Problem

LAST = 20
"""Number of final rounds whose mean error is compared."""

VALIDATION_TRIALS = 2


@dataclass(frozen=True)
class Contest:
    """The conditions under which all settings of a method are run.

    Attributes:
        problem: function from a data set's number to the problem.
        network: network of the agents.
        validation: numbers of the data sets on which a setting is chosen.
        data: numbers of the data sets reported on.
        seed: seed of the methods' noise.
        trials: number of trials per data set.
        rounds: number of rounds of each run.
        last: number of final rounds whose mean error counts.
        require: required status of the guarantee.
    """

    problem: Callable[[int], Any]
    network: AbstractNetwork
    validation: Sequence[int]
    data: Sequence[int]
    seed: int
    trials: int
    rounds: int
    last: int = LAST
    require: Literal["proved"] | None = None

    def __call__(
        self, settings: Sequence[Setting], method: Callable[[Setting], Any]
    ) -> dict[str, Any]:
        """The best setting on the validation data, run on the others.

        Returns:
            `chosen`, `tuning` (the error of every setting on the validation data), `rounds`,
            `errors` (one row per recorded round, one column per run), `final` (one per run),
            `evaluations` (of all agents, at the recorded rounds).
        """
        tasks = {number: self.problem(number) for number in (*self.validation, *self.data)}
        optima = {number: task.reference().solution for number, task in tasks.items()}

        def measured(setting: Setting, number: int, seed: int, trials: int) -> Result:
            return measure(
                tasks[number],
                self.network,
                method(setting),
                optima[number],
                rounds=self.rounds,
                seed=seed,
                trials=trials,
                require=self.require,
            )

        def score(setting: Setting) -> float:
            results = [
                measured(setting, number, 0, VALIDATION_TRIALS) for number in self.validation
            ]
            return float(np.mean([final(result, self.last) for result in results]))

        tuning = [score(setting) for setting in settings]
        chosen = settings[int(np.nanargmin(tuning))]
        results = [measured(chosen, number, self.seed, self.trials) for number in self.data]
        each = [errors(result) for result in results]
        return {
            "chosen": dict(chosen),
            "tuning": tuning,
            "rounds": each[0]["rounds"],
            "errors": np.concatenate([one["errors"] for one in each], axis=1).tolist(),
            "final": [error for result in results for error in final(result, self.last)],
            "evaluations": results[0].history.evaluations.tolist(),
        }


def measure(
    task: Problem,
    network: AbstractNetwork,
    method: AbstractMethod,
    optimum: Float[np.ndarray, " p"],
    *,
    rounds: int,
    seed: int,
    trials: int,
    require: Literal["proved"] | None = None,
) -> Result:
    """A run with its distance to the optimum about 100 times, and in the first and last rounds."""
    every = max(2, rounds // 100)
    first, last = range(1, min(10, rounds) + 1), range(max(1, rounds - LAST + 1), rounds + 1)
    shown = {*first, *range(every, rounds, every), *last}
    return tacit.run(
        task,
        network,
        method,
        rounds=rounds,
        seed=seed,
        runtime=Simulation(trials=trials),
        record=sorted(shown),
        reference=optimum,
        require=require,
    )


def errors(result: Result) -> dict[str, Any]:
    """`rounds` and `errors`: one row per recorded round, one column per trial."""
    history = result.history
    return {
        "rounds": history.rounds.tolist(),
        "errors": np.asarray(history.measured["distance"]).tolist(),
    }


def final(result: Result, last: int) -> list[float]:
    """The mean error of the last rounds, one per trial."""
    return np.asarray(result.history.measured["distance"])[-last:].mean(axis=0).tolist()
