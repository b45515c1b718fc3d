"""What a query computes, and does not answer, cannot be used anywhere else."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import tacit
from tacit import network, problem
from tacit._engine.simulate import simulate
from tacit.errors import ConfigError
from tacit.privacy import ClippedGradient
from tacit.testing import check_method
from tests.laid_out import lay_out
from tests.unit.testing import planted

KEPT: dict[str, Any] = {}


class Computed(ClippedGradient):
    """Keeps the gradient while it is traced."""

    def __call__(self, state: Any, objective: Any, context: Any, key: Any) -> Any:
        KEPT["value"] = objective.gradient(state.x)
        return super().__call__(state, objective, context, key)


class Given(ClippedGradient):
    """Keeps a record."""

    def __call__(self, state: Any, objective: Any, context: Any, key: Any) -> Any:
        KEPT["value"] = objective.features[0]
        return super().__call__(state, objective, context, key)


class SendsComputed(planted.Right):
    asks = Computed

    def share(self, state: Any, released: Any, context: Any) -> Any:
        return planted.State(state.x, released), KEPT["value"]


class SendsGiven(SendsComputed):
    asks = Given


class StepsAlong(SendsComputed):
    def share(self, state: Any, released: Any, context: Any) -> Any:
        return planted.State(state.x, released - KEPT["value"]), state.x


class Keeps(planted.Right):
    """Steps along what its query kept, when messages have come."""

    asks = Computed

    def mix(self, state: Any, inbox: Any, context: Any) -> Any:
        after = super().mix(state, inbox, context)
        return planted.State(after.x - KEPT["value"])


def task() -> problem.Problem:
    rng = np.random.default_rng(0)
    features = [rng.normal(size=(5, 3)) for _ in range(3)]
    return problem.empirical_risk(features, [x[:, 0] for x in features], problem.Squared())


@pytest.mark.parametrize("method", [SendsComputed, SendsGiven, StepsAlong, Keeps])
@pytest.mark.parametrize("exact", [False, True])
def test_a_value_that_a_query_keeps_is_refused(method: Any, exact: bool) -> None:
    runtime = tacit.Simulation(exact=exact)
    with pytest.raises(
        ConfigError, match=f"a function of {method.__name__}, or one that it calls, computes"
    ):
        tacit.run(task(), network.ring(3), method(), rounds=1, seed=0, runtime=runtime)


@pytest.mark.long
def test_an_audit_and_a_check_refuse_it() -> None:
    with pytest.raises(ConfigError, match=told(SendsComputed)):
        tacit.audit_method(task(), network.ring(3), SendsComputed(), rounds=1, trials=200, seed=0)
    with pytest.raises(ConfigError, match=told(SendsComputed)):
        check_method(task(), network.ring(3), SendsComputed(), rounds=1)


class Begins(SendsComputed):
    """Begins with what a query kept, in another run."""

    def init(self, role: Any, x0: Any, degree: Any) -> Any:
        begun = super().init(role, x0, degree)
        return planted.State(begun.x + KEPT["value"], begun.gradient)


def told(method: type) -> str:
    return f"a function of {method.__name__}, or one that it calls, computes a value and keeps it"


def test_every_simulation_refuses_it() -> None:
    with jax.enable_x64(True):
        plan, roots, _ = lay_out(task(), network.ring(3), SendsComputed(), 1, 0)
        with pytest.raises(ConfigError, match=told(SendsComputed)):
            simulate(plan, roots, rounds=1, record=[1])
    with pytest.raises(ConfigError, match=told(Begins)):
        tacit.run(task(), network.ring(3), Begins(), rounds=1, seed=0, keep=True)
