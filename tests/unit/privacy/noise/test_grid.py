"""The grid: its choice, the sensitivity that rounding leaves, exactness, refusals."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import PrivacyError
from tacit.privacy.noise.grid import LARGEST_VALUE, Grid

COORDINATES = st.lists(st.floats(-3.0, 3.0), min_size=1, max_size=8)


@pytest.mark.parametrize(("order", "spread"), [(1, 9), (2, 3)])
def test_a_free_grid_adds_a_millionth_to_the_sensitivity(order: int, spread: int) -> None:
    grid = Grid.for_release(0.3, order, dimension=9, noise_scale=5.0, largest=9.0)
    assert grid.sensitivity == math.ceil(Fraction(0.3) / Fraction(grid.step) + spread)
    assert 1.0 < grid.sensitivity * grid.step / 0.3 < 1.0 + 2e-6
    assert grid.step <= 5.0 / 2**10


def test_the_root_of_a_dimension_is_rounded_up() -> None:
    grid = Grid.for_release(1.0, 2, dimension=2, noise_scale=1.0, largest=1.0)
    steps = Fraction(1) / Fraction(grid.step)
    assert (grid.sensitivity - steps) ** 2 >= 2


@pytest.mark.parametrize("unit", [1e-12, 1e-6, 1.0, 1e6, 1e12])
@pytest.mark.parametrize("multiplier", [1e-12, 1e-6, 0.3, 1.0, 1e3, 1e6, 1e9, 1e12])
@pytest.mark.parametrize("order", [1, 2])
def test_noise_of_every_size_beside_a_sensitivity(
    unit: float, multiplier: float, order: int
) -> None:
    grid = Grid.for_release(unit, order, dimension=1, noise_scale=multiplier * unit, largest=unit)
    scale = grid.scale_for(multiplier)
    assert scale < 2.0**45
    assert scale * grid.step >= multiplier * unit * (1 - 1e-12)
    assert scale * grid.step <= 3 * multiplier * unit
    assert unit / grid.step <= LARGEST_VALUE
    assert grid.sensitivity <= LARGEST_VALUE


@given(left=COORDINATES, data=st.data(), order=st.sampled_from([1, 2]), exponent=st.integers(-6, 1))
def test_rounding_keeps_neighbours_within_the_sensitivity(
    left: list[float], data: st.DataObject, order: int, exponent: int
) -> None:
    right = data.draw(st.lists(st.floats(-3.0, 3.0), min_size=len(left), max_size=len(left)))
    distance = float(np.linalg.norm(np.subtract(left, right), order)) * (1 + 1e-12)
    spread = len(left) if order == 1 else math.sqrt(len(left)) * (1 + 1e-12)
    bound = math.ceil(distance / 2.0**exponent + spread)
    grid = Grid(exponent, bound, order, len(left))
    moved = grid.rounded(left) - grid.rounded(right)
    assert np.linalg.norm(moved, order) <= bound


def test_rounding_can_move_every_coordinate_by_a_whole_step() -> None:
    grid = Grid(0, 5, 1, 5)
    low, high = np.full(5, 0.5 - 1e-9), np.full(5, 0.5 + 1e-9)
    assert np.abs(grid.rounded(high) - grid.rounded(low)).sum() == 5


@given(st.integers(-(2**53) + 1, 2**53 - 1), st.integers(-900, 900))
def test_scaling_back_is_exact(steps: int, exponent: int) -> None:
    grid = Grid(exponent, 1, 1, 1)
    value = grid.value(np.array([steps]))[0]
    assert Fraction(value) == steps * Fraction(2) ** exponent


@pytest.mark.parametrize("exponent", [-900, 0, 900])
def test_values_beyond_the_grid_become_its_end(exponent: int) -> None:
    grid = Grid(exponent, 1, 1, 3)
    beyond = [1.7e308, -1.7e308, 0.0] if exponent < 900 else [2.0**960, -(2.0**960), 0.0]
    assert grid.rounded(beyond).tolist() == [LARGEST_VALUE, -LARGEST_VALUE, 0]


def test_the_end_of_the_grid_keeps_neighbours_together() -> None:
    grid = Grid(0, 8, 1, 1)
    for value in (2.0**52 - 3, 2.0**52 - 1, 2.0**52, 2.0**52 + 5):
        assert abs(int(grid.rounded([value])[0]) - int(grid.rounded([value + 7])[0])) <= 8


@given(st.floats(1e-12, 1e12), st.integers(1, 2**52))
def test_multipliers_are_rounded_to_the_safe_side(multiplier: float, sensitivity: int) -> None:
    grid = Grid(0, sensitivity, 2, 1)
    scale = grid.scale_for(multiplier)
    assert Fraction(scale) >= Fraction(multiplier) * sensitivity
    back = grid.noise_multiplier(scale)
    assert Fraction(back) * sensitivity <= Fraction(scale)
    assert back == pytest.approx(multiplier, rel=1e-15)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sensitivity": 0.0}, "sensitivity=0.0 must be positive"),
        ({"sensitivity": math.inf}, "sensitivity=inf must be positive and finite"),
        ({"noise_scale": math.nan}, "noise_scale=nan must be positive"),
        ({"noise_scale": 0.0}, "noise_scale=0.0"),
        ({"order": 3}, "order=3 must be 1"),
        ({"dimension": 0}, "dimension=0 must be at least 1"),
        ({"largest": math.inf}, "largest=inf"),
        ({"largest": 0.0}, "largest=0.0 must be positive"),
        ({"dimension": 10**6, "noise_scale": 1e12}, "more than double the sensitivity 1: take"),
        ({"largest": 1e16}, "more than double the sensitivity"),
        ({"noise_scale": 1e-12, "largest": 1e5}, "finer than the finest grid"),
        (
            {"sensitivity": 1e-300, "noise_scale": 1e-300, "largest": 1e-300},
            "does not hold exactly; change the unit",
        ),
        ({"sensitivity": 1e300, "noise_scale": 1e300}, "does not hold exactly"),
    ],
)
def test_what_no_grid_can_do_is_refused(arguments: dict[str, Any], message: str) -> None:
    fine = {"sensitivity": 1.0, "order": 1, "dimension": 1, "noise_scale": 1.0, "largest": 1.0}
    with pytest.raises(PrivacyError, match=message):
        Grid.for_release(**{**fine, **arguments})


@pytest.mark.parametrize("value", [[1.0], [[1.0, 2.0, 3.0]]])
def test_another_dimension_is_refused(value: list[float]) -> None:
    with pytest.raises(PrivacyError, match="made for 2"):
        Grid(0, 1, 1, 2).rounded(value)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_an_unbounded_value_is_refused_without_being_shown(value: float) -> None:
    with pytest.raises(PrivacyError, match="not finite") as refused:
        Grid(0, 1, 1, 2).rounded([0.123, value])
    assert "0.123" not in str(refused.value)
