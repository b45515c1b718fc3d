"""Gradient tracking: every agent follows an estimate of the average gradient."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import equinox as eqx

from tacit.method._assumptions import check_smooth
from tacit.method._consensus_admm import check_prox
from tacit.method._oracle import gradient_query
from tacit.method.phase import AbstractMethod, Phase
from tacit.network.base import AbstractNetwork
from tacit.privacy.budget import Privacy
from tacit.problem.task import Task
from tacit.ranges import PositiveOne
from tacit.types import Context, Inbox, Index, Oracle, Role, Vector


class Tracked(eqx.Module):
    """Iterate, its last gradient, and the estimate of the average gradient."""

    x: Vector
    gradient: Vector
    tracker: Vector


class GradientTracking(AbstractMethod):
    """Decentralised gradient descent along tracked average gradients. Not private.

    Every round:

        y_i <- sum_j W_ij y_j + g_i(x_i) - g_i(last x_i)   (y_i = g_i(x_i) in round 0),
        x_i <- prox_{s R/K}[ sum_j W_ij x_j - s y_i ]

    Source: Nedic, Olshevsky, Shi (2017), Achieving Geometric Convergence for Distributed
    Optimization over Time-Varying Graphs, algorithm 1. It is called DIGing there. Deviation: a
    proximal step for the public part. Gradients enter the tracker without noise and messages
    `(x_i, y_i)` determine them, so nothing is protected.

    Needs smooth losses. With a constant small step on a strongly convex problem it converges to the
    optimum at a linear rate.

    Args:
        step: step size, positive, constant.

    Example:
        >>> from tacit.method import GradientTracking
        >>> GradientTracking(step=0.1).phases()[0].release.name
        'gradient'
    """

    name: ClassVar[str] = "gradient-tracking"
    when: ClassVar[str] = "as for extra, over links that are directed or change from round to round"
    example: ClassVar[Mapping[str, Any]] = MappingProxyType({"step": 0.1})
    oracle: ClassVar[Oracle] = Oracle.GRADIENT
    step: PositiveOne
    privacy: Privacy | None = eqx.field(init=False, default=None)

    def init(self, role: Role, x0: Vector, degree: Index) -> Tracked:
        return Tracked(x0, 0.0 * x0, 0.0 * x0)

    def phases(self) -> tuple[Phase, ...]:
        query, release = gradient_query(None)
        return (
            Phase(
                name="iterate",
                sender=Role.PEER,
                query=query,
                release=release,
                message=_track,
                receiver=Role.PEER,
                update=self.mix,
            ),
        )

    def mix(self, state: Tracked, inbox: Inbox, context: Context) -> Tracked:
        mixed_x, mixed_y = inbox.mixed
        mean = inbox.self_weight * state.x + mixed_x
        x = context.public.descend(mean, state.tracker, self.step)
        return Tracked(x, state.gradient, inbox.self_weight * state.tracker + mixed_y)

    def solution(self, state: Tracked) -> Vector:
        return state.x

    def check(self, problem: Task, network: AbstractNetwork) -> None:
        check_prox("GradientTracking", problem)
        check_smooth("GradientTracking", problem)


def _track(
    state: Tracked, released: Vector, context: Context
) -> tuple[Tracked, tuple[Vector, Vector]]:
    y = state.tracker + released - state.gradient
    return Tracked(state.x, released, y), (state.x, y)
