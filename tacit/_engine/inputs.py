"""What a run is given, checked before anything is traced or calibrated."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tacit import checks, method, network
from tacit._engine.foreign import check_closed_over
from tacit._engine.names import check_names, graph_of
from tacit.arguments.answers import naming_progress
from tacit.errors import ConfigError, NetworkError, ProblemError
from tacit.method import stated
from tacit.method.phase import AbstractMethod, Phase, phases_of
from tacit.network.base import AbstractNetwork
from tacit.network.exact_sum import ExactSum
from tacit.privacy.sensitivity import ClippedDifferences
from tacit.problem.boxes import BlackBox
from tacit.problem.problem import Problem
from tacit.problem.progress import Shown
from tacit.problem.task import Records, Task
from tacit.types import AbstractDifferentiable, AbstractObjective, AbstractPrivate, Oracle, Role

_MOST_ROUNDS = 2**31 - 1
"""Beyond 2^32 rounds the keys of the first rounds, and so their noise, would recur."""

_MOST_VARYING = 1_000_000
"""Most rounds with varying noise, since each is an event of its own."""

_MOST_STOPS = 1_000_000
"""More measurements would not fit in memory."""

_ORDER = "the order is problem, network, method"
_A_PROBLEM = (
    "make one with problem.empirical_risk(features, targets, loss), problem.costs(...) or "
    "problem.black_box_problem(...)"
)


def admitted(
    problem: Any, network: Any, method: Any
) -> tuple[Task, AbstractNetwork, AbstractMethod]:
    """The three arguments that every run needs; a NetworkX graph becomes a network.

    Its nodes are the agents of their names, if the problem has the same.

    Raises:
        ProblemError, NetworkError, ConfigError: another kind of object; the message says what to
        write.
    """
    if isinstance(network, _graphs()):
        network = graph_of(network, getattr(problem, "names", ()))
    kinds = {
        "problem": (Problem, Records),
        "network": (AbstractNetwork, *_graphs()),
        "method": AbstractMethod,
    }
    values = {"problem": problem, "network": network, "method": method}
    for name, value in values.items():
        other = next((each for each, kind in kinds.items() if isinstance(value, kind)), name)
        if other != name:
            raise ConfigError(f"{name} is {checks.shown(value)}, which is a {other}: {_ORDER}")
    if not isinstance(problem, Problem | Records):
        raise ProblemError(checks.mismatch("problem", problem, Problem, _A_PROBLEM))
    if not isinstance(network, AbstractNetwork):
        remedy = _a_network(network, problem)
        raise NetworkError(checks.mismatch("network", network, AbstractNetwork, remedy))
    if not isinstance(method, AbstractMethod):
        remedy = _a_method(method)
        raise ConfigError(checks.mismatch("method", method, AbstractMethod, remedy))
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
        return Shown(lambda done, total: f"{done:,} of {total:,} rounds", ending=True)
    if not callable(progress) or isinstance(progress, type):
        raise ConfigError(
            f"progress is {checks.shown(progress)}; give True, or a function of (rounds done, "
            "rounds)"
        )
    return naming_progress(progress, "rounds done, rounds", ConfigError)


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


def check_arguments(
    problem: Task,
    network: AbstractNetwork,
    method: AbstractMethod,
    rounds: int,
    seed: int | None = None,
    trials: int = 1,
    precision: str = "float64",
) -> None:
    """Refuse what cannot run, before anything is traced.

    Raises:
        ConfigError: an argument out of range.
        NetworkError: a network that does not fit the problem or the method.
        ProblemError: a problem that the method's assumptions exclude.
    """
    if not 1 <= rounds <= _MOST_ROUNDS:
        raise ConfigError(f"rounds={rounds!r} must be at least 1 and at most {_MOST_ROUNDS:,}")
    if method.only_rounds is not None and rounds != method.only_rounds:
        raise ConfigError(
            f"rounds={rounds!r}: {type(method).__name__} takes {method.only_rounds}, and what is "
            f"released in more would be paid for and not used; write rounds={method.only_rounds}"
        )
    if trials < 1:
        raise ConfigError(f"trials={trials!r} must be at least 1")
    if seed is not None and not 0 <= seed < 2**63:
        raise ConfigError(f"seed={seed!r} must be at least 0 and below 2**63")
    if precision == "float32" and method.oracle is Oracle.VALUE:
        raise ConfigError(
            f"{type(method).__name__} takes differences of function values, of which float32 "
            "leaves no digits; use precision='float64'"
        )
    if network.agents != problem.agents:
        raise NetworkError(
            f"the network has {network.agents} agents and the problem {problem.agents}; "
            "they must be as many"
        )
    check_names(network, problem.names)
    phases = phases_of(method)
    if rounds > _MOST_VARYING and any(phase.varies for phase in phases):
        raise ConfigError(
            f"rounds={rounds!r}: the noise of {type(method).__name__} changes from round to round "
            f"and is accounted for round by round, which takes at most {_MOST_VARYING:,} of them"
        )
    _check_oracle(problem, method, phases)
    roles = {phase.sender for phase in phases}
    if (Role.PEER in roles) == network.coordinated:
        needs = (
            "peers: use a graph such as ring(n); in a study graph = 'ring'"
            if Role.PEER in roles
            else "clients: use a Coordinator(n), or between peers ExactSum(graph) in its place; in "
            "a study graph = 'coordinator', or a graph with exact_sum = 'tree'"
        )
        raise NetworkError(f"{type(method).__name__} runs between {needs}")
    if isinstance(network, ExactSum):
        _check_relayed(network, method, phases)
    stated.check(method, problem, network)
    releases = [phase.release for phase in phases if phase.release is not None]
    if not all(release.mechanism.bare for release in releases):
        check_closed_over(problem)
    on = stated.placed(method, network)
    placed = phases if on is method else phases_of(on)
    short = next((p for p in placed if rounds < p.rounds.least), None)
    if short is not None:
        raise ConfigError(
            f"rounds={rounds!r}: phase {short.name!r} of {type(method).__name__} is run in "
            f"{short.rounds.words}, for which there must be at least {short.rounds.least} here"
        )
    for stage, table in ((method, phases), (on, placed)):
        for hides in dict.fromkeys((*(phase.hides for phase in table), stage.hides)):
            hides.check_run(stage, network)


def stops(rounds: int, record: int | Sequence[int] | None) -> list[int]:
    """The rounds to measure after: every so often, these, or about 50; always the last one.

    Raises:
        ConfigError: an interval below 1, a round outside the run, or too many of them.
    """
    if record is None:
        record = max(1, rounds // 50)
    often = rounds // max(record, 1) if isinstance(record, int) else len(record)
    if often > _MOST_STOPS:
        raise ConfigError(
            f"record={record if isinstance(record, int) else often} measures {often:,} times in "
            f"{rounds:,} rounds; measure at most {_MOST_STOPS:,} times"
        )
    if isinstance(record, int):
        if record < 1:
            raise ConfigError(f"record={record!r} must be at least 1")
        chosen = range(record, rounds, record)
    else:
        chosen = sorted({int(stop) for stop in record if stop != rounds})
        if chosen and not 0 < chosen[0] <= chosen[-1] < rounds:
            raise ConfigError(f"record={list(record)!r} must lie between 1 and rounds={rounds}")
    return [*chosen, rounds]


def _graphs() -> tuple[type, ...]:
    """The classes of NetworkX graphs, which are taken for networks."""
    nx = sys.modules.get("networkx")  # such a graph exists only if it is loaded
    return (nx.Graph,) if nx else ()


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


def _check_oracle(problem: Task, method: AbstractMethod, phases: Sequence[Phase]) -> None:
    asked = {phase.query.oracle for phase in phases if phase.query is not None}
    if Oracle.ROWS in asked and type(problem.objectives).rows is AbstractPrivate.rows:
        raise ProblemError(
            f"{type(method).__name__} asks of each record, and {type(problem.objectives).__name__} "
            "holds no table of records; give tables to problem.record_tables"
        )
    if asked - {Oracle.ROWS} and not isinstance(problem.objectives, AbstractObjective):
        raise ProblemError(
            f"{type(method).__name__} minimises, and {type(problem).__name__} have no loss; give a "
            "problem with one (problem.empirical_risk), or take a method that asks for statistics, "
            "such as PrivateCounts"
        )
    asked -= {Oracle.ROWS}
    box = problem.objectives
    if isinstance(box, BlackBox) and box.host.evaluation.on_failure == "skip":
        queries = [phase.query for phase in phases if phase.query is not None]
        if not all(isinstance(query, ClippedDifferences) for query in queries):
            raise ProblemError(
                f"on_failure='skip': {type(method).__name__} has no answer of a fixed size that "
                "could be 0 instead; take on_failure='retry', or DZOA, DZOAStar, ORZO or ZOOADMM"
            )
    if asked <= {Oracle.VALUE} or isinstance(problem.objectives, AbstractDifferentiable):
        return
    raise ProblemError(
        f"{type(method).__name__} asks for gradients, and {type(problem.objectives).__name__} "
        "gives values only, as a simulator does. Use DZOA (d-zoa in a study) between peers, "
        "DZOAStar (d-zoa-star) or ORZO (or-zo) with a coordinator, or write the cost in JAX and "
        "give it to tacit.problem.costs"
    )


def _check_relayed(network: ExactSum, method: AbstractMethod, phases: Sequence[Phase]) -> None:
    """Refuse what peers cannot sum as the network requires."""
    name = type(method).__name__
    to_server = [phase for phase in phases if phase.receiver is Role.SERVER]
    rare = any(not phase.rounds.every for phase in to_server)
    if network.window is not None and (rare or sum(phase.repeat for phase in to_server) != 1):
        raise NetworkError(
            f"{name} does not take one sum in each round, and window={network.window} phases on "
            "graphs that change make one; use a graph that stays the same"
        )
