"""Which objectives have continuous gradients."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from tacit.errors import ProblemError
from tacit.method._assumptions import check_smooth
from tacit.problem import Hinge, Huber, Quantile, black_box_problem, costs, empirical_risk, smooth


def distance(x: Any, centre: Any) -> Any:
    return jnp.sum(jnp.abs(x - centre))


@pytest.mark.parametrize(("loss", "expected"), [(Huber(), True), (Hinge(), False)])
def test_losses_declare_it(loss: Any, expected: bool) -> None:
    assert smooth(empirical_risk([[[1.0]], [[2.0]]], [[1.0], [0.0]], loss)) is expected


def test_costs_promise_it() -> None:
    centres = np.zeros((2, 1))
    assert smooth(costs(distance, centres, np.ones(1)))
    assert not smooth(costs(distance, centres, np.ones(1), smooth=False))


def test_a_black_box_is_not_asked() -> None:
    assert smooth(black_box_problem(lambda x, agent: abs(x[0]), 2, x0=[1.0]))


def test_whole_costs_are_told_how_to_declare_it() -> None:
    task = costs(distance, np.zeros((2, 1)), np.ones(1), smooth=False)
    with pytest.raises(ProblemError, match=r"EXTRA needs costs .* or write smooth=True") as told:
        check_smooth("EXTRA", task)
    assert "Huber" not in str(told.value)


def test_the_refusal_names_method_and_loss() -> None:
    task = empirical_risk([[[1.0]], [[2.0]]], [[1.0], [0.0]], Quantile(0.9))
    with pytest.raises(ProblemError, match=r"EXTRA needs .* and Quantile has kinks\. Use DPSG"):
        check_smooth("EXTRA", task)
