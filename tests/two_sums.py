"""A method with two sums of unequal size and cost, one of them asked once, in the last round."""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from tacit import problem
from tacit.method import AbstractMethod, Phase, Rounds
from tacit.method._oracle import gradient_query, iterate, send_released
from tacit.privacy import ClippedDifferences, Privacy, Release
from tacit.types import Oracle, Role

AGENTS, PARAMETERS, DIRECTIONS = 4, 9, 2
RECORDS = [6 + i for i in range(AGENTS)]


def task(**options: Any) -> problem.Problem:
    rng = np.random.default_rng(0)
    return problem.empirical_risk(
        [rng.normal(size=(count, PARAMETERS)) for count in RECORDS],
        [rng.choice([0.0, 1.0], count) for count in RECORDS],
        problem.Logistic(),
        **options,
    )


class State(eqx.Module):
    """The iterate, and how steep the objective is at last along the first axes."""

    x: Any
    slopes: Any


class TwoSums(AbstractMethod):
    """Gradient descent, and in the last round the slopes along two axes, for half of the noise.

    Args:
        step: size of a step, positive.
        last: rounds at the end in which slopes are asked.
        privacy: budget and clip.
    """

    name: ClassVar[str] = "two-sums"
    oracle: ClassVar[Oracle] = Oracle.GRADIENT
    step: float = 0.5
    last: int = eqx.field(static=True, default=1)
    privacy: Privacy = eqx.field(kw_only=True)

    def init(self, role: Role, x0: Any, degree: Any) -> State:
        return State(x0, jnp.zeros(DIRECTIONS, x0.dtype))

    def phases(self) -> tuple[Phase, ...]:
        query, release = gradient_query(self.privacy)
        slopes = ClippedDifferences(iterate, _axes, 1e-3, self.privacy.clip, DIRECTIONS)
        dearer = Release("slopes", self.privacy.mechanism_of(0.5), release.relation)
        asked = {"sender": Role.CLIENT, "receiver": Role.SERVER, "message": send_released}
        asked["combine"] = self.privacy.combine
        return (
            Phase(
                name="iterate",
                sender=Role.SERVER,
                message=lambda state, released, context: (state, state.x),
                receiver=Role.CLIENT,
                update=lambda state, inbox, context: State(inbox.total, state.slopes),
                point=True,
            ),
            Phase(name="gradient", query=query, release=release, update=self.descend, **asked),
            Phase(
                name="slopes",
                query=slopes,
                release=dearer,
                update=lambda state, inbox, context: State(state.x, inbox.mixed),
                rounds=Rounds(-self.last),
                **asked,
            ),
        )

    def descend(self, state: State, inbox: Any, context: Any) -> State:
        return State(context.public.descend(state.x, inbox.mixed, self.step), state.slopes)

    def solution(self, state: State) -> Any:
        return state.x.at[:DIRECTIONS].add(state.slopes)


def _axes(state: Any, context: Any) -> Any:
    return jnp.eye(DIRECTIONS, len(state.x), dtype=state.x.dtype)
