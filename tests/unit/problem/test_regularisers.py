"""Regularisers: known values, proximal maps by their optimality, coordinates without penalty."""

import numpy as np
import pytest

from tacit.errors import ProblemError
from tacit.problem.regularisers import (
    L1,
    L2,
    REGULARISERS,
    ElasticNet,
    GroupL1,
    NoRegulariser,
)

ALL = [
    NoRegulariser(),
    L1(0.7),
    L2(0.7),
    ElasticNet(0.4, 0.3),
    GroupL1(0.5, (0, 0, 1, 1, 2)),
    L1(0.7, unpenalised=(4,)),
    L2(0.7, unpenalised=(0, 4)),
    ElasticNet(0.4, 0.3, unpenalised=(4,)),
    GroupL1(0.5, (0, 0, -1, 1, 1)),
]
POINTS = [
    np.array([0.5, -2.0, 0.1, -0.1, 3.0]),
    np.array([0.0, 0.0, 1.0, -1.0, 0.2]),
    np.zeros(5),
]


@pytest.mark.parametrize("regulariser", ALL, ids=repr)
@pytest.mark.parametrize("v", POINTS)
def test_prox_beats_every_other_point(regulariser, v, float64):
    step = 0.6

    def objective(x):
        return step * float(regulariser.value(x)) + 0.5 * float(np.sum((x - v) ** 2))

    best = np.asarray(regulariser.prox(v, step))
    rng = np.random.default_rng(0)
    for scale in (1e-4, 1e-2, 1.0):
        for _ in range(5):
            assert objective(best) <= objective(best + scale * rng.normal(size=5))


@pytest.mark.parametrize("regulariser", ALL, ids=repr)
def test_gradient_supports_the_value_from_below(regulariser, float64):
    rng = np.random.default_rng(1)
    for x in POINTS:
        slope = np.asarray(regulariser.gradient(x))
        for y in rng.normal(size=(5, 5)):
            line = float(regulariser.value(x)) + slope @ (y - x)
            assert float(regulariser.value(y)) >= line - 1e-12


@pytest.mark.parametrize("regulariser", ALL, ids=repr)
def test_scaling_scales_the_value(regulariser, float64):
    x = POINTS[0]
    assert float(regulariser.scaled(0.25).value(x)) == pytest.approx(
        0.25 * float(regulariser.value(x)), rel=1e-14
    )


@pytest.mark.parametrize("regulariser", ALL, ids=repr)
def test_sparing_leaves_coordinates_alone(regulariser, float64):
    spared = regulariser.sparing([1])
    v = np.array([0.0, -2.0, 0.0, 0.0, 0.0])
    assert float(spared.value(v)) == 0.0
    assert float(spared.prox(v, 1.0)[1]) == -2.0
    assert set(regulariser.unpenalised) <= set(spared.unpenalised)


def test_values_by_hand(float64):
    x = np.array([3.0, -4.0])
    assert float(L1(0.5).value(x)) == 3.5
    assert float(L2(0.5).value(x)) == 12.5
    assert float(ElasticNet(0.5, 0.5).value(x)) == 16.0
    assert float(GroupL1(0.5, (0, 0)).value(x)) == pytest.approx(2.5 * np.sqrt(2.0))


def test_proximal_maps_by_hand(float64):
    v = np.array([3.0, -0.5, -2.0])
    np.testing.assert_allclose(L1(1.0).prox(v, 1.0), [2.0, 0.0, -1.0])
    np.testing.assert_allclose(L2(0.5).prox(v, 1.0), v / 2.0)
    np.testing.assert_allclose(ElasticNet(1.0, 0.5).prox(v, 1.0), [1.0, 0.0, -0.5])
    np.testing.assert_allclose(
        GroupL1(1.0, (0, 1, 1)).prox(v, 0.5),
        [2.5, *(v[1:] * (1.0 - 0.5 * np.sqrt(2.0) / np.hypot(0.5, 2.0)))],
    )


@pytest.mark.parametrize(
    ("build", "word"),
    [
        (lambda: L1(-1.0), "strength=-1"),
        (lambda: L2(np.nan), "strength=nan"),
        (lambda: ElasticNet(0.1, np.inf), "l2=inf"),
        (lambda: GroupL1(1.0, (0, 2)), "without a gap"),
        (lambda: GroupL1(1.0, (0, -2)), "without a gap"),
        (lambda: L1(1.0, unpenalised=(3,)).check(3), "coordinate 3"),
        (lambda: GroupL1(1.0, (0, 0)).check(3), "2 entries"),
    ],
)
def test_wrong_settings_are_refused(build, word):
    with pytest.raises(ProblemError, match=word):
        build()


def test_registry():
    assert set(REGULARISERS) == {"none", "l1", "l2", "elastic_net", "group_l1"}
