"""Gradient descent with a coordinator: the server sends the iterate, clients send gradients."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import equinox as eqx

from tacit.method._oracle import combined, gradient_query, send_iterate, send_released
from tacit.method._schedule import decayed, tail_average
from tacit.method.phase import AbstractMethod, Phase
from tacit.privacy.budget import Privacy
from tacit.ranges import NotNegativeOne, PositiveOne
from tacit.types import Context, Inbox, Index, Oracle, Role, Vector


class PublicIterate(eqx.Module):
    """The common iterate, known to the server and every client, and the mean of later ones."""

    x: Vector
    average: Vector


class GradientDescent(AbstractMethod):
    """Proximal gradient descent on a star; private when a budget is given.

    Two phases per round: the server sends the public iterate; every client that takes part answers
    with its (clipped, noisy) gradient there, and the server takes `x <- prox[x - s_t mean_k g_k]`.

    Source: Beck, Teboulle (2009), eq (1.3); Bassily, Smith, Thakurta (2014), algorithm 1. The first
    is one of many references for a classical method; with privacy, gradients are clipped and get
    noise as in the second, once per client.

    What leaves: each client's gradient, to the server, which need not be trusted when `privacy` is
    given (Gaussian mechanism with exact composition; status proved). Without it, not private. With
    `Privacy(masks=...)` the server can read only the sum of the gradients.

    Args:
        step: first step size, positive, relative to the mean objective `(1/K) sum_k f_k`.
        decay: exponent of the step size `step / (t + 1)^decay` in round t, at least 0.
        average: answer with the mean of the second half of the iterates instead of the last: less
            noise where there is a budget.
        privacy: budget, clip and relation, or `None`.

    Example:
        >>> from tacit.method import GradientDescent
        >>> [(phase.name, phase.sender.value) for phase in GradientDescent(step=0.1).phases()]
        [('iterate', 'server'), ('gradient', 'client')]
    """

    name: ClassVar[str] = "gradient-descent"
    when: ClassVar[str] = (
        "a coordinator can be reached by every site; it need not be trusted with [privacy]"
    )
    example: ClassVar[Mapping[str, Any]] = MappingProxyType({"step": 0.5})
    oracle: ClassVar[Oracle] = Oracle.GRADIENT
    absences: ClassVar[bool] = True
    step: PositiveOne
    decay: NotNegativeOne = 0.0
    average: bool = eqx.field(static=True, kw_only=True, default=False)
    privacy: Privacy | None = eqx.field(kw_only=True, default=None)

    def init(self, role: Role, x0: Vector, degree: Index) -> PublicIterate:
        return PublicIterate(x0, x0)

    def phases(self) -> tuple[Phase, ...]:
        query, release = gradient_query(self.privacy)
        return (
            Phase(
                name="iterate",
                sender=Role.SERVER,
                message=send_iterate,
                point=True,
                receiver=Role.CLIENT,
                update=_adopt,
            ),
            Phase(
                name="gradient",
                sender=Role.CLIENT,
                query=query,
                release=release,
                message=send_released,
                receiver=Role.SERVER,
                update=self.descend,
                combine=combined(self.privacy),
            ),
        )

    def descend(self, state: PublicIterate, inbox: Inbox, context: Context) -> PublicIterate:
        step = decayed(self.step, self.decay, context.round)
        x = context.public.descend(state.x, inbox.mixed, step)
        return PublicIterate(x, tail_average(state.average, x, context))

    def solution(self, state: PublicIterate) -> Vector:
        return state.average if self.average else state.x


def _adopt(state: PublicIterate, inbox: Inbox, context: Context) -> PublicIterate:
    return PublicIterate(inbox.total, state.average)
