"""DVP: noise in the dual variable of ADMM, and the protection claimed for it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import equinox as eqx
from jaxtyping import Array, Float, PRNGKeyArray

from tacit.errors import PrivacyError, ProblemError
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
from tacit.papers.gratton2021.admm_claim import assumed, check_claim, opposite_gradients
from tacit.privacy.budget import Privacy, noise_kind
from tacit.privacy.event import ModelClaim, NoRelease
from tacit.privacy.laws import NoiseKind
from tacit.privacy.mechanism import Into, Mechanism, Release
from tacit.privacy.query import AbstractQuery, own_public
from tacit.privacy.tilted import Tilted
from tacit.problem.losses import Logistic, Softmax, Squared
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
_ORIGINAL = "Zhang, Zhu (2017), algorithm 2, without its term for the Jacobian"
_ASSUMPTION = (
    "no record's gradient is longer than the bound, local problems are solved exactly, and their "
    "solution reveals no more than the noisy linear term alone would"
)
_REASON = (
    "nothing enforces that bound, and how the curvature of the loss changes the law of the "
    "solution (its Jacobian) is left out"
)


class DVPPrinted(AbstractMethod):
    """Dual variable perturbation with claimed noise, for reproduction only.

    Every round:

        v_k     ~  N(0, (z 2 c1 / N_k)^2 I),   z = sqrt(2.1 log(1.25 / delta)) / epsilon
        b_k     <- argmin f_k(b) + (eta/K) R(b) + b'(gamma_k + v_k) + rho sum_l ||b - m_kl||^2
        gamma_k <- gamma_k + rho sum_l (b_k - b_l)

    with `m_kl = (b_k + b_l)/2`; `b_k` goes to the neighbours.

    With `noise="l2_laplace"` the noise has the original density, proportional to
    `exp(-zeta ||v||)`, with `zeta = epsilon N_k / (2 c1)`, and the claim is pure.

    This is objective perturbation: the released value is an exact minimiser without added noise.
    The claim counts the noise as if it were added to a released gradient. The status is `model`:
    the bound `c1` is assumed, and a proof needs a twice differentiable loss with bounded curvature,
    a term for the Jacobian, and an argument for solutions that are not exact (Kifer, Smith,
    Thakurta 2012, theorem 2). There is no certified mode: use `PVP`.

    Source: Zhang, Zhu (2017), Dynamic Differential Privacy for ADMM-Based Distributed
    Classification Learning, algorithm 2. From it are the rounds and the original density, without
    its term for the Jacobian. The Gaussian noise is ours, by analogy with eq (20) of Gratton et al.
    (2021), who compare with the method and print no noise for it.

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
        >>> from tacit.papers.gratton2021.dvp import DVPPrinted
        >>> DVPPrinted(epsilon=0.15).phases()[0].release.name
        'minimiser of a noised objective'
    """

    name: ClassVar[str] = "dvp-as-published"
    as_published: ClassVar[bool] = True
    when: ClassVar[str] = (
        "dual variable perturbation is to be compared with as claimed; nothing is proved"
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
                query=PerturbedSolution(self.gradient_bound, self.penalty, self.tolerance),
                release=Release(
                    "minimiser of a noised objective",
                    self._noise(),
                ),
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
        """A random linear term, as large as the noise of a released gradient."""
        source = _SOURCE if self.noise is NoiseKind.GAUSSIAN else _ORIGINAL
        claim = ModelClaim(NoRelease(), source, _ASSUMPTION, _REASON)
        return assumed(self.noise, self.epsilon, self.claimed_delta, claim, Into.OBJECTIVE)

    def check(self, problem: Task, network: AbstractNetwork) -> None:
        loss = getattr(problem.objectives, "loss", problem.objectives)
        if not isinstance(loss, Logistic | Softmax | Squared):
            raise ProblemError(
                f"DVP needs a twice differentiable loss; {type(loss).__name__} is not known to be "
                "one: use DPSG, DZOA or PVP, or a loss such as Logistic"
            )
        check_local_problem("DVPPrinted", problem, network)
        check_projection("DVPPrinted", problem)

    def worst_case(self, problem: Task, owner: int) -> Neighbours:
        """One linear loss with the longest assumed gradient, or its opposite."""
        return opposite_gradients(self.gradient_bound, problem, owner)


class PerturbedSolution(AbstractQuery):
    """The local solution of the noisy objective that the mechanism supplies.

    Nothing is proved about the law of the answer for neighbouring data. The sensitivity is that of
    the gradient, where the noise enters, as in the paper.

    Attributes:
        bound: assumed gradient bound `c1`; nothing enforces it.
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
                f"{type(objective).__name__} gives values only, and DVP asks for gradients"
            )
        curvature = curvature_bound(objective.base if isinstance(objective, Tilted) else objective)
        return local_minimiser(
            objective.gradient, curvature, state, self.penalty, context, tolerance=self.tolerance
        )

    def sensitivity(self, public: PublicContext, relation: Relation) -> float:
        if relation is Relation.METRIC:
            return math.inf
        factor = 2.0 if relation is Relation.REPLACE_ONE else 1.0
        return factor * own_public(self.bound, 0) / public.normaliser

    def evaluations(self, dimension: int) -> int:
        return 1
