"""DP-IADMM as printed: what its guarantee says, and that the claim falls."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tacit
from tacit import Privacy, network, problem
from tacit.errors import PrivacyError, ProblemError
from tacit.method import DPIADMMProx, DPIADMMTrust, GrowingPenalty
from tacit.method.worst_case import LinearUnits
from tacit.papers.ryu2021.dp_iadmm import DPIADMMPrinted, local_sensitivity
from tacit.privacy import LaplaceRelease, Repeated, Status, epsilon
from tacit.types import Context, Role
from tests.conformance.table import task
from tests.quick import only

CLIENTS = network.Coordinator(4)
CONTEXT = Context(
    round=jnp.asarray(0),
    step=0,
    agent=jnp.asarray(0),
    degree=jnp.asarray(1),
    key=jax.random.key(0),
    public=task(0).public,
    rounds=jnp.asarray(1),
    agents=2,
)
PRINTED = DPIADMMPrinted(DPIADMMProx(penalty=GrowingPenalty(0.05)), 0.05)


@pytest.mark.parametrize(
    ("one", "total"), [(0.05, 57.1426), (0.1, 161.919), (1.0, 7899.59), (5.0, 81254.9)]
)
def test_what_20000_iterations_would_cost_with_a_global_sensitivity(
    one: float, total: float
) -> None:
    spent = epsilon([Repeated(LaplaceRelease(1.0 / one), 20_000)], delta=1e-6)
    assert spent == pytest.approx(total, rel=1e-4)


@pytest.mark.slow
def test_the_guarantee_is_of_one_release_and_says_why_not_even_that() -> None:
    found = tacit.account(task(0), CLIENTS, PRINTED, rounds=20_000).guarantee.worst
    assert found.status is Status.PER_RELEASE and found.epsilon == pytest.approx(0.05, rel=1e-3)
    assert found.total_epsilon == pytest.approx(57.1426, rel=1e-5)
    said = found.sentence()
    assert said.startswith("For one release only")
    assert "claimed to be (0.05, 1e-6)-DP" in said
    assert "(20,000 releases)" in said and "epsilon 57.15" in said
    assert "the agent's own records (a local sensitivity)" in said
    assert "one iteration at a time" in said


@pytest.mark.long
@pytest.mark.parametrize("rounds", only(["1"], [1, 3]))
def test_an_audit_refutes_the_claim(rounds: int) -> None:
    # of more than one round, the total is put to the test
    method = DPIADMMPrinted(DPIADMMTrust(penalty=5.0), 0.05)
    found = tacit.audit_method(task(0), CLIENTS, method, rounds=rounds, trials=200, seed=0)
    assert found.claim.epsilon == pytest.approx(0.05 * rounds, rel=1e-3)
    assert found.guarantee.status is Status.REFUTED
    assert found.best.epsilon > 1.0


@pytest.mark.slow
@pytest.mark.usefixtures("float64")
def test_the_scale_of_the_noise_follows_the_longest_record() -> None:
    x = jnp.asarray(np.random.default_rng(1).normal(size=12))
    rng = np.random.default_rng(0)
    rows = [rng.uniform(size=(count, 4)) for count in (5, 3)]
    data = problem.empirical_risk(
        rows, [rng.integers(0, 3, len(each)) for each in rows], problem.Softmax(3), normaliser=8.0
    )
    for agent in (0, 1):
        own = data.agent(agent)
        each = np.asarray(jax.jacrev(own.losses)(x))
        expected = np.abs(each).sum(axis=1).max() / 8.0
        # one with a closed form, one without
        other = LinearUnits(np.asarray(8.0), each)
        for objective in (own, other):
            assert float(local_sensitivity(objective, x)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.usefixtures("float64")
def test_neighbours_differ_in_one_record_and_in_the_noise() -> None:
    pair: Any = PRINTED.worst_case(task(0), 2)
    assert pair.owners == (2,)
    scales = [
        float(local_sensitivity(LinearUnits(side.normaliser[2], side.gradients[2]), jnp.zeros(3)))
        for side in (pair.objectives, pair.others)
    ]
    assert scales == pytest.approx([1.0 / 8.0, 0.01 / 8.0])
    changed = np.asarray(pair.objectives.gradients) != np.asarray(pair.others.gradients)
    assert np.argwhere(changed.any(axis=-1)).tolist() == [[2, 0]]


def test_the_answer_and_the_gradients_are_those_of_the_paper() -> None:
    assert PRINTED.method.point == "own"
    server = PRINTED.init(Role.SERVER, jnp.zeros(3), 1)
    assert PRINTED.solution(eqx.tree_at(lambda s: s.w, server, jnp.ones(3))).tolist() == [1.0] * 3


def test_refusals() -> None:
    with pytest.raises(PrivacyError, match=r"epsilon=0\.0 must be positive"):
        DPIADMMPrinted(DPIADMMProx(), 0.0)
    with pytest.raises(PrivacyError, match="leave privacy out"):
        DPIADMMPrinted(DPIADMMProx(privacy=Privacy(clip=1.0, epsilon=1.0)), 1.0)
    whole = problem.costs(lambda x, c: jnp.sum((x - c) ** 2), np.zeros((4, 2)), np.zeros(2))
    with pytest.raises(ProblemError, match="consists of agents"):
        PRINTED.check(whole, CLIENTS)
    (query,) = [phase.query for phase in PRINTED.phases() if phase.query is not None]
    box = problem.black_box_problem(lambda x, agent: 0.0, 2, [0.0]).agent(0)
    with pytest.raises(PrivacyError, match="gives values only"):
        query(None, box, CONTEXT, jax.random.key(0))
