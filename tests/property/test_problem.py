"""What must hold for any data: sensitivity of the clipped gradient, proximal maps, projections."""

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tacit.problem.constraint import Affine, Ball, Box, Simplex
from tacit.problem.erm import EmpiricalRisk
from tacit.problem.losses import Hinge, Logistic, Poisson, Squared
from tacit.problem.regularisers import L1, L2, ElasticNet, GroupL1

QUICK = settings(max_examples=25, deadline=None)
ANY = st.floats(-1e300, 1e300, allow_nan=False)
MILD = st.floats(-100.0, 100.0, allow_nan=False)


def gradient(loss, rows, targets, x, clip, order):
    risk = EmpiricalRisk(
        normaliser=np.array(3.0), features=rows, targets=targets, mask=np.ones(3), loss=loss
    )
    return np.asarray(risk.clipped_gradient(x, clip, order, None))


@QUICK
@given(
    loss=st.sampled_from([Squared(), Logistic(), Hinge(), Poisson()]),
    rows=arrays(float, (3, 2), elements=MILD),
    other=arrays(float, 2, elements=ANY),
    x=arrays(float, 2, elements=ANY),
    clip=st.floats(1e-3, 1e3),
    order=st.sampled_from([1, 2]),
)
def test_replacing_a_record_moves_the_clipped_gradient_by_at_most_2c_over_n(
    loss, rows, other, x, clip, order
):
    replaced = rows.copy()
    replaced[1] = other
    targets = np.array([0.0, 1.0, 1.0])
    with jax.enable_x64(True):
        before = gradient(loss, rows, targets, x, clip, order)
        after = gradient(loss, replaced, targets, x, clip, order)
    assert np.linalg.norm(after - before, ord=order) <= 2.0 * clip / 3.0 * (1.0 + 1e-9)


@pytest.mark.parametrize(
    "regulariser", [L1(0.7), L2(0.7), ElasticNet(0.3, 0.4), GroupL1(0.5, (0, 0, 1, -1))], ids=repr
)
@QUICK
@given(pair=arrays(float, (2, 4), elements=MILD), step=st.floats(0.0, 10.0))
def test_proximal_maps_are_firmly_nonexpansive(regulariser, pair, step):
    with jax.enable_x64(True):
        ends = np.array([regulariser.prox(v, step) for v in pair])
    moved, apart = ends[0] - ends[1], pair[0] - pair[1]
    assert moved @ moved <= moved @ apart + 1e-9 * (1.0 + apart @ apart)


@pytest.mark.parametrize(
    "constraint",
    [
        Box(-1.0, [0.0, 1.0, np.inf, 3.0]),
        Ball(2.0),
        Ball(2.0, order=1),
        Simplex(3.0),
        Affine([[1.0, 1.0, 1.0, 1.0]], [2.0]),
    ],
    ids=lambda each: type(each).__name__,
)
@QUICK
@given(pair=arrays(float, (2, 4), elements=MILD))
def test_projections_land_in_the_set_and_bring_nothing_apart(constraint, pair):
    with jax.enable_x64(True):
        ends = np.array([constraint.project(v) for v in pair])
    assert all(constraint.contains(end, 1e-9) for end in ends)
    moved, apart = ends[0] - ends[1], pair[0] - pair[1]
    assert moved @ moved <= moved @ apart + 1e-9 * (1.0 + apart @ apart)
