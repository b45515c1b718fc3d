"""The private black-box tuning, run as a user would, and what it promises."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest

from tacit import problem


@pytest.fixture(scope="module")
def example(load: Callable[[str], ModuleType]) -> ModuleType:
    return load("black_box_tuning")


@pytest.mark.long
def test_it_runs_and_says_what_it_promises(
    example: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    example.main(["--pharmacies", "3", "--products", "300", "--epsilon", "2"])
    printed = capsys.readouterr().out
    assert "(2, 1e-6)-differentially private, which is proved" in printed
    before, after = (float(line.split(", ")[1].split()[0]) for line in printed.splitlines()[:2])
    assert after < before / 2


def test_a_day_by_hand(example: ModuleType) -> None:
    # order half of the gap of 1, sell 1.5, keep nothing; order 1, miss 1, keep nothing
    sales = np.array([[1.5, 2.0]])
    np.testing.assert_allclose(
        example.simulate(np.array([2.0, 0.5]), sales), [example.MISSED * 1.0 / 2]
    )
    # order 1, sell 1 of 2, keep 1; the same again
    sales = np.array([[1.0, 1.0]])
    np.testing.assert_allclose(
        example.simulate(np.array([2.0, 1.0]), sales), [example.STORAGE * (1.0 + 1.0) / 2]
    )


@pytest.mark.slow
def test_the_rule_stays_in_its_box(example: ModuleType) -> None:
    sales = example.histories(2, 20, seed=0)
    result = example.tune(sales, epsilon=0.01, rounds=5)
    assert problem.Box([0.0, 0.0], [5.0, 1.0]).contains(result.solution)
