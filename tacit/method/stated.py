"""What a method states of itself before a run, held to be what every runtime reads."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import equinox as eqx
import jax
import numpy as np

from tacit.arguments.answers import answer, array_of, number
from tacit.errors import PrivacyError
from tacit.method.phase import AbstractMethod
from tacit.method.releases import Releases
from tacit.network.base import AbstractNetwork
from tacit.problem.erm import EmpiricalRisk
from tacit.problem.task import Rows, Task
from tacit.types import Unit


def placed(method: AbstractMethod, network: AbstractNetwork) -> AbstractMethod:
    """The method with the numbers of the network that it needs.

    Raises:
        ConfigError: `on` gives something else than a method.
    """
    return _ask(method, "on", network, takes="network", fits=_method)


def prepared(method: AbstractMethod, problem: Task, network: AbstractNetwork) -> AbstractMethod:
    """The method with the values that it chooses itself, before a contract is made from it.

    That may look at the data, so a private method chooses nothing, whoever gave it its noise.

    Raises:
        ConfigError: `prepare` gives something else than a method.
    """
    if Releases(method).private:
        return method
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
        PrivacyError: the start of a private method depends on the records.
        TacitError: what the method refuses.
    """
    _ask(method, "check", problem, network, takes="problem, network")
    units = dict.fromkeys((problem.unit, Unit.AGENT))
    _ask(method, "protects", problem, takes="problem", fits=lambda value: _unit(value, units))
    start, releases = start_of(method, problem), Releases(method)
    if releases.private:
        _check_unseen(method, problem, start)
    names = len(start)
    _ask(method, "numbers", problem, takes="task", fits=lambda value: _texts(value, names))
    for phase in releases:
        assert phase.query is not None and phase.release is not None
        for part in ("size", "evaluations"):
            fits = number("give a whole number", zero=part == "evaluations", whole=True)
            _ask(phase.query, part, problem.dimension, takes="dimension", fits=fits)
        _ask(phase.query, "assumes", phase.release.relation, takes="relation", fits=_texts)


def _check_unseen(method: AbstractMethod, problem: Task, start: np.ndarray) -> None:
    """Refuse a start that would be another one with other records, which all would be told."""
    if not isinstance(problem.objectives, EmpiricalRisk | Rows):
        return
    blank = jax.tree.map(_zeros, problem.objectives)
    try:
        unseen = start_of(method, eqx.tree_at(lambda task: task.objectives, problem, blank))
    except Exception:  # any exception of foreign code
        unseen = None
    if unseen is None or not np.array_equal(start, unseen, equal_nan=True):
        raise PrivacyError(
            f"{type(method).__name__}.start depends on the records, and every agent is told where "
            "the others start; let it use what is public of the task, such as task.dimension, or "
            "ask for it with a query"
        )


def _zeros(leaf: Any) -> np.ndarray:
    """Zeros in the place of a leaf, which take no memory until they are looked at."""
    return np.zeros(np.shape(leaf), getattr(leaf, "dtype", type(leaf)))


def _ask(of: Any, part: str, *given: Any, takes: str, fits: Any = lambda value: "") -> Any:
    named = f"{type(of).__name__}.{part}"
    return answer(getattr(of, part), *given, named=named, takes=takes, fits=fits, public=True)


def _unit(value: Any, units: Collection[Unit]) -> str:
    return "" if value in units else f"give {' or '.join(f'Unit.{each.name}' for each in units)}"


def _texts(value: Any, count: int | None = None) -> str:
    several = isinstance(value, tuple | list) and all(isinstance(each, str) for each in value)
    if several and count in (None, len(value)):
        return ""
    return "give a tuple of texts" + ("" if count is None else f", {count} as start has numbers")


def _method(value: Any) -> str:
    return "" if isinstance(value, AbstractMethod) else "return a method: `self` if nothing changes"
