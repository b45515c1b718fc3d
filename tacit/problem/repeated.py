"""A look at black boxes before a run: for chance that is not declared, and for records that mix."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from tacit.errors import ProblemError
from tacit.problem.answers import ROUNDING, difference
from tacit.problem.boxes import BlackBox, CostBox, RecordBox, computed

_ASIDE = 1e-3
"""How far from the start losses of records are looked at, as a share of it."""


def check_repeats(objectives: Any, start: Float[np.ndarray, " p"]) -> None:
    """Refuse black boxes that give two values at one point without being declared stochastic.

    One agent is asked twice, or every agent where each has code of its own; with two workers or
    more at the same time. Losses of records are also looked at for a part that other records have
    in them. These evaluations count nowhere and are not stored.

    Args:
        objectives: objectives of all agents, black boxes or not.
        start: starting point, shape `(p,)`.

    Raises:
        ProblemError: two values that differ by more than rounding, or a record's loss that changes
            with other records.
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
            told = f"the black box of {objectives.host.who(agent)} {told} at the start"
            if isinstance(objectives, CostBox):
                raise ProblemError(
                    f"stochastic=False: {told}, and is not declared random; write stochastic=True "
                    "(in a study stochastic = true), and choose the step of its differences by "
                    "problem.measure_noise; or let it take a fixed seed, and change no data that "
                    "the next call uses"
                )
            raise ProblemError(
                f"{told}, and is not declared random; draw random numbers from a seed of each "
                "record's own, and change none"
            )
    if isinstance(objectives, RecordBox):
        _look_at_others(objectives, start)


def _look_at_others(objectives: RecordBox, start: Float[np.ndarray, " p"]) -> None:
    """Refuse losses that change where other records do.

    The first half of an agent's records is asked for twice: with the others, and with copies of
    itself in their place, so that the number of records stays the same.
    """
    counts = np.sum(objectives.mask, axis=1)
    agent = int(np.argmax(counts))
    n, half = int(counts[agent]), int(counts[agent] + 1) // 2
    own = objectives.host.own(agent)
    try:
        changed = jax.tree.map(lambda leaf: getattr(leaf, "iloc", leaf)[np.arange(n) % half], own)
    except Exception:  # of a kind of table whose records cannot be chosen like that
        return
    host = objectives.host.beside((own, changed), (n, n))
    # at 0 a linear model gives all records one loss; towards 0 a point stays in most sets
    point = np.where(start == 0.0, _ASIDE, (1.0 - _ASIDE) * start)
    values = host.evaluate(point[None], np.arange(2))[:, :half]
    known = np.isfinite(values).all(axis=0)
    largest = np.max(np.abs(values[:, known]), initial=0.0)
    if np.any(np.abs(values[0] - values[1])[known] > ROUNDING * largest):
        raise ProblemError(
            f"the black box of {objectives.host.who(agent)} gives a record another loss when other "
            "records change, and what is guaranteed for a record assumes that it does not; compute "
            "the loss of each from that record and x alone, with public numbers in the place of "
            "means and scales"
        )
