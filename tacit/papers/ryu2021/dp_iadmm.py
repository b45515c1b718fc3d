"""DP-IADMM exactly as printed: its noise follows the agent's own records."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from tacit.errors import PrivacyError, ProblemError
from tacit.method.dp_iadmm import Consensus, Copy, check_everybody, check_no_budget
from tacit.method.dp_iadmm_prox import DPIADMMProx
from tacit.method.dp_iadmm_trust import DPIADMMTrust
from tacit.method.phase import AbstractMethod, Phase
from tacit.method.worst_case import LinearUnits, Neighbours
from tacit.network.base import AbstractNetwork
from tacit.privacy.budget import Privacy
from tacit.privacy.dose import AbstractDose
from tacit.privacy.event import NoRelease, PerReleaseClaim
from tacit.privacy.laws import LAPLACE, Law
from tacit.privacy.mechanism import Mechanism, Release
from tacit.privacy.query import AbstractQuery, own_public
from tacit.problem.erm import EmpiricalRisk
from tacit.problem.losses import AbstractLinearLoss
from tacit.problem.task import Task
from tacit.ranges import Number, Numbers
from tacit.types import (
    AbstractDifferentiable,
    AbstractObjective,
    Context,
    Index,
    Oracle,
    PublicContext,
    Relation,
    Role,
    Unit,
    Vector,
)

_ASSUMPTION = "the noise is scaled to a bound on all possible records, which it is not"
_REASON = (
    "the scale of the noise is the longest gradient among the agent's own records (a local "
    "sensitivity), so that removing that record changes the noise itself, and the epsilon is "
    "counted for one iteration at a time"
)

_SHORT = 0.01
"""Gradient of the remaining record, in the worst case, over that of the removed one."""


class DPIADMMPrinted(AbstractMethod):
    """DP-IADMM with the Laplace noise of the paper's eq (20), for reproduction only.

    Every iteration adds to agent `p`'s gradient:

        xi_p ~ Lap(D_p / epsilon)^n,   D_p = max_j ||grad of record j of p||_1 / I

    `D_p` is the maximum over the agent's own records at the current point: a local sensitivity. If
    that record is removed, the noise shrinks, which is visible to all
    (`dp_iadmm_bounds.noise_scale_delta`). Moreover, `epsilon` is per iteration, as the paper's
    remark 2 says; it leaves the total of a run to composition, and does not compute it. The status
    is `per_release`, with both facts and the total in the sentence. Private runs: `DPIADMMProx`,
    `DPIADMMTrust`.

    Source: Ryu, Kim (2021), section 3, algorithms 1, 2, eqs (8), (9), (11); section 4, eq (20).
    Gradients are taken at each client's own copy, without a clip, and the answer is `w` of the last
    round. `I` is the problem's normaliser (`normaliser=I`, or `weighting="record"`).

    Args:
        method: variant of DP-IADMM without a budget; `point="own"` and no average are always used.
        epsilon: epsilon claimed per iteration, positive.

    Raises:
        PrivacyError: `epsilon` out of its range, or a variant with a budget.

    Example:
        >>> from tacit.method import DPIADMMTrust
        >>> from tacit.papers.ryu2021.dp_iadmm import DPIADMMPrinted
        >>> method = DPIADMMPrinted(DPIADMMTrust(penalty=102.0, trust_region="printed"), 0.05)
        >>> method.phases()[1].release.name
        'gradient with noise scaled to own records'
    """

    name: ClassVar[str] = "dp-iadmm-as-published"
    as_published: ClassVar[bool] = True
    when: ClassVar[str] = "DP-IADMM is to be compared with as printed; nothing is proved"
    example: ClassVar[Mapping[str, Any]] = MappingProxyType(
        {"method": DPIADMMProx(penalty=2.0), "epsilon": 1.0}
    )
    oracle: ClassVar[Oracle] = Oracle.GRADIENT
    method: DPIADMMProx | DPIADMMTrust
    epsilon: Number
    privacy: Privacy | None = eqx.field(init=False, default=None)

    def __init__(self, method: DPIADMMProx | DPIADMMTrust, epsilon: Number) -> None:
        check_no_budget("DPIADMMPrinted", method.privacy)
        if isinstance(epsilon, int | float) and not 0.0 < epsilon < math.inf:
            raise PrivacyError(f"epsilon={epsilon!r} must be positive and finite")
        self.method = replace(method, point="own", average=False)
        self.epsilon = epsilon

    def init(self, role: Role, x0: Vector, degree: Index) -> Consensus | Copy:
        return self.method.init(role, x0, degree)

    def phases(self) -> tuple[Phase, ...]:
        consensus, local = self.method.phases()
        name = "gradient with noise scaled to own records"
        claim = PerReleaseClaim(NoRelease(), "Ryu, Kim (2021), eq (20)", _ASSUMPTION, _REASON)
        noise = Mechanism(LAPLACE, LongestGradient(self.epsilon), claim=claim)
        release = Release(name, noise, Relation.ADD_REMOVE)
        return consensus, replace(local, query=LocallyScaled(), release=release)

    def solution(self, state: Consensus) -> Vector:
        return state.w

    def check(self, problem: Task, network: AbstractNetwork) -> None:
        check_everybody("DPIADMMPrinted", network)
        self.method.check(problem, network)
        if problem.unit is not Unit.RECORD:
            raise ProblemError(
                "DPIADMMPrinted scales its noise to the longest gradient among an agent's records, "
                f"and this problem consists of {problem.unit.value}s; use DPIADMMProx"
            )

    def worst_case(self, problem: Task, owner: int) -> Neighbours:
        """One record is present or absent, and one with a hundred times shorter gradient stays."""
        gradients = np.zeros((problem.agents, 2, problem.dimension))
        gradients[owner, :, 0] = 1.0, _SHORT
        removed = gradients.copy()
        removed[owner, 0] = 0.0
        return Neighbours(
            LinearUnits(problem.normaliser, gradients),
            LinearUnits(problem.normaliser, removed),
            (owner,),
            "the record with the longest gradient there or absent, where the next one is a "
            "hundred times shorter, all losses linear and those of others zero",
        )


class OwnLongest(eqx.Module):
    """A private gradient and the private size of its noise; neither leaves as it is."""

    gradient: Vector
    longest: Float[Array, ""]


class LongestGradient(AbstractDose):
    """`1 / epsilon` times the agent's own longest gradient, which is part of the private answer.

    In proved methods the noise never depends on the records.

    Attributes:
        epsilon: epsilon claimed per iteration.
    """

    own_records: ClassVar[bool] = True
    epsilon: Numbers

    def scale(
        self, law: Law, query: AbstractQuery, public: PublicContext, relation: Relation
    ) -> float:
        return 1.0 / own_public(self.epsilon, 0)

    def multiplier(self, query: AbstractQuery, public: PublicContext, relation: Relation) -> float:
        return 1.0 / own_public(self.epsilon, 0)

    def split(self, answer: OwnLongest, scale: Numbers) -> tuple[Vector, Any]:
        return answer.gradient, scale * answer.longest


class LocallyScaled(AbstractQuery):
    """The gradient at `state.x`, and the longest among the agent's own records, eq (20).

    Nothing bounds how either moves between neighbours.
    """

    oracle: Oracle = eqx.field(static=True, kw_only=True, default=Oracle.GRADIENT)
    order: int = eqx.field(static=True, kw_only=True, default=1)
    rate: float = eqx.field(static=True, kw_only=True, default=1.0)

    def __call__(
        self, state: Any, objective: AbstractObjective, context: Context, key: PRNGKeyArray
    ) -> OwnLongest:
        if not isinstance(objective, AbstractDifferentiable):
            raise PrivacyError(
                f"{type(objective).__name__} gives values only, and DP-IADMM asks for gradients"
            )
        return OwnLongest(objective.gradient(state.x), local_sensitivity(objective, state.x))

    def sensitivity(self, public: PublicContext, relation: Relation) -> float:
        return math.inf

    def evaluations(self, dimension: int) -> int:
        return 1


def local_sensitivity(objective: AbstractDifferentiable, x: Vector) -> Float[Array, ""]:
    """`max_j ||grad_j(x)||_1 / normaliser` over the agent's own records: private, eq (20).

    Source: Ryu, Kim (2021), section 3, eq (11b); section 4, eq (20).
    """
    if isinstance(objective, EmpiricalRisk) and isinstance(objective.loss, AbstractLinearLoss):
        # a record's gradient is slope times row, and so is its norm
        features = jnp.asarray(objective.features)
        scores = features @ objective.loss.weights(x, features.shape[-1])
        slopes = jnp.abs(objective.loss.derivative(scores, objective.targets))
        sizes = jnp.sum(slopes.reshape(len(features), -1), axis=1)
        lengths = sizes * jnp.asarray(objective.norms)[0] * jnp.asarray(objective.mask)
    else:
        lengths = jnp.sum(jnp.abs(jax.jacrev(objective.losses)(jnp.asarray(x))), axis=1)
    return jnp.max(lengths) / objective.normaliser
