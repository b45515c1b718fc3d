"""Misprints of the papers that a number can show: what is printed beside what is meant."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import zeta

EDGES = ((0, 1), (0, 3), (1, 2), (2, 3), (3, 4))


def test_half_a_norm_is_no_proximal_function() -> None:
    """G21 section III-B, G20 section III-C: half the square of the norm leads to eq (9)."""
    rng = np.random.default_rng(0)
    before, slope, step = *rng.normal(size=(2, 4)), 0.3

    def half_square(b: np.ndarray) -> float:
        return 0.5 * float((b - before) @ (b - before))

    def half_norm(b: np.ndarray) -> float:
        length = np.linalg.norm(before)
        return 0.5 * float(np.linalg.norm(b) - length - before @ (b - before) / length)

    def cost(b: np.ndarray, divergence: float) -> float:
        return float(slope @ b) + divergence / step

    # eq (9) is the mirror step of half the square: no point near it costs less
    after = before - step * slope
    for other in after + 0.1 * rng.normal(size=(200, 4)):
        assert cost(other, half_square(other)) > cost(after, half_square(after))
    # the divergence of half the norm is nothing along a ray, so that a step has no end there
    assert half_norm(2.0 * before) == pytest.approx(0.0, abs=1e-12)
    assert half_norm(1e3 * before) == pytest.approx(0.0, abs=1e-12)
    assert half_square(1e3 * before) > 1e5


def test_the_sum_to_one_inner_step_less_is_not_what_lemma_2_says() -> None:
    """G21 eq (41), G20 eq (44): an equals sign between sums to T - 1 and to T."""
    steps, dimension, constant, first, radius = 100, 10, 0.5, 0.54, 2.0
    slope = 3.0  # L, which cancels

    def left(last: int) -> float:
        t = np.arange(1.0, last + 1.0)
        step = first * radius / (slope * np.sqrt(t * dimension * math.log(2 * dimension)))
        longest = constant * slope**2 * dimension * (1.0 / np.sqrt(t) + 1.0 + math.log(dimension))
        return float(np.sum(step**2 * longest))

    t = np.arange(1.0, steps + 1.0)
    right = np.sum(t**-1.5) + (1.0 + math.log(dimension)) * np.sum(1.0 / t)
    right *= constant * (first * radius) ** 2 / math.log(2 * dimension)
    assert left(steps) == pytest.approx(right, rel=1e-12)
    assert 0.99 * right < left(steps - 1) < 0.999 * right


def test_the_proof_of_theorem_3_is_about_exact_updates() -> None:
    """G20 eq (60), with `q` of eq (31): it takes exact updates, and ends with an inequality."""
    rng = np.random.default_rng(0)
    adjacent = np.zeros((5, 5))
    for one, other in EDGES:
        adjacent[one, other] = adjacent[other, one] = 1.0
    degrees = np.diag(adjacent.sum(axis=1))
    plus, minus = degrees + adjacent, degrees - adjacent
    values, vectors = np.linalg.eigh(minus / 2.0)
    root = vectors @ np.diag(np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    best, any_dual = np.full(5, 0.7), rng.normal(size=5)
    exact_before, exact, noise_before, noise, gathered = rng.normal(size=(5, 5))
    sent_before, sent = exact_before + noise_before, exact + noise
    r_before = root @ gathered
    r = r_before + root @ sent

    def size(duals: np.ndarray, copies: np.ndarray) -> float:
        """`||.||_G^2 / rho` of both parts of a difference."""
        return float(duals @ duals + copies @ plus @ copies / 2.0)

    away = exact - best
    pull = -plus @ (exact - exact_before) - plus @ (exact_before - sent_before)
    first = away @ (pull - 2.0 * root @ (r - any_dual) + minus @ noise)
    rest = away @ plus @ (sent_before - exact_before) + 2.0 * noise @ root @ (r - any_dual)

    def telescoped(old: np.ndarray, new: np.ndarray) -> float:
        return size(r_before - any_dual, old - best) - size(r - any_dual, new - best)

    def second(old: np.ndarray, new: np.ndarray) -> float:
        moved = size(r - r_before, new - old)
        return telescoped(old, new) - moved + rest + away @ minus @ noise

    assert second(exact_before, exact) == pytest.approx(first, rel=1e-6)
    assert abs(second(sent_before, sent) - first) > 0.1
    # the last line lacks the other part of `||q^(m) - q^(m-1)||^2`, so that it is an upper bound
    third = telescoped(exact_before, exact) + rest
    third -= float(np.sum((root @ exact) ** 2) + np.sum((root @ noise) ** 2))
    dropped = (exact - exact_before) @ plus @ (exact - exact_before) / 2.0
    assert third == pytest.approx(first + dropped, rel=1e-6) and dropped > 0.1


def test_no_point_is_nearer_than_all_points_outside() -> None:
    """H15 section 2: a projection is compared with points outside of `X`, not with those of it."""
    x, projection = 3.0, 1.0  # on [-1, 1]
    inside, outside = np.linspace(-1.0, 1.0, 201), np.linspace(1.01, 5.0, 400)
    assert np.all(abs(projection - x) <= np.abs(inside - x))
    assert np.any(abs(projection - x) > np.abs(outside - x))


def test_the_names_of_the_parameters_after_eq_8_leave_no_finite_loss() -> None:
    """H15 after eq (8): `q` as the rate of the noise and `p > q` as that of the step."""
    epsilon, c, q, p, sensitivity = 1.0, 0.1, 0.4, 0.8, 8.0
    t = np.arange(60.0)

    def claimed(step_rate: float, noise_rate: float) -> float:
        """`sum_t Delta(t) / M_t` of theorem 5."""
        scales = sensitivity * c * p / (epsilon * (p - q)) * noise_rate**t
        return float(np.sum(sensitivity * c * step_rate**t / scales))

    assert claimed(q, p) == pytest.approx(epsilon)
    assert claimed(p, q) > 1e15


def test_the_cross_term_before_eq_24_lacks_a_factor() -> None:
    """H15 appendix: `||x - x* + w||^2` is expanded with one cross term, of mean 0."""
    away, w = np.random.default_rng(0).normal(size=(2, 3))

    def expanded(factor: float, w: np.ndarray) -> float:
        return float(away @ away + factor * away @ w + w @ w)

    whole = float((away + w) @ (away + w))
    assert expanded(2.0, w) == pytest.approx(whole)
    assert abs(expanded(1.0, w) - whole) > 0.1
    both = [expanded(1.0, w) + expanded(1.0, -w), expanded(2.0, w) + expanded(2.0, -w)]
    assert both[0] == pytest.approx(both[1])


def test_eq_14_is_a_scale_and_no_variance() -> None:
    """N16 theorem VI.3 calls `gamma / k^p` a variance; eq (15) then is no bound."""
    q, p, gamma = 2.0, 0.6, 2.0
    epsilon = math.sqrt(float(zeta(2.0 * (q - p)))) / gamma
    # two functions that differ by 1 in the first coefficient, and so by 1 in V_q
    loss_of_scale, loss_of_variance = 1.0 / gamma, 1.0 / math.sqrt(gamma / 2.0)
    assert loss_of_scale <= epsilon < 0.6 * loss_of_variance


def test_the_integral_of_corollary_a_3_is_over_sums_of_at_most_one() -> None:
    """N16 appendix A: printed over the points of sum 1, which have no volume."""
    powers = (0.5, 1.0)
    # the inner integral, over the second coordinate, by hand
    found = quad(lambda x: x ** powers[0] * (1.0 - x) ** 2 / 2.0, 0.0, 1.0)[0]
    printed = math.gamma(1.5) * math.gamma(2.0) / math.gamma(sum(powers) + 3.0)
    assert printed == pytest.approx(found, rel=1e-6)
    # over points of sum 1, by the first coordinate, it is another one
    on_the_line = quad(lambda x: x ** powers[0] * (1.0 - x) ** powers[1], 0.0, 1.0)[0]
    assert on_the_line == pytest.approx(3.5 * printed)


def test_the_distance_in_the_proof_of_lemma_7_is_at_most_a_sum() -> None:
    """H15 appendix, before eq (18): it is said to equal a sum of norms."""
    mixed = np.array([[0.75, 0.25], [0.25, 0.75]])
    start = np.array([1.0, 1.0])
    x = mixed @ start  # one round without noise or step
    summed = float(np.sum(np.abs(mixed[0] - mixed[1]) * np.abs(start)))
    assert abs(x[0] - x[1]) == 0.0 and summed == pytest.approx(1.0)


def test_the_determinant_of_eq_25c_stands_on_the_other_side() -> None:
    """R21 A.3: `pdf |det| = L`, with the Jacobian of the map from minimiser to noise."""
    rho, eta, scale, n = 2.0, 1.0, 0.5, 2

    def whole(power: int) -> float:
        """Integral of `L(xi(alpha)) |det|^power`, coordinates apart; `xi` falls with `alpha`."""
        slope = rho + 1.0 / eta  # of eq (25d), without a barrier
        half = quad(lambda a: math.exp(-slope * a / scale) / (2.0 * scale), 0.0, 20.0)[0]
        return (2.0 * half * slope**power) ** n

    assert whole(-1) == pytest.approx(1.0 / 81.0)
    assert whole(1) == pytest.approx(1.0)
