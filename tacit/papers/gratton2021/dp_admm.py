"""DP-ADMM without a clip: a gradient bound is assumed, and each iteration is counted alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, ClassVar

import equinox as eqx
from jaxtyping import Array, Float, PRNGKeyArray

from tacit.errors import PrivacyError, ProblemError
from tacit.method.dp_admm import DPADMM, NoisedCopy
from tacit.method.outp import PublicMean
from tacit.method.phase import AbstractMethod, Phase
from tacit.method.worst_case import Neighbours
from tacit.network.base import AbstractNetwork
from tacit.papers.gratton2021.admm_claim import (
    assumed,
    check_claim,
    opposite_gradients,
    per_release,
)
from tacit.privacy.budget import Privacy
from tacit.privacy.laws import NoiseKind
from tacit.privacy.mechanism import Release
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
    Unit,
    Vector,
)

_SOURCE = "our noise for the method of Huang et al. (2020), by eq (20) of Gratton et al. (2021)"
_ASSUMPTION = "no record's gradient is longer than the bound, wherever it is asked"


class DPADMMPrinted(AbstractMethod):
    """DP-ADMM with claimed noise, for reproduction only.

    The rounds are those of `DPADMM`, without a clip and with noise
    `N(0, (z 2 c1 / (N_k (rho + 1/eta)))^2 I)` for `z = sqrt(2.1 log(1.25 / delta)) / epsilon`. It
    is assumed that no gradient is longer than `c1`, and `epsilon` is per iteration: the status is
    `per_release`, with the total of the run in the sentence. Private runs: `DPADMM`.

    Source: Huang et al. (2020), algorithm 2. The noise is ours, by analogy with eq (20) of Gratton
    et al. (2021), who compare with the method and print no noise for it.

    Args:
        epsilon: epsilon claimed per iteration, positive.
        claimed_delta: claimed delta per iteration, in (0, 1).
        gradient_bound: largest gradient norm `c1`, positive; assumed.
        penalty: ADMM penalty `rho`, positive.
        step: first step size `c`, positive.

    Raises:
        ConfigError: a hyper-parameter out of its range.
        PrivacyError: `epsilon` or `claimed_delta` out of its range.

    Example:
        >>> from tacit.papers.gratton2021.dp_admm import DPADMMPrinted
        >>> DPADMMPrinted(epsilon=0.15).phases()[0].release.name
        'gradient with noise for an assumed bound'
    """

    name: ClassVar[str] = "dp-admm-as-published"
    as_published: ClassVar[bool] = True
    when: ClassVar[str] = (
        "DP-ADMM is to be compared with as claimed for one iteration; nothing is proved"
    )
    example: ClassVar[Mapping[str, Any]] = MappingProxyType({"epsilon": 0.5})
    oracle: ClassVar[Oracle] = Oracle.GRADIENT
    epsilon: Number
    claimed_delta: Number = 1e-3
    gradient_bound: Number = 1.0
    penalty: PositiveOne = 1.0
    step: PositiveOne = 1.0
    privacy: Privacy | None = eqx.field(init=False, default=None)

    def __check_init__(self) -> None:
        check_claim(self.epsilon, self.claimed_delta, self.gradient_bound)
        DPADMM(self.penalty, self.step)

    @property
    def method(self) -> DPADMM:
        """The method that supplies the rounds."""
        return DPADMM(self.penalty, self.step)

    def init(self, role: Role, x0: Vector, degree: Index) -> PublicMean | NoisedCopy:
        return self.method.init(role, x0, degree)

    def phases(self) -> tuple[Phase, ...]:
        local, mean = self.method.phases()
        claim = per_release(_SOURCE, _ASSUMPTION)
        noise = assumed(NoiseKind.GAUSSIAN, self.epsilon, self.claimed_delta, claim)
        release = Release("gradient with noise for an assumed bound", noise)
        return replace(local, query=AssumedGradient(self.gradient_bound), release=release), mean

    def solution(self, state: PublicMean) -> Vector:
        return state.w

    def delta(self, agent: int) -> float:
        return own_public(self.claimed_delta, agent)

    def check(self, problem: Task, network: AbstractNetwork) -> None:
        self.method.check(problem, network)
        if problem.unit is not Unit.RECORD:
            raise ProblemError(
                "DPADMMPrinted assumes a bound on every record's gradient, and this problem "
                f"consists of {problem.unit.value}s; use DPADMM"
            )

    def worst_case(self, problem: Task, owner: int) -> Neighbours:
        """One linear loss with the longest assumed gradient, or its opposite."""
        return opposite_gradients(self.gradient_bound, problem, owner)


class AssumedGradient(AbstractQuery):
    """The gradient at `state.x`, under the assumption that no record's is longer than `bound`.

    Attributes:
        bound: assumed gradient bound `c1`; nothing enforces it, as the claim states.
    """

    bound: Numbers
    oracle: Oracle = eqx.field(static=True, kw_only=True, default=Oracle.GRADIENT)
    order: int = eqx.field(static=True, kw_only=True, default=2)
    rate: float = eqx.field(static=True, kw_only=True, default=1.0)

    def __call__(
        self, state: Any, objective: AbstractObjective, context: Context, key: PRNGKeyArray
    ) -> Float[Array, " p"]:
        if not isinstance(objective, AbstractDifferentiable):
            raise PrivacyError(
                f"{type(objective).__name__} gives values only, and DP-ADMM asks for gradients"
            )
        return objective.gradient(state.x)

    def sensitivity(self, public: PublicContext, relation: Relation) -> float:
        if relation is Relation.METRIC:
            return math.inf
        factor = 2.0 if relation is Relation.REPLACE_ONE else 1.0
        return factor * own_public(self.bound, 0) / public.normaliser

    def evaluations(self, dimension: int) -> int:
        return 1
