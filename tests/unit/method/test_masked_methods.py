"""Methods whose releases are read in sums only: accuracy, guarantee, and who is refused."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import tacit
from tacit import network, problem
from tacit._engine.keys import public_key
from tacit.errors import ConfigError, LedgerError, NetworkError, PrivacyError
from tacit.method import (
    ADMM,
    ORZO,
    ZOOADMM,
    DPIADMMProx,
    DPIADMMTrust,
    DZOAStar,
    FedAvg,
    GradientDescent,
)
from tacit.method._oracle import gradient_query
from tacit.method.phase import AbstractMethod, Phase
from tacit.privacy.budget import Privacy
from tacit.privacy.guarantee import Adversary, Status
from tacit.privacy.ledger import Ledger
from tacit.privacy.masked import Masks, SecureSum
from tacit.privacy.mechanism import gaussian
from tacit.types import Combine, Role
from tests.laid_out import lay_out
from tests.quick import only

pytestmark = pytest.mark.long

AGENTS, RECORDS, SIZE = 8, 60, 4


def task(sizes: list[int] | None = None, **options: Any) -> problem.Problem:
    rng = np.random.default_rng(0)
    sizes = [RECORDS] * AGENTS if sizes is None else sizes
    rows = [rng.normal(size=(n, SIZE)) / 2.0 for n in sizes]
    aim = np.array([1.0, -1.0, 0.5, 0.0])
    return problem.empirical_risk(rows, [x @ aim for x in rows], problem.Squared(), **options)


def budget(masks: Masks | None, **options: Any) -> Privacy:
    return Privacy(clip=1.0, epsilon=2.0, masks=masks, **options)


METHODS = {
    "gradient descent": lambda p: GradientDescent(step=0.5, privacy=p),
    "whole updates": lambda p: FedAvg(step=0.1, release="update", privacy=p),
    "prox": lambda p: DPIADMMProx(penalty=2.0, privacy=p),
    "trust": lambda p: DPIADMMTrust(penalty=2.0, privacy=p),
    "differences": lambda p: DZOAStar(privacy=p),
    "or-zo": lambda p: ORZO(step=0.1, privacy=p),
    "zoo-admm": lambda p: ZOOADMM(step=0.1, privacy=p),
}


@pytest.mark.parametrize("name", only(("gradient descent", "prox"), METHODS))
def test_every_sum_at_a_public_iterate_takes_masks(name: str) -> None:
    build = METHODS[name]
    hub = network.Coordinator(AGENTS)
    alone, masked = (
        tacit.run(task(), hub, build(budget(masks)), rounds=5, seed=1)
        for masks in (None, Masks(coalition=1))
    )
    own, few = alone.releases[1].noise_scale, masked.releases[1].noise_scale
    assert few == pytest.approx(own / np.sqrt(AGENTS - 1), rel=1e-9)
    worst = masked.guarantee.worst
    assert worst.status is Status.PROVED and worst.adversary is Adversary.COLLUDING
    assert (worst.coalition, worst.min_cohort, worst.attempts) == (1, AGENTS, 5)
    assert worst.epsilon == pytest.approx(2.0, rel=1e-9) and worst.epsilon <= 2.0
    assert np.isfinite(masked.solution).all()


@pytest.mark.parametrize("name", only(("trust", "differences"), METHODS))
def test_the_exact_runtime_agrees(name: str) -> None:
    build = METHODS[name]
    hub = network.Coordinator(AGENTS)
    batched, exact = (
        tacit.run(
            task(),
            hub,
            build(budget(Masks())),
            rounds=4,
            seed=1,
            runtime=tacit.Simulation(exact=each),
        )
        for each in (False, True)
    )
    np.testing.assert_allclose(exact.solution, batched.solution, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_masks_bring_the_error_near_that_of_one_noise() -> None:
    hub = network.Coordinator(AGENTS)
    calm = tacit.run(task(), hub, GradientDescent(step=0.5), rounds=60).solution

    def error(masks: Masks | None) -> float:
        private = GradientDescent(step=0.5, privacy=Privacy(clip=50.0, epsilon=99.0, masks=masks))
        many = tacit.Simulation(trials=64)
        found = tacit.run(task(), hub, private, rounds=60, seed=3, runtime=many)
        return float(np.linalg.norm(found.solutions[:, 0] - calm, axis=1).mean())

    # the same draws of noise, smaller by the root of the honest
    assert error(None) / error(Masks(coalition=1)) == pytest.approx(np.sqrt(AGENTS - 1), rel=0.02)


def test_one_copy_for_all_is_the_path_of_the_proximal_variant() -> None:
    hub = network.Coordinator(AGENTS)
    many, one = (
        tacit.run(
            task(), hub, DPIADMMProx(penalty=2.0, privacy=Privacy(clip=9.0, noise_multiplier=1e-9,
            masks=masks)), rounds=30, seed=0,
        ).solution
        for masks in (None, Masks())
    )  # fmt: skip
    np.testing.assert_allclose(one, many, atol=1e-7)


def test_agents_of_any_size_add_noise_of_one_scale() -> None:
    sizes = [20, 40, 60, 80]
    run = tacit.run(
        task(sizes),
        network.Coordinator(4),
        GradientDescent(step=0.5, privacy=budget(Masks())),
        rounds=5,
        seed=0,
    )
    plan, _, _ = _laid_out(task(sizes), network.Coordinator(4), budget(Masks()))
    scales = np.asarray(plan.scales[1])
    np.testing.assert_allclose(scales, scales[0], rtol=1e-14)
    epsilons = [each.epsilon for each in run.guarantee]
    assert epsilons[0] == pytest.approx(2.0)
    assert epsilons == sorted(epsilons, reverse=True)
    # whoever moves the sum less is protected more, in the proportion of the records
    assert epsilons[3] < epsilons[0] / 3


def _laid_out(given: problem.Problem, hub: network.AbstractNetwork, privacy: Privacy) -> Any:
    with jax.enable_x64(True):
        return lay_out(given, hub, GradientDescent(step=0.5, privacy=privacy), 5, 0)


REFUSED = {
    "gossip": (lambda p: tacit.DPSG(step=0.1, privacy=p), False, "an iterate of its own"),
    "local steps": (lambda p: FedAvg(step=0.1, privacy=p), True, "an iterate of its own"),
    "duals": (lambda p: tacit.DZOA(privacy=p), False, "neighbours"),
    "own points": (lambda p: DPIADMMProx(point="own", privacy=p), True, "point='mean'"),
}


@pytest.mark.parametrize(("build", "star", "told"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_sum_at_a_public_iterate_is_refused(build: Any, star: bool, told: str) -> None:
    graph = network.Coordinator(AGENTS) if star else network.ring(AGENTS)
    with pytest.raises(PrivacyError, match=told):
        tacit.run(task(), graph, build(budget(Masks())), rounds=2)


def test_a_method_with_noise_of_its_own_takes_no_masks() -> None:
    without_privacy: Any = ADMM
    with pytest.raises(ConfigError, match="ADMM has no argument 'privacy'"):
        without_privacy(privacy=budget(Masks()))


class Remembers(GradientDescent):
    """Keeps what it releases, and so an iterate that nobody else knows."""

    def phases(self) -> tuple[Phase, ...]:
        query, release = gradient_query(self.privacy)
        first = super().phases()[0]
        return first, Phase(
            name="gradient",
            sender=Role.CLIENT,
            query=query,
            release=release,
            message=lambda s, r, c: (type(s)(s.x - r, s.average), r),
            receiver=Role.SERVER,
            update=self.descend,
            combine=Combine.SUM,
        )


def test_an_agent_that_keeps_what_it_releases_is_stopped() -> None:
    with pytest.raises(TypeError, match="keeps nothing of it"):
        tacit.run(
            task(), network.Coordinator(AGENTS), Remembers(step=0.1, privacy=budget(Masks())),
            rounds=2,
        )  # fmt: skip


def test_a_phase_must_say_that_it_is_summed() -> None:
    query, release = gradient_query(budget(Masks()))
    with pytest.raises(PrivacyError, match="needs every agent's by itself"):
        Phase("g", Role.CLIENT, lambda s, r, c: (s, r), Role.SERVER, lambda s, i, c: s,
              query, release)  # fmt: skip


def test_a_coordinator_sees_a_sum_and_no_message() -> None:
    method = GradientDescent(step=0.5, privacy=budget(Masks()))
    assert method.phases()[1].combine is Combine.SUM
    assert GradientDescent(step=0.5, privacy=budget(None)).phases()[1].combine is Combine.EACH


# who is missing


def test_a_sum_that_misses_somebody_is_charged_and_asked_for_again() -> None:
    hub = network.Coordinator(AGENTS, dropout=0.1)
    method = GradientDescent(step=0.5, privacy=budget(Masks(1, 6)))
    with jax.enable_x64(True):
        key = public_key(0)
        there = np.stack([np.asarray(hub.mixing(t, key).participates) for t in range(40)])
        gone = np.asarray(~there.all(axis=1))
        # once for everybody, and again for those who are there in a round that misses somebody
        expected = 40 + (there & gone[:, None]).sum(axis=0)
        np.testing.assert_array_equal(method.hides.releases(hub, 40, key), expected)
        assert 5 < gone.sum() < 40
    found = tacit.run(task(), hub, method, rounds=40, seed=0)
    assert [each.attempts for each in found.guarantee] == expected.tolist()
    assert found.history.epsilon[-1] == pytest.approx([g.epsilon for g in found.guarantee])


def test_noise_is_made_for_all_attempts_that_are_paid_for() -> None:
    hub = network.Coordinator(AGENTS, dropout=0.1)
    paid = GradientDescent(step=0.5, privacy=budget(Masks(1, 6, attempts=90)))
    found = tacit.run(task(), hub, paid, rounds=40, seed=0)
    worst = found.guarantee.worst
    assert worst.attempts == 90 and worst.epsilon == pytest.approx(2.0)
    assert found.history.epsilon[-1].max() < 0.95 * 2.0  # fewer were needed
    short = GradientDescent(step=0.5, privacy=budget(Masks(1, 6, attempts=41)))
    with pytest.raises(PrivacyError, match=r"41 sums .* 40 rounds with this network need 64"):
        tacit.run(task(), hub, short, rounds=40, seed=0)


def test_a_round_with_too_few_is_left_out() -> None:
    hub = network.Coordinator(AGENTS, dropout=0.4)
    method = GradientDescent(step=0.5, privacy=budget(Masks(1, 6)))
    found = tacit.run(task(), hub, method, rounds=30, seed=0, record=1)
    with jax.enable_x64(True):
        key = public_key(0)
        there = [int(np.sum(np.asarray(hub.mixing(t, key).participates))) for t in range(30)]
    moved = np.diff(found.history.measured["objective"][:, 0]) != 0.0
    np.testing.assert_array_equal(moved, np.array(there) >= 6)
    assert 0 < moved.sum() < 30


def test_where_agents_come_and_go_the_least_cohort_must_be_given() -> None:
    method = GradientDescent(step=0.5, privacy=budget(Masks()))
    for hub in (network.Coordinator(AGENTS, 0.5), network.Coordinator(AGENTS, dropout=0.1)):
        with pytest.raises(PrivacyError, match="min_cohort is not given"):
            tacit.run(task(), hub, method, rounds=3)


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, float("nan")])
def test_an_impossible_dropout_is_refused(share: float) -> None:
    with pytest.raises(NetworkError, match="dropout="):
        network.Coordinator(4, dropout=share)


def test_without_masks_who_is_missing_is_just_missing() -> None:
    hub = network.Coordinator(AGENTS, dropout=0.2)
    method: AbstractMethod = GradientDescent(step=0.5, privacy=budget(None))
    key = public_key(0)
    np.testing.assert_array_equal(method.hides.releases(hub, 20, key), hub.participations(20, key))
    assert hub.participations(20, key).max() < 20


def test_a_masked_phase_is_told_apart() -> None:
    masked = GradientDescent(step=0.5, privacy=budget(Masks())).phases()
    assert [phase.hides.summed for phase in masked] == [False, True]


def test_answers_to_sums_that_are_given_up_are_counted_as_bytes() -> None:
    method = GradientDescent(step=0.5, privacy=budget(Masks(1, 6)))
    hub = network.Coordinator(AGENTS, dropout=0.1)
    with jax.enable_x64(True):
        answered = int(method.hides.releases(hub, 20, public_key(0)).sum())
    found = tacit.run(task(), hub, method, rounds=20, seed=0)
    assert answered > 20 * AGENTS
    # each is asked at an iterate and answers with as many numbers
    assert found.history.bytes[-1] == 2 * 8 * SIZE * answered


class Private(GradientDescent):
    """Brings masks of its own beside those of its budget."""

    def phases(self) -> tuple[Phase, ...]:
        first, second = super().phases()
        assert second.release is not None
        hides = SecureSum(Masks(coalition=0))
        mechanism = dataclasses.replace(gaussian(1.0), hides=hides)
        release = dataclasses.replace(second.release, mechanism=mechanism)
        summed = dataclasses.replace(second, release=release, combine=Combine.SUM)
        return first, summed


@pytest.mark.parametrize("given", [None, budget(None), budget(Masks(1))])
def test_masks_that_the_budget_does_not_know_are_refused(given: Privacy | None) -> None:
    with pytest.raises(PrivacyError, match="other masks than the method's budget"):
        tacit.run(task(), network.Coordinator(AGENTS), Private(step=0.1, privacy=given), rounds=2)


def test_a_ledger_adds_up_against_one_adversary_only(tmp_path: Path) -> None:
    hub = network.Coordinator(AGENTS)
    with Ledger.create(tmp_path / "ledger") as ledger:
        ledger.set_budget("all", "records", epsilon=9.0, delta=1e-5)
        given = {"rounds": 2, "seed": 0, "ledger": ledger, "dataset": "records", "owner": "all"}
        masked = GradientDescent(step=0.5, privacy=budget(Masks(1)))
        tacit.run(task(), hub, masked, **given)
        alone = GradientDescent(step=0.5, privacy=budget(None))
        with pytest.raises(LedgerError, match="neighbours of another kind"):
            tacit.run(task(), hub, alone, **given)
