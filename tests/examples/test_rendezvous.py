"""The private rendezvous, run as a user would, and what it promises."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest


@pytest.fixture(scope="module")
def example(load: Callable[[str], ModuleType]) -> ModuleType:
    return load("rendezvous")


@pytest.mark.long
def test_it_runs_and_says_what_it_promises(
    example: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    example.main(["--people", "50", "--epsilon", "5", "--seed", "1"])
    printed = capsys.readouterr().out
    assert "best place" in printed and "(5, 0)-DP per" in printed and "Status: proved" in printed


@pytest.mark.slow
def test_many_people_meet_near_the_best_place(example: ModuleType) -> None:
    addresses = np.random.default_rng(3).uniform(-1.0, 1.0, (100, 2))
    result = example.meet(addresses, epsilon=10.0)
    best = addresses.mean(axis=0)
    # one release of Lap(8 / 2 / epsilon) a coordinate, averaged over 100: 0.06 a coordinate
    assert np.linalg.norm(result.solution - best) < 0.25
    assert np.all(np.abs(result.solution) <= 1.0)
    assert result.guarantee.worst.epsilon <= 10.0


def test_no_address_is_clipped(example: ModuleType) -> None:
    corners = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    # what is private of a gradient, -2 m, is within the clip even in a corner
    assert np.abs(example.CURVATURE * corners).sum(axis=1).max() == example.LONGEST
