"""Bytes are counted once for runs of one shape, whatever a method's fields are."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import numpy as np
import pytest

import tacit
from tacit import network, problem
from tacit._engine import traffic
from tests.laid_out import lay_out


class Flagged(tacit.DGD):
    """A method with a field that is no array and not static."""

    flag: bool = eqx.field(default=True, kw_only=True)


def _plan(agents: int, dimension: int, step: float, method: type[tacit.DGD] = Flagged) -> Any:
    task = problem.empirical_risk(
        [np.ones((3, dimension))] * agents, [np.zeros(3)] * agents, problem.Squared()
    )
    plan, _, _ = lay_out(task, network.ring(agents), method(step=step), 2, 0, 1)
    return plan


@pytest.mark.long
@pytest.mark.parametrize("method", [tacit.DGD, Flagged])
def test_plans_of_one_shape_are_traced_once(method: type[tacit.DGD], float64: None) -> None:
    traffic._traced_sizes.cache_clear()
    # every agent sends p numbers of 8 bytes to either neighbour, in both rounds
    for step in (0.1, 0.2):
        sent = traffic.bytes_sent(_plan(4, 2, step, method), 2)
        assert sent.tolist() == [0, 4 * 2 * 16, 8 * 2 * 16]
    assert traffic._traced_sizes.cache_info().misses == 1
    assert traffic.bytes_sent(_plan(4, 3, 0.1, method), 1).tolist() == [0, 4 * 2 * 24]
    assert traffic.bytes_sent(_plan(5, 2, 0.1, method), 1).tolist() == [0, 5 * 2 * 16]
    assert traffic._traced_sizes.cache_info().misses == 3
