"""A look for chance in black boxes that are declared to have none: the start, evaluated twice."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
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
    if _asked(objectives):
        computed(lambda: _look(objectives, start), objectives)


@contextmanager
def checked_meanwhile(problem: Any) -> Generator[Callable[[bool], None], None, None]:
    """The same while this process goes on to compile, if there are workers, which start now.

    Every other evaluation waits for these, and is not made if they differ.

    Args:
        problem: problem, of black boxes or not.

    Yields:
        A function to be called before the first round, which raises what `check_repeats` does. It
        is told whether to wait for the workers: an error has to come before a charge.
    """
    objectives = problem.objectives
    if not _asked(objectives):
        if isinstance(objectives, BlackBox):
            objectives.host.begin()
        yield lambda wait: None
        return
    start = problem.start()
    if not objectives.host.elsewhere:
        yield lambda wait: check_repeats(objectives, start)
        return
    host, began = objectives.host, threading.Event()

    def look() -> None:
        try:
            _look(objectives, start, began.set)
        except BaseException as error:
            host.fail(error)
        finally:
            began.set()

    host.begin()
    thread = threading.Thread(target=look, name="tacit check", daemon=True)

    def finish() -> None:
        computed(thread.join, objectives)

    thread.start()
    began.wait()
    try:
        yield lambda wait: finish() if wait else None
        finish()
    except BaseException:
        while thread.is_alive():
            host.interrupt()
            thread.join(0.1)
        with suppress(BaseException):
            host.raise_pending()  # the error at hand is the first
        raise


def _asked(objectives: Any) -> bool:
    return isinstance(objectives, BlackBox) and not objectives.host.evaluation.stochastic


def _look(
    objectives: BlackBox,
    start: Float[np.ndarray, " p"],
    began: Callable[[], object] = lambda: None,
) -> None:
    agents = objectives.host.evaluation.different or (0,)
    for agent, values in objectives.host.twice(start, agents, began).items():
        if told := difference(*values):
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
