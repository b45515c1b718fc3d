"""PDOP exactly as printed: for reproduction, with the true loss of its noise beside its claim."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from tacit.errors import PrivacyError
from tacit.method._assumptions import check_projection
from tacit.method._pdop_budget import grown
from tacit.method.pdop import (
    Mixture,
    check_network,
    check_number,
    check_ratios,
    mix,
    send_released,
)
from tacit.method.phase import AbstractMethod, Phase
from tacit.method.rounds import Rounds
from tacit.method.worst_case import LinearUnits, Neighbours
from tacit.network.base import AbstractNetwork
from tacit.privacy.budget import Privacy
from tacit.privacy.dose import AbstractDose
from tacit.privacy.event import ModelClaim, NoRelease
from tacit.privacy.laws import LAPLACE, Law
from tacit.privacy.mechanism import Mechanism, Release
from tacit.privacy.query import AbstractQuery, own_public
from tacit.problem.task import Task
from tacit.ranges import Number, Numbers, PositiveOne
from tacit.types import (
    AbstractDifferentiable,
    AbstractObjective,
    Context,
    Index,
    Oracle,
    PublicContext,
    Relation,
    Role,
    Vector,
)

_ASSUMPTION = (
    "no gradient is longer than the declared C2 (l2), wherever an agent asks for one, also outside "
    "the set, and the set is a box"
)
_NOT_ENFORCED = "no clip enforces the bound on the gradients that the noise is made for"
_OFF_BY_ONE = (
    "the value that leaves after the step of round t carries the noise of round t + 1, which is "
    "smaller by the factor p than the noise it is counted against; the loss is epsilon / p"
)


class PDOPPrinted(AbstractMethod):
    """PDOP with the noise schedule of the paper's eq (8), for reproduction only.

    In round `t`:

        y_i(t) = x_i(t-1) + w_i(t),   w_i(t) ~ Lap(M_t)^n,   M_t = 2 C2 sqrt(n) c p^t / (eps (p-q))
        x_i(t) = P_X[z_i(t) - gamma_t grad f_i(z_i(t))],     z_i(t) = sum_j a_ij(t) y_j(t)

    The sensitivity of `x_i(t)` is at most `2 C2 sqrt(n) gamma_t`, and `w_i(t+1)` hides it.
    The printed schedule divides it by `M_t` and so claims `epsilon` where the loss is `epsilon / p`
    (both for infinitely many rounds; a finite run costs slightly less). Nothing enforces `C2`, so
    the status is `model` either way. Private runs: `PDOP`.

    Source: Huang, Mitra, Vaidya (2015), section 3.2, algorithm 1; section 4.1, algorithms 2 to 4,
    eqs (5) to (8). Counting from 0, round `t` here releases `y(t+2)`, and `y(1)` leaves before.
    Deviation: the answer is `P_X z_i`, computed from released values. Algorithm 1 of the paper says
    "return R", which is a subroutine; if `x_i(T)` is meant, that is not a function of noisy values.

    Args:
        step: first step size `c`, positive.
        ratio: step ratio `q`, in (0, 1).
        noise_ratio: noise ratio `p`, in (q, 1).
        epsilon: claimed epsilon, positive.
        gradient_bound: largest gradient norm `C2`, the largest l2 norm of a gradient; assumed.
        stated: stated loss: "total" for that of this noise, "printed" for the paper's claim.

    Raises:
        ConfigError: `step` or a ratio out of its range.
        PrivacyError: `epsilon` or `gradient_bound` out of its range.

    Example:
        >>> method = PDOPPrinted(
        ...     step=0.1, ratio=0.1, noise_ratio=0.11, epsilon=1.0, gradient_bound=1.0
        ... )
        >>> [phase.release.name for phase in method.phases()]
        ['noised start', 'noised iterate']
    """

    name: ClassVar[str] = "pdop-as-published"
    as_published: ClassVar[bool] = True
    when: ClassVar[str] = "PDOP is to be compared with as printed; nothing is proved"
    example: ClassVar[Mapping[str, Any]] = MappingProxyType(
        {"step": 0.1, "ratio": 0.5, "noise_ratio": 0.8, "epsilon": 1.0, "gradient_bound": 1.0}
    )
    oracle: ClassVar[Oracle] = Oracle.GRADIENT
    step: PositiveOne
    ratio: Number = eqx.field(kw_only=True)
    noise_ratio: Number = eqx.field(kw_only=True)
    epsilon: PositiveOne = eqx.field(kw_only=True)
    gradient_bound: PositiveOne = eqx.field(kw_only=True)
    stated: Literal["total", "printed"] = eqx.field(static=True, default="total", kw_only=True)
    privacy: Privacy | None = eqx.field(init=False, default=None)

    def __check_init__(self) -> None:
        for name in ("step", "ratio", "noise_ratio"):
            check_number(name, getattr(self, name))
        check_ratios(self.ratio, self.noise_ratio)
        for name in ("epsilon", "gradient_bound"):
            value = getattr(self, name)
            if isinstance(value, int | float) and not 0.0 < value < math.inf:
                raise PrivacyError(f"{name}={value!r} must be positive and finite")
        if isinstance(self.ratio, int | float) and not self.ratio < self.noise_ratio < 1.0:
            raise PrivacyError(
                f"noise_ratio={self.noise_ratio!r} must lie between ratio={self.ratio!r} and 1, or "
                "the printed sum of losses does not converge"
            )

    def init(self, role: Role, x0: Vector, degree: Index) -> Mixture:
        return Mixture(x0, x0)

    def phases(self) -> tuple[Phase, ...]:
        schedule = (self.ratio, self.noise_ratio, self.epsilon)
        step = PrintedStep(self.step, self.ratio, self.gradient_bound)
        start = PrintedStep(self.step, self.ratio, self.gradient_bound, answer_start=True)
        reason = _NOT_ENFORCED if self.stated == "total" else _OFF_BY_ONE
        noise = PrintedNoise(*schedule, stated=self.stated)
        return (
            Phase(
                name="start",
                sender=Role.PEER,
                query=start,
                release=Release("noised start", _claimed(StartNoise(*schedule), reason)),
                message=send_released,
                receiver=Role.PEER,
                update=mix,
                rounds=Rounds(before=True),
            ),
            Phase(
                name="exchange",
                sender=Role.PEER,
                query=step,
                release=Release("noised iterate", _claimed(noise, reason)),
                message=send_released,
                receiver=Role.PEER,
                update=mix,
            ),
        )

    def solution(self, state: Mixture) -> Vector:
        return state.x

    def delta(self, agent: int) -> float:
        return 0.0

    def check(self, problem: Task, network: AbstractNetwork) -> None:
        check_network("PDOPPrinted", network)
        check_projection("PDOPPrinted", problem)

    def worst_case(self, problem: Task, owner: int) -> Neighbours:
        """Two linear costs at the bound `C2` along the diagonal, opposite to each other."""
        size = problem.dimension
        gradients = np.zeros((problem.agents, 1, size))
        bound = own_public(self.gradient_bound, owner) * problem.normaliser[owner]
        gradients[owner] = bound / math.sqrt(size)
        return Neighbours(
            LinearUnits(problem.normaliser, gradients),
            LinearUnits(problem.normaliser, -gradients),
            (owner,),
            "one linear cost along the diagonal with a gradient of length C2, replaced by its "
            "opposite, all other costs zero",
            others_zero=True,
        )


class PrintedStep(AbstractQuery):
    """`P_X[z - gamma_t grad f(z)]` as printed: no clip, and `z` not projected.

    Its sensitivity is assumed by the paper and enforced by nothing; a mechanism that uses it must
    say so in its event.

    Source: Huang, Mitra, Vaidya (2015), section 4.1, algorithm 4, eq (7); section 4.2, lemma 4.

    Attributes:
        step: first step size `c`.
        ratio: step ratio `q`.
        gradient_bound: largest gradient norm `C2`.
        answer_start: whether to answer with the public start instead, which has sensitivity 0.
    """

    projects: ClassVar[bool] = True
    step: Numbers
    ratio: Numbers
    gradient_bound: Numbers
    answer_start: bool = eqx.field(static=True, kw_only=True, default=False)
    oracle: Oracle = eqx.field(static=True, kw_only=True, default=Oracle.GRADIENT)
    order: int = eqx.field(static=True, kw_only=True, default=1)
    rate: float = eqx.field(static=True, kw_only=True, default=1.0)

    def __call__(
        self, state: Any, objective: AbstractObjective, context: Context, key: PRNGKeyArray
    ) -> Float[Array, " p"]:
        z = jnp.asarray(state.sent)
        if self.answer_start:
            return z
        if not isinstance(objective, AbstractDifferentiable):
            raise PrivacyError(
                f"{type(objective).__name__} gives values only, and PDOP asks for gradients"
            )
        gamma = self.step * self.ratio ** jnp.asarray(context.round, dtype=z.dtype)
        return context.public.descend(z, objective.gradient(z), gamma)

    def sensitivity(self, public: PublicContext, relation: Relation) -> float:
        if public.dimension is None:
            raise TypeError("the printed bound needs PublicContext.dimension")
        longest = 2.0 * own_public(self.gradient_bound, public.agent) * math.sqrt(public.dimension)
        return longest * own_public(self.step, 0) * own_public(self.ratio, 0) ** public.round

    def evaluations(self, dimension: int) -> int:
        return 0 if self.answer_start else 1


class StartNoise(AbstractDose):
    """Scale `M_1` on the public start, which reveals nothing: this noise is unnecessary.

    Attributes:
        ratio: step ratio `q`.
        noise_ratio: noise ratio `p`.
        epsilon: claimed epsilon.
    """

    ratio: Numbers
    noise_ratio: Numbers
    epsilon: Numbers

    def scale(
        self, law: Law, query: AbstractQuery, public: PublicContext, relation: Relation
    ) -> float:
        return self.printed(0) * query.sensitivity(replace(public, round=0), relation)

    def multiplier(self, query: AbstractQuery, public: PublicContext, relation: Relation) -> float:
        return math.inf

    def printed(self, times: int) -> float:
        """`M_(t+1)` over the sensitivity of the first step, `t = times`: eq (8)."""
        q, p, epsilon = (own_public(v, 0) for v in (self.ratio, self.noise_ratio, self.epsilon))
        return p ** (times + 1) / (epsilon * (p - q))


class PrintedNoise(StartNoise):
    """The printed schedule.

    Attributes:
        stated: stated loss: that of this noise or the paper's claim.
    """

    stated: Literal["total", "printed"] = eqx.field(static=True, kw_only=True)

    @property
    def varying(self) -> bool:
        return True

    def scale(
        self, law: Law, query: AbstractQuery, public: PublicContext, relation: Relation
    ) -> float:
        # M_(t+2): the message after the step of round t (from 0) is y(t+2)
        first = replace(public, round=0)
        return self.printed(public.round + 1) * query.sensitivity(first, relation)

    def multiplier(self, query: AbstractQuery, public: PublicContext, relation: Relation) -> float:
        q, p = own_public(self.ratio, 0), own_public(self.noise_ratio, 0)
        return self.printed(1 if self.stated == "total" else 0) * grown(p / q, public.round)


def _claimed(dose: StartNoise, reason: str) -> Mechanism:
    source = "Huang, Mitra, Vaidya (2015), eq (8)"
    return Mechanism(LAPLACE, dose, claim=ModelClaim(NoRelease(), source, _ASSUMPTION, reason))
