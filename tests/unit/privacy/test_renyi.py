"""Renyi curves that are our own, against the divergences themselves."""

import math

import numpy as np
import pytest

from tacit.privacy import accounting
from tacit.privacy.event import (
    DiscreteGaussianRelease,
    DiscreteLaplaceRelease,
    Event,
    GaussianRelease,
    LaplaceRelease,
    PoissonSampled,
    Repeated,
)
from tacit.privacy.renyi import Renyi, randomised_response, sampled
from tacit.privacy.tally import Tally

ORDERS = np.array([1.5, 2.0, 5.0, 20.0])


def divergence(p: np.ndarray, q: np.ndarray, order: float) -> float:
    """Renyi divergence of two laws on the same outcomes, given their logarithms."""
    return float(np.logaddexp.reduce(order * p + (1.0 - order) * q)) / (order - 1.0)


def discrete_gaussian(scale: float, centre: int) -> np.ndarray:
    """Logarithms of its probabilities on -400 .. 400."""
    log = -((np.arange(-400, 401) - centre) ** 2) / (2.0 * scale**2)
    return log - np.logaddexp.reduce(log)


def discrete_laplace(scale: float, centre: int) -> np.ndarray:
    """Logarithms of its probabilities on -400 .. 400."""
    log = -np.abs(np.arange(-400, 401) - centre) / scale
    return log - np.logaddexp.reduce(log)


def curve(*events: Event) -> Renyi:
    return Renyi.of(Tally.of(events))


@pytest.mark.parametrize("epsilon", [1e-3, 0.5, 3.0])
def test_randomised_response_is_exact(epsilon: float) -> None:
    likely = 1.0 / (1.0 + math.exp(-epsilon))
    p, q = np.log([likely, 1.0 - likely]), np.log([1.0 - likely, likely])
    exact = [divergence(p, q, order) for order in ORDERS]
    np.testing.assert_allclose(randomised_response(epsilon, ORDERS), exact, rtol=1e-6)


@pytest.mark.parametrize(("scale", "shift"), [(1.0, 1), (4.0, 3), (0.6, 1)])
def test_a_discrete_gaussian_stays_below_the_curve_of_the_continuous(
    scale: float, shift: int
) -> None:
    found = curve(DiscreteGaussianRelease(scale / shift))
    for order, bound in zip(found.orders[::40], found.values[::40], strict=True):
        if order < 30.0:
            exact = divergence(discrete_gaussian(scale, 0), discrete_gaussian(scale, shift), order)
            assert exact <= bound * (1 + 1e-9)
            assert bound == pytest.approx(order * (shift / scale) ** 2 / 2.0)


def test_a_discrete_laplace_release_stays_below_its_curve() -> None:
    found = curve(DiscreteLaplaceRelease(2.0))
    for order, bound in zip(found.orders[::10], found.values[::10], strict=True):
        if order < 30.0:
            exact = divergence(discrete_laplace(4.0, 0), discrete_laplace(4.0, 2), order)
            assert exact <= bound * (1 + 1e-9)


@pytest.mark.parametrize("rate", [0.01, 0.2])
def test_a_sampled_discrete_gaussian_stays_below_its_curve(rate: float) -> None:
    orders = np.array([2.0, 3.0, 8.0])
    without, record = discrete_gaussian(2.0, 0), discrete_gaussian(2.0, 1)
    mixed = np.logaddexp(math.log1p(-rate) + without, math.log(rate) + record)
    for order, bound in zip(orders, sampled(rate, 1.0 / 8.0, orders), strict=True):
        assert divergence(mixed, without, order) <= bound * (1 + 1e-9)
        assert divergence(without, mixed, order) <= bound * (1 + 1e-9)
        assert bound < order / 8.0, "sampling helps"


def test_curves_add_up() -> None:
    both = curve(Repeated(DiscreteGaussianRelease(5.0), 3), LaplaceRelease(4.0))
    np.testing.assert_allclose(
        both.values,
        3 * both.orders / 50.0 + curve(DiscreteGaussianRelease(1e6), LaplaceRelease(4.0)).values,
        rtol=1e-6,
    )


def test_orders_are_dense_where_there_is_nothing_else() -> None:
    # the best bound of Canonne, Kamath, Steinke (2020), proposition 12, over all real orders
    rho = 50 / (2.0 * 10.0**2)
    alpha = 1.0 + np.geomspace(1e-2, 1e4, 1_000_000)
    bounds = rho * alpha + np.log1p(-1.0 / alpha) - np.log(1e-6 * alpha) / (alpha - 1.0)
    found = curve(Repeated(DiscreteGaussianRelease(10.0), 50)).epsilon(1e-6)
    assert bounds.min() <= found * (1 + 1e-9) and found <= bounds.min() * (1 + 1e-3)


def test_sampled_gaussians_are_asked_at_whole_orders_only() -> None:
    found = curve(PoissonSampled(0.1, GaussianRelease(2.0)), DiscreteGaussianRelease(3.0))
    assert np.all(found.orders == np.rint(found.orders))


def test_delta_and_epsilon_belong_together() -> None:
    found = curve(Repeated(DiscreteGaussianRelease(10.0), 50))
    assert found.delta(found.epsilon(1e-6)) <= 1e-6 * (1 + 1e-6)


@pytest.mark.parametrize("epsilon", [1e-12, 1e-8, 1e-4, 0.4, 3.0])
def test_tiny_losses_are_not_rounded_away(epsilon: float) -> None:
    """A curve of exactly 0 would afford any number of rounds."""
    from mpmath import exp, log, mp, mpf

    with mp.workdps(60):
        e = mpf(epsilon)
        for order in (1.5, 2.0, 5.0, 64.0, 1e4):
            a = mpf(order)
            exact = log((exp((a - 1) * e) + exp(-a * e)) / (1 + exp(-e))) / (a - 1)
            found = randomised_response(epsilon, np.array([order]))[0]
            assert found == pytest.approx(float(exact), rel=1e-9)


@pytest.mark.parametrize(
    ("event", "least"),
    [
        pytest.param(Repeated(DiscreteLaplaceRelease(1e8), 10**14), 0.397, marks=pytest.mark.slow),
        (Repeated(DiscreteLaplaceRelease(1e8), 10**10), 0.0027),
        (Repeated(PoissonSampled(1e-4, LaplaceRelease(1e4)), 10**10), 0.0027),
        (Repeated(PoissonSampled(1e-3, GaussianRelease(1e6)), 10**10), 1.9e-4),
    ],
)
def test_many_faint_releases_cost_what_they_cost(event: Repeated, least: float) -> None:
    # by the central limit: Gaussian-DP with the same variance of losses
    assert curve(event).epsilon(1e-6) >= least
    assert accounting.epsilon([event], 1e-6) >= least
