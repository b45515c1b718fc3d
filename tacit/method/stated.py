"""What a method states of itself before a run, held to be what every runtime reads."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.arguments.answers import answer, array_of, number
from tacit.checks import shown
from tacit.method.phase import AbstractMethod, Phase
from tacit.network.base import AbstractNetwork
from tacit.problem.task import Task


def phases_of(method: AbstractMethod) -> tuple[Phase, ...]:
    """The table of phases.

    Raises:
        ConfigError: something else than at least one phase.
    """
    return _ask(method, "phases", takes="", fits=_phases)


def placed(method: AbstractMethod, network: AbstractNetwork) -> AbstractMethod:
    """The method with the numbers of the network that it needs.

    Raises:
        ConfigError: `on` gives something else than a method.
    """
    return _ask(method, "on", network, takes="network", fits=_method)


def prepared(method: AbstractMethod, problem: Task, network: AbstractNetwork) -> AbstractMethod:
    """The method with the values that it chooses itself.

    Raises:
        ConfigError: `prepare` gives something else than a method.
    """
    return _ask(method, "prepare", problem, network, takes="problem, network", fits=_method)


def start_of(method: AbstractMethod, task: Task) -> np.ndarray:
    """The starting point of the answers.

    Raises:
        ConfigError: `start` gives something else than a vector.
    """
    return np.asarray(_ask(method, "start", task, takes="task", fits=array_of([None])), dtype=float)


def check(method: AbstractMethod, problem: Task, network: AbstractNetwork) -> None:
    """Let a method refuse a problem or a network, and hold what its queries state to be numbers.

    Raises:
        ConfigError: `check` takes other arguments, or a query states no size or no evaluations.
        TacitError: what the method refuses.
    """
    _ask(method, "check", problem, network, takes="problem, network")
    for phase in phases_of(method):
        for part in ("size", "evaluations") if phase.query is not None else ():
            words = "give a whole number"
            fits = number(words, zero=part == "evaluations", whole=True)
            _ask(phase.query, part, problem.dimension, takes="dimension", fits=fits)


def _ask(of: Any, part: str, *given: Any, takes: str, fits: Any = lambda value: "") -> Any:
    named = f"{type(of).__name__}.{part}"
    return answer(getattr(of, part), *given, named=named, takes=takes, fits=fits, public=True)


def _phases(value: Any) -> str:
    wanted = "give a tuple of tacit.method.Phase(...), at least one"
    if not isinstance(value, tuple | list):
        return wanted
    if not value:
        return f"it is empty; {wanted}"
    bad = [each for each in value if not isinstance(each, Phase)]
    return f"{shown(bad[0])} in it is no phase; {wanted}" if bad else ""


def _method(value: Any) -> str:
    return "" if isinstance(value, AbstractMethod) else "return a method: `self` if nothing changes"
