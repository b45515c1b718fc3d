"""The private quantile regression, run as a user would, and what it promises."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest

from tacit import problem


@pytest.fixture(scope="module")
def example(load: Callable[[str], ModuleType]) -> ModuleType:
    return load("quantile_regression")


@pytest.mark.long
def test_it_runs_and_says_what_it_promises(
    example: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    example.main(["--hospitals", "3", "--visits", "800", "--level", "0.8", "--epsilon", "2"])
    printed = capsys.readouterr().out
    assert "(2, 1e-6)-differentially private, which is proved" in printed
    below = [float(line.split(", ")[-1].split()[0]) for line in printed.splitlines()[:2]]
    assert below == pytest.approx([80.0, 80.0], abs=6.0)


def test_another_level_gives_another_quantile(example: ModuleType) -> None:
    data = example.visits(3, 500, seed=1)
    half, most = (problem.solve(example.regression(data, level)).solution for level in (0.5, 0.9))
    assert example.coverage(half, data) == pytest.approx(0.5, abs=0.01)
    assert example.coverage(most, data) == pytest.approx(0.9, abs=0.01)


def test_the_bound_on_gradients_follows_from_the_features(example: ModuleType) -> None:
    task = example.regression(example.visits(2, 50, seed=0), 0.9)
    np.testing.assert_allclose(task.objectives.gradient_bounds[:, 1], 0.9 * 3.0**0.5)
