"""Audits of whole methods: what is proved survives, and what the D-ZOA paper claims does not."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import numpy as np
import pytest

import tacit
from tacit import Simulation
from tacit._engine.contract import contract
from tacit.audit import scaled
from tacit.audit.curve import is_gaussian
from tacit.audit.estimators import lower_bounds
from tacit.audit.neighbours import replace_record
from tacit.audit.runs import Runs
from tacit.method._d_zoa_neighbours import GRADIENT_BOUND, REACH
from tacit.papers.gratton2021.setting import paper_method, paper_network, paper_problem
from tacit.privacy import Status
from tests.conformance.table import ROWS, Row

REPETITIONS, RUNS, MOST = 100, 200, 13
"""13 false refutations of 100 are the 99.9 % point at an error of 5 %."""

QUICK = ("dpsg",)
"""Audited in every run of the tests; the others in `make test-all`."""

SHARES = {"pvp, l2-laplace": 0.45, "dp-fedsgd, masks, some missing": 0.4}
"""Of the claim that the attack reaches, where it is not 0.8. Pure epsilon of noise in three
dimensions is reached along one line only, and six releases hardly ever all lie near it. Where
agents go missing, noise is made for the smallest sums and for sums that are given up, of which
nothing can be read."""

PROVED = [
    pytest.param(row, id=row.name, marks=() if row.name in QUICK else pytest.mark.slow)
    for row in ROWS
    if row.status == "proved"
]


@pytest.mark.long
@pytest.mark.parametrize("row", PROVED)
def test_no_proved_method_is_refuted_too_often(row: Row) -> None:
    data = row.task(0)
    planned = tacit.account(data, row.network, row.method, rounds=row.rounds, seed=0)
    # where some sleep, the owner that says most
    owner = int(np.argmax([each.releases for each in planned.guarantee]))
    claim, events = planned.guarantee[owner], planned.events[owner]
    assert claim.status is Status.PROVED
    gaussian = is_gaussian(events)
    settings: Any = {
        "delta": claim.delta,
        "gaussian": gaussian,
        "curve": None if gaussian else scaled(events),
    }
    pair = row.method.worst_case(data, owner)
    runs = Runs(contract(data, row.network, row.method, rounds=row.rounds), data, pair)
    assert runs.exact
    scores, others = (side[:, 0] for side in runs(0, REPETITIONS * RUNS))

    def bound(one: Any, other: Any) -> float:
        return max(found.epsilon for found in lower_bounds(one, other, **settings))

    refuted = sum(
        bound(one, other) > claim.epsilon
        for one, other in zip(
            scores.reshape(REPETITIONS, RUNS), others.reshape(REPETITIONS, RUNS), strict=True
        )
    )
    assert refuted <= MOST
    # the attack is a real one: all runs together come near the claim
    assert bound(scores, others) > SHARES.get(row.name, 0.8) * claim.epsilon


def longest_gradient(data: Any, net: Any, method: Any, owner: int) -> tuple[float, float]:
    """Longest gradient of the owner's records, and largest norm, at the released iterates."""
    done = tacit.run(data, net, method, rounds=1, seed=1, runtime=Simulation(trials=20))
    visited = done.solutions[:, owner]
    with jax.enable_x64(True):
        each = jax.vmap(jax.jacrev(data.agent(owner).losses))(visited)
    return (
        float(np.linalg.norm(each, axis=-1).max()),
        float(np.linalg.norm(visited, axis=-1).max()),
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["ridge", "lasso"])
def test_the_papers_claim_falls_within_its_assumption(kind: str) -> None:
    paper, net, owner = paper_problem(kind, seed=0), paper_network(), 0
    method = paper_method(paper, net, kind, epsilon=0.15)
    found = tacit.audit_method(
        paper, net, method, rounds=1, owner=owner, trials=200, seed=0, stop=False
    )
    assert found.claim.status is Status.MODEL and found.claim.epsilon <= 0.15
    assert found.guarantee.status is Status.REFUTED
    assert found.best.epsilon > 1.0
    assert found.guarantee.sentence().startswith("Refuted, for agent 0: an audit found (at 95 %")
    # both data sets keep to what theorem 1 assumes, wherever the iterates went
    pair = method.worst_case(paper, owner)
    for objectives in (pair.objectives, pair.others):
        there = eqx.tree_at(lambda p: p.objectives, paper, objectives)
        longest, norm = longest_gradient(there, net, method, owner)
        assert 0.99 < longest <= GRADIENT_BOUND
        assert norm < REACH
        # and the solution is no longer than the radius that the number of directions rests on
        limit = np.linalg.norm(paper.reference().solution)
        assert np.linalg.norm(there.reference().solution) < limit


@pytest.mark.slow
def test_the_papers_claim_falls_with_an_ordinary_record_too() -> None:
    paper, net, owner = paper_problem("ridge", seed=0), paper_network(), 0
    method = paper_method(paper, net, "ridge", epsilon=0.15)
    targets = np.asarray(paper.objectives.targets)[owner]
    record = int(np.argmax(np.abs(targets)))
    other = replace_record(paper, owner, record, target=-float(targets[record]))
    found = tacit.audit_method(
        paper, net, method, rounds=1, owner=owner, neighbour=other, trials=200, seed=0, stop=False
    )
    assert found.refuted and found.best.epsilon > 1.0
    # here the assumption does not hold
    assert longest_gradient(paper, net, method, owner)[0] > GRADIENT_BOUND
