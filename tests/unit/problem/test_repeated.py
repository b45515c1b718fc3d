"""Chance in black boxes that are declared to have none is noticed before a run."""

from __future__ import annotations

import itertools
import sys
from typing import Any

import numpy as np
import pytest

import tacit
from tacit.errors import OracleError, ProblemError
from tacit.method import ORZO
from tacit.network import Coordinator
from tacit.problem import black_box_problem
from tacit.problem.repeated import check_repeats, difference
from tacit.problem.simulator import tried_cost


def counted(costs: Any) -> Any:
    """A cost that gives another value at each call, and the list of its calls."""
    calls: list[int] = []

    def cost(x: np.ndarray, agent: int) -> float:
        calls.append(agent)
        return float(x @ x) + next(costs)

    return cost, calls


def test_a_simulator_with_chance_is_refused_and_told_what_to_write() -> None:
    cost, calls = counted(itertools.count())
    task = black_box_problem(cost, 3, x0=[1.0, 2.0])
    with pytest.raises(ProblemError) as raised:
        tacit.run(task, Coordinator(3), ORZO(step=0.1), rounds=2)
    assert "agent 0 answered 5 and then 6 at the start" in str(raised.value)
    assert "write stochastic=True" in str(raised.value) and calls == [0, 0]


def test_one_that_is_declared_random_is_not_asked() -> None:
    cost, calls = counted(itertools.count())
    task = black_box_problem(cost, 3, x0=[1.0, 2.0], stochastic=True)
    check_repeats(task.objectives, task.start())
    assert calls == []


def test_one_without_chance_is_asked_twice_and_counted_never() -> None:
    cost, calls = counted(itertools.repeat(0.0))
    task = black_box_problem(cost, 3, x0=[1.0, 2.0])
    check_repeats(task.objectives, task.start())
    assert calls == [0, 0] and task.objectives.calls == 0


def test_rounding_is_no_chance() -> None:
    one, nan = np.array([1.0]), np.array([np.nan])
    assert difference(one, one * (1 + 1e-12)) == "" and difference(one, nan) == ""
    assert difference(one, one * (1 + 1e-6)) == "answered 1 and then 1.000001"
    assert difference(np.zeros(2), np.array([0.0, 1e-30])) == "answered 0 and then 1e-30"


def test_programs_and_losses_of_records_are_looked_at_too() -> None:
    code = "import time; print(time.perf_counter_ns())"
    task = black_box_problem(command=[sys.executable, "-c", code], agents=2, x0=[0.0], workers=2)
    with pytest.raises(ProblemError, match="agent 0 answered"):
        check_repeats(task.objectives, task.start())
    rng = np.random.default_rng(0)
    records = [np.ones(3), np.ones(2)]
    random = black_box_problem(lambda x, own: x[0] + rng.normal(size=len(own)), records, x0=[0.0])
    with pytest.raises(ProblemError, match="seed of each record's own"):
        check_repeats(random.objectives, random.start())


def test_a_failure_there_ends_the_run_before_it_begins() -> None:
    def broken(x: np.ndarray, agent: int) -> float:
        raise ValueError("no licence")

    task = black_box_problem(broken, 2, x0=[0.0])
    with pytest.raises(OracleError, match="no licence"):
        check_repeats(task.objectives, task.start())
    skipping = black_box_problem(broken, 2, x0=[0.0], on_failure="skip")
    check_repeats(skipping.objectives, skipping.start())
    assert skipping.objectives.host.skipped == 0


def test_an_owner_is_told_of_its_own_cost() -> None:
    cost, _ = counted(itertools.count())
    task = black_box_problem(cost, 2, x0=[1.0], on_failure="skip")
    told = tried_cost(task.agent(1), task.start())
    assert "it answered 1 and then 2 at the start" in told and "stochastic = true" in told
