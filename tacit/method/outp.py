"""The output-perturbed inexact ADMM, with noise from a bound that holds."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp

from tacit.errors import ProblemError
from tacit.method._dp_iadmm_step import Penalty, check_penalty, penalty_at, proximal_point
from tacit.method._oracle import gradient_query
from tacit.method._schedule import decayed, tail_average
from tacit.method.dp_iadmm import Copy, check_everybody
from tacit.method.phase import AbstractMethod, Phase
from tacit.network.base import AbstractNetwork
from tacit.privacy.budget import Privacy
from tacit.problem.constraint import Free
from tacit.problem.task import Task
from tacit.ranges import PositiveOne
from tacit.types import Context, Inbox, Index, Oracle, Role, Vector


class PublicMean(eqx.Module):
    """`w`, the mean of the clients' noisy `z_p`, and the mean of its later values."""

    w: Vector
    average: Vector


class OutP(AbstractMethod):
    """Linearised ADMM with noise added to the local solutions; private when a budget is given.

    With a coordinator, in round `t = 1, 2, ...`, for `g_p` the clipped gradient of client `p` plus
    that of its regulariser share, `eta = a / sqrt t` and `d = rho + 1/eta`:

        z_p   <- (rho w + lam_p - g_p + z_p/eta) / d + noise        -> server
        w     <- mean_p (z_p - lam_p / rho)                         -> clients
        lam_p <- lam_p + rho (w - z_p)

    The multipliers have mean 0 after every round, so `w` is the mean of the `z_p`. One record moves
    `z_p` by what it moves the gradient, divided by `d`: the noise is the gradient's, divided by `d`
    too. So this is DP-IADMM-Prox in another order, and the path of `w` has the same law as that of
    `DPIADMMProx`: `w <- w - mean (g_p + xi_p) / d`.

    Source: Huang et al. (2020), DP-ADMM: ADMM-Based Distributed Learning With Differential Privacy,
    algorithm 2; Ryu, Kim (2021), section 4, figure 1. It is the first, in the form to which the
    second compare theirs. Deviations: gradients are clipped record by record and taken at `w`, the
    noise comes from the l2 bound that follows, for the whole run's budget, and the step size is
    that of DP-IADMM-Prox. As the authors coded it: `OutPAsCoded`.

    What leaves: each client's noisy `z_p`, to a server which need not be trusted when `privacy` is
    given (Gaussian mechanism on l2-clipped records with exact composition; status proved). Without
    it, not private.

    Args:
        penalty: ADMM penalty `rho`, positive, or a `GrowingPenalty`.
        proximity: step parameter `a`, positive; larger values allow longer steps.
        average: answer with the mean of the second half of the iterates instead of the last: less
            noise where there is a budget.
        privacy: budget, clip and relation, or `None`.

    Raises:
        ConfigError: a number out of range.

    Example:
        >>> from tacit.method import OutP
        >>> [(phase.name, phase.sender.value) for phase in OutP().phases()]
        [('noised solution', 'client'), ('mean', 'server')]
    """

    name: ClassVar[str] = "outp"
    when: ClassVar[str] = (
        "output perturbation is to be compared with DP-IADMM; where both are calibrated alike, "
        "they take the same path"
    )
    example: ClassVar[Mapping[str, Any]] = MappingProxyType({"penalty": 2.0})
    oracle: ClassVar[Oracle] = Oracle.GRADIENT
    penalty: Penalty = 1.0
    proximity: PositiveOne = 1.0
    average: bool = eqx.field(static=True, kw_only=True, default=False)
    privacy: Privacy | None = eqx.field(kw_only=True, default=None)

    def __check_init__(self) -> None:
        check_penalty(self.penalty)

    def init(self, role: Role, x0: Vector, degree: Index) -> PublicMean | Copy:
        if role is Role.SERVER:
            return PublicMean(x0, x0)
        return Copy(x0, x0, jnp.zeros_like(jnp.asarray(x0)), x0)

    def phases(self) -> tuple[Phase, ...]:
        query, release = gradient_query(self.privacy)
        return (
            Phase(
                name="noised solution",
                sender=Role.CLIENT,
                query=query,
                release=release,
                message=self.solve,
                point=True,
                receiver=Role.SERVER,
                update=collect,
            ),
            Phase(
                name="mean",
                sender=Role.SERVER,
                message=send_mean,
                point=True,
                receiver=Role.CLIENT,
                update=self.ascend,
            ),
        )

    def solve(self, state: Copy, released: Vector, context: Context) -> tuple[Copy, Vector]:
        rho = penalty_at(self.penalty, context.round)
        eta = decayed(self.proximity, 0.5, context.round)
        slope = released + context.public.gradient(state.x)
        z = proximal_point(state.w, state.dual, slope, state.z, rho, eta)
        return Copy(state.x, z, state.dual, state.w), z

    def ascend(self, state: Copy, inbox: Inbox, context: Context) -> Copy:
        w = inbox.total
        dual = state.dual + penalty_at(self.penalty, context.round) * (w - state.z)
        return Copy(w, state.z, dual, w)

    def solution(self, state: PublicMean) -> Vector:
        return state.average if self.average else state.w

    def check(self, problem: Task, network: AbstractNetwork) -> None:
        check_outputs("OutP", problem, network)


def collect(state: PublicMean, inbox: Inbox, context: Context) -> PublicMean:
    """The mean of `z_p - lam_p / rho`, in which the multipliers cancel."""
    return PublicMean(inbox.mixed, tail_average(state.average, inbox.mixed, context))


def send_mean(state: PublicMean, released: None, context: Context) -> tuple[PublicMean, Vector]:
    """Send `w` to all clients."""
    return state, state.w


def check_outputs(name: str, problem: Task, network: AbstractNetwork) -> None:
    """Refuse problems and networks that noise on solutions does not suit.

    Raises:
        NetworkError: client sampling.
        ProblemError: a constraint, which noisy solutions would leave.
    """
    check_everybody(name, network)
    if not isinstance(problem.constraint, Free):
        raise ProblemError(
            f"{name} adds its noise to solutions, which would leave "
            f"{type(problem.constraint).__name__}; use DPIADMMProx, which noises the local "
            "problem and projects"
        )
