"""D-ZOA with a coordinator: one vector of noisy finite differences per client and round."""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from tacit.method._consensus_admm import check_prox
from tacit.method._oracle import combined, iterate, send_iterate, send_released
from tacit.method._schedule import tail_average
from tacit.method._two_point import SMOOTHING, check_noise
from tacit.method.phase import AbstractMethod, Phase
from tacit.network.base import AbstractNetwork
from tacit.privacy.budget import Privacy
from tacit.privacy.mechanism import Release
from tacit.privacy.sensitivity import ClippedDifferences
from tacit.problem.task import Task
from tacit.ranges import PositiveOne
from tacit.types import Context, Inbox, Index, Oracle, Role, Vector


class Common(eqx.Module):
    """The common iterate, known to all, and the mean of the later ones."""

    x: Vector
    average: Vector


class DZOAStar(AbstractMethod):
    """The certified D-ZOA with a coordinator, from function values only.

    The server sends `b`; every client answers with finite differences `g_k` of its cost along all
    `p` axes, clipped record by record, with noise; the server takes:

        b <- prox_{a R}(b - a mean_k g_k).

    This is D-ZOA's subproblem when all copies are equal: duals and penalty cancel. On
    `network.ExactSum` peers take the server's step themselves.

    Source: Gratton et al. (2021), section III-B, algorithm 1. One private query per round replaces
    the inner solver, as in `DZOA`. Theorem: Gaussian mechanism (l2 clip) with exact
    composition; status proved. With `Privacy(masks=...)` nobody can read anything but the sum of
    the differences.

    Args:
        privacy: budget, clip and relation.
        proximity: step length `a`, positive, relative to the mean objective.
        smoothing: finite-difference step `u`, positive; in float64 values below 1e-8 lose
            digits, and a stochastic simulator needs more than the default (`measure_noise`).
        average: answer with the mean of the second half of the iterates instead of the last.

    Raises:
        ConfigError: a number out of range.
        ProblemError: a regulariser and constraint without an exact joint proximal map.

    Example:
        >>> from tacit.method import DZOAStar
        >>> from tacit.privacy import Privacy
        >>> DZOAStar(privacy=Privacy(clip=1.0, epsilon=1.0)).phases()[1].query.evaluations(10)
        11
    """

    name: ClassVar[str] = "d-zoa-star"
    when: ClassVar[str] = (
        "only values of the loss can be had, and a coordinator, who need not be trusted, can be "
        "reached by every site; with masks the most accurate of its kind"
    )
    oracle: ClassVar[Oracle] = Oracle.VALUE
    absences: ClassVar[bool] = True
    privacy: Privacy = eqx.field(kw_only=True)
    proximity: PositiveOne = 0.5
    smoothing: PositiveOne = SMOOTHING
    average: bool = eqx.field(static=True, default=True)

    def init(self, role: Role, x0: Vector, degree: Index) -> Common:
        return Common(x0, x0)

    def phases(self) -> tuple[Phase, ...]:
        query = ClippedDifferences(
            point=iterate,
            directions=_axes,
            smoothing=self.smoothing,
            clip=self.privacy.clip,
            order=self.privacy.order,
            rate=self.privacy.sampling,
            norm=self.privacy.clip_norm,
        )
        release = Release(
            "noised clipped differences", self.privacy.mechanism, self.privacy.relation
        )
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
                name="differences",
                sender=Role.CLIENT,
                query=query,
                release=release,
                message=send_released,
                receiver=Role.SERVER,
                update=self.minimise,
                combine=combined(self.privacy),
            ),
        )

    def minimise(self, state: Common, inbox: Inbox, context: Context) -> Common:
        b = context.public.prox(state.x - self.proximity * inbox.mixed, self.proximity)
        return Common(b, tail_average(state.average, b, context))

    def solution(self, state: Common) -> Vector:
        return state.average if self.average else state.x

    def check(self, problem: Task, network: AbstractNetwork) -> None:
        check_prox("DZOAStar", problem)
        check_noise(problem, self.smoothing, "noise.smoothing", "smoothing", SMOOTHING)


def _adopt(state: Common, inbox: Inbox, context: Context) -> Common:
    return Common(inbox.total, state.average)


def _axes(state: Common, context: Context) -> Float[Array, "p p"]:
    x = jnp.asarray(state.x)
    return jnp.eye(x.shape[0], dtype=x.dtype)
