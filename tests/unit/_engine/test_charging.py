"""What a run will release, calibrated from declared constants."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pytest

import tacit
from tacit import DGD, DPSG, DZOASolver, Privacy, network, problem
from tacit._engine.calibrate import calibrate
from tacit._engine.charging import Owners, events, scales
from tacit._engine.contract import owners_of
from tacit._engine.run_guarantee import guarantees, spent
from tacit.errors import PrivacyError
from tacit.method import PaperClaim
from tacit.method.phase import Phase
from tacit.method.releases import Releases
from tacit.privacy import accounting
from tacit.privacy.digits import rounded_up
from tacit.privacy.event import GaussianRelease, LaplaceRelease, NonPrivate, Repeated
from tacit.privacy.guarantee import Status
from tacit.privacy.guarantees import Guarantees
from tacit.privacy.mechanism import NO_NOISE, gaussian
from tacit.types import PublicContext, Relation, Unit


def owners(
    counts: tuple[int, ...] = (10, 20, 30),
    rounds: int = 5,
    unit: Unit = Unit.RECORD,
    **changes: Any,
) -> Owners:
    """Three owners with different numbers of records."""
    contexts = tuple(
        PublicContext(agent, len(counts), 0, rounds, count, float(count), unit, 2, rounds)
        for agent, count in enumerate(counts)
    )
    names = tuple(f"site {agent}" for agent in range(len(counts)))
    return Owners(contexts, names, **changes)


def calibrated(method: Any, owners: Owners) -> Any:
    """The method with the noise that its budget requires."""
    return calibrate(Releases(method), owners).method


def first_scales(method: Any, owners: Owners) -> Any:
    """Noise of a calibrated method's first phase."""
    releases = Releases(method)
    return scales(releases, owners.kinds(releases))[0]


def stated_of(method: Any, owners: Owners) -> Guarantees:
    """What a calibrated method guarantees to every owner."""
    releases = Releases(method)
    return guarantees(releases, owners, owners.kinds(releases))


def dpsg(**changes: Any) -> DPSG:
    """A private method with a budget, some of it changed."""
    settings = {"clip": 0.5, "epsilon": 1.0, "delta": 1e-5} | changes
    return DPSG(step=0.1, privacy=Privacy(**settings))


def test_equal_budgets_give_equal_multipliers_and_noise_that_follows_the_counts() -> None:
    method = calibrated(dpsg(), owners())
    z = method.privacy.noise_multiplier
    assert np.ptp(z) == 0
    # replacing a record moves a clipped mean by 2 C / N
    np.testing.assert_allclose(
        first_scales(method, owners()),
        z[0] * 2 * 0.5 / np.array([10, 20, 30]),
    )


class Fixed(DPSG):
    """Its noise does not follow from its budget."""

    noise: Any = None

    def phases(self) -> tuple[Phase, ...]:
        (phase,) = super().phases()
        assert phase.release is not None
        fixed = replace(phase, name="fixed", release=replace(phase.release, mechanism=self.noise))
        return (fixed, replace(phase, name="calibrated"))


def test_fixed_noise_beyond_the_budget_is_told_by_phase_with_its_cost() -> None:
    privacy = Privacy(clip=0.5, epsilon=1.0, delta=1e-5)
    alone = accounting.epsilon([Repeated(GaussianRelease(5.0), 5)], 1e-5)
    assert alone > 1.0
    cost = rounded_up(alone)
    told = f"phase 'fixed' has a fixed noise multiplier of 5 and costs epsilon = {cost} "
    with pytest.raises(PrivacyError, match=re.escape(told)) as error:
        calibrated(Fixed(0.1, privacy=privacy, noise=gaussian(5.0)), owners())
    assert "budget of epsilon = 1 at delta = 1e-5" in str(error.value)
    assert "calibrated" not in str(error.value)
    with pytest.raises(PrivacyError, match="phase 'fixed' has no noise and costs epsilon = inf"):
        calibrated(Fixed(0.1, privacy=privacy, noise=NO_NOISE), owners())


def test_fixed_noise_within_the_budget_leaves_the_rest_to_the_others() -> None:
    privacy = Privacy(clip=0.5, epsilon=1.0, delta=1e-5)
    method = calibrated(Fixed(0.1, privacy=privacy, noise=gaussian(50.0)), owners())
    assert max(each.epsilon for each in stated_of(method, owners())) == pytest.approx(1.0, rel=1e-5)
    alone = calibrated(dpsg(), owners())
    assert np.all(method.privacy.noise_multiplier > alone.privacy.noise_multiplier)


@pytest.mark.parametrize("kind", [list, tuple, np.array])
def test_every_owner_gets_its_own_budget(kind: Any) -> None:
    budget, clip = kind([0.5, 1.0, 4.0]), kind([0.1, 0.2, 0.3])
    method = calibrated(dpsg(epsilon=budget, clip=clip), owners())
    stated = stated_of(method, owners())
    np.testing.assert_allclose([g.epsilon for g in stated], budget, rtol=1e-5)
    assert all(g.epsilon <= b for g, b in zip(stated, budget, strict=True))
    expected = method.privacy.noise_multiplier * 2 * np.array(clip) / np.array([10, 20, 30])
    np.testing.assert_allclose(first_scales(method, owners()), expected)
    assert [g.owner for g in stated] == ["site 0", "site 1", "site 2"]


def test_as_many_budgets_as_owners() -> None:
    with pytest.raises(PrivacyError, match="epsilon has 2 entries for 3 owners"):
        calibrated(dpsg(epsilon=[1.0, 2.0]), owners())


def test_what_is_released_is_counted_once_a_round() -> None:
    method = calibrated(dpsg(noise_multiplier=3.0, epsilon=None), owners())
    assert Releases(method).all(owners().contexts[0]) == [Repeated(GaussianRelease(3.0), 5)]
    laplace = dpsg(noise_multiplier=3.0, epsilon=None, noise="laplace")
    assert Releases(laplace).all(owners().contexts[0]) == [Repeated(LaplaceRelease(3.0), 5)]
    assert Releases(DGD(step=0.1)).all(owners().contexts[0]) == [Repeated(NonPrivate(), 5)]


def test_hardly_any_noise_is_none() -> None:
    """Floats cannot tell them apart."""
    faint = calibrated(dpsg(noise_multiplier=1e-80, epsilon=None), owners())
    stated = stated_of(faint, owners()).worst
    assert (stated.status, stated.epsilon) == (Status.NONE, np.inf)
    assert "without protective noise" in stated.sentence()
    little = calibrated(dpsg(noise_multiplier=1e-60, epsilon=None), owners())
    assert "(2.501e120, 1e-5)" in stated_of(little, owners()).worst.sentence()


def test_a_run_of_any_length_is_accounted_for_at_once() -> None:
    long = owners(rounds=2**31 - 1)
    method = calibrated(dpsg(), long)
    found = spent(
        Releases(method),
        long,
        [0, 1000, 2**31 - 1],
        np.array([[0] * 3, [1000] * 3, [2**31 - 1] * 3]),
    )
    assert 0.0 == found[0, 0] < found[1, 0] < found[2, 0] <= 1.0


def test_an_owner_that_never_takes_part_releases_nothing() -> None:
    asleep = owners(rounds=0)
    stated = stated_of(calibrated(dpsg(), asleep), asleep)
    assert {(g.epsilon, g.releases, g.theorem) for g in stated} == {(0.0, 0, "nothing is released")}


def test_a_person_at_several_sites_costs_the_composition_of_them() -> None:
    one = calibrated(dpsg(), owners())
    two = calibrated(dpsg(sites_per_person=2), owners())
    # Gaussian-DP composes as the root of the sum of squares
    ratio = two.privacy.noise_multiplier / one.privacy.noise_multiplier
    np.testing.assert_allclose(ratio, np.sqrt(2), rtol=1e-5)
    stated = stated_of(two, owners())
    assert stated.worst.unit is Unit.PERSON
    assert 0.999 < stated.worst.epsilon <= 1.0
    np.testing.assert_allclose(
        spent(Releases(two), owners(), [0, 5], np.array([[0] * 3, [5] * 3]))[-1], 1.0, rtol=1e-5
    )
    assert stated.worst.releases == 5


def test_a_person_with_several_records_moves_the_answer_that_much_more() -> None:
    one = calibrated(dpsg(), owners())
    three = calibrated(dpsg(records_per_person=3), owners())
    ratio = three.privacy.noise_multiplier / one.privacy.noise_multiplier
    np.testing.assert_allclose(ratio, 3.0, rtol=1e-5)


def test_what_one_person_at_several_sites_cannot_be_promised() -> None:
    with pytest.raises(PrivacyError, match="there are 3 sites"):
        calibrated(dpsg(sites_per_person=4), owners())
    with pytest.raises(PrivacyError, match="epsilon differs between owners"):
        calibrated(dpsg(sites_per_person=2, epsilon=[1.0, 1.0, 2.0]), owners())
    with pytest.raises(PrivacyError, match="protects a whole agent"):
        calibrated(dpsg(sites_per_person=2), owners(unit=Unit.AGENT))
    sampled = dpsg(records_per_person=2, sampling=0.5, relation="add_remove")
    with pytest.raises(PrivacyError, match="no rule for groups"):
        calibrated(sampled, owners())


class UnequalNoise(DPSG):
    """Noise of its own, of which the second owner has twice as much."""

    def phases(self) -> tuple[Phase, ...]:
        (phase,) = super().phases()
        assert phase.release is not None
        noise = gaussian([1.0, 2.0, 1.0])
        return (replace(phase, release=replace(phase.release, mechanism=noise)),)


def test_one_person_at_sites_that_release_differently_is_refused() -> None:
    """The quieter owner's guarantee would be what a louder site gives away."""
    alone = UnequalNoise(step=0.1, privacy=Privacy(clip=1.0, noise_multiplier=1.0))
    stated = stated_of(alone, owners())
    assert stated[1].epsilon < stated[0].epsilon
    budget = Privacy(clip=1.0, noise_multiplier=1.0, sites_per_person=2)
    both = UnequalNoise(step=0.1, privacy=budget)
    with pytest.raises(PrivacyError, match=r"sites_per_person=2: .* they differ"):
        stated_of(both, owners())
    with pytest.raises(PrivacyError, match=r"sites_per_person=2: .* they differ"):
        events(Releases(both), owners().kinds(Releases(both)))


def test_where_numbers_of_records_are_private_at_least_one_is_told() -> None:
    rows, answers = [np.ones((3, 2))] * 2, [np.ones(3)] * 2
    task = problem.empirical_risk(rows, answers, problem.Squared(), normaliser=0.4)
    both = network.complete(2)
    found = owners_of(task, both, Releases(dpsg(relation="add_remove")), 2)
    assert [each.count for each in found.contexts] == [1, 1]


@pytest.mark.long
def test_the_smallest_delta_is_accepted_in_single_precision() -> None:
    rows, answers = [np.ones((3, 2))] * 2, [np.ones(3)] * 2
    task = problem.empirical_risk(rows, answers, problem.Squared())
    single = tacit.Simulation(precision="float32")
    result = tacit.run(
        task, network.complete(2), dpsg(delta=1e-12), rounds=2, seed=0, runtime=single
    )
    assert result.guarantee[0].delta == pytest.approx(1e-12)
    assert result.guarantee[0].epsilon == pytest.approx(1.0, rel=1e-3)


def test_add_remove_needs_declared_numbers() -> None:
    method = dpsg(relation="add_remove")
    with pytest.raises(PrivacyError, match="normaliser="):
        calibrated(method, owners(declared=False))
    noisy = calibrated(method, owners())
    z = noisy.privacy.noise_multiplier[0]
    np.testing.assert_allclose(
        first_scales(noisy, owners()),
        z * 0.5 / np.array([10, 20, 30]),
    )


def test_a_claim_keeps_its_status_and_says_why() -> None:
    method = DZOASolver(step=0.1, printed=True, claim=PaperClaim(0.15, 1e-3))
    stated = stated_of(method, owners(rounds=200)).worst
    assert stated.status is Status.MODEL
    assert "variance" in stated.reason
    assert "it is not proved because" in stated.sentence()
    assert "(1.5" not in stated.theorem
    # exact composition of the claimed Gaussians; the paper's eq (25) says 2.04
    assert stated.epsilon == pytest.approx(1.51, abs=0.01)
    assert stated.delta == 1e-3


def test_infinite_epsilon_is_no_guarantee() -> None:
    method = calibrated(dpsg(epsilon=np.inf), owners())
    assert stated_of(method, owners()).worst.status is Status.NONE
    assert not np.any(first_scales(method, owners()))


def test_a_run_that_must_be_proved() -> None:
    rng = np.random.default_rng(0)
    task = problem.empirical_risk(
        [rng.normal(size=(5, 2)) for _ in range(3)], [np.zeros(5)] * 3, problem.Squared()
    )
    with pytest.raises(PrivacyError, match="proved"):
        tacit.run(task, network.ring(3), DGD(step=0.1), rounds=2, seed=0, require="proved")


def distance_to(x: Any, centre: Any) -> Any:
    return jax.numpy.sum((x - centre) ** 2)


def test_costs_compared_by_distance_are_promised_epsilon_a_unit_of_it() -> None:
    task = problem.costs(distance_to, np.array([[0.0, 2.0], [4.0, 0.0]]), np.zeros(2))
    whole = Owners.of(task, network.complete(2), 5, [5, 5])
    method = calibrated(dpsg(clip=np.inf, relation="metric", noise="laplace", delta=0.0), whole)
    # five releases that move by 1 a unit of distance, epsilon 1 together
    np.testing.assert_allclose(first_scales(method, whole), 5.0, rtol=1e-6)
    stated = stated_of(method, whole).worst
    assert (stated.unit, stated.relation) == (Unit.AGENT, Relation.METRIC)
    assert stated.epsilon == pytest.approx(1.0)
    assert "under metric adjacency" in stated.sentence()
    assert "d times as large" in stated.sentence()


def test_records_are_not_compared_by_distance() -> None:
    with pytest.raises(PrivacyError, match="measures the distance between whole costs"):
        calibrated(dpsg(relation="metric"), owners())


@pytest.mark.parametrize(("relation", "count"), [("replace_one", 40), ("add_remove", 5)])
def test_a_divisor_is_no_number_of_records_where_that_is_public(relation: str, count: int) -> None:
    task = problem.empirical_risk(
        [np.zeros((40, 2))] * 2, [np.zeros(40)] * 2, problem.Squared(), normaliser=5.0
    )
    found = owners_of(task, network.complete(2), Releases(dpsg(relation=relation)), 5)
    assert [public.count for public in found.contexts] == [count] * 2
