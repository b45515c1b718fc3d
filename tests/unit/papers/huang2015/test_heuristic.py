"""The conditions of section 4.5 and the heuristic that solves them in turn."""

from __future__ import annotations

import dataclasses
import math

import pytest

from tacit.errors import ConfigError
from tacit.method.forms import Form
from tacit.papers.huang2015 import PDOPConstants
from tacit.papers.huang2015.bounds import printed_accuracy
from tacit.papers.huang2015.heuristic import (
    coordinate_heuristic,
    noise_ratio_condition,
    ratio_condition,
    step_condition,
)

RENDEZVOUS = PDOPConstants(
    epsilon=1.0,
    dimension=2,
    agents=10,
    curvature=2.0,
    gradient_bound=32.0**0.5,
    diameter=8.0**0.5,
)
POINT = (0.02, 0.4, 0.7)


def theorem_10(c: float, q: float, p: float, constants: PDOPConstants = RENDEZVOUS) -> float:
    return printed_accuracy(
        c,
        q,
        p,
        epsilon=constants.epsilon,
        diameter=constants.diameter,
        gradient_bound=constants.gradient_bound,
        curvature=constants.curvature,
        dimension=constants.dimension,
    )


def slope(which: int, h: float = 1e-6) -> float:
    """`d d / dc` or `d d / dq` of eq (15), by a central difference."""
    ends = [
        theorem_10(*(x + (d if i == which else 0.0) for i, x in enumerate(POINT))) for d in (-h, h)
    ]
    return (ends[1] - ends[0]) / (2.0 * h)


def test_the_corrected_conditions_are_the_derivatives_of_theorem_10() -> None:
    for which, condition in ((0, step_condition), (1, ratio_condition)):
        left, right = condition(*POINT, RENDEZVOUS)
        assert right - left == pytest.approx(slope(which), rel=1e-6)
        left, right = condition(*POINT, RENDEZVOUS, form="printed")
        assert right - left != pytest.approx(slope(which), rel=1e-3)


def test_the_printed_conditions_by_hand() -> None:
    c, q, p = POINT
    kept = math.exp(-2.0 * c / (1.0 - q))
    left, right = step_condition(c, q, p, RENDEZVOUS, form="printed")
    assert left == pytest.approx(2.0 * 8.0**0.5 * kept)
    noise = 16.0 * p**2 / ((p - q) ** 2 * (1.0 - p**2))
    assert right == pytest.approx(64.0 * c * (1.0 / (1.0 - q**2) + noise))
    left, right = ratio_condition(c, q, p, RENDEZVOUS, form="printed")
    assert left == pytest.approx(2.0 * 8.0**0.5 * c / (1.0 - q**2) * kept)
    by_hand = 2.0 * q**2 * 32.0 * c**2 / (1.0 - q**2) ** 2
    by_hand += 32.0 * 32.0 * c**2 * p**2 / ((p - q) ** 3 * (1.0 - p**2))
    assert right == pytest.approx(by_hand)


@pytest.mark.parametrize("q", [0.05, 0.5, 0.9])
def test_the_third_condition_is_the_cube_root(q: float) -> None:
    left, right = noise_ratio_condition(q, q ** (1.0 / 3.0))
    assert left == pytest.approx(right)
    left, right = noise_ratio_condition(q, (q + 1.0) / 2.0)
    assert left != pytest.approx(right, rel=1e-3)


@pytest.mark.parametrize("form", ["printed", "corrected"])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_the_heuristic_ends_where_the_conditions_hold(form: Form, epsilon: float) -> None:
    constants = dataclasses.replace(RENDEZVOUS, epsilon=epsilon)
    found = coordinate_heuristic(constants, form=form)
    c, q, p = found.step, found.ratio, found.noise_ratio
    assert p == pytest.approx(q ** (1.0 / 3.0), rel=1e-2)
    left, right = step_condition(c, q, p, constants, form=form)
    assert left == pytest.approx(right, rel=1e-2)
    # the second one, unless it has no solution
    gaps = [
        right - left
        for ratio in (p * share / 50.0 for share in range(1, 50))
        for left, right in [ratio_condition(c, ratio, p, constants, form=form)]
    ]
    left, right = ratio_condition(c, q, p, constants, form=form)
    assert min(gaps) > 0.0 or left == pytest.approx(right, rel=1e-2)
    assert found.accuracy == theorem_10(c, q, p, constants)


@pytest.mark.parametrize(("epsilon", "kept"), [(0.1, 1.000), (10.0, 0.888)])
def test_the_printed_heuristic_hardly_leaves_the_start(epsilon: float, kept: float) -> None:
    constants = dataclasses.replace(RENDEZVOUS, epsilon=epsilon)
    for seed in range(3):
        found = coordinate_heuristic(constants, seed=seed, form="printed")
        assert math.exp(-2.0 * found.step / (1.0 - found.ratio)) == pytest.approx(kept, abs=5e-4)


def test_a_corrected_minimum_is_one_in_every_coordinate() -> None:
    found = coordinate_heuristic(dataclasses.replace(RENDEZVOUS, epsilon=10.0), sweeps=200)
    constants = dataclasses.replace(RENDEZVOUS, epsilon=10.0)
    best = (found.step, found.ratio, found.noise_ratio)
    for which in range(3):
        for factor in (0.97, 1.03):
            other = [x * (factor if i == which else 1.0) for i, x in enumerate(best)]
            assert theorem_10(*other, constants) > found.accuracy


def test_the_start_is_drawn_from_a_seed() -> None:
    one, same, other = (coordinate_heuristic(RENDEZVOUS, seed=s, sweeps=1) for s in (1, 1, 2))
    assert one == same and one != other


def test_numbers_out_of_range() -> None:
    with pytest.raises(ConfigError, match="sweeps=0"):
        coordinate_heuristic(RENDEZVOUS, sweeps=0)
    for point, word in (
        ((0.0, 0.4, 0.7), r"step=0\.0"),
        ((0.1, 1.0, 0.7), r"ratio=1\.0"),
        ((0.1, 0.4, 0.4), r"noise_ratio=0\.4"),
    ):
        for condition in (step_condition, ratio_condition):
            with pytest.raises(ConfigError, match=word):
                condition(*point, RENDEZVOUS)
    with pytest.raises(ConfigError, match=r"noise_ratio=1\.0"):
        noise_ratio_condition(0.5, 1.0)
