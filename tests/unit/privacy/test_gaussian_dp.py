"""The closed form of Gaussian composition against 60-digit arithmetic and limits."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from tacit.privacy.gaussian_dp import epsilon_from_mu, log_delta, mu_from_epsilon


@pytest.mark.parametrize("mu", [1e-6, 1e-3, 0.1, 1.0, 5.0])
def test_delta_at_zero_is_total_variation(mu: float) -> None:
    # erf is accurate to the last bits near 0, where 2 Phi(mu/2) - 1 cancels.
    exact = math.erf(mu / (2 * math.sqrt(2)))
    assert math.exp(float(log_delta(mu, 0.0))) == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize(("mu", "epsilon"), [(1.0, 1.0), (3.0, 0.5), (20.0, 30.0), (60.0, 10.0)])
def test_delta_where_nothing_cancels(mu: float, epsilon: float) -> None:
    upper, lower = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
    exact = norm.cdf(upper) - math.exp(epsilon) * norm.cdf(lower)
    assert math.exp(float(log_delta(mu, epsilon))) == pytest.approx(exact, rel=1e-12)


def test_delta_far_in_the_tail_keeps_its_logarithm() -> None:
    # delta is about exp(-epsilon^2 / (2 mu^2)) there, far below the smallest double.
    assert float(log_delta(1.0, 60.0)) == pytest.approx(-1779.0, rel=5e-3)


def test_no_release_costs_nothing_and_little_delta_hides_a_little_noise() -> None:
    np.testing.assert_array_equal(epsilon_from_mu(np.array([0.0, 1e-9]), 1e-6), [0.0, 0.0])


def test_epsilon_is_the_root() -> None:
    mu = np.array([1e-3, 0.1, 1.0, 10.0, 100.0])
    for delta in (1e-12, 1e-5, 0.1):
        spent = epsilon_from_mu(mu, delta)
        inside = spent > 0.0
        found = np.exp(log_delta(mu[inside], spent[inside]))
        np.testing.assert_allclose(found, delta, rtol=1e-9)


@pytest.mark.parametrize("epsilon", [0.0, 1e-3, 1.0, 100.0])
def test_mu_and_epsilon_invert_each_other(epsilon: float) -> None:
    mu = mu_from_epsilon(epsilon, 1e-6)
    assert epsilon_from_mu(mu, 1e-6) == pytest.approx(epsilon, abs=1e-12, rel=1e-9)


@pytest.mark.parametrize(
    ("mu", "delta", "least"),
    [  # with 60 digits: epsilon at which delta is reached, to the digits given
        (3e9, 1e-6, 4.5e18 + 3e9 * 4.75),
        (1e20, 1e-6, 5e39),
    ],
)
def test_epsilon_of_hardly_any_noise_is_not_too_small(
    mu: float, delta: float, least: float
) -> None:
    found = float(epsilon_from_mu(mu, delta))
    assert least <= found <= least * (1 + 1e-6)


def test_epsilon_of_very_much_noise_is_not_too_small() -> None:
    mpmath = pytest.importorskip("mpmath")
    mu, delta = 2.764853403709421e-12, 1e-12
    with mpmath.workdps(60):
        e, m = mpmath.mpf(float(epsilon_from_mu(mu, delta))), mpmath.mpf(mu)
        true = mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)
        assert true <= delta
