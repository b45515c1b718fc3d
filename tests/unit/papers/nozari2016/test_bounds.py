"""Bounds on the accuracy of perturbed costs hold on random costs; printed ones do not."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from tacit.errors import ConfigError
from tacit.method import LegendreBasis
from tacit.method._functional_curvature import derivatives
from tacit.method.functional_distance import metric_epsilon
from tacit.papers.nozari2016.bounds import (
    agents_factor,
    expected_distance,
    expected_excess,
    minimiser_distance,
    noise_norm,
    printed_metric_epsilon,
    slope_gain,
)

SQUARE = [-5.0, -5.0], [5.0, 5.0]
BASIS = LegendreBasis(*SQUARE, 6)


def values(basis: LegendreBasis, x: np.ndarray) -> np.ndarray:
    """All functions of a basis on [-1, 1]^d at points, one a column."""
    table = np.polynomial.legendre.legvander(x, basis.degree)
    powers = np.array(basis.exponents)
    return np.prod(
        table[:, np.arange(basis.dimension), powers] * np.sqrt((2 * powers + 1) / 2.0), axis=2
    )


def noise(basis: LegendreBasis, scale: float, p: float, trials: int) -> np.ndarray:
    """Laplace noise on all coefficients but the constant's."""
    places = np.arange(1.0, basis.size + 1.0)
    drawn = np.random.default_rng(0).laplace(size=(trials, basis.size)) * scale / places**p
    drawn[:, 0] = 0.0
    return drawn


def test_the_printed_epsilon_is_an_upper_bound_that_many_coefficients_approach() -> None:
    printed = printed_metric_epsilon(2.0, 1.1, 0.55)
    assert printed == pytest.approx(math.sqrt(10.584448464950809) / 2.0, rel=1e-12)
    shares = [metric_epsilon(LegendreBasis(*SQUARE, d), 2.0, 1.1, 0.55) / printed for d in (6, 14)]
    assert shares == pytest.approx([0.479, 0.566], abs=1e-3)


def test_noise_is_larger_than_a_bound_without_the_factor_two_allows() -> None:
    norms = np.linalg.norm(noise(BASIS, 0.7, 0.55, 20_000), axis=1)
    bound = noise_norm(BASIS, 0.7, 0.55)
    assert math.sqrt(np.mean(norms**2)) == pytest.approx(bound, rel=0.02)
    # by Jensen the mean is below it; without the factor 2 of a variance it would not be
    assert bound / math.sqrt(2.0) < 0.8 * np.mean(norms) < 0.8 * bound
    assert noise_norm(BASIS, 0.7, 0.55, agents=25) == pytest.approx(bound / 5.0)


def test_half_of_q_is_the_best_exponent_at_a_given_epsilon() -> None:
    def at(p: float) -> float:
        return noise_norm(BASIS, metric_epsilon(BASIS, 1.0, 1.1, p), p)

    assert all(at(0.55) < at(p) for p in (0.5, 0.54, 0.56, 0.6))


@pytest.mark.parametrize("degree", [1, 3, 6])
def test_no_polynomial_of_norm_one_is_steeper_than_the_gain(degree: int) -> None:
    basis = LegendreBasis([-1.0, 0.0], [1.0, 5.0], degree)
    grid = np.linspace(-1.0, 1.0, 21)
    points = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    gradients, _ = derivatives(basis, points)
    steepest = max(np.linalg.norm(each, ord=2) for each in gradients)
    assert slope_gain(basis) == pytest.approx(steepest, rel=1e-12)


@pytest.mark.parametrize("scale", [0.01, 0.1, 1.0])
def test_the_linear_bound_holds_where_convexity_is_lost(scale: float) -> None:
    # f = alpha/2 (x - c)^2 on [-1, 1], perturbed without any projection, minimised on a grid
    basis, alpha, p = LegendreBasis([-1.0], [1.0], 6), 2.0, 0.55
    x = np.linspace(-1.0, 1.0, 2001)
    distances, excesses = [], []
    for centre in (-0.9, 0.0, 0.4):
        cost = alpha / 2.0 * (x - centre) ** 2
        seen = cost + noise(basis, scale, p, 300) @ values(basis, x[:, None]).T
        found = np.argmin(seen, axis=1)
        distances.append(np.mean(np.abs(x[found] - centre)))
        excesses.append(np.mean(cost[found]))
    assert max(distances) <= expected_distance(basis, scale, p, alpha)
    assert max(excesses) <= expected_excess(basis, scale, p, alpha)
    # and is of the right order: linear in small noise
    if scale == 0.01:
        assert max(distances) > 0.05 * expected_distance(basis, scale, p, alpha)


def test_what_the_basis_leaves_out_is_added() -> None:
    # f = x^2 / 2 + 0.1 sin(x) is released as x^2 / 2: gradients differ by 0.1 at most
    basis = LegendreBasis([-1.0], [1.0], 2)
    x = np.linspace(-1.0, 1.0, 4001)
    true = x[np.argmin(x**2 / 2.0 + 0.1 * np.sin(x))]
    bound = expected_distance(basis, 1e-12, 0.55, 0.9, left_out=0.1)
    assert 0.09 < abs(true) <= bound == pytest.approx(0.1 / 0.9)
    excess = expected_excess(basis, 1e-12, 0.55, 0.9, left_out=0.1)
    assert 0.0 - (true**2 / 2.0 + 0.1 * math.sin(true)) <= excess


Cost = Callable[[np.ndarray], np.ndarray]


def diagonal(bend: np.ndarray, centre: np.ndarray) -> Cost:
    return lambda x: 0.5 * np.sum(bend * (x - centre) ** 2, axis=-1)


@pytest.mark.long
@pytest.mark.parametrize("dimension", [1, 2])
@pytest.mark.parametrize("inside", [True, False])
def test_the_modulus_bounds_the_distance_of_random_minimisers(dimension: int, inside: bool) -> None:
    # diagonal quadratics: the minimiser on a box is the centre, cut to the box
    rng = np.random.default_rng(dimension)
    basis = LegendreBasis([-1.0] * dimension, [1.0] * dimension, 2)
    alpha, beta, reach = 1.0, 5.0, 1.0 if inside else 3.0
    steepest = beta * (reach + 1.0) * math.sqrt(dimension)
    tight = 0.0
    for _ in range(100):
        bends = rng.uniform(alpha, beta, (2, dimension))
        first = rng.uniform(-reach, reach, dimension)
        second = np.clip(
            first + rng.normal(size=dimension) * rng.choice([0.01, 0.3]), -reach, reach
        )
        costs = diagonal(bends[0], first), diagonal(bends[1], second)
        gap = basis.operator @ (costs[0](basis.points) - costs[1](basis.points))
        distance = float(np.linalg.norm(gap[1:]))  # the best constant added
        apart = float(np.linalg.norm(np.clip(first, -1.0, 1.0) - np.clip(second, -1.0, 1.0)))
        box = [-1.0] * dimension, [1.0] * dimension
        anywhere = minimiser_distance(distance, *box, alpha, gradient_bound=steepest)
        assert apart <= anywhere
        if inside:
            smooth = minimiser_distance(distance, *box, alpha, smoothness=beta)
            assert apart <= smooth
            tight = max(tight, apart / smooth)
    assert tight > 0.05 or not inside


def test_the_modulus_has_the_root_that_was_missing() -> None:
    def far(distance: float) -> float:
        return minimiser_distance(distance, *SQUARE, 1.0, smoothness=51.0)

    # one of n agents perturbs its cost: the mean moves by a share 1/n
    for agents in (8, 100):
        assert far(0.5 / agents) / far(0.5) == pytest.approx(agents_factor(agents, 2), rel=1e-6)
    # the printed order is refuted: x'x/2 + x_1/n has its minimiser 1/n from the origin
    for agents in (8, 100):
        moved = 1.0 / agents
        assert moved > agents_factor(agents, 2, form="printed")
        slope = math.sqrt(1000.0 / 12.0 * 10.0) / agents  # x_1 / n in L2 of the square
        assert moved <= far(slope)


def test_the_modulus_says_something_where_the_printed_one_says_nothing() -> None:
    # example III.2: printed 269 to 1290, and the square has diameter 14.1
    found = {}
    for epsilon in (0.01, 0.1, 1.0, 10.0, 1000.0):
        scale = metric_epsilon(BASIS, 1.0, 1.1, 0.55) / epsilon
        noised = noise_norm(BASIS, scale, 0.55)
        found[epsilon] = (
            minimiser_distance(noised, *SQUARE, 1.0, smoothness=51.0),
            expected_distance(BASIS, scale, 0.55, 1.0),
        )
    assert found[0.01][0] == pytest.approx(10.0 * math.sqrt(2.0))  # all that the domain allows
    assert [round(found[e][0], 1) for e in (0.1, 1.0, 10.0, 1000.0)] == [10.6, 4.9, 2.3, 0.5]
    assert [round(found[e][1], 2) for e in (1.0, 10.0, 1000.0)] == [13.2, 1.32, 0.01]


def test_distance_zero_moves_nothing() -> None:
    assert minimiser_distance(0.0, [0.0], [1.0], 1.0, gradient_bound=3.0) == 0.0


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: printed_metric_epsilon(0.0, 1.1, 0.55), "scale"),
        (lambda: printed_metric_epsilon(1.0, 1.1, 0.7), "p=0.7"),
        (lambda: noise_norm(BASIS, 1.0, -0.1), "p=-0.1"),
        (lambda: noise_norm(BASIS, 1.0, 0.5, agents=0), "agents"),
        (lambda: expected_distance(BASIS, 1.0, 0.5, 0.0), "strong_convexity"),
        (lambda: expected_excess(BASIS, 1.0, 0.5, 0.0), "strong_convexity"),
        (lambda: expected_excess(BASIS, 1.0, 0.5, 1.0, left_out=-1.0), "left_out"),
        (lambda: minimiser_distance(-1.0, *SQUARE, 1.0, smoothness=2.0), "distance"),
        (lambda: minimiser_distance(1.0, *SQUARE, 0.0, smoothness=2.0), "strong_convexity"),
        (lambda: minimiser_distance(1.0, *SQUARE, 1.0), "give one of"),
        (
            lambda: minimiser_distance(1.0, *SQUARE, 1.0, smoothness=2.0, gradient_bound=1.0),
            "give one of",
        ),
        (lambda: minimiser_distance(1.0, *SQUARE, 1.0, gradient_bound=0.0), "gradient_bound"),
        (lambda: minimiser_distance(1.0, *SQUARE, 3.0, smoothness=2.0), "at least strong"),
        (lambda: minimiser_distance(1.0, [1.0], [0.0], 1.0, smoothness=2.0), "below upper"),
        (lambda: agents_factor(0, 2), "agents"),
    ],
)
def test_arguments_are_checked(make: Callable[[], float], word: str) -> None:
    with pytest.raises(ConfigError, match=word):
        make()
