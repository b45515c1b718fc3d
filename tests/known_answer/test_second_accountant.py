"""Fifty random sequences by two accountants that share neither code nor method."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from tacit.privacy import accounting
from tacit.privacy.event import (
    Event,
    GaussianRelease,
    LaplaceRelease,
    PoissonSampled,
    Repeated,
)
from tests.independent_accountant import Pair, deltas, gaussian, laplace, sampled_gaussian
from tests.quick import only

OVER, UNDER = 3e-4, 5e-6
"""How far our epsilon may lie above and below the other's, relative: the first accountant rounds
its grid up, and the second has an error of its own."""


def a_sequence(seed: int) -> tuple[list[Event], list[tuple[Pair, int]]]:
    """One to four kinds of releases, up to sixty of each: as events and as the other sees them."""
    rng = np.random.default_rng(seed)
    events: list[Event] = []
    parts: list[tuple[Pair, int]] = []
    for _ in range(rng.integers(1, 5)):
        kind, count = rng.integers(3), int(rng.integers(1, 60))
        noise = float(np.exp(rng.uniform(math.log(0.8), math.log(40.0))))
        rate = float(rng.uniform(0.01, 0.3))
        released, pair = (
            (GaussianRelease(noise), gaussian(noise)),
            (LaplaceRelease(noise), laplace(noise)),
            (PoissonSampled(rate, GaussianRelease(noise)), sampled_gaussian(rate, noise)),
        )[kind]
        events.append(Repeated(released, count))
        parts.append((pair, count))
    return events, parts


def test_the_second_accountant_is_right_where_there_is_a_closed_form() -> None:
    def exact(mu: float, epsilon: float) -> float:
        return norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(
            -mu / 2 - epsilon / mu
        )

    found = deltas([(gaussian(2.0), 10), (gaussian(5.0), 20)], np.array([1.0, 8.0]))
    mu = math.sqrt(10 / 4 + 20 / 25)
    np.testing.assert_allclose(found, [exact(mu, 1.0), exact(mu, 8.0)], rtol=1e-5)
    one = deltas([(laplace(2.0), 1)], np.array([0.0, 0.3]))
    np.testing.assert_allclose(one, [-math.expm1(-0.25), -math.expm1(-0.1)], rtol=1e-5)


@pytest.mark.parametrize("seed", only(list(map(str, range(10))), range(50), pytest.mark.long))
def test_a_random_sequence(seed: int) -> None:
    events, parts = a_sequence(seed)
    delta = (1e-4, 1e-6)[seed % 2]
    spent = accounting.epsilon(events, delta)
    below, above = deltas(parts, np.array([spent * (1 - OVER), spent * (1 + UNDER)]))
    assert above <= delta, "our epsilon is large enough"
    assert below >= delta, "and hardly larger than it must be"
