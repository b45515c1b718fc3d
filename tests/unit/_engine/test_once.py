"""Phases that run once, before round 0: everybody takes part, whoever sleeps later."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tacit import DGD, GradientDescent, Privacy, network
from tacit._engine.batched import start
from tacit._engine.exact import ExactEngine
from tacit.method import FunctionalPerturbation, QuadraticBasis
from tacit.types import Role
from tests.conformance.table import task
from tests.laid_out import lay_out

pytestmark = pytest.mark.usefixtures("float64")

SLEEPY = [
    pytest.param(
        *(GradientDescent(step=0.1), network.Coordinator(4, probability=0.2), Role.CLIENT),
        marks=pytest.mark.slow,
    ),
    (DGD(step=0.1), network.RandomActivation(network.complete(4), 0.2), Role.PEER),
]


@pytest.mark.slow
@pytest.mark.parametrize(("inner", "where", "role"), SLEEPY, ids=["clients", "peers"])
def test_who_sleeps_in_round_0_has_released_its_cost_all_the_same(
    inner: Any, where: Any, role: Role
) -> None:
    privacy = Privacy(clip=0.5, epsilon=2.0, delta=0.0, noise="laplace")
    method = FunctionalPerturbation(inner, QuadraticBasis([-2.0] * 3, [2.0] * 3), privacy=privacy)
    plan, roots, _ = lay_out(task(0), where, method, 1, 0, 1)
    assert not np.all(plan.mixing(0).participates)
    states = start(plan, roots)[role]
    assert (abs(states.coefficients[0]).max(axis=-1) > 0.0).all()
    transcript: Any = {}
    ExactEngine(plan, roots, transcript=transcript).start()
    assert sorted(agent for *_, agent in transcript) == [0, 1, 2, 3]
