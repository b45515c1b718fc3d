"""Recording, progress and divergence, on a stand-in engine that only counts rounds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import tacit
from tacit import network, problem
from tacit._engine.loop import drive
from tacit.errors import ConfigError


class Counter:
    """States are counts of rounds; trial 1 turns infinite after round `limit`."""

    def __init__(self, limit: int = 10**9) -> None:
        self.limit = limit

    def start(self) -> Any:
        return jnp.zeros((2, 1))

    def advance(self, states: Any, bounds: Any) -> Any:
        rows = []
        for first, last in np.asarray(bounds):
            states = states + (last - first)
            states = states.at[1].set(jnp.where(states[1] > self.limit, jnp.inf, states[1]))
            rows.append(np.asarray(states)[:, 0])
        seen = np.stack(rows)
        return states, {"count": seen, "bounded": np.isfinite(seen)}


@pytest.mark.parametrize("watched", [False, True])
def test_every_recorded_round_is_measured_once(watched: bool) -> None:
    told: list[tuple[int, int]] = []
    progress = (lambda done, total: told.append((done, total))) if watched else None
    record = [1, 7, 50, 99, 100]
    trace = drive(Counter(), rounds=100, record=record, progress=progress)
    assert list(trace.rounds) == [0, *record]
    assert np.array_equal(trace.measured["count"][:, 0], [0, *record])
    if watched:
        assert told[-1] == (100, 100)
        assert [done for done, _ in told] == sorted({done for done, _ in told})


def test_more_recorded_rounds_than_one_call_holds() -> None:
    record = list(range(1, 201))
    trace = drive(Counter(), rounds=200, record=record)
    assert np.array_equal(trace.measured["count"][:, 0], [0, *record])


def test_divergence_is_dated_to_the_round_and_spares_the_other_trial() -> None:
    trace = drive(Counter(limit=36), rounds=100, record=[50, 100])
    assert list(trace.diverged) == [-1, 37]
    assert np.array_equal(np.asarray(trace.states)[:, 0], [100, 0])


def test_a_step_that_is_too_large_becomes_a_status() -> None:
    features = [np.eye(2) for _ in range(3)]
    task = problem.empirical_risk(features, [np.ones(2)] * 3, problem.Squared())
    result = tacit.run(task, network.ring(3), tacit.DGD(step=1e6), rounds=400, seed=0)
    round = int(result.diverged[0])
    assert 0 < round < 400
    assert result.status == f"diverged at round {round}"
    assert np.all(np.isfinite(result.solutions))
    # it was finite until the round before
    again = tacit.run(task, network.ring(3), tacit.DGD(step=1e6), rounds=round - 1, seed=0)
    assert again.status == "finished"


@pytest.mark.parametrize("exact", [False, pytest.param(True, marks=pytest.mark.long)])
def test_answers_that_run_away_are_no_finished_run_though_they_are_finite(exact: bool) -> None:
    features = [np.eye(2) for _ in range(3)]
    task = problem.empirical_risk(features, [np.ones(2)] * 3, problem.Logistic())
    method = tacit.DPSG(step=1e9, privacy=tacit.Privacy(clip=1.0, epsilon=1.0))
    runtime = tacit.Simulation(exact=exact)
    given: dict[str, Any] = {"rounds": 3, "seed": 0}
    result = tacit.run(task, network.ring(3), method, **given, runtime=runtime)
    assert result.status == "diverged at round 1"
    assert np.abs(result.solutions).max() <= 1e6
    runtime = tacit.Simulation(exact=exact, divergence=1e13)
    assert tacit.run(task, network.ring(3), method, **given, runtime=runtime).status == "finished"
    # a large start makes large answers
    far = replace(task, x0=np.full(2, 1e5))
    assert tacit.run(far, network.ring(3), method, **given).status == "finished"


def test_a_bound_of_divergence_is_positive() -> None:
    with pytest.raises(ConfigError, match=r"divergence=0\.0"):
        tacit.Simulation(divergence=0.0)
