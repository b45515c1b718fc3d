"""Makes black boxes of Python functions and of external programs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from tacit import checks
from tacit.arguments import checked
from tacit.errors import ProblemError
from tacit.problem.answers import check_function
from tacit.problem.boxes import CostBox, RecordBox
from tacit.problem.constraint import AbstractConstraint, Free
from tacit.problem.evaluation import Evaluation, OnFailure, Seconds, shown_to
from tacit.problem.host import Host
from tacit.problem.problem import Problem, check_public, declared_normaliser, starting_point
from tacit.problem.regularisers import AbstractRegulariser, NoRegulariser
from tacit.ranges import Count, Listed


@checked(ProblemError, own="agents function command")
def black_box(
    function: Callable[..., Any] | None = None,
    agents: int | None = None,
    *,
    command: Sequence[str] | None = None,
    cwd: str | Path | None = None,
    env: Mapping[str, str] | None = None,
    batched: bool = False,
    workers: Count | None = None,
    timeout: Seconds | None = None,
    on_failure: OnFailure = "stop",
    tries: Count | None = None,
    cache: str | Path | None = None,
    progress: bool | Callable[[int, int], Any] = False,
    stochastic: bool = False,
    parameter_names: Sequence[str] | None = None,
) -> CostBox:
    """The costs of all agents; each is protected as a whole and only its owner can evaluate it.

    An evaluation fails where the function raises, the program ends with another exit status than
    0, neither answers in time, or the answer is not a finite number.

    Args:
        function: `(x, agent) -> float`, deterministic, with `x` a float64 NumPy array of shape
            `(p,)` and `agent` an int; with `batched`, `(points, agent) -> (m,)` for points of
            shape `(m, p)`. A cost written in JAX has gradients: give it to `costs` instead.
        agents: number of agents, at least 2.
        command: an external program and its arguments, instead of a function. It is started for
            every evaluation, gets `{"x": [...], "agent": 0}` as JSON on its standard input and
            prints one number as its last line. In its arguments `{x}` stands for all values with
            commas between them, `{agent}` for the agent's number (in the program's name, too), and
            `{x0}`, `{x1}`, ... (or the names of the parameters) for single values.
        cwd: folder that the program is started in, by default that of this process; with `{agent}`
            in it a folder for each agent.
        env: variables of the program's environment besides those of this process, with the same
            placeholders in their values.
        batched: whether the function takes many points per call.
        workers: how many evaluations run at a time, each in a process of its own, at least 1;
            by default one program at a time, and a function in this process.
        timeout: seconds after which an evaluation is stopped and has failed, positive. A function
            needs `workers` for it.
        on_failure: "stop" ends the run with an `OracleError`; "retry" does so after three tries;
            "skip" lets the agent's clipped answer of this round be 0, which methods without a clip
            refuse.
        tries: evaluations of a point before it has failed, at least 1: before a run ends, or skips.
        cache: file that keeps every evaluation, made if there is none. A run that was stopped is
            resumed by running it again, with the same seed; points are found again, skipped ones
            among them, while the code of the function (for a command, the files that it names) and
            its own data are the same. `forget_failures` lets skipped points be asked again.
        progress: function of the numbers of points evaluated and asked for so far, called after
            every evaluation; `True` prints them to standard error.
        stochastic: whether the function is random: its values at one point may then differ, and
            its random numbers must not depend on others' data. Without it, `tacit.run` evaluates
            the start twice, and refuses two values.
        parameter_names: names of the parameters, as placeholders of `command`.

    Raises:
        ProblemError: neither or both of function and command, a program that cannot be run, a
            function that cannot be sent to workers, one try to be retried, or fewer than two
            agents.

    Example:
        >>> box = black_box(lambda x, agent: float(x @ x) + agent, 3, workers=2, timeout=60)
        >>> box.agent.tolist()
        [0, 1, 2]
    """
    if function is not None:
        check_function(function)
    agents = checks.whole("agents", agents, 0, ProblemError)
    if agents < 2:
        raise ProblemError(f"agents={agents!r}: agreement needs at least two agents")
    if command is None and function is None:
        raise ProblemError("a black box needs a function of a point, or command=['./simulate']")
    if command is not None and (function is not None or batched):
        other = "batched" if function is None else "a function"
        raise ProblemError(f"command and {other} exclude each other; leave one of them out")
    how = Evaluation(
        command,
        None if parameter_names is None else tuple(parameter_names),
        workers,
        timeout,
        on_failure,
        tries,
        cache,
        shown_to(progress),
        stochastic,
        cwd,
        env,
    )
    return CostBox(
        normaliser=np.ones(agents),
        agent=np.arange(agents),
        host=Host(function, tuple(range(agents)), None, batched, evaluation=how),
    )


@checked(ProblemError, own="function")
def record_box(
    function: Callable[..., Any],
    records: Sequence[Any],
    *,
    normaliser: Any = None,
    batched: bool = False,
    workers: Count | None = None,
    timeout: Seconds | None = None,
    on_failure: OnFailure = "stop",
    tries: Count | None = None,
    cache: str | Path | None = None,
    progress: bool | Callable[[int, int], Any] = False,
) -> RecordBox:
    """The losses of all agents' records, where records rather than whole costs are protected.

    Args:
        function: `(x, records) -> (n,)`, deterministic: the loss of each record at `x`, which must
            depend on this record only; a run begins with a look at whether it does. Arrays of
            records are read-only. Where there is no loss it returns NaN, and the record counts
            as 0 where it is clipped; an exception ends the run, visibly to everyone. `x` is a
            float64 NumPy array of shape `(p,)`; with `batched`, `(points, records) -> (m, n)` for
            points of shape `(m, p)`.
        records: for each agent an array, or a tuple or dict of arrays, whose first axis is the
            record.
        normaliser: public number (one, or one per agent) by which an agent's sum is divided; its
            number of records when `None`.
        batched: whether the function takes many points per call.
        workers: how many calls run at a time, each in a process of its own, at least 1; by
            default the function is called in this process.
        timeout: seconds after which a call is stopped and has failed, positive; needs `workers`.
        on_failure: "stop" ends the run with an `OracleError`; "retry" does so after three
            tries.
        tries: calls at a point before it has failed, at least 1.
        cache: file that keeps every evaluation; see `black_box`.
        progress: function of the numbers of points evaluated and asked for so far, called after
            every call; `True` prints them to standard error.

    Raises:
        ProblemError: not callable, fewer than two agents, an agent without records or with arrays
            of different lengths, or `on_failure="skip"`, which would let one record take away the
            answers of all.
    """
    if on_failure == "skip":
        raise ProblemError(
            "on_failure='skip': one record for which the function fails would take away the whole "
            "answer of its agent, more than a guarantee for records allows; return NaN for that "
            "record, which then counts as 0"
        )
    if len(records) < 2:
        raise ProblemError(
            f"records holds {len(records)} agent(s): agreement needs at least two agents"
        )
    counts = np.array([_count(own, k) for k, own in enumerate(records)])
    return RecordBox(
        normaliser=declared_normaliser(counts if normaliser is None else normaliser, len(counts)),
        agent=np.arange(len(counts)),
        mask=np.arange(counts.max()) < counts[:, None],
        host=Host(
            function,
            tuple(read_only(own) for own in records),
            tuple(int(n) for n in counts),
            batched,
            evaluation=Evaluation(
                None, None, workers, timeout, on_failure, tries, cache, shown_to(progress)
            ),
        ),
    )


@checked(ProblemError, own="agents function command regulariser constraint")
def black_box_problem(
    function: Callable[..., Any] | None = None,
    agents: int | Sequence[Any] | None = None,
    x0: Listed | None = None,
    regulariser: AbstractRegulariser = NoRegulariser(),
    constraint: AbstractConstraint = Free(),
    *,
    names: Sequence[str] | None = None,
    parameter_names: Sequence[str] | None = None,
    normaliser: Any = None,
    command: Sequence[str] | None = None,
    cwd: str | Path | None = None,
    env: Mapping[str, str] | None = None,
    batched: bool = False,
    workers: Count | None = None,
    timeout: Seconds | None = None,
    on_failure: OnFailure = "stop",
    tries: Count | None = None,
    cache: str | Path | None = None,
    progress: bool | Callable[[int, int], Any] = False,
    stochastic: bool = False,
) -> Problem:
    """A problem whose private objectives are Python functions that give values only.

    Args:
        function: `(x, agent) -> float` when `agents` is a number, `(x, records) -> (n,)` when it
            is a sequence of the agents' records; see `black_box` and `record_box`.
        agents: number of agents, or their records.
        x0: public starting point, shape `(p,)`.
        regulariser: public penalty `R`, strength included.
        constraint: public convex set.
        names: names of the agents; "agent 0", ... by default.
        parameter_names: names of the coordinates of `x`; "x0", ... by default.
        normaliser: divisor of sums over records, only with records; see `record_box`.
        command: an external program and its arguments, instead of a function, where `agents` is a
            number; see `black_box`.
        cwd: folder that the program is started in; see `black_box`.
        env: further variables of the program's environment; see `black_box`.
        batched: whether the function takes many points per call.
        workers: how many evaluations run at a time, each in a process of its own.
        timeout: seconds after which an evaluation is stopped and has failed, positive.
        on_failure: "stop", "retry" or, where `agents` is a number, "skip"; see `black_box`.
        tries: evaluations of a point before it has failed, at least 1.
        cache: file that keeps every evaluation, from which a stopped run is resumed.
        progress: function of the numbers of points evaluated and asked for; `True` prints them.
        stochastic: whether values at one point differ, where `agents` is a number.

    Raises:
        ProblemError: what `black_box`, `record_box` and `Problem` refuse.

    Example:
        >>> from tacit.problem.blackbox import black_box_problem
        >>> problem = black_box_problem(lambda x, agent: (x[0] - agent) ** 2, 3, x0=[0.0])
        >>> problem.value([1.0]), problem.objectives.calls
        (2.0, 3)
    """
    objectives: CostBox | RecordBox
    check_public(regulariser, constraint)
    if function is not None:
        check_function(function)
    if x0 is None or np.shape(x0) == (0,):
        raise ProblemError(
            f"x0={'None' if x0 is None else '[]'}: give a public starting point, one number for "
            "each parameter, such as x0=[0.0, 0.0]"
        )
    dimension = np.shape(x0)[0] if np.ndim(x0) == 1 else 0
    if parameter_names is None:
        parameter_names = [f"x{j}" for j in range(dimension)]
    how: Any = {
        "batched": batched,
        "workers": workers,
        "timeout": timeout,
        "on_failure": on_failure,
        "tries": tries,
        "cache": cache,
        "progress": progress,
    }
    if not isinstance(agents, Iterable) or isinstance(agents, str | bytes | Mapping):
        agents = checks.whole("agents", agents, 0, ProblemError)
    if isinstance(agents, int):
        if normaliser is not None:
            raise ProblemError(
                f"normaliser={normaliser!r} divides sums over records, and a whole cost has none"
            )
        objectives = black_box(
            function,
            agents,
            command=command,
            cwd=cwd,
            env=env,
            parameter_names=parameter_names,
            stochastic=stochastic,
            **how,
        )
        counts = np.ones(agents, dtype=int)
    else:
        if command is not None or cwd is not None or env is not None:
            raise ProblemError(
                "command gives one number, the whole cost of an agent; give the number of agents "
                "instead of their records, or a function of records that starts the program"
            )
        if stochastic:
            raise ProblemError(
                "stochastic: random numbers that several records use make the loss of one depend "
                "on the others; draw them from a seed of each record's own and leave it out"
            )
        if function is None:
            raise ProblemError("a black box needs a function of a point, got None")
        objectives = record_box(function, agents, normaliser=normaliser, **how)
        counts = np.sum(objectives.mask, axis=1)
    if names is None:
        names = [f"agent {k}" for k in range(len(counts))]
    return Problem(
        objectives=objectives,
        x0=starting_point(x0, dimension, constraint),
        counts=counts,
        names=tuple(names),
        parameter_names=tuple(parameter_names),
        regulariser=regulariser,
        constraint=constraint,
        declared=isinstance(agents, int) or normaliser is not None,
    )


def read_only(records: Any) -> Any:
    """Records whose arrays cannot be written to: what one call changed, the next ones would see."""

    def closed(leaf: Any) -> Any:
        if not isinstance(leaf, np.ndarray):
            return leaf
        view = leaf.view()
        view.flags.writeable = False
        return view

    return jax.tree.map(closed, records)


def _count(records: Any, agent: int) -> int:
    lengths = {np.shape(leaf)[0] if np.ndim(leaf) else 0 for leaf in jax.tree.leaves(records)}
    if len(lengths) != 1 or 0 in lengths:
        raise ProblemError(
            f"agent {agent}: the first axes of its records have the lengths {sorted(lengths)}; "
            "give arrays of one common length, at least 1"
        )
    return int(lengths.pop())
