"""A look for chance in black boxes that are declared to have none: the start, evaluated twice."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from tacit.errors import ProblemError
from tacit.problem.boxes import BlackBox, CostBox, computed

_ROUNDING = 1e-9
"""Largest relative difference that is taken for rounding, as of sums whose order changes."""


def check_repeats(objectives: Any, start: Float[np.ndarray, " p"]) -> None:
    """Refuse black boxes that give two values at one point without being declared stochastic.

    One agent is asked twice, or every agent where each has code of its own; with two workers or
    more at the same time. These evaluations count nowhere and are not stored.

    Args:
        objectives: objectives of all agents, black boxes or not.
        start: starting point, shape `(p,)`.

    Raises:
        ProblemError: two values that differ by more than rounding.
        OracleError: an evaluation that failed.
    """
    if not isinstance(objectives, BlackBox) or objectives.host.evaluation.stochastic:
        return
    agents = objectives.host.evaluation.different or (0,)
    twice = computed(lambda: objectives.host.twice(start, agents), objectives)
    for agent, (first, second) in twice.items():
        if told := difference(first, second):
            raise ProblemError(
                f"the black box of agent {agent} {told} at the start, and is not declared random; "
                + (
                    "write stochastic=True (in a study stochastic = true), and choose the step of "
                    "its differences by problem.measure_noise; or let it take a fixed seed"
                    if isinstance(objectives, CostBox)
                    else "draw random numbers from a seed of each record's own"
                )
            )


def difference(first: np.ndarray, second: np.ndarray) -> str:
    """How two answers at one point differ, after "the black box"; empty if they agree.

    Args:
        first: values of the first evaluation.
        second: values of the second one.
    """
    known = np.isfinite(first) & np.isfinite(second)
    apart = np.abs(first - second) > _ROUNDING * np.maximum(np.abs(first), np.abs(second))
    wrong = np.flatnonzero(known & apart)
    if not wrong.size:
        return ""
    return f"answered {first[wrong[0]]:.10g} and then {second[wrong[0]]:.10g}"
