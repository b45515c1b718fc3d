"""Preconditioned descent: few rounds, shares of the budget, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tacit
from tacit import GradientDescent, Privacy, network, problem
from tacit.errors import ConfigError, PrivacyError, ProblemError
from tacit.method import PreconditionedDescent
from tacit.types import Unit

HUB = network.Coordinator(4)
SIZES = (300, 200, 300, 250)


def task(loss: Any = None, *options: Any, **further: Any) -> Any:
    """Features of unequal spread, two of them nearly the same."""
    rng = np.random.default_rng(0)
    mix = np.array([[1.0, 0.0, 0.0], [0.95, 0.1, 0.0], [0.0, 0.0, 0.1]])
    rows = [rng.uniform(-1, 1, size=(count, 3)) @ mix.T for count in SIZES]
    odds = [row @ [1.0, -2.0, 5.0] for row in rows]
    targets = [(rng.random(len(each)) < 1 / (1 + np.exp(-each))) * 1.0 for each in odds]
    loss = problem.Logistic() if loss is None else loss
    return problem.empirical_risk(rows, targets, loss, *options, **further)


def distance(method: Any, rounds: int) -> float:
    """From the pooled fit, over the length of the pooled fit."""
    at = task(None, problem.L2(1e-3))
    aim = at.reference().solution
    found = tacit.run(at, HUB, method, rounds=rounds, seed=0, record=[]).solution
    return float(np.linalg.norm(found - aim) / np.linalg.norm(aim))


@pytest.mark.long
def test_few_rounds_are_enough() -> None:
    assert distance(PreconditionedDescent(ridge=1e-3, average=False), 13) < 0.1
    assert distance(GradientDescent(step=4.0), 12) > 0.5


def test_the_matrix_costs_as_much_as_each_gradient() -> None:
    budget = Privacy(clip=0.5, epsilon=2.0)
    told = tacit.account(task(), HUB, PreconditionedDescent(privacy=budget), rounds=6)
    assert {(each.unit, each.releases) for each in told.guarantee} == {(Unit.RECORD, 6)}
    alike = tacit.account(task(), HUB, GradientDescent(step=1.0, privacy=budget), rounds=6)
    assert told.guarantee.worst.epsilon == pytest.approx(2.0, rel=1e-6)
    for rows, same, size in zip(told.releases, alike.releases, SIZES, strict=True):
        assert [row.sensitivity for row in rows] == [1 / size, 2 * 0.5 / size]
        assert {row.noise_scale for row in rows} == {same[0].noise_scale}


@pytest.mark.parametrize(
    ("at", "reason"),
    [
        (lambda: task(problem.Hinge()), "Hinge has kinks"),
        (lambda: task(problem.Softmax(2)), "Softmax has none"),
        (lambda: task(None, problem.L1(0.1)), "L1 has kinks"),
        (lambda: task(None, constraint=problem.Box(-1.0, 1.0)), "projection on a Box"),
    ],
)
def test_what_it_cannot_whiten_is_refused(at: Any, reason: str) -> None:
    with pytest.raises(ProblemError, match=reason):
        tacit.account(at(), HUB, PreconditionedDescent(), rounds=2)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"noise": "laplace"}, "noise='laplace'"),
        ({"clip_norm": 1}, "clip_norm=1"),
        ({"relation": "metric"}, "relation='metric'"),
    ],
)
def test_budgets_that_do_not_fit_are_refused(changed: dict[str, Any], reason: str) -> None:
    with pytest.raises(PrivacyError, match=reason):
        PreconditionedDescent(privacy=Privacy(clip=1.0, epsilon=1.0, **changed))


def test_numbers_out_of_range_are_refused() -> None:
    given: dict[str, Any]
    for given in ({"step": 0.0}, {"ridge": 0.0}, {"longest": -1.0}):
        with pytest.raises(ConfigError, match=next(iter(given))):
            PreconditionedDescent(**given)
