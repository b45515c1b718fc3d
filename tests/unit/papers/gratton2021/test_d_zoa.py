"""D-ZOA as published is the solver as printed, from a cold start, with the paper's claim."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tacit
from tacit import DZOASolver, network, problem
from tacit.errors import ConfigError, NetworkError, PrivacyError
from tacit.method import PaperClaim
from tacit.papers.gratton2021.d_zoa import DZOAPrinted
from tests.conformance.table import task

RING = network.ring(4)
STEPS, DIRECTIONS = np.array([0.1, 0.2, 0.1, 0.15]), np.array([4, 3, 4, 2])


@pytest.mark.parametrize("closed", [False, pytest.param(True, marks=pytest.mark.long)])
def test_it_is_the_solver_as_printed_bit_for_bit(closed: bool) -> None:
    same: dict[str, Any] = {
        "step": STEPS,
        "penalty": 0.3,
        "inner_steps": 4,
        "directions": DIRECTIONS,
        "closed": closed,
    }
    found = [
        tacit.run(task(0), RING, method, rounds=3, seed=1)
        for method in (
            DZOAPrinted(0.5, claimed_delta=1e-4, **same),
            DZOASolver(
                smoothing=1.0,
                printed=True,
                warm_start=False,
                claim=PaperClaim(0.5, 1e-4),
                **same,
            ),
        )
    ]
    own, general = found
    np.testing.assert_array_equal(own.solutions, general.solutions)
    assert own.guarantee == general.guarantee and own.guarantee[0].delta == 1e-4
    assert own.releases == general.releases


def test_the_paper_starts_every_inner_descent_at_zero() -> None:
    costs = problem.costs(
        lambda x, centre: ((x - centre) ** 2).sum() / 2, np.ones((3, 2)), np.full(2, 50.0)
    )
    method = DZOAPrinted(0.5, step=0.2, inner_steps=1, directions=50, smoothing=1e-2)
    moved = tacit.run(costs, network.path(3), method, rounds=1, seed=0, record=[]).solutions[0]
    assert np.max(np.abs(moved)) < 20.0  # a step from x0 ends near 40


def test_its_neighbours_keep_to_the_assumptions_of_the_paper() -> None:
    own = DZOAPrinted(0.5, step=0.2).worst_case(task(0), 0)
    general = DZOASolver(step=0.2, printed=True, claim=PaperClaim(0.5, 1e-3)).worst_case(task(0), 0)
    assert own.how == general.how and own.owners == general.owners == (0,)


def test_what_it_cannot_be_is_refused() -> None:
    with pytest.raises(PrivacyError, match=r"epsilon=0\.0"):
        DZOAPrinted(0.0, step=0.1)
    with pytest.raises(ConfigError, match=r"claimed_delta=1\.0"):
        DZOAPrinted(0.5, step=0.1, claimed_delta=1.0)
    with pytest.raises(NetworkError, match="DZOAPrinted keeps a dual variable"):
        tacit.run(
            task(0),
            network.LinkFailure(network.complete(4), 0.3),
            DZOAPrinted(0.5, step=0.1),
            rounds=1,
        )
