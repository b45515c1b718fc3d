"""Chance in black boxes that are declared to have none is noticed before a run."""

from __future__ import annotations

import itertools
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit._engine.doubts import doubts
from tacit.errors import OracleError, ProblemError
from tacit.method import ORZO
from tacit.network import Coordinator
from tacit.privacy.ledger import Ledger
from tacit.problem import black_box_problem
from tacit.problem.answers import difference
from tacit.problem.repeated import check_repeats, checked_meanwhile
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
    code = "import time; print(time.perf_counter_ns() % 1_000_003)"
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
    assert skipping.objectives.host.tally.skipped.sum() == 0


@pytest.mark.long
def test_a_simulator_that_counts_after_the_look_is_told_of() -> None:
    cost, _ = counted(max(0, k - 8) for k in itertools.count())
    task = black_box_problem(cost, 2, x0=[1.0])
    result = tacit.run(task, Coordinator(2), ORZO(step=0.1), rounds=3)
    assert list(result.changed) == ["agent 0"] and result.changed["agent 0"].startswith("answered")
    assert any("the same point has two values" in each for each in doubts(result))
    task = black_box_problem(lambda x, agent: float(x @ x), 2, x0=[1.0])
    assert not tacit.run(task, Coordinator(2), ORZO(step=0.1), rounds=3).changed


@pytest.mark.long
@pytest.mark.parametrize("records", [None, [np.ones(2), np.ones(3)]])
def test_a_simulator_that_reads_no_parameter_is_told_of(records: Any) -> None:
    def flat(x: np.ndarray, own: Any) -> Any:
        return 2.5 if records is None else np.full(len(own), 2.5)

    task = black_box_problem(flat, records or 2, x0=[1.0])
    result = tacit.run(task, Coordinator(2), ORZO(step=0.1), rounds=2)
    assert result.constant == ("agent 0", "agent 1")
    assert any("does the simulator read its parameters?" in each for each in doubts(result))
    one = black_box_problem(lambda x, agent: agent * float(x @ x), 2, x0=[1.0])
    result = tacit.run(one, Coordinator(2), ORZO(step=0.1), rounds=2)
    assert result.constant == ("agent 0",)


def test_an_owner_is_told_of_its_own_cost() -> None:
    cost, _ = counted(itertools.count())
    task = black_box_problem(cost, 2, x0=[1.0], on_failure="skip")
    told = tried_cost(task.agent(1), task.start())
    assert "it answered 1 and then 2 at the start" in told and "stochastic = true" in told


def clocked(x: np.ndarray, agent: int) -> float:
    return float(x @ x) + time.perf_counter_ns() % 1_000_003


def hanging(x: np.ndarray, agent: int) -> float:
    time.sleep(600)
    return 0.0


@pytest.mark.long
def test_workers_look_while_the_run_compiles(tmp_path: Path) -> None:
    task = black_box_problem(clocked, 3, x0=[1.0, 2.0], workers=2)
    with pytest.raises(ProblemError, match="agent 0 answered"):
        tacit.run(task, Coordinator(3), ORZO(step=0.1), rounds=2)
    assert task.objectives.calls == 0
    budget = tacit.Privacy(clip=1.0, epsilon=4.0, delta=1e-3)
    private = ORZO(step=0.1, privacy=budget)
    with Ledger.create(tmp_path / "ledger") as ledger:
        for owner in task.names:
            ledger.set_budget(owner, "costs", epsilon=8.0, delta=1e-2)
        with pytest.raises(ProblemError, match="agent 0 answered"):
            tacit.run(task, Coordinator(3), private, rounds=2, ledger=ledger, dataset="costs")
        assert all(balance.spent == 0 for balance in ledger.balances())


def test_all_workers_start_before_anything_is_compiled() -> None:
    task = black_box_problem(hanging, 3, x0=[1.0], workers=3, stochastic=True)
    crew = task.objectives.host._crew
    with checked_meanwhile(task):
        running = [each._process for each in crew._all]
        assert len(running) == 3 and all(each.poll() is None for each in running)
    crew.close()


def test_an_error_elsewhere_ends_what_is_looked_at() -> None:
    task = black_box_problem(hanging, 3, x0=[1.0], workers=2)
    began = time.monotonic()
    with pytest.raises(RuntimeError, match="elsewhere"), checked_meanwhile(task):
        raise RuntimeError("elsewhere")
    assert time.monotonic() - began < 60.0
    task.objectives.raise_pending()  # nothing is left of it


@pytest.mark.parametrize("workers", [None, pytest.param(1, marks=pytest.mark.long)])
def test_losses_that_mix_records_are_refused(workers: int | None) -> None:
    records = [np.arange(1.0, 4.0), np.arange(1.0, 6.0)]
    for loss in (
        lambda x, own: (own - own.mean() - x[0]) ** 2,
        lambda x, own: x[0] * own / own.std(),
    ):
        task = black_box_problem(loss, records, x0=[0.0], workers=workers)
        with pytest.raises(ProblemError, match="agent 1 gives a record another loss when other"):
            check_repeats(task.objectives, task.start())
    alone = black_box_problem(lambda x, own: (own - x[0]) ** 2 / len(own), records, x0=[0.0])
    check_repeats(alone.objectives, alone.start())


def test_records_of_frames_and_dicts_are_looked_at_too() -> None:
    frames = [pd.DataFrame({"age": np.arange(3.0)})] * 2
    dicts = [{"age": np.arange(3.0), "ill": np.ones(3)}] * 2
    mixed = [
        black_box_problem(lambda x, own: own["age"] - own["age"].sum() * x[0], records, x0=[1.0])
        for records in (frames, dicts)
    ]
    for task in mixed:
        with pytest.raises(ProblemError, match="another loss when other records change"):
            check_repeats(task.objectives, task.start())


def test_a_function_cannot_change_the_records_it_is_given() -> None:
    def changing(x: np.ndarray, own: np.ndarray) -> np.ndarray:
        own += 1.0
        return own - x[0]

    given = np.arange(3.0)
    for workers in (None, 1):
        task = black_box_problem(changing, [given, given], x0=[0.0], workers=workers)
        with pytest.raises(OracleError, match=r"Records are read-only.*change a copy"):
            task.value([0.0])
    given += 1.0  # its owner may
