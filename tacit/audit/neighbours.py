"""Neighbouring problems that a user gives, and checks that they are neighbours."""

from __future__ import annotations

from typing import Annotated, Any

import equinox as eqx
import jax
import numpy as np

from tacit.arguments import checked
from tacit.errors import ConfigError, ProblemError
from tacit.method.worst_case import Neighbours
from tacit.problem.erm import EmpiricalRisk
from tacit.problem.problem import Problem
from tacit.problem.task import Rows, Task
from tacit.ranges import Point, Range
from tacit.types import AbstractPrivate

_HOW = "{} of {} replaced as given"


@checked(ConfigError)
def replace_record(
    problem: Problem,
    owner: int,
    record: int,
    *,
    features: Point | None = None,
    target: Annotated[float, Range()] | None = None,
) -> Problem:
    """The problem with one record of one owner replaced: a neighbour of it.

    Args:
        problem: problem over records.
        owner: index of the agent.
        record: index of the record at this agent, from 0.
        features: features of the new record, shape `(d,)`; unchanged if `None`.
        target: target of the new record, as the loss encodes it; unchanged if `None`.

    Raises:
        ProblemError: another kind of problem, or no such record.

    Example:
        >>> from tacit import problem
        >>> task = problem.empirical_risk([[[1.0]], [[2.0]]], [[1.0], [4.0]], problem.Squared())
        >>> replace_record(task, owner=1, record=0, target=0.0).value([1.0])
        4.0
    """
    objectives = problem.objectives
    if not isinstance(objectives, EmpiricalRisk):
        raise ProblemError(
            f"{type(objectives).__name__} has no records to replace; build the neighbouring "
            "problem yourself"
        )
    check_owner(problem, owner)
    count = int(np.sum(np.asarray(objectives.mask)[owner] > 0))
    if not 0 <= record < count:
        raise ProblemError(
            f"record={record!r} of {problem.names[owner]}: it has {count} records, from 0"
        )
    rows, targets = np.array(objectives.features), np.array(objectives.targets)
    if features is not None:
        if np.shape(features) != rows.shape[2:]:
            raise ProblemError(
                f"features has shape {np.shape(features)}; a record has {rows.shape[2]} features"
            )
        rows[owner, record] = np.asarray(features, dtype=np.float64)
    if target is not None:
        targets[owner, record] = target
    risk = EmpiricalRisk(
        normaliser=objectives.normaliser,
        features=rows,
        targets=targets,
        mask=objectives.mask,
        loss=objectives.loss,
        # a query clips to them, so a record beyond the declared numbers counts no more than allowed
        gradient_bounds=objectives.gradient_bounds,
    )
    return eqx.tree_at(lambda p: p.objectives, problem, risk)


def check_owner(problem: Task, owner: int) -> None:
    """Refuse the index of an agent that does not exist.

    Raises:
        ProblemError: no such agent; the message gives their number.
    """
    if not isinstance(owner, int | np.integer) or not 0 <= owner < problem.agents:
        raise ProblemError(f"owner={owner!r}: the problem has {problem.agents} agents, from 0")


def given(problem: Task, neighbour: Task, owner: int, units: int | None) -> Neighbours:
    """A user's pair of problems as neighbours, after every check that is possible.

    Args:
        problem: the data D.
        neighbour: the data D'.
        owner: index of the agent whose data differ.
        units: number of records of one agent that one guarantee protects together; `None` for all.

    Raises:
        ProblemError: public parts that differ, other owners whose data differ, or more than
            `units` records that do: then a large bound would refute nothing.
    """
    for name in ("agents", "dimension", "names", "unit"):
        one, other = getattr(problem, name), getattr(neighbour, name)
        if one != other:
            raise ProblemError(
                f"the neighbouring problem has {name} {other!r} and the problem {one!r}; "
                "neighbours differ in one owner's data only"
            )
    public = [
        (getattr(p, "x0", None), p.normaliser, p.regulariser, p.constraint)
        for p in (problem, neighbour)
    ]
    if not same(*public):
        raise ProblemError(
            "the neighbouring problem has another starting point, normaliser, regulariser or "
            "constraint; these are public and the same for neighbours"
        )
    one, other = problem.objectives, neighbour.objectives
    if type(one) is not type(other):
        raise ProblemError(
            f"the neighbouring problem has objectives of another kind ({type(other).__name__}, "
            f"not {type(one).__name__}); neighbours differ in one owner's data only"
        )
    if jax.tree.structure(one) != jax.tree.structure(other):
        # two black boxes, whose data cannot be compared
        return Neighbours(one, other, (owner,), _HOW.format("the data", problem.names[owner]))
    if any(np.shape(a) != np.shape(b) for a, b in _leaves(one, other)):
        raise ProblemError(
            "the neighbouring problem is filled up to another number of records; give both "
            "problems the same pad_to"
        )
    for agent in range(problem.agents):
        if agent != owner and not same(problem.agent(agent), neighbour.agent(agent)):
            raise ProblemError(
                f"the data of {problem.names[agent]} differ too; neighbours differ in the data of "
                f"one owner, here {problem.names[owner]}"
            )
    changed = _changed(problem.agent(owner), neighbour.agent(owner))
    if changed == 0:
        raise ProblemError(
            f"the data of {problem.names[owner]} are the same in both problems; change one record"
        )
    if changed is not None and units is not None and changed > units:
        raise ProblemError(
            f"{changed} records of {problem.names[owner]} differ, and the guarantee is about "
            f"{units}; change no more"
        )
    what = "the data" if changed is None else f"{changed} of the records"
    return Neighbours(one, other, (owner,), _HOW.format(what, problem.names[owner]))


def _changed(one: AbstractPrivate, other: AbstractPrivate) -> int | None:
    """The number of records that differ; `None` where they cannot be counted."""
    if isinstance(one, Rows) and isinstance(other, Rows):
        rows = [np.column_stack([np.asarray(r.values), np.asarray(r.mask)]) for r in (one, other)]
    elif isinstance(one, EmpiricalRisk) and isinstance(other, EmpiricalRisk):
        rows = [
            np.column_stack([np.asarray(r.features), np.asarray(r.targets), np.asarray(r.mask)])
            for r in (one, other)
        ]
    else:
        return None if not same(one, other) else 0
    return int(np.sum(np.any(rows[0] != rows[1], axis=1)))


def _leaves(one: Any, other: Any) -> list[tuple[Any, Any]]:
    return list(zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True))


def same(one: Any, other: Any) -> bool:
    """Whether two trees hold the same numbers."""
    if jax.tree.structure(one) != jax.tree.structure(other):
        return False
    return all(np.array_equal(np.asarray(a), np.asarray(b)) for a, b in _leaves(one, other))
