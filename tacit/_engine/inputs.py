"""Checks on the arguments of `tacit.run`, `tacit.account` and `tacit.audit_method`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tacit import checks, method, network
from tacit.errors import ConfigError, NetworkError, ProblemError
from tacit.method.phase import AbstractMethod
from tacit.network.base import AbstractNetwork
from tacit.network.graph import Graph
from tacit.problem.problem import Problem
from tacit.problem.task import Records, Task

_ORDER = "the order is problem, network, method"


def admitted(
    problem: Any, network: Any, method: Any
) -> tuple[Task, AbstractNetwork, AbstractMethod]:
    """The three arguments that every run needs; a NetworkX graph becomes a network.

    Raises:
        ProblemError, NetworkError, ConfigError: another kind of object; the message says what to
        write.
    """
    network = _taken_over(network)
    kinds = {"problem": Problem | Records, "network": AbstractNetwork, "method": AbstractMethod}
    values = {"problem": problem, "network": _taken_over(network), "method": method}
    for name, value in values.items():
        value = _taken_over(value)
        other = next((each for each, kind in kinds.items() if isinstance(value, kind)), name)
        if other != name:
            raise ConfigError(f"{name} is {checks.shown(value)}, which is a {other}: {_ORDER}")
    checks.instance(
        "problem",
        problem,
        Records if isinstance(problem, Records) else Problem,
        "make one with problem.empirical_risk(features, targets, loss), problem.costs(...) or "
        "problem.black_box_problem(...)",
        ProblemError,
    )
    checks.instance("network", network, AbstractNetwork, _a_network(network, problem), NetworkError)
    checks.instance("method", method, AbstractMethod, _a_method(method), ConfigError)
    return problem, network, method


def seeded(seed: object) -> int | None:
    """A seed, or `None`.

    Raises:
        ConfigError: another kind of value.
    """
    return None if seed is None else checks.whole("seed", seed, 0, ConfigError)


def measured_after(record: object) -> int | Sequence[int] | None:
    """When to measure: every given number of rounds, after the given ones, or `None`.

    Raises:
        ConfigError: another kind of value.
    """
    if isinstance(record, str | bytes) or not isinstance(record, Iterable):
        return None if record is None else checks.whole("record", record, 1, ConfigError)
    return [checks.whole("record", stop, 1, ConfigError) for stop in record]


def shower(progress: object) -> Any:
    """The function called as rounds progress; `True` prints them to standard error.

    Raises:
        ConfigError: an object that cannot be called.
    """
    if progress is None or progress is False:
        return None
    if progress is True:
        return _print
    if not callable(progress) or isinstance(progress, type):
        raise ConfigError(
            f"progress is {checks.shown(progress)}; give True, or a function of (rounds done, "
            "rounds)"
        )
    return progress


def stored_at(checkpoint: object) -> Path | None:
    """The file of a checkpoint, or `None`.

    Raises:
        ConfigError: a value that is not a path.
    """
    if checkpoint is None:
        return None
    if not isinstance(checkpoint, str | Path):
        raise ConfigError(
            f"checkpoint is {checks.shown(checkpoint)}; give a file name, such as 'run.npz'"
        )
    return Path(checkpoint)


def one_of(name: str, value: object, *choices: object) -> None:
    """Refuse a value that is not one of the given choices.

    Raises:
        ConfigError: another value; the message lists the choices.
    """
    if not any(
        value is choice or (isinstance(value, str) and value == choice) for choice in choices
    ):
        raise ConfigError(f"{name}={checks.shown(value)} must be {' or '.join(map(repr, choices))}")


def _print(done: int, total: int) -> None:
    print(f"\r{done:,} of {total:,} rounds", end="\n" if done == total else "", file=sys.stderr)


def _taken_over(value: Any) -> Any:
    """A NetworkX graph as a network; anything else unchanged."""
    nx = sys.modules.get("networkx")  # such a graph exists only if it is loaded
    return Graph.from_networkx(value) if nx and isinstance(value, nx.Graph) else value


def _a_network(value: Any, problem: Any) -> str:
    agents = problem.agents if isinstance(problem, Problem | Records) else 8
    named = str(value).replace("-", "_").lower()
    if isinstance(value, str) and named in network.__all__:
        return f"write network.{named}({agents})"
    if isinstance(value, list | tuple):
        return f"write network.Graph.from_edges({agents}, edges)"
    if np.ndim(value) == 2:
        return "write network.Graph.from_networkx(networkx.from_numpy_array(matrix))"
    return f"write network.ring({agents}), another graph, or network.Coordinator({agents})"


def _a_method(value: Any) -> str:
    kinds = [getattr(method, name) for name in method.__all__]
    classes = [
        kind for kind in kinds if isinstance(kind, type) and issubclass(kind, AbstractMethod)
    ]
    if isinstance(value, str):
        for kind in classes:
            if value.replace("_", "-").lower() in (kind.name, kind.__name__.lower()):
                return f"write method.{kind.__name__}(...), with its arguments"
    return "give an object such as tacit.DPSG(step=1.0, privacy=...); `tacit methods` lists them"
