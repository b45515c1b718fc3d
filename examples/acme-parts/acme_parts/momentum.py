"""A method of one's own: decentralised gradient descent with momentum."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp

from tacit.method import AbstractMethod, Phase
from tacit.privacy import ClippedGradient, Privacy, Release
from tacit.types import Context, Inbox, Oracle, Role, Vector


class State(eqx.Module):
    """What an agent remembers; `gradient` (noised) is held within a round only."""

    x: Vector
    velocity: Vector
    gradient: Any = None


def at_x(state: State) -> Vector:
    """Where the private objective is asked."""
    return state.x


class Momentum(AbstractMethod):
    """Peers average their neighbours' iterates and step along a velocity of noised gradients.

    `v_i <- momentum v_i + g_i + z_i`, `x_i <- prox[ sum_j W_ij x_j - step v_i ]`, where `g_i` is
    the mean of the gradients of the agent's records, each clipped, and `z_i` the noise.

    Args:
        step: step size, positive.
        momentum: share of the velocity that is kept, from 0 to below 1.
        privacy: budget, clip and relation.
    """

    name: ClassVar[str] = "acme-momentum"
    when: ClassVar[str] = "the problem is badly conditioned and gradients are cheap"
    example: ClassVar[Mapping[str, Any]] = {"step": 0.1}
    oracle: ClassVar[Oracle] = Oracle.GRADIENT
    step: float
    privacy: Privacy = eqx.field(kw_only=True)
    momentum: float = 0.5

    def init(self, role: Role, x0: Vector, degree: Any) -> State:
        """At the start, and still."""
        return State(x0, jnp.zeros_like(x0))

    def phases(self) -> tuple[Phase, ...]:
        """One: what leaves is the iterate, which is made of noised gradients."""
        return (
            Phase(
                name="iterate",
                sender=Role.PEER,
                query=ClippedGradient.of(self.privacy, at_x),
                release=Release("gradient", self.privacy.mechanism, self.privacy.relation),
                message=self.hold,
                point=True,
                receiver=Role.PEER,
                update=self.mix,
            ),
        )

    def hold(self, state: State, released: Vector, context: Context) -> tuple[State, Vector]:
        """The gradient stays here until the neighbours' iterates have arrived."""
        return State(state.x, state.velocity, released), state.x

    def mix(self, state: State, inbox: Inbox, context: Context) -> State:
        """The step."""
        velocity = self.momentum * state.velocity + state.gradient
        mean = inbox.self_weight * state.x + inbox.mixed
        return State(context.public.descend(mean, velocity, self.step), velocity)

    def solution(self, state: State) -> Vector:
        """The iterate."""
        return state.x
