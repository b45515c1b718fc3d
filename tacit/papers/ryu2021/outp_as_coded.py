"""The output-perturbed inexact ADMM as the authors of DP-IADMM coded it, for reproduction."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from tacit.errors import PrivacyError, ProblemError
from tacit.method._dp_iadmm_step import Penalty, check_penalty, penalty_at, proximal_point
from tacit.method.dp_iadmm import Copy
from tacit.method.outp import PublicMean, check_outputs, collect, send_mean
from tacit.method.phase import AbstractMethod, Phase
from tacit.method.worst_case import LinearUnits, Neighbours
from tacit.network.base import AbstractNetwork
from tacit.privacy.budget import Privacy
from tacit.privacy.dose import AbstractDose
from tacit.privacy.event import ModelClaim, NoRelease
from tacit.privacy.laws import GAUSSIAN, Law
from tacit.privacy.mechanism import Mechanism, Release
from tacit.privacy.query import AbstractQuery, own_public
from tacit.problem.task import Task
from tacit.ranges import Number, Numbers, PositiveOne
from tacit.types import (
    AbstractDifferentiable,
    AbstractObjective,
    Context,
    Inbox,
    Index,
    Oracle,
    PublicContext,
    Relation,
    Role,
    Unit,
    Vector,
)

COMMIT = "e9d96f20ace6da8ca7f192b9c67b65ca82c36b58"
"""Commit of the authors' repository, APPFL/DPFL-IADMM-Classification, meant by "as coded"."""

_ASSUMPTION = "no record's gradient is longer than 1 in the l2 norm, wherever it is asked"


class OutPAsCoded(AbstractMethod):
    """The baseline of the DP-IADMM paper as its authors coded it, for reproduction only.

    For `g_p` the mean gradient of client `p` over its own `N` records at its own copy, and
    `L = log(1.25 / delta)`:

        1/eta  = (N / 4 + 2 sqrt(t L) / epsilon) / a
        sigma  = 2 sqrt(2 L) / (epsilon (rho + 1/eta))
        z_p   <- (rho w + lam_p - g_p + z_p/eta) / (rho + 1/eta) + noise      -> server
        w     <- mean_p (z_p - lam_p / rho)                                   -> clients
        lam_p <- lam_p + rho (w - z_p)

    where the standard deviation of the noise is `sigma^2`, although `sigma` was meant. `sigma` is
    made for the sensitivity of a sum, and `1/eta` for the curvature of one, but `g_p` is a mean:
    noise and step are far off. The epsilon is stated for the whole run, under the assumption that
    no gradient is longer than 1; as nothing enforces that, the status is `model`. Private
    runs: `OutP`.

    Source: Ryu, Kim (2021), section 4, figure 1; Huang et al. (2020), algorithm 2. It is the
    baseline of the first, as in their code at `COMMIT`, and the step size is that of the second.
    Deviation: the regulariser is as everywhere (the code counts the whole of it at every client, at
    `w`).

    Args:
        epsilon: epsilon claimed per iteration, positive.
        step_delta: claimed delta per iteration, in (0, 1); 1e-6 in the paper.
        penalty: ADMM penalty `rho`, positive, or a `GrowingPenalty`.
        proximity: proximity `a`, positive.

    Raises:
        ConfigError: a hyper-parameter out of its range.
        PrivacyError: `epsilon` or `step_delta` out of its range.

    Example:
        >>> from tacit.papers.ryu2021.outp_as_coded import OutPAsCoded
        >>> OutPAsCoded(epsilon=0.05, penalty=102.0).phases()[0].release.name
        'noised solution, as coded'
    """

    name: ClassVar[str] = "outp-as-coded"
    as_published: ClassVar[bool] = True
    when: ClassVar[str] = (
        "the baseline of the DP-IADMM paper is to be compared with as coded; nothing is proved"
    )
    example: ClassVar[Mapping[str, Any]] = MappingProxyType({"epsilon": 1.0})
    oracle: ClassVar[Oracle] = Oracle.GRADIENT
    epsilon: Number
    step_delta: Number = 1e-6
    penalty: Penalty = 1.0
    proximity: PositiveOne = 1.0
    privacy: Privacy | None = eqx.field(init=False, default=None)

    def __check_init__(self) -> None:
        check_penalty(self.penalty)
        if isinstance(self.epsilon, int | float) and not 0.0 < self.epsilon < math.inf:
            raise PrivacyError(f"epsilon={self.epsilon!r} must be positive and finite")
        if isinstance(self.step_delta, int | float) and not 0.0 < self.step_delta < 1.0:
            raise PrivacyError(f"step_delta={self.step_delta!r} must be in (0, 1)")

    def init(self, role: Role, x0: Vector, degree: Index) -> PublicMean | Copy:
        if role is Role.SERVER:
            return PublicMean(x0, x0)
        return Copy(x0, x0, jnp.zeros_like(jnp.asarray(x0)), x0)

    def phases(self) -> tuple[Phase, ...]:
        return (
            Phase(
                name="noised solution",
                sender=Role.CLIENT,
                query=CodedSolution(self.penalty, self.epsilon, self.step_delta, self.proximity),
                release=Release("noised solution, as coded", _NOISE),
                message=_send,
                receiver=Role.SERVER,
                update=collect,
            ),
            Phase(
                name="mean",
                sender=Role.SERVER,
                message=send_mean,
                receiver=Role.CLIENT,
                update=self.ascend,
            ),
        )

    def ascend(self, state: Copy, inbox: Inbox, context: Context) -> Copy:
        dual = state.dual + penalty_at(self.penalty, context.round) * (inbox.total - state.z)
        return Copy(state.x, state.z, dual, inbox.total)

    def solution(self, state: PublicMean) -> Vector:
        return state.w

    def check(self, problem: Task, network: AbstractNetwork) -> None:
        check_outputs("OutPAsCoded", problem, network)
        if problem.unit is not Unit.RECORD:
            raise ProblemError(
                "OutPAsCoded takes its step size from the number of records, and this problem "
                f"consists of {problem.unit.value}s; use OutP"
            )

    def worst_case(self, problem: Task, owner: int) -> Neighbours:
        """One linear loss with a gradient of length 1, the longest assumed, or its opposite."""
        gradients = np.zeros((problem.agents, 1, problem.dimension))
        gradients[owner, 0, 0] = 1.0
        return Neighbours(
            LinearUnits(problem.normaliser, gradients),
            LinearUnits(problem.normaliser, -gradients),
            (owner,),
            "one linear loss with a gradient of length 1, replaced by its opposite, all other "
            "losses zero",
            others_zero=True,
        )


class CodedSolution(AbstractQuery):
    """The local solution as coded: gradients without a clip at the client's own copy.

    Its sensitivity is assumed and enforced by nothing; `CodedNoise` states that.

    Attributes:
        penalty: ADMM penalty `rho`.
        epsilon: epsilon claimed per iteration.
        delta: claimed delta per iteration.
        proximity: proximity `a`.
    """

    penalty: Penalty
    epsilon: Numbers
    delta: Numbers
    proximity: Numbers
    oracle: Oracle = eqx.field(static=True, kw_only=True, default=Oracle.GRADIENT)
    order: int = eqx.field(static=True, kw_only=True, default=2)
    rate: float = eqx.field(static=True, kw_only=True, default=1.0)

    def __call__(
        self, state: Any, objective: AbstractObjective, context: Context, key: PRNGKeyArray
    ) -> Float[Array, " p"]:
        if not isinstance(objective, AbstractDifferentiable):
            raise PrivacyError(
                f"{type(objective).__name__} gives values only, and OutP asks for gradients"
            )
        rho = penalty_at(self.penalty, context.round)
        eta = 1.0 / _inverse_eta(
            objective.normaliser, context.round, self.epsilon, self.delta, self.proximity
        )
        slope = objective.gradient(state.z) + context.public.gradient(state.z)
        return proximal_point(state.w, state.dual, slope, state.z, rho, eta)

    def curvature(self, public: PublicContext) -> float:
        """`rho + 1/eta`, by which the gradient's sensitivity is divided."""
        numbers = (own_public(v, 0) for v in (self.epsilon, self.delta, self.proximity))
        rho = float(penalty_at(self.penalty, public.round))
        return rho + float(_inverse_eta(public.normaliser, public.round, *numbers))

    def sensitivity(self, public: PublicContext, relation: Relation) -> float:
        return 2.0 / (public.normaliser * self.curvature(public))

    def evaluations(self, dimension: int) -> int:
        return 1


class CodedNoise(AbstractDose):
    """A standard deviation of `sigma^2`, where the paper has `sigma`."""

    @property
    def varying(self) -> bool:
        return True

    def scale(
        self, law: Law, query: AbstractQuery, public: PublicContext, relation: Relation
    ) -> float:
        return _coded_scale(query, public)

    def multiplier(self, query: AbstractQuery, public: PublicContext, relation: Relation) -> float:
        return _coded_scale(query, public) / query.sensitivity(public, relation)


def _coded_scale(query: AbstractQuery, public: PublicContext) -> float:
    assert isinstance(query, CodedSolution)
    epsilon, delta = (own_public(value, 0) for value in (query.epsilon, query.delta))
    sigma = 2.0 * math.sqrt(2.0 * math.log(1.25 / delta)) / epsilon / query.curvature(public)
    return sigma**2


def _inverse_eta(
    count: Any, round: Index, epsilon: Numbers, delta: Numbers, proximity: Numbers
) -> Any:
    """`1/eta` of a client with a given number of records."""
    growth = 2.0 * ((round + 1.0) * _log(1.25 / delta)) ** 0.5 / epsilon
    return (count / 4.0 + growth) / proximity


def _log(value: Any) -> Any:
    return math.log(value) if isinstance(value, float) else jnp.log(value)


def _send(state: Copy, released: Vector, context: Context) -> tuple[Copy, Vector]:
    return Copy(released, released, state.dual, state.w), released


_NOISE = Mechanism(
    GAUSSIAN,
    CodedNoise(),
    claim=ModelClaim(
        NoRelease(),
        "the authors' code of Ryu, Kim (2021), Gaussian mechanism",
        _ASSUMPTION,
        "no clip enforces that bound",
    ),
)
