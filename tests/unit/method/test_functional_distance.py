"""How far one record moves what is released: found, and certified."""

from __future__ import annotations

from collections.abc import Callable

import jax
import numpy as np
import pytest

from tacit.errors import ConfigError
from tacit.method import LegendreBasis, QuadraticBasis, record_distance
from tacit.method.functional_distance import RecordDistance
from tacit.problem import Hinge, Logistic, Squared

UNIT = [0.0, 0.0], [1.0, 1.0]
ZETA = 10.584448464950809
"""Of 2 (q - p) = 1.1."""


def square(half: float, degree: int = 6) -> LegendreBasis:
    return LegendreBasis([-half, -half], [half, half], degree)


@pytest.mark.slow
def test_a_replaced_record_costs_forty_times_the_metric_epsilon() -> None:
    found = record_distance(
        square(5.0), Logistic(), *UNIT, [0.0, 1.0], constant=True, tolerance=0.03
    )
    # features in opposite corners, and another answer
    assert {target for _, target in found.pair} == {0.0, 1.0}
    assert [round(each / ZETA**0.5) for each in (found.lower, found.upper)] == [42, 43]
    assert found.upper <= 1.03 * found.lower * (1.0 + 1e-6)


@pytest.mark.slow
def test_the_distance_of_the_paper_between_records_is_certified() -> None:
    found = record_distance(
        square(5.0),
        Logistic(),
        *UNIT,
        [0.0, 1.0],
        exponent=1.1,
        order=2,
        constant=True,
        tolerance=0.03,
    )
    assert round(found.lower) == 123
    assert found.lower <= found.upper < 128.0


@pytest.mark.parametrize(("half", "distance"), [(2.0, 17.0), (1.0, 3.8)])
def test_smaller_boxes_cost_much_less(half: float, distance: float) -> None:
    found = record_distance(
        square(half), Logistic(), *UNIT, [0.0, 1.0], constant=True, tolerance=0.1
    )
    assert found.lower == pytest.approx(distance, rel=0.01)
    assert found.upper <= 1.1 * found.lower * (1.0 + 1e-6)


@pytest.mark.slow
def test_no_random_pair_is_beyond_the_certificate() -> None:
    basis = LegendreBasis([-2.0], [3.0], 5)
    found = record_distance(basis, Logistic(), [-1.0], [2.0], [0.0, 1.0], tolerance=0.02)
    rng = np.random.default_rng(0)
    rows, labels = rng.uniform(-1.0, 2.0, 500), rng.choice([0.0, 1.0], 500)
    scores = basis.points * rows
    losses = np.logaddexp(0.0, scores) - labels * scores
    weighted = (np.arange(1.0, 7.0)[:, None] ** 0.55 * (basis.operator @ losses))[1:]
    apart = np.max(np.sum(np.abs(weighted[:, :, None] - weighted[:, None, :]), axis=0))
    assert 0.9 * found.lower < apart <= found.upper


def test_the_pair_is_as_far_apart_as_said() -> None:
    basis = QuadraticBasis([-1.0, -1.0], [1.0, 1.0])
    # the intercept has one value; of targets in [-2, 1] the ends are enough
    found = record_distance(basis, Squared(), [0.0, 1.0], [1.0, 1.0], [-2.0, 1.0])
    first, second = (
        basis.operator @ np.square(basis.points @ np.array(row) - target)
        for row, target in found.pair
    )
    assert np.sum(np.abs(first - second)[1:]) == pytest.approx(found.lower)
    # (t_1 a + t_2 - y)^2: t_1 gets -2 a y, t_2 gets -2 y, t_1^2 gets a^2, t_1 t_2 gets 2 a
    assert found.lower == pytest.approx(2.0 * 3.0 + 2.0 * 2.0 + 1.0 + 2.0)
    for target in (-1.5, 0.0, 0.9):
        other = basis.operator @ np.square(basis.points @ np.array([1.0, 1.0]) - target)
        assert np.sum(np.abs(first - other)[1:]) <= found.upper


def test_out_of_boxes_the_bound_still_holds() -> None:
    rough = record_distance(square(1.0), Logistic(), *UNIT, [0.0, 1.0], cells=8)
    fine = record_distance(square(1.0), Logistic(), *UNIT, [0.0, 1.0], tolerance=0.05)
    assert rough.upper > 1.05 * rough.lower
    assert rough.lower <= fine.upper <= rough.upper


def test_many_features_start_in_the_middle() -> None:
    basis = QuadraticBasis([-1.0] * 9, [1.0] * 9)
    found = record_distance(basis, Logistic(), [0.5] * 9, [0.5] * 9, [0.0, 1.0])
    # two records: 0.5 sum t_i between them
    assert found.lower == pytest.approx(4.5)
    assert found.upper == pytest.approx(4.545)


def test_distance_scale_and_epsilon_are_one_relation() -> None:
    pair = ((0.0,), 0.0), ((1.0,), 1.0)
    found = RecordDistance(3.0, 4.0, pair)
    assert found.epsilon(scale=2.0) == 2.0
    assert found.epsilon(scale=2.0, normaliser=100.0) == pytest.approx(0.02)
    assert found.epsilon(found.scale(0.3, normaliser=7.0), normaliser=7.0) == pytest.approx(0.3)
    with pytest.raises(ConfigError, match="scale=0"):
        found.epsilon(0.0)
    with pytest.raises(ConfigError, match="epsilon=-1"):
        found.scale(-1.0)


LINE = LegendreBasis([-1.0], [1.0], 2)


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: record_distance(LINE, Logistic(), [0.0, 0.0], [1.0, 1.0], [0.0]), "1 features"),
        (lambda: record_distance(LINE, Logistic(), [1.0], [0.0], [0.0]), "least and largest"),
        (lambda: record_distance(LINE, Logistic(), [0.0], [1.0], []), "targets"),
        (lambda: record_distance(LINE, Logistic(), [0.0], [1.0], [0.0], exponent=-1.0), "exponent"),
        (lambda: record_distance(LINE, Hinge(), [0.0], [1.0], [0.0]), "curvature"),
        (
            lambda: record_distance(LINE, Logistic(), [0.0], [1.0], [0.0], tolerance=0.0),
            "tolerance",
        ),
        (lambda: record_distance(LINE, Logistic(), [0.0], [1.0], [0.0], cells=0), "cells"),
    ],
)
def test_arguments_are_checked(make: Callable[[], RecordDistance], word: str) -> None:
    with pytest.raises(ConfigError, match=word):
        make()
    assert not jax.config.jax_enable_x64  # nothing is left switched on
