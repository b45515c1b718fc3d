"""Bounds of curvature on a grid: where they hold, what is nearest, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit.errors import ProblemError
from tacit.method import CurvatureBounds, LegendreBasis
from tacit.method._functional_curvature import Extremes, derivatives, extremes, on_grid
from tacit.method._functional_grid import TOLERANCE, nearest_on_grid
from tacit.method.functional_projection import projected

pytestmark = pytest.mark.long

EXAMPLE = Extremes(1.0, 51.0, 148.5)
"""Example III.2 of Nozari, Tallapragada, Cortes (2018)."""


def noised(basis: LegendreBasis, scale: float, seed: int = 0) -> np.ndarray:
    """A noised sum of ridge and logistic losses, as in the paper's example."""
    rng = np.random.default_rng(seed)
    rows, labels = rng.random((100, basis.dimension)), rng.choice([-1.0, 1.0], 100)
    points = np.asarray(basis.points)
    losses = np.logaddexp(0.0, -labels * (points @ rows.T)).sum(axis=1)
    exact = np.asarray(basis.operator) @ (losses + np.sum(points**2, axis=1) / 2.0)
    return exact + rng.laplace(size=basis.size) * scale / np.arange(1.0, basis.size + 1.0) ** 0.55


def square_of(half_width: float, degree: int) -> LegendreBasis:
    return LegendreBasis([-half_width] * 2, [half_width] * 2, degree)


def test_slopes_and_curvatures_on_a_grid_are_those_at_its_points() -> None:
    basis = LegendreBasis([-1.0, 0.0, -2.0], [1.0, 3.0, 2.0], 4)
    coefficients, axis = noised(basis, 1.0), np.array([-1.0, 0.2, 0.9])
    gradient, hessian = on_grid(basis, coefficients, axis)
    points = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1).reshape(-1, 3)
    slopes, curvatures = derivatives(basis, points)
    np.testing.assert_allclose(gradient.reshape(-1, 3), slopes @ coefficients, atol=1e-9)
    np.testing.assert_allclose(hessian.reshape(-1, 3, 3), curvatures @ coefficients, atol=1e-9)


@pytest.mark.parametrize(("degree", "scale"), [(10, 3.0), (14, 0.3)])
def test_bounds_hold_between_the_points_of_the_grid(degree: int, scale: float) -> None:
    basis = square_of(5.0, degree)
    given = noised(basis, scale)
    assert extremes(basis, given, per_axis=201).beyond(EXAMPLE) > 0.01
    repaired = nearest_on_grid(basis, EXAMPLE, given)
    assert extremes(basis, repaired, per_axis=201).beyond(EXAMPLE) <= TOLERANCE
    # what satisfies its bounds stays as it is, to the bit
    np.testing.assert_array_equal(nearest_on_grid(basis, EXAMPLE, repaired), repaired)


def test_sums_of_squares_find_nearly_the_same_function() -> None:
    basis, bounds = square_of(5.0, 6), CurvatureBounds(1.0, 51.0, 148.5)
    given = noised(basis, 30.0)
    certified, found = projected(basis, bounds, given), nearest_on_grid(basis, EXAMPLE, given)
    theirs, ours = np.linalg.norm(certified - given), np.linalg.norm(found - given)
    assert theirs > 1.0
    # what has a certificate is in S, and S is a little larger: of the two the grid's is nearer
    assert 0.99 * theirs <= ours <= theirs * (1.0 + 1e-5)
    # the angle at the nearest point of a convex set is obtuse
    assert np.sum((found - certified) ** 2) <= theirs**2 - ours**2 + 1e-3


def test_of_all_functions_within_the_limits_none_is_nearer() -> None:
    basis = square_of(1.0, 8)
    allowed = Extremes(0.5, 6.0, math.inf)
    given = noised(basis, 2.0) / 100.0
    nearest = nearest_on_grid(basis, allowed, given)
    other = nearest_on_grid(basis, allowed, noised(basis, 2.0, seed=1) / 100.0)
    away = given - nearest
    assert np.linalg.norm(away) > 0.01
    assert np.linalg.norm(other - nearest) > 0.01
    assert away @ (other - nearest) <= 1e-4 * np.linalg.norm(away)


def test_above_the_degree_of_certificates_a_projection_is_on_the_grid() -> None:
    basis = LegendreBasis([-1.0], [1.0], 8)
    given = np.asarray(basis.operator) @ np.asarray(basis.points)[:, 0] ** 2
    # x^2 with curvature 2 must have at least 3
    repaired = projected(basis, CurvatureBounds(3.0, 8.0), given)
    assert extremes(basis, repaired).lowest == pytest.approx(3.0, abs=1e-4)


def test_what_no_function_satisfies_is_refused() -> None:
    too_flat = Extremes(1.0, 2.0, 0.1)
    with pytest.raises(ProblemError, match="no function of this basis"):
        nearest_on_grid(square_of(1.0, 4), too_flat, np.zeros(15))
    with pytest.raises(ProblemError, match="no function of this basis"):
        nearest_on_grid(square_of(1.0, 1), EXAMPLE, np.zeros(3))


def test_what_is_left_when_the_search_ends_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.method._functional_grid.ROUNDS", 2)
    basis = square_of(5.0, 6)
    with pytest.raises(ProblemError, match=r"after 2 programs .* misses its bounds by \d"):
        nearest_on_grid(basis, EXAMPLE, noised(basis, 30.0))
