"""The objective at the start and at the answer, where a run does not measure it on its way.

It looks at every agent's private objective without noise: for simulations only.
"""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float

from tacit.errors import OracleError
from tacit.problem.boxes import BlackBox
from tacit.problem.constraint import Box
from tacit.problem.problem import Problem
from tacit.problem.task import Task

_ACROSS = (0.125, 0.25, 0.5, 0.75, 0.875)
"""Shares of the way across the box at which the objective is tried."""

_AT_BOUND = 1e-9
"""How near a bound a coordinate is at it, in units of the width of the box."""


def ends(task: Task, answer: Float[np.ndarray, " p"]) -> tuple[float, float] | None:
    """The objective of black boxes at the start and at an answer; NaN where an evaluation failed.

    Every agent is evaluated twice, or found in the cache, by the workers that there are. `None` for
    other objectives, which a run measures on its way.

    Args:
        task: task of the run.
        answer: mean answer of all agents, shape `(p,)`.
    """
    if not isinstance(task, Problem) or not isinstance(task.objectives, BlackBox):
        return None
    return value_at(task, task.start()), value_at(task, answer)


def inwards(task: Task, answer: Float[np.ndarray, " p"]) -> float | None:
    """The lowest objective further inside a box than an answer that is on its bounds.

    Those coordinates that are at a bound are moved towards the other one, and only those, so that
    noise in the others does not count. `None` where none is, and for black boxes, which would be
    evaluated.

    Args:
        task: task of the run.
        answer: mean answer of all agents, shape `(p,)`.
    """
    if not isinstance(task, Problem) or isinstance(task.objectives, BlackBox):
        return None
    if not isinstance(task.constraint, Box):
        return None
    lower, upper = np.asarray(task.constraint.lower), np.asarray(task.constraint.upper)
    width = upper - lower
    low, high = answer <= lower + _AT_BOUND * width, answer >= upper - _AT_BOUND * width
    way = np.where(np.isfinite(width), np.where(low, width, np.where(high, -width, 0.0)), 0.0)
    if not np.any(way):
        return None
    return min(value_at(task, answer + share * way) for share in _ACROSS)


def value_at(problem: Problem, x: Float[np.ndarray, " p"]) -> float:
    """The objective at a point; NaN where an evaluation failed, or somebody stopped waiting for it.

    The run itself is over and paid for, so its result must not be lost here.
    """
    try:
        return problem.value(x)
    except (OracleError, KeyboardInterrupt):
        return math.nan
