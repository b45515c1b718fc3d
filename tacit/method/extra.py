"""EXTRA: decentralised gradient descent with its bias corrected: a constant step is exact."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import equinox as eqx

from tacit.errors import NetworkError
from tacit.method._assumptions import check_smooth
from tacit.method._consensus_admm import check_prox
from tacit.method._oracle import gradient_query
from tacit.method.phase import AbstractMethod, Phase
from tacit.network.base import AbstractNetwork
from tacit.privacy.budget import Privacy
from tacit.problem.task import Task
from tacit.ranges import PositiveOne
from tacit.types import Context, Inbox, Index, Oracle, Role, Vector


class Corrected(eqx.Module):
    """Iterate and the sum of its past disagreements; `gradient` is held within a round only."""

    x: Vector
    correction: Vector
    gradient: Any = None


class EXTRA(AbstractMethod):
    """Exact first-order decentralised optimisation with a constant step. Not private.

    Every round:

        x_i <- prox_{s R/K}[ sum_j W_ij x_j + c_i - s g_i ],   c_i <- c_i + (sum_j W_ij x_j - x_i)/2

    Source: Shi et al. (2015), EXTRA: An Exact First-Order Algorithm for Decentralized Consensus
    Optimization, algorithm 1; Shi et al. (2015b), algorithm 1. `W~` is `(I + W)/2`, and the
    two-step recursion is summed up; the proximal step is that of the second paper's PG-EXTRA. Each
    message determines a gradient, so nothing is protected.

    Needs smooth losses, and links that are undirected and the same in every round. It converges to
    the optimum for a step below `2 lambda_min(W~) / L`, with `L` the largest curvature of an
    agent's objective.

    Args:
        step: step size, positive, constant.

    Example:
        >>> from tacit.method import EXTRA
        >>> EXTRA(step=0.1).phases()[0].release.name
        'gradient'
    """

    name: ClassVar[str] = "extra"
    when: ClassVar[str] = (
        "sites talk to neighbours only, losses are smooth, nothing has to be protected, and the "
        "answer must be exact"
    )
    example: ClassVar[Mapping[str, Any]] = MappingProxyType({"step": 0.5})
    oracle: ClassVar[Oracle] = Oracle.GRADIENT
    step: PositiveOne
    privacy: Privacy | None = eqx.field(init=False, default=None)

    def init(self, role: Role, x0: Vector, degree: Index) -> Corrected:
        return Corrected(x0, 0.0 * x0)

    def phases(self) -> tuple[Phase, ...]:
        query, release = gradient_query(None)
        return (
            Phase(
                name="iterate",
                sender=Role.PEER,
                query=query,
                release=release,
                message=_hold,
                receiver=Role.PEER,
                update=self.mix,
            ),
        )

    def mix(self, state: Corrected, inbox: Inbox, context: Context) -> Corrected:
        mean = inbox.self_weight * state.x + inbox.mixed
        x = context.public.descend(mean + state.correction, state.gradient, self.step)
        return Corrected(x, state.correction + (mean - state.x) / 2.0)

    def solution(self, state: Corrected) -> Vector:
        return state.x

    def check(self, problem: Task, network: AbstractNetwork) -> None:
        if network.directed or network.varying:
            kind = "directed" if network.directed else "not the same in every round"
            raise NetworkError(
                f"EXTRA sums past disagreements over fixed undirected links; these are {kind}. Use "
                "GradientTracking, or DGD with decay."
            )
        check_prox("EXTRA", problem)
        check_smooth("EXTRA", problem)


def _hold(state: Corrected, released: Vector, context: Context) -> tuple[Corrected, Vector]:
    return Corrected(state.x, state.correction, released), state.x
