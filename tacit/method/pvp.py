"""PVP: decentralised ADMM that adds noise to exact local solutions before sharing them."""

from __future__ import annotations

import math
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from tacit.errors import ConfigError, PrivacyError, ProblemError
from tacit.method import _consensus_admm as admm
from tacit.method._admm_inner import (
    certified_curvature,
    check_local_problem,
    check_tolerance,
    curvature_bound,
    local_minimiser,
)
from tacit.method._assumptions import check_projection
from tacit.method._consensus_admm import Consensus
from tacit.method.admm import share
from tacit.method.phase import AbstractMethod, Phase
from tacit.network.base import AbstractNetwork
from tacit.privacy.budget import Privacy
from tacit.privacy.laws import NoiseKind
from tacit.privacy.mechanism import Release
from tacit.privacy.query import AbstractQuery, PerAgent, own, own_public
from tacit.problem.erm import EmpiricalRisk
from tacit.problem.losses import AbstractLinearLoss, AbstractScalarLoss
from tacit.problem.task import Task
from tacit.ranges import Numbers, PositiveOne, per_agent
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
    Scalar,
    Vector,
)


class PVP(AbstractMethod):
    """Primal variable perturbation: private decentralised ADMM.

    Every round:

        b_k     <- argmin f_k(b) + (eta/K) R(b) + b'gamma_k + rho sum_l ||b - (b_k + b_l)/2||^2
        b_k     <- b_k + N(0, s_k^2 I)                                        -> neighbours
        gamma_k <- gamma_k + rho sum_l (b_k - b_l)

    Every record's gradient is clipped to `C` inside the local problem, which stays convex. One
    record moves its solution by at most `D = 2C / (N_k 2 rho |V_k|)` under replace-one, as the
    quadratic is strongly convex, and the solver adds twice its certified tolerance (theorem:
    docs/proofs/pvp.md). It takes `steps` steps whatever the data: rows too long for that
    number of steps are shortened, as a clip shortens gradients. Then `s_k = z D`, Gaussian
    mechanism with exact composition. Status proved. With `noise="l2_laplace"` in the budget the
    noise has the paper's own density, in proportion to `exp(-||v|| / s_k)`: a pure epsilon, which
    also allows `delta=0`.

    Source: Zhang, Zhu (2017), Dynamic Differential Privacy for ADMM-Based Distributed
    Classification Learning, algorithm 3. Deviations: gradients are clipped (the paper assumes a
    bound) and long rows shortened; the solver's error counts; and the noisy iterate replaces the
    exact one everywhere, also in the agent's own next problem.

    What leaves: the noisy solutions, so anyone may read them.

    Args:
        privacy: budget, clip and relation; Gaussian or l2-Laplace noise, no sampling.
        penalty: ADMM penalty `rho`, positive; larger values need less noise, but more rounds.
        tolerance: largest distance from the exact local solution, in units of the parameters, at
            least 1e-13.
        average: answer with the mean of the second half of the iterates instead of the last.
        steps: number of solver steps per round, at least 1; more steps allow longer rows, but take
            longer.

    Raises:
        ConfigError: a number out of range.
        PrivacyError: noise for the l1 norm, sampled records, or a clip in a norm other than l2.

    Example:
        >>> from tacit.method import PVP
        >>> from tacit.privacy import Privacy
        >>> PVP(privacy=Privacy(clip=1.0, epsilon=1.0)).phases()[0].release.name
        'noised local solution'
    """

    name: ClassVar[str] = "pvp"
    when: ClassVar[str] = (
        "sites talk to neighbours only, records must be protected, and local problems are to be "
        "solved whole: to compare with the ADMM baselines of the literature"
    )
    oracle: ClassVar[Oracle] = Oracle.PROX
    penalty: PositiveOne = 0.2
    tolerance: PositiveOne = 1e-8
    privacy: Privacy = eqx.field(kw_only=True)
    average: bool = eqx.field(static=True, default=True)
    steps: int = eqx.field(static=True, default=1000)

    def __check_init__(self) -> None:
        self.check_budget()
        check_tolerance(self.tolerance)
        if self.steps != int(self.steps) or self.steps < 1:
            raise ConfigError(f"steps={self.steps!r} must be a whole number, at least 1")
        if self.privacy.noise is NoiseKind.LAPLACE or self.privacy.clip_norm not in (None, 2):
            raise PrivacyError(
                "PVP bounds how far a solution moves in the l2 norm; use noise='gaussian' or "
                "'l2_laplace', and leave clip_norm=2"
            )
        if self.privacy.sampling != 1.0:
            raise PrivacyError(
                f"sampling={self.privacy.sampling!r}: PVP solves a problem of all records in every "
                "round; leave it at 1, or use DPSG"
            )

    def init(self, role: Role, x0: Vector, degree: Index) -> Consensus:
        return admm.start(x0, degree)

    def phases(self) -> tuple[Phase, ...]:
        asked = self.privacy
        return (
            Phase(
                name="minimise",
                sender=Role.PEER,
                query=ProximalSolution(self.penalty, asked.clip, self.tolerance, self.steps),
                release=Release("noised local solution", asked.mechanism, asked.relation),
                message=share,
                receiver=Role.PEER,
                update=self.dual_step,
            ),
        )

    def dual_step(self, state: Consensus, inbox: Inbox, context: Context) -> Consensus:
        return admm.dual_step(self.penalty, state, inbox, context)

    def solution(self, state: Consensus) -> Vector:
        return state.average if self.average else state.x

    def check(self, problem: Task, network: AbstractNetwork) -> None:
        check_local_problem("PVP", problem, network, shortens=True)
        assert isinstance(problem.objectives, EmpiricalRisk)
        check_projection("PVP", problem)
        if self.privacy.relation is Relation.ADD_REMOVE:
            _check_declared(problem)
        if not isinstance(problem.objectives.loss, AbstractScalarLoss):
            loss = type(problem.objectives.loss).__name__
            raise ProblemError(
                f"PVP clips gradients inside a convex problem, which stays convex where a record "
                f"has one score; {loss} has several. Use DPSG, or DPADMM with a coordinator."
            )


def _check_declared(problem: Task) -> None:
    """Refuse more records than declared: long rows are shortened for the declared number."""
    declared = np.rint(np.asarray(problem.normaliser))
    for name, count, most in zip(problem.names, np.asarray(problem.counts), declared, strict=True):
        if count > most:
            raise ProblemError(
                f"{name} has more records than its normaliser={most:,.0f} says. With "
                "relation='add_remove' their number is private, and PVP bounds the curvature of "
                "as many as are declared: give normaliser=..., a number that no agent's records "
                "exceed; or take relation='replace_one'"
            )


class ProximalSolution(AbstractQuery):
    """The local solution of consensus ADMM with every record's gradient clipped to `clip`.

    Its sensitivity is at most that of the clipped gradients over the modulus `2 rho |V_k|` of the
    quadratic, plus twice the certified distance of the solver. Proof: docs/proofs/pvp.md.

    Attributes:
        penalty: ADMM penalty `rho`, positive.
        clip: largest l2 norm of one record's gradient, positive; may differ between agents.
        tolerance: certified distance from the exact solution.
        steps: number of solver steps, at least 1.
    """

    projects: ClassVar[bool] = True
    solves: ClassVar[bool] = True
    unbounded: ClassVar[str] = (
        "its solver is certified in exact arithmetic, and a local solution is rounded in "
        "proportion to the iterates, which no public number bounds. Take dpsg or, with a "
        "coordinator, dp-admm, whose answers are gradients, or simulate it"
    )
    penalty: Numbers
    clip: PerAgent = eqx.field(converter=per_agent)
    tolerance: Numbers
    steps: int = eqx.field(static=True)
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
        clip = jnp.minimum(own(self.clip, context.agent), objective.gradient_bound(2))
        private = self.borne(objective, clip, context)

        def gradient(b: Vector) -> Vector:
            return private.clipped_gradient(b, clip, 2, None)

        return local_minimiser(
            gradient,
            curvature_bound(private),
            state,
            self.penalty,
            context,
            tolerance=self.tolerance,
            steps=self.steps,
        )

    def borne(
        self, objective: AbstractDifferentiable, clip: Scalar, context: Context
    ) -> AbstractDifferentiable:
        """The objective with rows shortened to what `steps` steps allow, by public numbers."""
        if not isinstance(objective, EmpiricalRisk):
            return objective
        if not isinstance(objective.loss, AbstractLinearLoss):
            raise ProblemError(f"the curvature of {type(objective.loss).__name__} is not known")
        share = context.records / objective.normaliser
        modulus = 2.0 * self.penalty * context.degree
        most = certified_curvature(clip * share, modulus, self.tolerance, self.steps)
        return objective.shortened(jnp.sqrt(most / (objective.loss.curvature * share)))

    def sensitivity(self, public: PublicContext, relation: Relation) -> float:
        if relation is Relation.METRIC:
            return math.inf  # the proof is about records
        clip = min(own_public(self.clip, public.agent), public.gradient_bounds[1])
        factor = 2.0 if relation is Relation.REPLACE_ONE else 1.0
        modulus = 2.0 * own_public(self.penalty, public.agent) * public.degree
        moved = factor * clip / (public.normaliser * modulus)
        return moved + 2.0 * own_public(self.tolerance, public.agent)

    def assumes(self, relation: Relation) -> tuple[str, ...]:
        if relation is Relation.ADD_REMOVE:  # rows are shortened for this number
            return ("no owner has more records than it declares",)
        return ()

    def evaluations(self, dimension: int) -> int:
        return 1
