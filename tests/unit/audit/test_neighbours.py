"""Neighbours that a user gives are looked at before they are believed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tacit import problem
from tacit.audit.neighbours import check_owner, given, replace_record
from tacit.errors import ProblemError


def task(seed: int = 0, sizes: tuple[int, ...] = (3, 2), **changes: Any) -> Any:
    rng = np.random.default_rng(seed)
    features = [rng.normal(size=(n, 2)) for n in sizes]
    targets = [rng.normal(size=n) for n in sizes]
    return problem.empirical_risk(features, targets, problem.Squared(), **changes)


def test_one_record_is_replaced_and_no_other() -> None:
    before = task()
    after = replace_record(before, 1, 0, features=[3.0, 4.0], target=7.0)
    rows, targets = np.asarray(after.objectives.features), np.asarray(after.objectives.targets)
    assert rows[1, 0].tolist() == [3.0, 4.0] and targets[1, 0] == 7.0
    changed = rows != np.asarray(before.objectives.features)
    assert changed.sum() == 2 and changed[1, 0].all()
    # clipping rests on the norms of the rows
    assert np.asarray(after.objectives.norms)[1, 1, 0] == 5.0
    pair = given(before, after, 1, 1)
    assert pair.owners == (1,) and pair.how == "1 of the records of agent 1 replaced as given"


def test_a_record_that_does_not_exist_cannot_be_replaced() -> None:
    with pytest.raises(ProblemError, match="record=2 of agent 1: it has 2 records"):
        replace_record(task(), 1, 2, target=0.0)
    with pytest.raises(ProblemError, match="owner=5: the problem has 2 agents"):
        check_owner(task(), 5)
    cost = problem.black_box_problem(lambda x, agent: 0.0, 2, [0.0])
    with pytest.raises(ProblemError, match="has no records to replace"):
        replace_record(cost, 0, 0, target=1.0)


def other_agent(before: Any) -> Any:
    return replace_record(before, 0, 0, target=50.0)


def two_records(before: Any) -> Any:
    return replace_record(replace_record(before, 1, 0, target=9.0), 1, 1, target=9.0)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda p: p, "are the same in both problems"),
        (other_agent, "the data of agent 0 differ too"),
        (two_records, "2 records of agent 1 differ, and the guarantee is about 1"),
        (lambda p: task(sizes=(3, 2, 2)), "agents 3"),
        (lambda p: task(x0=[1.0, 1.0]), "another starting point"),
        (lambda p: task(regulariser=problem.L2(1.0)), "another starting point"),
        (lambda p: task(normaliser=4.0), "another starting point"),
        (lambda p: task(pad_to=9), "give both problems the same pad_to"),
    ],
)
def test_what_is_no_neighbour_is_refused(change: Any, says: str) -> None:
    before = task()
    with pytest.raises(ProblemError, match=says):
        given(before, change(before), 1, 1)


def test_objectives_of_another_kind_are_no_neighbours() -> None:
    cost = problem.black_box_problem(lambda x, agent: 0.0, 2, [0.0, 0.0])
    with pytest.raises(ProblemError, match="has unit"):
        given(task(), cost, 1, 1)


def test_nobody_looks_into_black_boxes() -> None:
    one, other = (
        problem.black_box_problem(lambda x, agent, w=w: w * float(x[0]) ** 2, 2, [0.0])
        for w in (1.0, 2.0)
    )
    assert given(one, other, 1, 1).how == "the data of agent 1 replaced as given"


def test_a_persons_records_may_all_differ() -> None:
    before = task()
    assert given(before, two_records(before), 1, 2).how.startswith("2 of the records")
