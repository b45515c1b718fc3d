"""Decentralised gradient descent: peers mix with neighbours and follow their own gradients."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import equinox as eqx

from tacit.method._oracle import gradient_query
from tacit.method._schedule import decayed
from tacit.method.phase import AbstractMethod, Phase
from tacit.privacy.budget import Privacy
from tacit.ranges import NotNegativeOne, PositiveOne
from tacit.types import Context, Inbox, Index, Oracle, Role, Vector


class Iterate(eqx.Module):
    """An agent's iterate; `gradient` is held only between its own message and the update."""

    x: Vector
    gradient: Any = None


class DGD(AbstractMethod):
    """Decentralised (sub)gradient descent. Not private: each message determines a gradient.

    Source: Nedic, Ozdaglar (2009), Distributed Subgradient Methods for Multi-Agent Optimization, eq
    (3). Deviations: the public regulariser and constraint enter through a proximal step where their
    proximal map is exact and through a projected subgradient step otherwise.

    With a constant step on a strongly convex problem the agents settle at a distance from the
    optimum that is proportional to the step (Yuan, Ling, Yin 2016, theorem 4); with `decay` in
    (0.5, 1] the distance vanishes.

    Args:
        step: first step size, positive; below 2 / (curvature of the mean objective) when constant.
        decay: exponent of the step size `step / (t + 1)^decay` in round t, at least 0.

    Example:
        >>> from tacit.method import DGD
        >>> [phase.name for phase in DGD(step=0.1).phases()]
        ['iterate']
    """

    name: ClassVar[str] = "dgd"
    when: ClassVar[str] = (
        "sites talk to neighbours only and nothing has to be protected: the baseline"
    )
    example: ClassVar[Mapping[str, Any]] = MappingProxyType({"step": 0.5})
    oracle: ClassVar[Oracle] = Oracle.GRADIENT
    absences: ClassVar[bool] = True
    step: PositiveOne
    decay: NotNegativeOne = 0.0
    privacy: Privacy | None = eqx.field(init=False, default=None)

    def init(self, role: Role, x0: Vector, degree: Index) -> Iterate:
        return Iterate(x0)

    def phases(self) -> tuple[Phase, ...]:
        query, release = gradient_query(None)
        return (
            Phase(
                name="iterate",
                sender=Role.PEER,
                query=query,
                release=release,
                message=hold,
                receiver=Role.PEER,
                update=self.mix,
            ),
        )

    def mix(self, state: Iterate, inbox: Inbox, context: Context) -> Iterate:
        # x_i <- prox[ sum_j W_ij x_j - s_t g_i ]
        mean = inbox.self_weight * state.x + inbox.mixed
        step = decayed(self.step, self.decay, context.round)
        return Iterate(context.public.descend(mean, state.gradient, step))

    def solution(self, state: Iterate) -> Vector:
        return state.x


def hold(state: Iterate, released: Vector, context: Context) -> tuple[Iterate, Vector]:
    """Send the iterate; keep the released gradient for the update of this round."""
    return Iterate(state.x, released), state.x
