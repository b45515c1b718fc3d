"""Plain numbers: what follows from two of epsilon, rounds and noise, and what is shared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tacit import network
from tacit.errors import PrivacyError
from tacit.privacy import (
    accounting,
    at_other_deltas,
    gossip_mu,
    plan_gossip,
    plan_masks,
    plan_noise,
)
from tacit.privacy.event import DiscreteGaussianRelease, GaussianRelease, PoissonSampled
from tacit.privacy.gaussian_dp import epsilon_from_mu


def test_any_two_give_the_third() -> None:
    noise = plan_noise(epsilon=1.0, rounds=50)
    assert noise.budget == 1.0 and 0.999 < noise.epsilon <= 1.0
    back = plan_noise(noise_multiplier=noise.noise_multiplier, rounds=50)
    assert back.epsilon == noise.epsilon and back.budget is None
    rounds = plan_noise(epsilon=1.0, noise_multiplier=noise.noise_multiplier)
    assert rounds.rounds == 50


def test_what_one_record_weighs() -> None:
    given: dict[str, Any] = {"noise_multiplier": 2.0, "rounds": 3, "clip": 3.0, "records": 100}
    assert plan_noise(**given).sensitivity == pytest.approx(0.06)
    assert plan_noise(**given).noise_scale == pytest.approx(0.12)
    other = plan_noise(**given, relation="add_remove")
    assert other.sensitivity == pytest.approx(0.03)
    sampled = plan_noise(**given, relation="add_remove", sampling=0.1)
    assert sampled.sensitivity == pytest.approx(0.3)
    assert sampled.event == PoissonSampled(0.1, GaussianRelease(2.0))


def test_the_curve_ends_with_the_whole_run() -> None:
    plan = plan_noise(noise_multiplier=9.0, rounds=7, noise="discrete_gaussian")
    assert plan.event == DiscreteGaussianRelease(9.0)
    assert [each.rounds for each in plan.curve()] == [1, 2, 4, 6, 7]
    assert plan.curve()[-1].epsilon == plan.epsilon
    assert [each.rounds for each in plan_noise(noise_multiplier=9.0, rounds=1).curve()] == [1]


def test_other_deltas_hold_the_given_one() -> None:
    events = [GaussianRelease(3.0)]
    stated = at_other_deltas(events, 1e-5)
    assert [each.delta for each in stated] == pytest.approx([1e-1, 1e-3, 1e-5, 1e-7, 1e-9])
    for each in stated:
        assert each.epsilon == accounting.epsilon(events, each.delta)
    # as somebody would write them, so that a table has no 1.001e-7
    assert [each.delta for each in at_other_deltas(events, 1e-3)] == [0.1, 1e-3, 1e-5, 1e-7]
    assert [each.delta for each in at_other_deltas(events, 0.5)] == pytest.approx([0.5, 5e-3, 5e-5])


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({}, "epsilon, rounds and noise_multiplier"),
        ({"epsilon": 1.0}, "epsilon, rounds and noise_multiplier"),
        ({"epsilon": 1.0, "rounds": 2, "noise_multiplier": 1.0}, "noise_multiplier"),
        ({"epsilon": 1.0, "rounds": 2, "delta": 0.0}, "delta=0"),
        ({"epsilon": 1.0, "rounds": 2, "delta": 1e-13}, "delta=1e-13"),
        ({"epsilon": 1.0, "rounds": 2, "sampling": 0.5}, "sampling=0.5"),
        ({"epsilon": 1.0, "rounds": 2, "clip": 1.0}, "records"),
        ({"epsilon": 1.0, "rounds": 2, "records": 9}, "clip"),
        ({"epsilon": 1.0, "rounds": 2, "clip": 1.0, "records": 9, "delta": 0.2}, "large_delta"),
    ],
)
def test_what_does_not_go_together_is_named(given: dict[str, Any], named: str) -> None:
    with pytest.raises(PrivacyError, match=named):
        plan_noise(**given)


def test_gossip_is_what_the_observer_sees() -> None:
    weights = network.weight_matrix(network.ring(6))
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)
    once = plan_gossip(weights, steps=9, noise_multiplier=4.0)
    fresh = plan_gossip(weights, steps=9, noise_multiplier=4.0, fresh_noise=True, observers=[1, 3])
    assert once.exposed and not fresh.exposed
    assert [each.owner for each in fresh.guarantee] == ["agent 0", "agent 2", "agent 4", "agent 5"]
    mu = gossip_mu(weights, 9, [1, 3], fresh.noise) / 4.0
    expected = epsilon_from_mu(mu, 1e-6)[[0, 2, 4, 5]]
    np.testing.assert_allclose([each.epsilon for each in fresh.guarantee], expected)


@pytest.mark.parametrize(
    ("weights", "named"),
    [
        (np.ones((4, 4)), "row 0 of weights sums to 4"),
        (np.array([[1.5, -0.5], [0.5, 0.5]]), "smallest weight is -0.5"),
        (network.ring(5), r"weights is a Graph; .*weight_matrix\(graph\)"),
        (np.ones((2, 3)), "square"),
    ],
    ids=["sums", "signs", "graph", "shape"],
)
def test_what_is_no_weight_matrix_gets_no_guarantee(weights: Any, named: str) -> None:
    with pytest.raises(PrivacyError, match=named):
        plan_gossip(weights, steps=2, noise_multiplier=3.0)


def test_a_coalition_of_two_cuts_a_ring_of_masks() -> None:
    ring = network.adjacency_matrix(network.ring(8))
    assert (ring == ring.T).all() and ring.sum() == 16
    one = plan_masks(ring, epsilon=1.0, rounds=20)
    two = plan_masks(ring, epsilon=1.0, rounds=20, coalition=2)
    assert (one.hidden_among, one.bare) == (7, False)
    assert (two.hidden_among, two.bare) == (1, True)
    assert two.masked.noise_multiplier == two.local.noise_multiplier
    retried = plan_masks(ring, epsilon=1.0, rounds=20, attempts=30)
    ratio = retried.masked.relative_variance / one.masked.relative_variance
    assert ratio == pytest.approx(1.5)
    with pytest.raises(PrivacyError, match="attempts=19"):
        plan_masks(ring, epsilon=1.0, rounds=20, attempts=19)
