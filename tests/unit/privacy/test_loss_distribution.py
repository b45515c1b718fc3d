"""Loss distributions that are built here, against dp-accounting's own and closed forms."""

import math

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld

from tacit.privacy.event import (
    DiscreteLaplaceRelease,
    GaussianRelease,
    LaplaceRelease,
    PoissonSampled,
)
from tacit.privacy.loss_distribution import bucketed, composed
from tacit.privacy.tally import Tally

EPSILONS = [0.0, 0.1, 0.5, 1.0, 3.0]


@pytest.mark.parametrize(
    ("noise", "rate"), [(1.0, 0.01), (0.3, 0.3), (20.0, 0.1), (2.0, 0.9), (0.05, 0.5), (1.0, 1e-6)]
)
def test_a_sampled_gaussian_is_that_of_dp_accounting(noise: float, rate: float) -> None:
    ours = composed(Tally.of([PoissonSampled(rate, GaussianRelease(noise))]))
    theirs = pld.from_gaussian_mechanism(
        noise, sampling_prob=rate, value_discretization_interval=ours._pmf_remove._discretization
    )
    np.testing.assert_allclose(
        ours.get_delta_for_epsilon(EPSILONS),
        theirs.get_delta_for_epsilon(EPSILONS),
        rtol=1e-9,
        atol=1e-14,
    )


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
    found = composed(Tally.of([PoissonSampled(rate, DiscreteLaplaceRelease(noise))]))
    deltas = np.asarray(found.get_delta_for_epsilon(EPSILONS))
    assert np.all(deltas >= np.array(exact) - 1e-12)
    np.testing.assert_allclose(deltas, exact, atol=1e-5)


def test_kinds_are_grouped_apart() -> None:
    noises = np.linspace(50.0, 500.0, 300)
    kinds = (LaplaceRelease, DiscreteLaplaceRelease)
    grouped = bucketed({kind(float(z)): 2 for kind in kinds for z in noises})
    for kind in kinds:
        counts = [count for event, count in grouped.items() if isinstance(event, kind)]
        assert sum(counts) == 600 and len(counts) < 300
