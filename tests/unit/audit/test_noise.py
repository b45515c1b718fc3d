"""What all agents draw in a simulated run: right as it is, and mistakes are found."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import numpy as np
import pytest

from tacit import DPSG, Privacy, network, problem
from tacit.audit import audit_method
from tacit.audit.checks import Check
from tacit.audit.noise import simulated_checks
from tacit.errors import PrivacyError
from tacit.method import MaskedGossip
from tacit.privacy import Status
from tests.laid_out import lay_out
from tests.statistical.planted import (
    Mistake,
    one_noise_for_all_agents,
    one_sample_for_all_rounds,
    planted,
    records_not_clipped,
)

AGENTS = 3


def failed(*mistakes: Any, method: Any = None) -> set[str]:
    """Which tests fail of a sampled run with mistakes."""
    rng = np.random.default_rng(0)
    rows = [rng.normal(size=(6, 2)) for _ in range(AGENTS)]
    targets = [np.ones(6)] * AGENTS
    task = problem.empirical_risk(rows, targets, problem.Squared(), normaliser=6.0)
    if method is None:
        budget = Privacy(clip=1.0, noise_multiplier=1.0, sampling=0.2, relation="add_remove")
        method = DPSG(step=0.1, privacy=budget)

    def plant(patch: pytest.MonkeyPatch) -> None:
        for mistake in mistakes:
            mistake(patch)

    with planted(Mistake(plant) if mistakes else None), jax.enable_x64(True):
        plan, _, agreed = lay_out(task, network.ring(AGENTS), method, 4, 0)
        found = simulated_checks(plan, agreed.owners, task.names, 0, proved=True)
    return {check.what for check in found if check.failed}


@pytest.mark.long
def test_a_sampled_run_passes() -> None:
    assert failed() == set()


@pytest.mark.slow
def test_several_mistakes_at_once_are_told_apart() -> None:
    found = failed(one_noise_for_all_agents, one_sample_for_all_rounds, records_not_clipped)
    assert found == {
        "draws are independent",
        "no repeated numbers",
        "samples are independent",
        "one record moves them no further",
    }


@pytest.mark.slow
def test_noise_that_pairs_share_is_taken_apart() -> None:
    budget = Privacy(clip=1.0, epsilon=1.0)
    assert failed(method=MaskedGossip(step=0.1, privacy=budget)) == set()


@pytest.mark.long
def test_a_failed_test_refutes_without_a_bound() -> None:
    rows = np.random.default_rng(0).normal(size=(4, 2))
    task = problem.empirical_risk([rows] * AGENTS, [np.ones(4)] * AGENTS, problem.Squared())
    method = DPSG(step=0.1, privacy=Privacy(clip=1.0, epsilon=1.0))
    found = audit_method(task, network.ring(AGENTS), method, rounds=2, trials=32, seed=0)
    assert found.checks and not found.untested and "tests passed" in found.tested()
    wrong = Check("noise of 'a gradient'", "size", "0.5 of it", 0.0)
    broken = dataclasses.replace(found, checks=(*found.checks, wrong))
    assert broken.refuted and broken.guarantee.status is Status.REFUTED
    assert broken.guarantee.measured_epsilon is None
    assert "noise of 'a gradient', size: 0.5 of it" in broken.guarantee.sentence()
    assert "1 of " in broken.tested() and "Do not publish" in broken.sentence()
    assert broken.to_dict()["checks"][-1]["failed"] is True
    with pytest.raises(PrivacyError, match="go together"):
        found.claim.refuted(None, "")
