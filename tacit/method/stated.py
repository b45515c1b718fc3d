"""What a method states of itself before a run, held to be what every runtime reads."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.arguments.answers import answer, array_of, number
from tacit.method.phase import AbstractMethod, phases_of
from tacit.network.base import AbstractNetwork
from tacit.problem.task import Task
from tacit.types import Unit


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
    """Let a method refuse a problem or a network, and hold what it and its queries state.

    Raises:
        ConfigError: `check` takes other arguments, or something else than a unit, a name for every
            number of the start, a size, a number of evaluations or a list of assumptions.
        TacitError: what the method refuses.
    """
    _ask(method, "check", problem, network, takes="problem, network")
    _ask(method, "protects", problem, takes="problem", fits=_unit)
    names = len(start_of(method, problem))
    _ask(method, "numbers", problem, takes="task", fits=lambda value: _texts(value, names))
    for phase in phases_of(method):
        if phase.query is None or phase.release is None:
            continue
        for part in ("size", "evaluations"):
            fits = number("give a whole number", zero=part == "evaluations", whole=True)
            _ask(phase.query, part, problem.dimension, takes="dimension", fits=fits)
        _ask(phase.query, "assumes", phase.release.relation, takes="relation", fits=_texts)


def _ask(of: Any, part: str, *given: Any, takes: str, fits: Any = lambda value: "") -> Any:
    named = f"{type(of).__name__}.{part}"
    return answer(getattr(of, part), *given, named=named, takes=takes, fits=fits, public=True)


def _unit(value: Any) -> str:
    return "" if isinstance(value, Unit) else "give a tacit.types.Unit"


def _texts(value: Any, count: int | None = None) -> str:
    several = isinstance(value, tuple | list) and all(isinstance(each, str) for each in value)
    if several and count in (None, len(value)):
        return ""
    return "give a tuple of texts" + ("" if count is None else f", {count} as start has numbers")


def _method(value: Any) -> str:
    return "" if isinstance(value, AbstractMethod) else "return a method: `self` if nothing changes"
