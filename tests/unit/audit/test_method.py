"""Auditing a method: what is refused, what is refuted, when it stops."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest

import tacit
from tacit import DGD, DPSG, DZOASolver, GradientDescent, Privacy, network, problem
from tacit.audit import Audit, audit_method, replace_record
from tacit.errors import ConfigError, NetworkError, NonPrivateRelease, ProblemError
from tacit.method import PaperClaim, Phase
from tacit.papers.gratton2021.pvp import PVPPrinted
from tacit.privacy import ClippedGradient, Status
from tacit.types import PublicContext, Relation

AGENTS = 3


def task() -> Any:
    rng = np.random.default_rng(0)
    features = [rng.normal(size=(4, 2)) for _ in range(AGENTS)]
    return problem.empirical_risk(features, [np.ones(4)] * AGENTS, problem.Squared())


def private(**changes: Any) -> DPSG:
    return DPSG(step=0.1, privacy=Privacy(**{"clip": 1.0, "epsilon": 1.0, **changes}))


class Forgetful(ClippedGradient):
    """Takes a record that is replaced for one that is removed."""

    def sensitivity(self, public: PublicContext, relation: Relation) -> float:
        return super().sensitivity(public, Relation.ADD_REMOVE)


class Broken(DPSG):
    """DPSG with a programming error."""

    def phases(self) -> tuple[Phase, ...]:
        (phase,) = super().phases()
        assert isinstance(phase.query, ClippedGradient)
        forgetful = Forgetful(phase.query.point, phase.query.clip)
        return (dataclasses.replace(phase, query=forgetful),)


def repeatable(found: Audit) -> dict[str, Any]:
    """All but the noise between sites, which nobody can draw twice."""
    document = found.to_dict()
    document["checks"] = [c for c in document["checks"] if "between sites" not in c["of"]]
    return document


@pytest.mark.slow
def test_the_package_is_its_own_function() -> None:
    found = tacit.audit_method(
        task(), network.ring(AGENTS), private(), rounds=4, trials=400, seed=0
    )
    assert isinstance(found, Audit)
    again = audit_method(task(), network.ring(AGENTS), private(), rounds=4, trials=400, seed=0)
    assert repeatable(found) == repeatable(again)
    assert not found.refuted and found.guarantee is found.claim
    assert found.exact and found.trials == 400
    assert {bound.estimator for bound in found.bounds} >= {"Gaussian-DP"}
    assert "it cannot prove it" in found.sentence()
    assert found.mu is not None and found.claimed_mu is not None and found.mu_error is not None
    assert abs(found.mu - found.claimed_mu) < 4.0 * found.mu_error
    document = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert document["format"] == "tacit-audit-1" and document["refuted"] is False
    assert document["claim"]["owner"] == "agent 0"


@pytest.mark.long
def test_too_little_noise_is_found_and_the_audit_stops_early() -> None:
    told: list[tuple[int, int]] = []
    broken = Broken(step=0.1, privacy=Privacy(clip=1.0, epsilon=1.0))
    found = audit_method(
        task(),
        network.ring(AGENTS),
        broken,
        rounds=4,
        owner=1,
        trials=20_000,
        seed=0,
        progress=lambda done, total: told.append((done, total)),
    )
    assert found.refuted and found.claim.epsilon == pytest.approx(1.0, rel=1e-3)
    assert found.claim.status is Status.MODEL and "the query Forgetful" in found.claim.reason
    assert found.trials <= 6000 and told[-1] == (found.trials, 20_000)
    assert found.guarantee.status is Status.REFUTED
    assert found.guarantee.measured_epsilon == found.best.epsilon > 1.0
    assert "Do not publish" in found.sentence()
    assert f"in {found.trials:,} runs" in found.guarantee.sentence()
    # with half of the noise the run costs a little more than 2
    assert found.best.epsilon < 2.2


@pytest.mark.slow
def test_the_neighbour_may_be_given() -> None:
    data = task()
    other = replace_record(data, 2, 1, target=-30.0)
    found = audit_method(
        data, network.ring(AGENTS), private(), rounds=2, owner=2, neighbour=other, trials=64, seed=3
    )
    assert found.how == "1 of the records of agent 2 replaced as given"
    with pytest.raises(ProblemError, match="the data of agent 2 differ too"):
        audit_method(data, network.ring(AGENTS), private(), rounds=2, neighbour=other, trials=64)


@pytest.mark.slow
def test_without_a_likelihood_half_of_the_runs_teach_the_score() -> None:
    solver = DZOASolver(
        step=0.05, inner_steps=4, directions=4, printed=True, claim=PaperClaim(0.15, 1e-3)
    )
    found = audit_method(task(), network.ring(AGENTS), solver, rounds=2, trials=128, seed=0)
    assert not found.exact and found.claim.status is Status.MODEL
    assert found.refuted and found.guarantee.status is Status.REFUTED
    assert found.to_dict()["score"] == "learned"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rounds", "releases"), [(1, "its only release"), (3, "all 3 releases together")]
)
def test_an_audit_of_a_claim_for_one_release_says_so(rounds: int, releases: str) -> None:
    method, net = PVPPrinted(epsilon=0.5), network.ring(AGENTS)
    found = audit_method(task(), net, method, rounds=rounds, trials=64, seed=0)
    stated = tacit.account(task(), net, method, rounds=rounds).guarantee[0]
    # what is tried is the run; what is stated stays in sight
    assert found.stated == found.alone == stated and stated.status is Status.PER_RELEASE
    assert found.claim.epsilon == stated.total_epsilon
    said = found.sentence()
    assert said.endswith(found.scope()) and "The source claims this of one release alone" in said
    assert "(0.2692, 0.001)-DP" in said and f"attacks a run of {rounds}" in said
    assert releases in said and "a longer run costs more" in said
    document = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert document["claim_for_one_release"]["status"] == "per_release"


@pytest.mark.long
def test_an_audit_of_a_claim_for_the_run_has_no_more_to_say() -> None:
    found = audit_method(task(), network.ring(AGENTS), private(), rounds=1, trials=64, seed=0)
    assert found.stated is found.claim and found.scope() == ""
    document = found.to_dict()
    assert document["claim_for_one_release"] is None
    assert document["mu"] == found.mu and f"mu = {found.mu:.3f}" in found.measured()


@pytest.mark.slow
def test_a_coordinator_and_pure_epsilon() -> None:
    method = GradientDescent(
        step=0.1, privacy=Privacy(clip=1.0, epsilon=3.0, delta=0.0, noise="laplace")
    )
    found = audit_method(task(), network.Coordinator(AGENTS), method, rounds=1, trials=2000, seed=1)
    assert found.mu is None and found.claimed_mu is None and found.measured() == ""
    assert found.claim.delta == 0.0 and 1.5 < found.best.epsilon <= 3.0
    # the curve that is claimed begins at 1 and falls to 0
    assert found.curve.claimed[0] == 1.0 and found.curve.claimed[-1] == 0.0
    assert np.all(np.diff(found.curve.claimed) <= 1e-12)


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"trials": 5}, ConfigError, "trials=5 must be at least 20"),
        ({"confidence": 1.0}, ConfigError, "confidence=1.0 must be in"),
        ({"owner": 3}, ProblemError, "owner=3: the problem has 3 agents"),
        ({"rounds": 0}, ConfigError, "rounds=0"),
        ({"seed": -1}, ConfigError, "seed=-1"),
    ],
)
def test_wrong_arguments_are_refused(
    arguments: dict[str, Any], error: type[Exception], says: str
) -> None:
    settings = {"rounds": 2, "trials": 64, **arguments}
    with pytest.raises(error, match=says):
        audit_method(task(), network.ring(AGENTS), private(), **settings)


def test_who_claims_nothing_is_not_audited() -> None:
    with pytest.raises(NonPrivateRelease, match="DGD claims no privacy for agent 0"):
        audit_method(task(), network.ring(AGENTS), DGD(step=0.1), rounds=2)
    with pytest.raises(NetworkError):
        audit_method(task(), network.Coordinator(AGENTS), private(), rounds=2)


@pytest.mark.slow
def test_a_sampled_run_is_audited() -> None:
    rng = np.random.default_rng(0)
    records = [rng.normal(size=(4, 2)) for _ in range(AGENTS)]
    data = problem.empirical_risk(records, [np.ones(4)] * AGENTS, problem.Squared(), normaliser=4.0)
    method = private(sampling=0.1, relation="add_remove")
    found = audit_method(data, network.ring(AGENTS), method, rounds=6, trials=64, seed=0)
    assert found.exact and not found.refuted and found.claim.epsilon <= 1.0
