"""DP-IADMM-Trust: the noisy local problem within a trust region."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import equinox as eqx

from tacit.errors import ConfigError, ProblemError
from tacit.method._dp_iadmm_step import Penalty, linearised_point, within_ball, within_cube
from tacit.method._schedule import decayed
from tacit.method.dp_iadmm import AbstractIADMM, Copy, check_setting
from tacit.network.base import AbstractNetwork
from tacit.privacy.budget import Privacy
from tacit.problem.constraint import Box, Free
from tacit.problem.task import Task
from tacit.ranges import PositiveOne
from tacit.types import Context, Scalar, Vector


class DPIADMMTrust(AbstractIADMM):
    """Differentially private linearised ADMM within a trust region; private with a budget.

    With a coordinator, in round `t = 1, 2, ...`, for `G_p` the noisy clipped gradient of client
    `p` plus that of its regulariser share:

        w     <- mean_p (z_p - lam_p / rho)                                      -> clients
        z_p   <- nearest to w + (lam_p - G_p)/rho in X and ||z - z_p|| <= delta  -> server
        lam_p <- lam_p + rho (w - z_p)

    The answer is the mean of the `z_p`. As long as no region binds and there is no constraint,
    `lam_p = G_p` and `mean z <- mean z - mean G / rho` exactly: noisy gradient descent. `w` then
    is one step further with noise that has been used before, so it is not a better answer.

    Source: Ryu, Kim (2021), Differentially Private Federated Learning via Inexact ADMM, section 2,
    eqs (4), (6); section 3, algorithm 2, eqs (9), (10). The paper has no convergence theorem for
    it. Deviations: as in `DPIADMMProx`. The printed `delta = a / t^2` stops the method within a
    distance of `1.65 a` from its start; the authors' code computes `a / t * t`, so that it
    stays `a`.

    What leaves: each client's `z_p`, a function of its noisy gradients, to a server which need not
    be trusted when `privacy` is given (Gaussian mechanism on l2-clipped records with exact
    composition; status proved). Without it, not private.

    Args:
        penalty: ADMM penalty `rho`, positive, the inverse of the step; or a `GrowingPenalty`.
        radius: radius `a` of the trust region, positive.
        trust_region: "as_coded" for the radius `a` in all rounds, "printed" for `a / t^2`.
        norm: norm of the trust region, "infinity" as in the paper's experiments or "euclidean" as
            in its eq (6b).
        point: where gradients are taken: at the "mean" of the `z_p`, or, as in the paper, at each
            client's "own".
        average: answer with the mean of the second half of the iterates instead of the last: less
            noise where there is a budget.
        privacy: budget, clip and relation, or `None`.

    Raises:
        ConfigError: a number or word out of range.

    Example:
        >>> from tacit.method import DPIADMMTrust
        >>> [phase.name for phase in DPIADMMTrust(penalty=4.0, norm="euclidean").phases()]
        ['consensus', 'local problem']
    """

    name: ClassVar[str] = "dp-iadmm-trust"
    when: ClassVar[str] = (
        "a coordinator can be reached by every site in every round and no step may be longer than "
        "a given radius"
    )
    example: ClassVar[Mapping[str, Any]] = MappingProxyType({"penalty": 4.0})
    penalty: Penalty = 1.0
    radius: PositiveOne = 1.0
    trust_region: Literal["as_coded", "printed"] = eqx.field(static=True, default="as_coded")
    norm: Literal["infinity", "euclidean"] = eqx.field(static=True, default="infinity")
    point: Literal["mean", "own"] = eqx.field(static=True, default="mean")
    average: bool = eqx.field(static=True, kw_only=True, default=False)
    privacy: Privacy | None = eqx.field(kw_only=True, default=None)

    def __check_init__(self) -> None:
        check_setting("radius", self.penalty, self.radius, self.point)
        if self.trust_region not in ("as_coded", "printed"):
            raise ConfigError(f"trust_region={self.trust_region!r} must be 'as_coded' or 'printed'")
        if self.norm not in ("infinity", "euclidean"):
            raise ConfigError(f"norm={self.norm!r} must be 'infinity' or 'euclidean'")

    def minimise(self, state: Copy, slope: Vector, penalty: Scalar, context: Context) -> Vector:
        point = linearised_point(state.w, state.dual, slope, penalty)
        power = 2.0 if self.trust_region == "printed" else 0.0
        radius = decayed(self.radius, power, context.round)
        if self.norm == "euclidean":
            return within_ball(point, state.z, radius)
        # z_p is in the box, so in each coordinate two clips are one onto the common interval
        return context.public.project(within_cube(point, state.z, radius))

    def check(self, problem: Task, network: AbstractNetwork) -> None:
        super().check(problem, network)
        allowed = (Free, Box) if self.norm == "infinity" else (Free,)
        if not isinstance(problem.constraint, allowed):
            remedy = "DPIADMMProx, which projects on any set"
            if isinstance(problem.constraint, Box):
                remedy = "norm='infinity'"
            raise ProblemError(
                f"DPIADMMTrust needs the nearest point of {type(problem.constraint).__name__} and "
                f"a trust region in the {self.norm} norm together, which has no closed form; use "
                f"{remedy}"
            )
