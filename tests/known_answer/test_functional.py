"""Functional perturbation against the numbers of its paper and against two agents by hand."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tacit
from tacit import DGD, Privacy, network, problem
from tacit.method import CurvatureBounds, FunctionalPerturbation, LegendreBasis, QuadraticBasis
from tacit.method._functional_curvature import extremes
from tacit.method.functional_distance import weighted_norm
from tacit.method.functional_projection import projected

DOMAIN = [-5.0, -5.0], [5.0, 5.0]
"""Example III.2 of Nozari, Tallapragada, Cortes (2018)."""


def logistic(basis: LegendreBasis, rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Coefficients of the logistic loss of every record, one a column."""
    return basis.operator @ np.logaddexp(0.0, -labels * (basis.points @ rows.T))


def record_pairs(basis: LegendreBasis) -> np.ndarray:
    """Differences of coefficients between records with features in the corners of [0, 1]^2."""
    rows = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    both = np.concatenate([logistic(basis, rows, label * np.ones(4)) for label in (1, -1)], axis=1)
    return (both[:, :, None] - both[:, None, :]).reshape(basis.size, -1).T


@pytest.mark.parametrize(("degree", "size"), [(2, 6), (4, 15), (6, 28), (14, 120)])
def test_coefficients_are_as_many_as_the_paper_has(degree: int, size: int) -> None:
    assert LegendreBasis(*DOMAIN, degree).size == size


def test_the_order_of_coefficients_decides_the_distance_of_records() -> None:
    differences = record_pairs(LegendreBasis(*DOMAIN, 6))
    graded = max(weighted_norm(each, q=1.1) for each in differences)
    reverse = max(weighted_norm(each[::-1], q=1.1) for each in differences)
    assert round(graded) == 123
    assert round(reverse) == 1502


@pytest.mark.parametrize(("degree", "costs"), [(6, 42), (14, 44)])
def test_a_record_costs_more_than_forty_times_the_metric_epsilon(degree: int, costs: int) -> None:
    basis = LegendreBasis(*DOMAIN, degree)
    places = np.arange(1.0, basis.size + 1.0)
    largest = np.max(np.abs(record_pairs(basis)) @ places**0.55)
    zeta = 10.584448464950809  # of 2 (q - p) = 1.1
    assert round(float(largest) / zeta**0.5) == costs


@pytest.mark.parametrize(("degree", "share"), [(4, 0.53), (6, 0.57), (14, 0.64)])
def test_finitely_many_coefficients_need_less_than_the_zeta_function(
    degree: int, share: float
) -> None:
    places = np.arange(1.0, LegendreBasis(*DOMAIN, degree).size + 1.0)
    assert np.sqrt(np.sum(places**-1.1) / 10.584448464950809) == pytest.approx(share, abs=0.006)


def test_gram_schmidt_of_graded_monomials_gives_the_legendre_functions() -> None:
    basis = LegendreBasis(*DOMAIN, 6)
    monomials = np.prod(basis.points[:, None, :] ** np.array(basis.exponents), axis=2)
    # the operator is functions times quadrature weights, and the first function is 1/10
    shares = np.sqrt(basis.operator[0] * 10.0)
    orthonormal, _ = np.linalg.qr(monomials * shares[:, None])
    functions = (basis.operator / shares).T
    np.testing.assert_allclose(np.abs(orthonormal.T @ functions), np.eye(28), atol=1e-9)


def test_the_constants_of_the_example_are_attained() -> None:
    # all records (1, 1): the largest curvature at 0, the steepest slope in a corner
    rows, strength, corner = np.ones((100, 2)), 0.01, np.array([5.0, 5.0])

    def gradient(x: np.ndarray) -> np.ndarray:
        return rows.T @ (1.0 / (1.0 + np.exp(-rows @ x))) + 100 * strength * x

    assert np.linalg.norm(gradient(corner)) == pytest.approx(148.5, abs=0.05)
    step = np.array([1e-4, 1e-4])
    bend = (gradient(step) - gradient(-step)) / (2.0 * step)
    np.testing.assert_allclose(bend, 51.0, rtol=1e-6)
    # where no record bends, only the regulariser does: alpha = 1
    assert 100 * strength == 1.0


def test_sums_of_squares_restore_the_constants_of_the_paper() -> None:
    # alpha = 1, beta = N (lambda + 1/2) = 51, u = sqrt(2) N (5 lambda + sigma(10)) = 148.5
    records, strength = 100, 0.01
    slope = 2**0.5 * records * (5.0 * strength + 1.0 / (1.0 + np.exp(-10.0)))
    assert round(slope, 1) == 148.5
    bounds = CurvatureBounds(records * strength, records * (strength + 0.5), slope)
    rng = np.random.default_rng(0)
    basis = LegendreBasis(*DOMAIN, 6)
    labels = rng.choice([-1.0, 1.0], records)
    exact = logistic(basis, rng.random((records, 2)), labels).sum(axis=1)
    exact += basis.operator @ (records * strength / 2.0 * np.sum(basis.points**2, axis=1))
    noised = exact + rng.laplace(size=28) * 32.5 / np.arange(1.0, 29.0) ** 0.55
    assert extremes(basis, noised).beyond(bounds.allowed) > 0.5
    repaired = projected(basis, bounds, noised)
    assert extremes(basis, repaired, per_axis=201).beyond(bounds.allowed) < 1e-6
    # nearest: nothing in the set between the two is nearer, and what is inside stays
    assert np.linalg.norm(repaired - noised) < np.linalg.norm(exact - noised) * 1.05
    np.testing.assert_allclose(projected(basis, bounds, repaired), repaired, atol=1e-2)


def square(x: jax.Array, centre: jax.Array) -> jax.Array:
    return jnp.sum((x - centre) ** 2)


def test_two_rounds_by_hand() -> None:
    # f_1 = (x - 1)^2, f_2 = (x + 1/2)^2 on [-2, 2]; with t = x/2 their coefficients without the
    # constant are (-4, 4) and (2, 4), of l1 norm 8 and 6. A clip of 4 makes them (-2, 2) and
    # (4/3, 8/3): public costs x^2/2 - x and 2x^2/3 + 2x/3, minimised at 1 and -1/2.
    task = problem.costs(
        square, np.array([[1.0], [-0.5]]), [0.0], constraint=problem.Box(-2.0, 2.0), convex=True
    )
    basis = QuadraticBasis([-2.0], [2.0])
    privacy = Privacy(clip=4.0, epsilon=np.inf, delta=0.0, noise="laplace")
    method = FunctionalPerturbation(DGD(step=0.25), basis, privacy=privacy)
    result = tacit.run(task, network.complete(2), method, rounds=2, seed=0)
    # x <- mean - gradient / 4, gradients x - 1 and 4x/3 + 2/3
    # round 1: 1/4, -1/6; both mix to 1/24; round 2 gradients at 1/4 and -1/6: -3/4 and 4/9
    expected = np.array([1 / 24 + 3 / 16, 1 / 24 - 1 / 9])
    np.testing.assert_allclose(result.solutions[0][:, 0], expected, rtol=1e-12)


def test_without_noise_or_clip_quadratics_are_solved_exactly() -> None:
    centres = np.array([[0.3, -0.2], [0.1, 0.6], [-0.5, 0.1]])
    task = problem.costs(square, centres, np.zeros(2), convex=True)
    privacy = Privacy(clip=1e6, epsilon=np.inf, delta=0.0, noise="laplace")
    basis = QuadraticBasis([-1.0, -1.0], [1.0, 1.0])
    method = FunctionalPerturbation(
        tacit.method.EXTRA(step=0.2), basis, CurvatureBounds(0.5, 4.0), privacy=privacy
    )
    result = tacit.run(task, network.complete(3), method, rounds=100, seed=0)
    np.testing.assert_allclose(
        result.solutions[0], np.tile(centres.mean(axis=0), (3, 1)), atol=1e-9
    )


def test_epsilon_is_spent_once_however_many_rounds() -> None:
    task = problem.costs(square, np.array([[0.3], [-0.2]]), [0.0], convex=True)
    privacy = Privacy(clip=1.0, noise_multiplier=0.5, delta=0.0, noise="laplace")
    method = FunctionalPerturbation(DGD(step=0.2), QuadraticBasis([-1.0], [1.0]), privacy=privacy)
    for rounds in (1, 50):
        guarantee = tacit.account(task, network.complete(2), method, rounds=rounds).guarantee[0]
        assert guarantee.status.value == "proved"
        assert guarantee.releases == 1
        assert guarantee.epsilon == pytest.approx(2.0)


@pytest.mark.slow
def test_its_audit_comes_close_to_the_claim_and_stays_below() -> None:
    features, targets = np.zeros((2, 1, 1)), np.zeros((2, 1))
    task = problem.empirical_risk(list(features), list(targets), problem.Logistic())
    privacy = Privacy(clip=1.0, epsilon=2.0, delta=0.0, noise="laplace")
    method = FunctionalPerturbation(
        DGD(step=0.2), QuadraticBasis([-1.0], [1.0]), CurvatureBounds(0.0, 4.0), privacy=privacy
    )
    found = tacit.audit_method(
        task, network.complete(2), method, rounds=2, trials=4000, seed=0, stop=False
    )
    best = max(bound.epsilon for bound in found.bounds)
    assert found.claim.epsilon == pytest.approx(2.0)
    assert 1.0 < best <= 2.0
