"""The appendix on minimisers of close functions: printed values, what holds, and what does not."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.integrate import quad

from tacit.errors import ConfigError
from tacit.method import CurvatureBounds
from tacit.papers.nozari2016.minimisers import (
    Domain,
    argmin_hoelder,
    argmin_modulus,
    argmin_modulus_inverse,
    contained_share,
    hoelder_constant,
    interior_radius,
)

SQUARE = Domain.box([-5.0, -5.0], [5.0, 5.0])
BOUNDS = CurvatureBounds(1.0, 51.0, 148.5)


@pytest.mark.parametrize("dimension", [2, 3, 5])
def test_the_contained_share_is_a_quotient_of_solid_angles(dimension: int) -> None:
    domain = Domain.box([-1.0] * dimension, [1.0] * dimension)
    angle = math.atan(1.0 / math.sqrt(dimension))
    cap, _ = quad(lambda phi: math.sin(phi) ** (dimension - 2), 0.0, angle)
    cap *= 2.0 * math.pi ** ((dimension - 1) / 2.0) / math.gamma((dimension - 1) / 2.0)
    whole = 2.0 * math.pi ** (dimension / 2.0) / math.gamma(dimension / 2.0)
    assert contained_share(domain) == pytest.approx(cap / whole, rel=1e-9)


def test_the_share_of_the_paper_s_square_and_of_a_segment() -> None:
    assert contained_share(SQUARE) == pytest.approx(0.19591, abs=5e-6)
    assert contained_share(Domain.box([0.0], [3.0])) == 0.5


def test_no_ball_has_less_of_itself_in_the_domain() -> None:
    rng = np.random.default_rng(0)
    low, high = np.array([-1.0, -3.0]), np.array([1.0, 3.0])
    domain = Domain.box(low, high)
    points = rng.normal(size=(20_000, 2))
    points *= np.sqrt(rng.uniform(size=(20_000, 1))) / np.linalg.norm(points, axis=1, keepdims=True)
    for centre in (high, np.array([1.0, 0.0]), np.zeros(2), np.array([0.6, 2.9])):
        for radius in (0.2, domain.inradius):
            ball = centre + radius * points
            assert np.mean(np.all((ball >= low) & (ball <= high), axis=1)) > contained_share(domain)


def test_the_modulus_by_hand_and_its_inverse() -> None:
    r, alpha, beta, u, d = 2.0, 1.0, 51.0, 148.5, 2
    mu = (
        alpha
        * r**2
        / (2.0 * math.sqrt(alpha * beta * r**2 + 2 * (alpha + beta) * u * r + 4 * u**2))
    )
    by_hand = alpha**2 * math.pi / (d * 2 ** (d + 3)) * 0.19591327601530362
    by_hand *= (5.0 / (10.0 * math.sqrt(2.0))) ** d * r**4 * mu**d
    assert argmin_modulus_inverse(r, BOUNDS, SQUARE) == pytest.approx(by_hand, rel=1e-12)
    assert argmin_modulus(by_hand, BOUNDS, SQUARE, form="printed") == pytest.approx(r, rel=1e-12)
    assert argmin_modulus(math.sqrt(by_hand), BOUNDS, SQUARE) == pytest.approx(r, rel=1e-12)
    assert argmin_modulus(0.0, BOUNDS, SQUARE) == argmin_modulus_inverse(0.0, BOUNDS, SQUARE) == 0.0
    # the two forms agree where the distance is 1, and nowhere else
    assert argmin_modulus(1.0, BOUNDS, SQUARE) == argmin_modulus(
        1.0, BOUNDS, SQUARE, form="printed"
    )
    for norm, printed_is_less in ((1e-3, False), (1e3, True)):
        pair = [
            argmin_modulus(norm, BOUNDS, SQUARE, form=form) for form in ("printed", "corrected")
        ]
        assert (pair[0] < pair[1]) is printed_is_less


def shifted(half: float, apart: float, alpha: float, dimension: int) -> tuple[float, float]:
    """`alpha ||x||^2 / 2` and the same around a point, on a cube: L2 distance, longest gradient."""
    volume = (2.0 * half) ** dimension
    linear = alpha * apart  # f - g is linear, for the constant that suits best
    norm = linear * math.sqrt(volume * half**2 / 3.0)
    return norm, alpha * (half * math.sqrt(dimension) + apart)


@pytest.mark.parametrize("dimension", [1, 2])
@pytest.mark.parametrize("half", [0.5, 5.0, 1e4])
def test_the_corrected_modulus_bounds_shifted_quadratics(dimension: int, half: float) -> None:
    for share in (0.01, 0.3, 1.0):
        apart = share * half
        norm, steepest = shifted(half, apart, 1.0, dimension)
        domain = Domain.box([-half] * dimension, [half] * dimension)
        bounds = CurvatureBounds(1.0, 1.5, steepest)
        assert apart <= argmin_modulus(norm, bounds, domain)


def test_the_printed_modulus_is_too_small_on_a_wide_square() -> None:
    half, apart = 1e4, 1e4
    norm, steepest = shifted(half, apart, 1.0, 2)
    domain = Domain.box([-half, -half], [half, half])
    bounds = CurvatureBounds(1.0, 1.5, steepest)
    assert argmin_modulus(norm, bounds, domain, form="printed") < 0.5 * apart
    assert argmin_modulus(norm, bounds, domain) > apart


@pytest.mark.parametrize(
    ("smoothness", "printed", "corrected"), [(1.5, 0.0707, 0.643), (51.0, 180.0, 2.38)]
)
def test_the_constant_lacks_a_root(smoothness: float, printed: float, corrected: float) -> None:
    constant = hoelder_constant(1.0, smoothness, 2, form="printed")
    assert constant == pytest.approx(printed, rel=3e-3)
    assert hoelder_constant(1.0, smoothness, 2) == pytest.approx(corrected, rel=3e-3)
    assert hoelder_constant(1.0, smoothness, 2) == pytest.approx(constant ** (1.0 / 6.0))


def test_the_constant_at_the_paper_s_own_constants() -> None:
    assert hoelder_constant(1.0, 22_734.57, 2, form="printed") == pytest.approx(86_824, rel=1e-5)
    # of sums of n costs: L / n^2
    assert hoelder_constant(7.0, 7.0 * 51.0, 2, form="printed") == pytest.approx(
        hoelder_constant(1.0, 51.0, 2, form="printed") / 49.0
    )


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_the_constant_is_the_integral_of_the_proof(dimension: int) -> None:
    # int over the ball of radius r of ((beta - alpha)/2 (r^2 - t^2))^2, r^2 (beta - alpha)^2 = ab
    alpha, beta, apart = 1.0, 4.0, 0.7
    r = math.sqrt(alpha * beta) * apart / (beta - alpha)
    ball = math.pi ** (dimension / 2.0) / math.gamma(dimension / 2.0 + 1.0)
    inner, _ = quad(
        lambda t: ((beta - alpha) / 2.0 * (r**2 - t**2)) ** 2 * t ** (dimension - 1), 0.0, r
    )
    square = dimension * ball * inner
    constant = hoelder_constant(alpha, beta, dimension, form="printed")
    assert apart ** (dimension + 4) == pytest.approx(constant * square, rel=1e-9)
    # so the corrected bound is attained by that pair
    assert argmin_hoelder(math.sqrt(square), alpha, beta, dimension) == pytest.approx(apart)


def test_the_printed_power_is_too_small_where_its_constant_is_below_one() -> None:
    half, apart, smoothness = 5.0, 0.5, 1.5
    norm, _ = shifted(half, apart, 1.0, 2)
    # both minimisers are as deep inside as is asked
    assert apart < interior_radius(1.0, smoothness, half) == pytest.approx(0.505, abs=1e-3)
    assert argmin_hoelder(norm, 1.0, smoothness, 2, form="printed") < 0.4 * apart
    assert argmin_hoelder(norm, 1.0, smoothness, 2) > apart


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: Domain(0, 1.0, 1.0, 2.0), "dimension=0"),
        (lambda: Domain(2, math.inf, 1.0, 2.0), "inradius=inf"),
        (lambda: Domain(2, 2.0, 1.0, 2.0), "must satisfy"),
        (lambda: Domain(2, 1.0, 1.0, 3.0), "must satisfy"),
        (lambda: Domain.box([1.0], [0.0]), "below upper"),
        (lambda: argmin_modulus(-1.0, BOUNDS, SQUARE), "norm=-1.0"),
        (lambda: argmin_modulus_inverse(math.nan, BOUNDS, SQUARE), "distance=nan"),
        (lambda: argmin_modulus(1.0, CurvatureBounds(0.0, 1.0, 1.0), SQUARE), "strong_convexity"),
        (lambda: argmin_modulus(1.0, CurvatureBounds(1.0, 2.0), SQUARE), "gradient_bound"),
        (lambda: hoelder_constant(1.0, 1.0, 2), "above strong_convexity"),
        (lambda: hoelder_constant(1.0, 2.0, 0), "dimension=0"),
        (lambda: argmin_hoelder(math.inf, 1.0, 2.0, 2), "norm=inf"),
        (lambda: interior_radius(1.0, 2.0, 0.0), "inradius=0.0"),
    ],
)
def test_arguments_are_checked(make: Callable[[], object], word: str) -> None:
    with pytest.raises(ConfigError, match=word):
        make()
