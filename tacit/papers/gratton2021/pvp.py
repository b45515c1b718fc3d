"""PVP without a clip: a gradient bound is assumed, and each iteration is counted alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import equinox as eqx
from jaxtyping import Array, Float, PRNGKeyArray

from tacit.errors import PrivacyError
from tacit.method import _consensus_admm as admm
from tacit.method._admm_inner import (
    check_local_problem,
    check_tolerance,
    curvature_bound,
    local_minimiser,
)
from tacit.method._assumptions import check_projection
from tacit.method._consensus_admm import Consensus
from tacit.method.admm import share
from tacit.method.phase import AbstractMethod, Phase
from tacit.method.worst_case import Neighbours
from tacit.network.base import AbstractNetwork
from tacit.papers.gratton2021.admm_claim import (
    assumed,
    check_claim,
    opposite_gradients,
    per_release,
)
from tacit.privacy.budget import Privacy, noise_kind
from tacit.privacy.laws import NoiseKind
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
    Vector,
)

_SOURCE = "our Gaussian form of Zhang, Zhu (2017), by eq (20) of Gratton et al. (2021)"
_ORIGINAL = "Zhang, Zhu (2017), algorithm 3"
_ASSUMPTION = (
    "no record's gradient is longer than the bound, wherever it is asked, and local problems are "
    "solved exactly"
)


class PVPPrinted(AbstractMethod):
    """Primal variable perturbation with claimed noise, for reproduction only.

    The rounds are those of `PVP`, without a clip and with noise
    `N(0, (z c1 / (rho |V_k| N_k))^2 I)` for `z = sqrt(2.1 log(1.25 / delta)) / epsilon`. It is
    assumed that no gradient is longer than `c1`, and `epsilon` is per iteration: the status is
    `per_release`, with the total of the run in the sentence. Private runs: `PVP`.

    With `noise="l2_laplace"` the noise has the original density, proportional to
    `exp(-zeta ||v||)`, with `zeta = epsilon rho |V_k| N_k / c1`, and the claim is pure.

    Source: Zhang, Zhu (2017), algorithm 3. From it are the rounds and the original density. The
    Gaussian noise is ours, by analogy with eq (20) of Gratton et al. (2021), who compare with the
    method and print no noise for it. Deviation: the noisy iterate replaces the exact one in the
    agent's own next problem, too.

    Args:
        epsilon: epsilon claimed per iteration, positive.
        claimed_delta: claimed delta per iteration, in (0, 1).
        gradient_bound: largest gradient norm `c1`, positive; assumed.
        penalty: ADMM penalty `rho`, positive.
        tolerance: largest distance from the exact local solution, in units of the parameters, at
            least 1e-13; the claim does not count it.
        noise: law of the noise: "gaussian", ours, or "l2_laplace", the original density.

    Raises:
        ConfigError: a hyper-parameter out of its range.
        PrivacyError: `epsilon` or `claimed_delta` out of its range, or any other noise.

    Example:
        >>> from tacit.papers.gratton2021.pvp import PVPPrinted
        >>> PVPPrinted(epsilon=0.15).phases()[0].release.name
        'local solution with noise for an assumed bound'
    """

    name: ClassVar[str] = "pvp-as-published"
    as_published: ClassVar[bool] = True
    when: ClassVar[str] = (
        "primal variable perturbation is to be compared with as claimed; nothing is proved"
    )
    example: ClassVar[Mapping[str, Any]] = MappingProxyType({"epsilon": 0.5})
    oracle: ClassVar[Oracle] = Oracle.PROX
    epsilon: Number
    claimed_delta: Number = 1e-3
    gradient_bound: Number = 1.0
    penalty: PositiveOne = 0.2
    tolerance: PositiveOne = 1e-12
    noise: NoiseKind = eqx.field(static=True, default=NoiseKind.GAUSSIAN, converter=noise_kind)
    privacy: Privacy | None = eqx.field(init=False, default=None)

    def __check_init__(self) -> None:
        check_claim(self.epsilon, self.claimed_delta, self.gradient_bound, self.noise)
        check_tolerance(self.tolerance)

    def init(self, role: Role, x0: Vector, degree: Index) -> Consensus:
        return admm.start(x0, degree)

    def phases(self) -> tuple[Phase, ...]:
        return (
            Phase(
                name="minimise",
                sender=Role.PEER,
                query=AssumedSolution(self.gradient_bound, self.penalty, self.tolerance),
                release=Release("local solution with noise for an assumed bound", self._noise()),
                message=share,
                receiver=Role.PEER,
                update=self.dual_step,
            ),
        )

    def dual_step(self, state: Consensus, inbox: Inbox, context: Context) -> Consensus:
        return admm.dual_step(self.penalty, state, inbox, context)

    def solution(self, state: Consensus) -> Vector:
        return state.x

    def delta(self, agent: int) -> float:
        gaussian = self.noise is NoiseKind.GAUSSIAN
        return own_public(self.claimed_delta, agent) if gaussian else 0.0

    def _noise(self) -> Mechanism:
        source = _SOURCE if self.noise is NoiseKind.GAUSSIAN else _ORIGINAL
        claim = per_release(source, _ASSUMPTION)
        return assumed(self.noise, self.epsilon, self.claimed_delta, claim)

    def check(self, problem: Task, network: AbstractNetwork) -> None:
        check_local_problem("PVPPrinted", problem, network)
        check_projection("PVPPrinted", problem)

    def worst_case(self, problem: Task, owner: int) -> Neighbours:
        """One linear loss with the longest assumed gradient, or its opposite."""
        return opposite_gradients(self.gradient_bound, problem, owner)


class AssumedSolution(AbstractQuery):
    """The local solution, under the assumption that no record's gradient is longer than `bound`.

    Attributes:
        bound: assumed gradient bound `c1`; nothing enforces it, as the claim states.
        penalty: ADMM penalty `rho`.
        tolerance: certified distance from the exact solution.
    """

    projects: ClassVar[bool] = True
    solves: ClassVar[bool] = True
    bound: Numbers
    penalty: Numbers
    tolerance: Numbers
    oracle: Oracle = eqx.field(static=True, kw_only=True, default=Oracle.PROX)
    order: int = eqx.field(static=True, kw_only=True, default=2)
    rate: float = eqx.field(static=True, kw_only=True, default=1.0)

    def __call__(
        self, state: Consensus, objective: AbstractObjective, context: Context, key: PRNGKeyArray
    ) -> Float[Array, " p"]:
        if not isinstance(objective, AbstractDifferentiable):
            raise PrivacyError(
                f"{type(objective).__name__} gives values only, and PVP asks for gradients"
            )
        bound = curvature_bound(objective)
        return local_minimiser(
            objective.gradient, bound, state, self.penalty, context, tolerance=self.tolerance
        )

    def sensitivity(self, public: PublicContext, relation: Relation) -> float:
        if relation is Relation.METRIC:
            return math.inf
        factor = 1.0 if relation is Relation.REPLACE_ONE else 0.5
        reach = own_public(self.penalty, 0) * public.degree * public.normaliser
        return factor * own_public(self.bound, 0) / reach

    def evaluations(self, dimension: int) -> int:
        return 1
