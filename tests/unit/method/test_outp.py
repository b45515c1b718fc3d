"""OutP, corrected and as coded: what the noise of either costs."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tacit
from tacit import network, problem
from tacit.errors import ConfigError, NetworkError, PrivacyError, ProblemError
from tacit.method import OutP
from tacit.papers.ryu2021.outp_as_coded import CodedSolution, OutPAsCoded
from tacit.privacy import Status
from tacit.types import Context, PublicContext, Relation, Unit
from tests.conformance.table import task

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


def coded_cost(epsilon: float, rounds: int = 5) -> float:
    method = OutPAsCoded(epsilon=epsilon, penalty=12.0)
    return tacit.account(task(0), CLIENTS, method, rounds=rounds).guarantee.worst.epsilon


def test_the_budget_of_the_corrected_form_is_that_of_the_run() -> None:
    method = OutP(penalty=12.0, privacy=tacit.Privacy(clip=0.5, epsilon=1.0, delta=1e-5))
    found = tacit.account(task(0), CLIENTS, method, rounds=50).guarantee.worst
    assert found.status is Status.PROVED and found.releases == 50
    assert 1.0 - 1e-6 < found.epsilon <= 1.0


def test_the_noise_as_coded_says_nothing_about_the_epsilon_it_is_made_for() -> None:
    # squared, it is too large for a small epsilon and too small for a large one
    assert coded_cost(0.05, rounds=1) < 0.05 / 5
    assert coded_cost(5.0, rounds=1) < 5.0
    assert coded_cost(50.0, rounds=1) > 50.0


def test_the_coded_claim_rests_on_an_assumption() -> None:
    found = tacit.account(task(0), CLIENTS, OutPAsCoded(epsilon=1.0), rounds=2).guarantee.worst
    assert found.status is Status.MODEL and found.total_epsilon is None
    assert "no record's gradient is longer than 1" in found.sentence()
    assert "no clip enforces that bound" in found.sentence()


@pytest.mark.usefixtures("float64")
def test_the_worst_neighbours_move_the_solution_by_what_is_assumed() -> None:
    data, method = task(0), OutPAsCoded(epsilon=1.0)
    query = method.phases()[0].query
    assert isinstance(query, CodedSolution)
    public = PublicContext(1, 4, 0, 5, 8, 8.0, Unit.RECORD, 1, 5, dimension=3)
    bound = query.sensitivity(public, Relation.REPLACE_ONE)
    pair: Any = method.worst_case(data, 1)
    gap = (pair.objectives.gradients[1] - pair.others.gradients[1]).sum(axis=0) / 8.0
    assert float(jnp.linalg.norm(gap)) / query.curvature(public) == pytest.approx(bound)
    assert pair.owners == (1,) and pair.others_zero


def test_refusals() -> None:
    with pytest.raises(PrivacyError, match=r"epsilon=0\.0"):
        OutPAsCoded(epsilon=0.0)
    with pytest.raises(PrivacyError, match=r"step_delta=1\.0"):
        OutPAsCoded(epsilon=1.0, step_delta=1.0)
    with pytest.raises(ConfigError, match=r"penalty=0\.0"):
        OutPAsCoded(epsilon=1.0, penalty=0.0)
    with pytest.raises(ConfigError, match=r"proximity=0\.0"):
        OutPAsCoded(epsilon=1.0, proximity=0.0)
    coded = OutPAsCoded(epsilon=1.0)
    with pytest.raises(NetworkError, match="all of them in every round"):
        coded.check(task(0), network.Coordinator(4, probability=0.5))
    whole = problem.costs(lambda x, c: jnp.sum((x - c) ** 2), np.zeros((4, 2)), np.zeros(2))
    with pytest.raises(ProblemError, match="consists of agents; use OutP"):
        coded.check(whole, CLIENTS)
    query = coded.phases()[0].query
    assert query is not None
    box = problem.black_box_problem(lambda x, agent: 0.0, 2, [0.0]).agent(0)
    with pytest.raises(PrivacyError, match="gives values only"):
        query(None, box, CONTEXT, jax.random.key(0))
