"""Clipping: by hand, at the ends of the range of numbers, in both precisions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tacit.clipping import clip_factor, clipped, norm_ratio, row_norms

TALL = 1e300


@pytest.mark.parametrize(("order", "expected"), [(1, [7.0, 0.0, 2.0]), (2, [5.0, 0.0, np.sqrt(2)])])
def test_norms_of_rows(order: int, expected: list[float], float64: None) -> None:
    rows = np.array([[3.0, -4.0], [0.0, 0.0], [1.0, 1.0]])
    np.testing.assert_allclose(row_norms(rows, order), expected, rtol=1e-15)
    np.testing.assert_allclose(row_norms(jnp.asarray(rows), order), expected, rtol=1e-15)
    assert isinstance(row_norms(rows, order), np.ndarray)


def test_norms_whose_squares_leave_the_range(float64: None) -> None:
    for size in (1e-170, 1e-300, 1e170, TALL):
        for rows in (np.full((1, 4), size), jnp.full((1, 4), size)):
            np.testing.assert_allclose(row_norms(rows, 2), [2.0 * size], rtol=1e-14)
    assert row_norms(np.full((1, 4), 1e308), 2) == [np.inf]
    assert not np.isfinite(row_norms(np.array([[np.inf, 1.0], [np.nan, 1.0]]), 2)).any()


@pytest.mark.parametrize("order", [1, 2])
def test_rows_are_scaled_down_or_left(order: int, float64: None) -> None:
    rows = jnp.array(
        [[3.0, 4.0], [0.3, 0.4], [-TALL, 0.0], [1e308, 1e308], [np.nan, 0], [np.inf, 0]]
    )
    inside = np.asarray(clipped(rows, 1.0, order))
    direction = {1: [3 / 7, 4 / 7], 2: [0.6, 0.8]}[order]
    np.testing.assert_allclose(inside[:3], [direction, [0.3, 0.4], [-1.0, 0.0]], rtol=1e-15)
    assert not inside[3:].any()
    np.testing.assert_array_equal(clipped(rows[:3], np.inf, order), rows[:3])


@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("order", [1, 2, np.inf])
def test_no_row_of_any_size_passes(double: bool, order: float) -> None:
    ends = np.finfo(np.float64 if double else np.float32)
    with jax.enable_x64(double):
        sizes = jnp.geomspace(ends.tiny * 4, ends.max / 4, 300)
        rows = jnp.stack([sizes, sizes[::-1], jnp.sqrt(sizes)], axis=1)
        for clip in (1e-20, 1e-3, 1.0):
            norms = np.linalg.norm(np.asarray(clipped(rows, clip, order), np.longdouble), order, 1)
            assert norms.max() <= clip * (1.0 + 8 * ends.eps)


def test_a_factor_with_too_few_digits_is_zero(float64: None) -> None:
    factors = clip_factor(jnp.array([1e307, 1e300, 0.5]), 1e-10)
    np.testing.assert_allclose(factors, [0.0, 0.0, 2e-10], rtol=1e-15)
    np.testing.assert_allclose(
        clip_factor(jnp.array([0.0, 2.0, np.inf, np.nan]), 1.0), [1, 0.5, 0, 0]
    )


def test_the_largest_entry_is_the_linf_norm(float64: None) -> None:
    rows = np.array([[3.0, -4.0], [0.0, 0.0], [1e307, 1e307], [-TALL, 5e-324]])
    expected = [4.0, 0.0, 1e307, TALL]
    np.testing.assert_array_equal(row_norms(rows, np.inf), expected)
    np.testing.assert_array_equal(row_norms(jnp.asarray(rows), np.inf), expected)
    inside = np.asarray(clipped(jnp.asarray(rows), 1.0, np.inf))
    np.testing.assert_allclose(inside, [[0.75, -1], [0, 0], [1, 1], [-1, 0]], rtol=1e-15)
    broken = jnp.array([[np.nan, 1.0], [1.0, -np.inf]])
    assert not np.asarray(clipped(broken, 1.0, np.inf)).any()


@pytest.mark.parametrize(
    ("of", "to", "ratio"),
    [(2, 1, 3.0), (np.inf, 2, 3.0), (np.inf, 1, 9.0), (1, 2, 1.0), (2, np.inf, 1.0), (2, 2, 1.0)],
)
def test_one_norm_bounds_another(of: float, to: float, ratio: float) -> None:
    assert norm_ratio(of, to, 9) == ratio


def test_a_clip_that_is_no_number_lets_nothing_through() -> None:
    rows = np.array([[3.0, 4.0], [0.0, 0.0]])
    assert not np.any(clipped(jnp.asarray(rows), np.nan, 2))
