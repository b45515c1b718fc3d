"""The zeroth-order solver in open and closed neighbourhoods."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import tacit
from tacit import DZOASolver, network, problem
from tacit.method.d_zoa_solver import two_point_slopes

PENALTY = 0.3
CENTRES = np.array([[1.0, -2.0], [4.0, 0.0], [0.0, 3.0]])


def _half_square(x: Any, centre: Any) -> Any:
    return jnp.sum((x - centre) ** 2) / 2


def _by_hand(rounds: int, *, closed: bool, stale: bool = False) -> np.ndarray:
    """The path 1 - 2 - 3 with exact minimisers of `F_k`; agent 2 has two neighbours.

    Args:
        rounds: of ADMM.
        closed: an agent is one of its own neighbours.
        stale: duals take the iterates of the round before, as the printed order of lines has it.
    """
    adjacent = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    near = adjacent + np.eye(3) if closed else adjacent
    b, dual = np.zeros((3, 2)), np.zeros((3, 2))
    for _ in range(rounds):
        count = near.sum(axis=1, keepdims=True)
        pulled = PENALTY * (count * b + near @ b)
        fresh = (CENTRES - dual + pulled) / (1.0 + 2.0 * PENALTY * count)
        seen = b if stale else fresh
        dual = dual + PENALTY * (adjacent.sum(axis=1, keepdims=True) * seen - adjacent @ seen)
        b = fresh
    return b


@pytest.mark.parametrize("closed", [False, pytest.param(True, marks=pytest.mark.long)])
def test_every_round_minimises_the_augmented_lagrangian(closed: bool) -> None:
    task = problem.costs(_half_square, CENTRES, np.zeros(2), smooth=True, convex=True)
    method = DZOASolver(step=0.5, penalty=PENALTY, directions=12, inner_steps=200, closed=closed)
    found = tacit.run(task, network.path(3), method, rounds=4, seed=0, record=[]).solutions[0]
    np.testing.assert_allclose(found, _by_hand(4, closed=closed), atol=1e-4)
    assert np.max(np.abs(found - _by_hand(4, closed=not closed))) > 0.05
    assert np.max(np.abs(found - _by_hand(4, closed=closed, stale=True))) > 0.05


def test_a_step_that_is_left_out_counts_the_agent_itself() -> None:
    task = problem.empirical_risk(
        [np.ones((3, 1))] * 3, [np.zeros(3)] * 3, problem.Squared(), problem.L2(1.0)
    )
    steps = [
        DZOASolver(penalty=PENALTY, closed=closed).prepare(task, network.path(3)).step
        for closed in (False, True)
    ]
    np.testing.assert_allclose(1 / steps[1] - 1 / steps[0], 4 * PENALTY)


@pytest.mark.usefixtures("float64")
def test_the_second_step_has_a_shortest_length() -> None:
    """Noise in values is divided by it, and it would shrink as 1/t^2."""
    b, directions = jnp.zeros(1), jnp.asarray([[[3.0]], [[2.0]]])
    late = two_point_slopes(lambda x: x[0] ** 2, b, 100.0, 0.01, directions, shortest=0.1)
    # from 0.2 n1 = 0.6 a step of 0.1 n2
    assert float(late[0]) == pytest.approx((0.8**2 - 0.6**2) / 0.1)
