"""Metrics of a user's own, and iterates that are kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tacit
from tacit import DGD, DPSG, GradientDescent, Privacy, Result, Simulation, network, problem
from tacit.errors import ConfigError, TacitError
from tacit.privacy.ledger import Ledger
from tests.conformance.table import task
from tests.unit._engine.test_runner import refuse

PRIVATE = DPSG(step=0.1, privacy=Privacy(clip=1.0, epsilon=1.0, delta=1e-6))


def run(**changes: Any) -> Result:
    settings: dict[str, Any] = {"rounds": 6, "seed": 0, "record": 2, "method": DGD(step=0.1)}
    settings |= changes
    return tacit.run(task(0), network.ring(4), settings.pop("method"), **settings)


def size(answers: Any) -> float:
    assert np.isfinite(answers).all()
    return float(np.abs(answers).max())


def spread(answers: Any) -> float:
    return float(np.sqrt(np.mean(np.sum((answers - answers.mean(axis=0)) ** 2, axis=1))))


@pytest.mark.long
@pytest.mark.parametrize("exact", [False, True])
def test_metrics_see_the_iterates_that_are_kept_and_change_nothing(exact: bool) -> None:
    runtime = Simulation(trials=2, exact=exact)
    found = run(method=PRIVATE, runtime=runtime, metrics={"spread": spread}, keep=True)
    plain = run(method=PRIVATE, runtime=runtime)
    history, kept = found.history, found.history.solutions
    assert kept is not None and kept.shape == (4, 2, 4, found.solutions.shape[2])
    np.testing.assert_array_equal(history.rounds, [0, 2, 4, 6])
    np.testing.assert_allclose(history.measured["spread"], history.measured["consensus"])
    by_hand = [[spread(each) for each in row] for row in kept]
    np.testing.assert_array_equal(history.measured["spread"], by_hand)
    np.testing.assert_array_equal(kept[-1], found.solutions)
    np.testing.assert_allclose(found.solutions, plain.solutions, rtol=1e-12)
    assert plain.history.solutions is None and "spread" not in plain.history.measured
    assert found.guarantee.worst.epsilon == plain.guarantee.worst.epsilon
    assert list(history.frame()["spread"]) == history.measured["spread"].reshape(-1).tolist()
    # what they read besides cannot be seen
    assert set(history.simulation_only) == {"objective", "spread"}
    assert plain.history.simulation_only == ("objective",)
    assert "answers" not in history.measured and "spread" in repr(history)


def test_iterates_are_kept_without_metrics_and_with_a_coordinator() -> None:
    found = tacit.run(
        task(0), network.Coordinator(4), GradientDescent(step=0.1), rounds=3, seed=0, keep=True
    )
    kept = found.history.solutions
    assert kept is not None and kept.shape[:3] == (4, 1, 4)
    np.testing.assert_array_equal(kept[:, :, 0], kept[:, :, 3])


def test_a_trial_that_has_diverged_has_no_metric() -> None:
    features = [np.full((5, 2), k + 1.0) for k in range(4)]
    squares = problem.empirical_risk(features, [np.ones(5)] * 4, problem.Squared())
    method = GradientDescent(step=10.0)
    found = tacit.run(
        squares, network.Coordinator(4), method, rounds=40, seed=0, record=1, metrics={"s": size}
    )
    gone = found.diverged[0]
    assert gone > 1
    values, rounds = found.history.measured["s"][:, 0], found.history.rounds
    assert np.isfinite(values[rounds < gone]).all() and np.isnan(values[rounds >= gone]).all()


def test_a_checkpoint_holds_what_was_measured(tmp_path: Path) -> None:
    calls: list[int] = []

    def counted(answers: Any) -> int:
        calls.append(len(answers))
        return len(calls)

    path = tmp_path / "run.npz"
    settings = {"metrics": {"calls": counted}, "keep": True, "checkpoint": path}
    first = run(**settings)
    asked = len(calls)
    again = run(**settings)
    np.testing.assert_array_equal(again.history.measured["calls"], first.history.measured["calls"])
    np.testing.assert_array_equal(again.history.solutions, first.history.solutions)
    assert len(calls) == asked + 2  # at the start, to see whether it works, and for the first row
    with pytest.raises(TacitError, match="checkpoint"):
        run(**settings | {"metrics": {"spread": spread}})


def test_a_metric_that_fails_does_so_before_anything_is_charged(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "clinics.ledger") as ledger:
        ledger.set_budget("everyone", "visits", epsilon=3.0, delta=1e-5)
        settings = {"method": PRIVATE, "ledger": ledger, "dataset": "visits", "owner": "everyone"}
        with pytest.raises(ConfigError, match=r"metrics\['wrong'\] raised ZeroDivisionError"):
            run(metrics={"wrong": lambda answers: 1 / 0}, **settings)
        assert ledger.balance("everyone", "visits").spent == 0


@pytest.mark.long
def test_another_metric_is_not_another_run(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "clinics.ledger") as ledger:
        ledger.set_budget("everyone", "visits", epsilon=3.0, delta=1e-5)
        settings = {"method": PRIVATE, "ledger": ledger, "dataset": "visits", "owner": "everyone"}
        one = run(metrics={"spread": spread}, **settings)
        spent = ledger.balance("everyone", "visits").spent
        two = run(metrics={"size": size}, **settings)
        assert ledger.balance("everyone", "visits").spent == spent > 0
        np.testing.assert_array_equal(one.solutions, two.solutions)


@pytest.mark.parametrize(
    ("match", "changes"),
    [
        ("metrics is 3; give names", {"metrics": 3}),
        (r"metrics\['m'\] is 3; give a function", {"metrics": {"m": 3}}),
        ("metrics: 'objective' cannot be a metric: the history", {"metrics": {"objective": max}}),
        ("metrics: '' cannot be a metric: it is no name", {"metrics": {"": max}}),
        (
            r"metrics\['m'\] returned an array of shape \(3,\).*return one number",
            {"metrics": {"m": lambda answers: answers.mean(axis=0)[:3].repeat(3)[:3]}},
        ),
        (r"metrics\['m'\] raised .*array of shape \(4, ", {"metrics": {"m": lambda x: x["y"]}}),
        (r"metrics\['m'\] returned None for answers", {"metrics": {"m": lambda answers: None}}),
        (r"metrics\['m'\] returned '1' for answers", {"metrics": {"m": lambda answers: "1"}}),
        (r"metrics\['m'\] raised ValueError", {"metrics": {"m": lambda answers: answers.fill(0)}}),
        ("keep=3 must be True or False", {"keep": 3}),
        (
            "keep=True: .* GB are kept; record at most",
            {"keep": True, "rounds": 10**6, "record": 1, "runtime": Simulation(trials=1000)},
        ),
    ],
)
def test_what_is_no_metric_is_refused(match: str, changes: dict[str, Any]) -> None:
    refuse(ConfigError, match, **changes)
