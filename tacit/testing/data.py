"""Different data for the same run, and neighbouring data of one agent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np

from tacit._engine.contract import Contract
from tacit.errors import ConfigError, PrivacyError
from tacit.problem.cost import Cost
from tacit.problem.erm import EmpiricalRisk
from tacit.problem.task import Rows, Task
from tacit.types import Relation, Unit


class Neighbour(NamedTuple):
    """Two objectives of one agent that differ in one protected unit.

    Attributes:
        here: one of the objectives.
        there: the other objective.
        units: number of records in which they differ.
        how: description of the difference, as a clause.
    """

    here: Any
    there: Any
    units: int
    how: str


def other_data(problem: Task) -> Task:
    """The same problem with different data: equally many records, none longer in any norm.

    Rows are shortened, entries change signs and columns, and targets change places; entries of
    records that are only described change columns; whole costs pass from agent to agent.

    Raises:
        ConfigError: objectives of another kind, or costs that are all equal.
    """
    objectives = problem.objectives
    if isinstance(objectives, EmpiricalRisk):
        rng = np.random.default_rng(0)
        rows, targets = np.array(objectives.features), np.array(objectives.targets)
        rows = np.roll(rows, 1, axis=-1) * rng.choice([-1.0, 1.0], size=rows.shape)
        rows *= rng.uniform(0.3, 1.0, size=(*rows.shape[:-1], 1))
        for own, mask in zip(targets, np.asarray(objectives.mask) > 0, strict=True):
            own[mask] = own[mask][::-1]
        return _with(problem, _risk(objectives, rows, targets, np.asarray(objectives.mask)))
    if isinstance(objectives, Rows):
        values = np.roll(np.array(objectives.values), 1, axis=-1)
        return _with(problem, Rows(objectives.normaliser, values, objectives.mask))
    if isinstance(objectives, Cost):
        moved = jax.tree.map(lambda leaf: np.roll(leaf, 1, axis=0), objectives.parameters)
        if not eqx.tree_equal(moved, objectives.parameters):
            return _with(problem, eqx.tree_at(lambda cost: cost.parameters, objectives, moved))
    raise ConfigError(
        f"other: no other data can be made up for these {type(objectives).__name__} objectives; "
        "give other= the same problem with other data"
    )


def neighbours(
    problem: Task, other: Task, agreed: Contract, relation: Relation, owner: int
) -> Iterator[Neighbour]:
    """Neighbouring objectives of one agent: the method's worst case, then samples.

    Args:
        problem: problem with the data.
        other: problem with different data.
        agreed: contract of a run on them.
        relation: adjacency of two data sets.
        owner: number of the agent.
    """
    method, privacy = agreed.method, agreed.method.privacy
    try:
        pair = method.worst_case(problem, owner)
    except PrivacyError:
        pass  # unbounded, or no worst case is known
    else:
        records = 1 if privacy is None else privacy.records_per_person
        yield Neighbour(_own(pair.objectives, owner), _own(pair.others, owner), records, pair.how)
    if relation is Relation.METRIC:
        return  # the distance of other pairs is unknown
    here, there = _own(problem.objectives, owner), _own(other.objectives, owner)
    if method.protects(problem) is Unit.AGENT:
        yield Neighbour(here, there, 1, "all data of the agent replaced")
        return
    if isinstance(here, EmpiricalRisk) and isinstance(there, EmpiricalRisk):
        yield from _records(here, there, relation)
    if isinstance(here, Rows) and isinstance(there, Rows):
        yield from _rows(here, there, relation)


def _rows(here: Rows, there: Rows, relation: Relation) -> Iterator[Neighbour]:
    """One record replaced by an ordinary one and by one that is not a number, or left out."""
    values, mask = np.asarray(here.values), np.asarray(here.mask)
    present = np.flatnonzero(mask > 0)
    for record in (present[0], present[-1]):
        if relation is Relation.ADD_REMOVE:
            fewer = mask.copy()
            fewer[record] = 0.0
            yield Neighbour(here, Rows(here.normaliser, values, fewer), 1, "one record left out")
            continue
        for factor, how in ((1.0, ""), (-1e3, " by a steep one"), (np.nan, " by no numbers")):
            changed = values.copy()
            changed[record] = factor * np.asarray(there.values)[record]
            other = Rows(here.normaliser, changed, mask)
            yield Neighbour(here, other, 1, f"one record replaced{how}")


def _records(here: EmpiricalRisk, there: EmpiricalRisk, relation: Relation) -> Iterator[Neighbour]:
    """One record replaced by an ordinary one and by a steep one, or left out."""
    rows, targets, mask = (np.asarray(a) for a in (here.features, here.targets, here.mask))
    present = np.flatnonzero(mask > 0)
    for record in (present[0], present[-1]):
        if relation is Relation.ADD_REMOVE:
            fewer = mask.copy()
            fewer[record] = 0.0
            yield Neighbour(here, _risk(here, rows, targets, fewer), 1, "one record left out")
            continue
        replacement = np.asarray(there.features)[record]
        for factor in (1.0, -1e3):
            changed, answers = rows.copy(), targets.copy()
            changed[record] = factor * replacement
            answers[record] = np.asarray(there.targets)[record]
            how = "one record replaced" + (" by a steep one" if abs(factor) > 1.0 else "")
            yield Neighbour(here, _risk(here, changed, answers, mask), 1, how)
        # the steepest change is from one steep record to its opposite
        steep = rows.copy()
        steep[record] *= 1e3
        opposite = rows.copy()
        opposite[record] *= -1e3
        yield Neighbour(
            _risk(here, steep, targets, mask),
            _risk(here, opposite, targets, mask),
            1,
            "one steep record replaced by its opposite",
        )


def _own(objectives: Any, agent: int) -> Any:
    return jax.tree.map(lambda leaf: leaf[agent], objectives)


def _with(problem: Task, objectives: Any) -> Task:
    return eqx.tree_at(lambda p: p.objectives, problem, objectives)


def _risk(like: EmpiricalRisk, rows: Any, targets: Any, mask: Any) -> EmpiricalRisk:
    return EmpiricalRisk(
        normaliser=like.normaliser,
        features=rows,
        targets=targets,
        mask=mask,
        loss=like.loss,
        gradient_bounds=like.gradient_bounds,
    )
