"""DP-IADMM: linearised ADMM with a coordinator, in which clients solve noisy local problems."""

from __future__ import annotations

import abc
from typing import Any, ClassVar, Literal

import equinox as eqx
import jax.numpy as jnp

from tacit.errors import ConfigError, NetworkError, PrivacyError
from tacit.method._dp_iadmm_step import Penalty, check_penalty, penalty_at
from tacit.method._oracle import combined, gradient_query, send_released
from tacit.method._schedule import positive, tail_average
from tacit.method.phase import AbstractMethod, Phase
from tacit.network.base import AbstractNetwork
from tacit.privacy.budget import Privacy
from tacit.problem.task import Task
from tacit.ranges import Numbers
from tacit.types import Combine, Context, Inbox, Index, Oracle, Role, Scalar, Vector


class Consensus(eqx.Module):
    """The server's public state: mean of the `z_p`, mean of the multipliers, and `w`.

    It keeps the average of the later means of the `z_p` to itself.
    """

    mean: Vector
    dual: Vector
    w: Vector
    average: Any = None


class Copy(eqx.Module):
    """A client's copy `z_p` with its multiplier, the last `w`, and the point of its gradient."""

    x: Vector
    z: Vector
    dual: Vector
    w: Vector


class AbstractIADMM(AbstractMethod):
    """The rounds that the proximal and the trust-region variant of DP-IADMM share.

    All multipliers start at 0 and all copies at the public `x0`. With the noisy gradient `G_p` of
    client `p`, regulariser share included,

        w     <- mean_p (z_p - lam_p / rho),
        z_p   <- argmin_z  G_p'z + (rho/2) ||w - z + lam_p/rho||^2  (the variant's own addition),
        lam_p <- lam_p + rho (w - z_p).

    The server needs only the means of `z_p` and `lam_p`. Under masks it can read only the
    mean of the `G_p`, and keeps one copy and one multiplier for all: the same path exactly where
    the minimiser is linear in `G_p` (the proximal variant without constraint), and the method on
    one mean cost elsewhere.

    Attributes:
        penalty: ADMM penalty `rho`, a number or a `GrowingPenalty`.
        point: where gradients are taken: at the mean of the `z_p` or at each client's own.
        average: whether the answer is the mean of the second half of the iterates or the last.
    """

    oracle: ClassVar[Oracle] = Oracle.GRADIENT
    penalty: eqx.AbstractVar[Penalty]
    point: eqx.AbstractVar[Literal["mean", "own"]]
    average: eqx.AbstractVar[bool]

    @abc.abstractmethod
    def minimise(self, state: Copy, slope: Vector, penalty: Scalar, context: Context) -> Vector:
        """The new `z_p`."""

    def init(self, role: Role, x0: Vector, degree: Index) -> Consensus | Copy:
        nothing = jnp.zeros_like(jnp.asarray(x0))
        if role is Role.SERVER:
            return Consensus(x0, nothing, x0, x0)
        return Copy(x0, x0, nothing, x0)

    def phases(self) -> tuple[Phase, ...]:
        query, release = gradient_query(self.privacy)
        summed = combined(self.privacy) is Combine.SUM
        return (
            Phase(
                name="consensus",
                sender=Role.SERVER,
                message=self.agree,
                receiver=Role.CLIENT,
                update=self.hear,
            ),
            Phase(
                name="local problem",
                sender=Role.CLIENT,
                query=query,
                release=release,
                message=send_released if summed else self.solve,
                receiver=Role.SERVER,
                update=self.solve_together if summed else self.collect,
                combine=combined(self.privacy),
            ),
        )

    def agree(
        self, state: Consensus, released: None, context: Context
    ) -> tuple[Consensus, Consensus]:
        rho = penalty_at(self.penalty, context.round)
        w = state.mean - state.dual / rho
        told = Consensus(state.mean, state.dual, w)
        return Consensus(state.mean, state.dual, w, state.average), told

    def hear(self, state: Copy, inbox: Inbox, context: Context) -> Copy:
        told: Consensus = inbox.total
        x = told.mean if self.point == "mean" else state.z
        return Copy(x, state.z, state.dual, told.w)

    def solve(self, state: Copy, released: Vector, context: Context) -> tuple[Copy, Vector]:
        rho = penalty_at(self.penalty, context.round)
        slope = released + context.public.gradient(state.x)
        z = self.minimise(state, slope, rho, context)
        return Copy(state.x, z, state.dual + rho * (state.w - z), state.w), z

    def collect(self, state: Consensus, inbox: Inbox, context: Context) -> Consensus:
        rho = penalty_at(self.penalty, context.round)
        dual = state.dual + rho * (state.w - inbox.mixed)  # the mean of the clients' own
        average = tail_average(state.average, inbox.mixed, context)
        return Consensus(inbox.mixed, dual, state.w, average)

    def solve_together(self, state: Consensus, inbox: Inbox, context: Context) -> Consensus:
        """One copy for all, if only the mean of the gradients can be read."""
        rho = penalty_at(self.penalty, context.round)
        slope = inbox.mixed + context.public.gradient(state.mean)
        copy = Copy(state.mean, state.mean, state.dual, state.w)
        z = self.minimise(copy, slope, rho, context)
        average = tail_average(state.average, z, context)
        return Consensus(z, state.dual + rho * (state.w - z), state.w, average)

    def solution(self, state: Consensus) -> Vector:
        return state.average if self.average else state.mean

    def check(self, problem: Task, network: AbstractNetwork) -> None:
        if combined(self.privacy) is Combine.EACH:
            check_everybody(type(self).__name__, network)
        elif self.point == "own":
            raise PrivacyError(
                "point='own' takes every gradient at a copy that its client keeps to itself, and "
                "masks cover sums at an iterate that everybody knows; use point='mean'"
            )


def check_everybody(name: str, network: AbstractNetwork) -> None:
    """Refuse a coordinator with client sampling.

    Raises:
        NetworkError: naming the method.
    """
    if network.varying:
        raise NetworkError(
            f"{name} keeps a multiplier for every client and needs all of them in every round; "
            "this coordinator draws who takes part. Leave probability out, or use GradientDescent "
            "or FedAvg."
        )


def check_setting(name: str, penalty: Penalty, proximity: Numbers, point: str) -> None:
    """Refuse hyper-parameters out of their range.

    Raises:
        ConfigError: naming the parameter and its value.
    """
    check_penalty(penalty)
    positive(name, proximity)
    if point not in ("mean", "own"):
        raise ConfigError(f"point={point!r} must be 'mean' or 'own'")


def check_no_budget(name: str, privacy: Privacy | None) -> None:
    """Refuse a budget together with the noise of a paper.

    Raises:
        PrivacyError: naming the method.
    """
    if privacy is not None:
        raise PrivacyError(
            f"{name} has the noise of the paper, which knows no budget; leave privacy out, or run "
            "the method itself with it"
        )
