"""FedAvg and FedProx: what a clip of gradients protects, and what one of whole updates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tacit
from tacit import Privacy, network, problem
from tacit.audit.neighbours import replace_record
from tacit.errors import ConfigError, PrivacyError, ProblemError
from tacit.method import FedAvg, FedProx
from tacit.privacy import GaussianRelease, Repeated, epsilon
from tacit.types import Unit

STAR = network.Coordinator(3)


def task(counts: tuple[int, ...] = (4, 9, 30), scale: float = 1.0) -> Any:
    rng = np.random.default_rng(1)
    rows = [rng.normal(size=(count, 2)) for count in counts]
    targets = [scale * x @ [1.0, -1.0] for x in rows]
    return problem.empirical_risk(rows, targets, problem.Squared())


def fed(release: Any = "update", **changes: Any) -> FedAvg:
    budget = {"clip": 0.5, "epsilon": 4.0} | changes
    return FedAvg(step=0.1, local_steps=3, release=release, privacy=Privacy(**budget))


def test_an_update_protects_all_data_of_a_client_and_gradients_a_record() -> None:
    whole = tacit.account(task(), STAR, fed(), rounds=10)
    single = tacit.account(task(), STAR, fed("gradients"), rounds=10)
    assert {each.unit for each in whole.guarantee} == {Unit.AGENT}
    assert {each.unit for each in single.guarantee} == {Unit.RECORD}
    assert {each.status.value for each in (*whole.guarantee, *single.guarantee)} == {"proved"}
    # one release a round however many local steps, or one a step
    assert (whole.guarantee.worst.releases, single.guarantee.worst.releases) == (10, 30)
    assert "per agent" in whole.guarantee.sentence()
    # two clips for everybody; or two clips over the number of records
    assert [rows[0].sensitivity for rows in whole.releases] == [1.0, 1.0, 1.0]
    assert [rows[0].sensitivity for rows in single.releases] == [1 / 4, 1 / 9, 1 / 30]
    # of how many records there are nothing is told, so nothing is assumed
    public = "the number of records of every owner is public"
    assert all(public not in each.assumptions for each in whole.guarantee)
    assert all(public in each.assumptions for each in single.guarantee)


def test_the_noise_on_updates_does_not_depend_on_the_number_of_records() -> None:
    first = tacit.account(task(), STAR, fed(), rounds=5).releases
    second = tacit.account(task((40, 2, 3)), STAR, fed(), rounds=5).releases
    assert first == second


def test_sums_divided_by_the_number_of_all_records_are_refused_for_whole_agents() -> None:
    rows = [np.ones((n, 2)) for n in (4, 9, 30)]
    pooled = problem.empirical_risk(
        rows, [x[:, 0] for x in rows], problem.Squared(), weighting="record"
    )
    with pytest.raises(PrivacyError, match="divided by the number of all records"):
        tacit.account(pooled, STAR, fed(), rounds=5)
    assert tacit.account(pooled, STAR, fed("gradients"), rounds=5).guarantee.worst.epsilon > 0


def test_a_clip_in_another_norm_is_converted() -> None:
    noise = {"noise": "laplace", "delta": 0.0}
    (row, *_), *_ = tacit.account(task(), STAR, fed(**noise, clip_norm=2), rounds=5).releases
    assert row.sensitivity == pytest.approx(2 * 0.5 * 2**0.5)


@pytest.mark.slow
def test_updates_are_clipped_as_a_whole() -> None:
    # far away targets make steep gradients; nobody moves further than the clip
    bare = Privacy(clip=0.25, noise_multiplier=0.0)
    method = FedAvg(step=0.1, release="update", privacy=bare)
    done = tacit.run(task(scale=1e6), STAR, method, rounds=4, seed=0)
    assert 0.8 < np.linalg.norm(done.solution) <= 4 * 0.25
    assert done.guarantee.worst.status.value == "none"


@pytest.mark.long
def test_without_a_budget_both_forms_are_one_algorithm() -> None:
    plain, update = (
        tacit.run(task(), STAR, FedAvg(step=0.1, proximal=0.5, release=form), rounds=8, seed=0)
        for form in ("gradients", "update")
    )
    np.testing.assert_allclose(update.solution, plain.solution, rtol=1e-13)
    assert update.guarantee.worst.unit is Unit.RECORD  # nothing is promised of anything
    assert update.history.evaluations[-1] == plain.history.evaluations[-1]


@pytest.mark.parametrize("release", ["gradients", "update"])
def test_fed_prox_is_fed_avg_with_a_pull(release: Any) -> None:
    given: dict[str, Any] = {"step": 0.1, "local_steps": 2, "server_step": 0.8, "decay": 0.5}
    given |= {"release": release, "privacy": Privacy(clip=0.5, epsilon=4.0)}
    pulled, named, free = (
        tacit.run(task(), STAR, method, rounds=3, seed=0, record=[])
        for method in (
            FedAvg(proximal=0.5, **given),
            FedProx(proximal=0.5, **given),
            FedAvg(**given),
        )
    )
    np.testing.assert_array_equal(named.solution, pulled.solution)
    assert named.guarantee.worst == pulled.guarantee.worst
    assert np.linalg.norm(named.solution - free.solution) > 1e-6


def test_drawn_clients_are_counted_and_not_amplified() -> None:
    drawn = network.Coordinator(3, probability=0.3)
    method = fed(epsilon=None, noise_multiplier=5.0)
    planned = tacit.account(task(), drawn, method, rounds=40, seed=2)
    times = [each.releases for each in planned.guarantee]
    assert 0 < min(times) < max(times) < 40
    for each, count in zip(planned.guarantee, times, strict=True):
        exact = epsilon([Repeated(GaussianRelease(5.0), count)], delta=1e-6)
        assert each.epsilon == pytest.approx(exact, rel=1e-9)


def test_a_whole_cost_is_protected_by_either() -> None:
    costs = problem.costs(_distance, np.zeros((3, 2)), np.zeros(2))
    for release in ("gradients", "update"):
        planned = tacit.account(costs, STAR, fed(release), rounds=4)
        assert planned.guarantee.worst.unit is Unit.AGENT


def _distance(x: Any, centre: Any) -> Any:
    return ((x - centre) ** 2).sum()


@pytest.mark.slow
def test_an_audit_may_change_every_record_of_a_client() -> None:
    data = task()
    other = replace_record(replace_record(data, 0, 0, target=50.0), 0, 1, target=50.0)
    found = tacit.audit_method(
        data, STAR, fed(), rounds=2, owner=0, neighbour=other, trials=100, seed=0, stop=False
    )
    assert not found.refuted
    with pytest.raises(ProblemError, match="2 records of agent 0 differ"):
        tacit.audit_method(
            data, STAR, fed("gradients"), rounds=2, owner=0, neighbour=other, trials=100, seed=0
        )


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        ({"relation": "add_remove"}, "without everybody noticing"),
        ({"relation": "metric"}, "measures the distance between whole costs"),
        ({"records_per_person": 2}, "protects a whole agent"),
        ({"clip": np.inf}, "no finite sensitivity"),
    ],
)
def test_budgets_that_mean_nothing_for_a_whole_update(budget: Any, words: str) -> None:
    with pytest.raises(PrivacyError, match=words):
        tacit.account(task(), STAR, fed(**budget), rounds=3)


def test_what_is_out_of_range_is_refused() -> None:
    with pytest.raises(ConfigError, match="release='model' must be"):
        fed("model")
    with pytest.raises(ConfigError, match=r"proximal=-1\.0"):
        FedAvg(step=0.1, proximal=-1.0)
    with pytest.raises(ConfigError, match=r"proximal=0\.0 must be a positive"):
        FedProx(step=0.1, proximal=0.0)
    with pytest.raises(PrivacyError, match=r"sampling=0\.5 draws records"):
        fed(sampling=0.5, relation="add_remove")


def test_costs_without_gradients_are_refused() -> None:
    box = problem.black_box_problem(lambda x, agent: float(x @ x), 3, x0=np.zeros(2))
    with pytest.raises(ProblemError, match="gives values only"):
        tacit.run(box, STAR, fed(), rounds=1, seed=0)
