"""Gradient tracking over networks that change from round to round."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tacit
from tacit import network, problem
from tacit.method import GradientTracking


@pytest.mark.parametrize(
    "varying",
    [
        network.RandomActivation(network.ring(6), 0.6),
        network.LinkFailure(network.ring(6), 0.3),
    ],
)
def test_agents_that_sleep_and_links_that_fail_leave_the_minimiser_as_it_is(varying: Any) -> None:
    """All know who sleeps, so the mean of the trackers stays that of the gradients."""
    rng = np.random.default_rng(0)
    rows = [rng.normal(size=(50, 2)) for _ in range(6)]
    targets = [x @ [1.0, -1.0] + agent for agent, x in enumerate(rows)]
    task = problem.empirical_risk(rows, targets, problem.Squared(), problem.L2(0.1))
    assert not GradientTracking.absences
    method = GradientTracking(step=0.1)
    done = tacit.run(task, varying, method, rounds=600, reference="solve", seed=1)
    np.testing.assert_allclose(done.solutions[0], np.tile(done.reference, (6, 1)), atol=1e-8)
