"""Loss distributions that are built here, against dp-accounting's own and closed forms."""

import math

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld

from tacit.privacy import gaussian_dp
from tacit.privacy.convolution import composed
from tacit.privacy.event import (
    DiscreteLaplaceRelease,
    Event,
    GaussianRelease,
    LaplaceRelease,
    PoissonSampled,
    Repeated,
)
from tacit.privacy.loss_distribution import bucketed
from tacit.privacy.tally import Tally

EPSILONS = [0.0, 0.1, 0.5, 1.0, 3.0]


def deltas_of(events: list[Event]) -> np.ndarray:
    """Delta on the grid at each of the epsilons."""
    ways = composed(Tally.of(events))
    return np.max([[losses.delta(epsilon) for epsilon in EPSILONS] for losses in ways], axis=0)


@pytest.mark.parametrize(
    ("noise", "rate"), [(1.0, 0.01), (0.3, 0.3), (20.0, 0.1), (2.0, 0.9), (0.05, 0.5), (1.0, 1e-6)]
)
def test_a_sampled_gaussian_is_that_of_dp_accounting(noise: float, rate: float) -> None:
    event = PoissonSampled(rate, GaussianRelease(noise))
    theirs = pld.from_gaussian_mechanism(
        noise,
        sampling_prob=rate,
        value_discretization_interval=composed(Tally.of([event]))[0].width,
    )
    exact = theirs.get_delta_for_epsilon(EPSILONS)
    ours = deltas_of([event])
    assert np.all(ours >= exact * (1 - 1e-9) - 2e-14)
    np.testing.assert_allclose(ours, exact, rtol=1e-6, atol=2e-14)  # roundings are charged


@pytest.mark.parametrize(("noise", "rate"), [(1.0, 0.1), (0.4, 0.5), (5.0, 0.01)])
def test_sampled_randomised_response_by_hand(noise: float, rate: float) -> None:
    likely = 1.0 / (1.0 + math.exp(-1.0 / noise))
    record, without = np.array([likely, 1.0 - likely]), np.array([1.0 - likely, likely])
    mixed = (1.0 - rate) * without + rate * record
    exact = [
        max(
            np.maximum(mixed - math.exp(e) * without, 0.0).sum(),
            np.maximum(without - math.exp(e) * mixed, 0.0).sum(),
        )
        for e in EPSILONS
    ]
    deltas = deltas_of([PoissonSampled(rate, DiscreteLaplaceRelease(noise))])
    assert np.all(deltas >= np.array(exact))
    np.testing.assert_allclose(deltas, exact, atol=1e-5)


def test_kinds_are_grouped_apart() -> None:
    noises = np.linspace(50.0, 500.0, 300)
    kinds = (LaplaceRelease, DiscreteLaplaceRelease)
    grouped = bucketed({kind(float(z)): 2 for kind in kinds for z in noises})
    for kind in kinds:
        counts = [count for event, count in grouped.items() if isinstance(event, kind)]
        assert sum(counts) == 600 and len(counts) < 300


@pytest.mark.not_quick
def test_what_the_transform_loses_is_charged() -> None:
    """At any delta: the sum of the releases' own curves is exact, and never passed from below."""
    events = [Repeated(GaussianRelease(300.0), 20_000), Repeated(LaplaceRelease(1e6), 20_000)]
    (losses,) = composed(Tally.of(events))
    exact = gaussian_dp.epsilon_from_mu(math.sqrt(20_000) / 300.0, 1e-12)  # the rest is nothing
    assert exact < losses.epsilon(1e-12) < exact * 1.01
    for delta in (0.1, 1e-3, 1e-12, 1e-50, 1e-200):
        spent = losses.epsilon(delta)
        assert losses.delta(spent) == pytest.approx(delta, rel=1e-6)
    assert losses.epsilon(1e-305) == math.inf, "too little to be told from nothing"


def test_no_mass_is_lost() -> None:
    sampled = PoissonSampled(0.01, GaussianRelease(1.0))
    for losses in composed(Tally.of([Repeated(sampled, 1000)])):
        for law, _ in losses.parts:
            assert np.exp(law.log_masses).sum() + law.infinite >= 1.0 - 1e-12
        assert losses.delta(0.0) <= 1.0
