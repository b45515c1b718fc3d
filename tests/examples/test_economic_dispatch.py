"""The private economic dispatch, run as a user would, and what it promises."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest

from tacit import problem


@pytest.fixture(scope="module")
def example(load: Callable[[str], ModuleType]) -> ModuleType:
    return load("economic_dispatch")


@pytest.mark.long
def test_it_serves_the_demand_and_says_what_it_promises(
    example: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    example.main(["--plants", "3", "--demand", "100", "--epsilon", "2"])
    printed = capsys.readouterr().out
    assert "total output     100.000000 MW of 100" in printed
    assert "(2, 1e-6)-differentially private, which is proved" in printed
    assert "whole cost function" in printed


def test_the_best_schedule_has_one_marginal_cost(example: ModuleType) -> None:
    curves = np.array([[20.0, 0.1], [30.0, 0.2]])
    best = problem.solve(example.dispatch_problem(curves, 200.0)).solution
    # 20 + 0.1 x = 30 + 0.2 (200 - x)
    np.testing.assert_allclose(best, [500 / 3, 100 / 3], rtol=1e-6)


@pytest.mark.long
def test_with_a_large_budget_it_finds_the_best_schedule(example: ModuleType) -> None:
    curves = np.array([[20.0, 0.1], [30.0, 0.2]])
    result = example.dispatch(curves, 200.0, epsilon=1e6, rounds=1500)
    np.testing.assert_allclose(result.solution, [500 / 3, 100 / 3], atol=0.5)
