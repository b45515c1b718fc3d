"""Decentralised ADMM: every agent solves its own problem exactly and messages its neighbours."""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx

from tacit.errors import ProblemError
from tacit.method import _consensus_admm as admm
from tacit.method._admm_inner import (
    check_local_problem,
    check_tolerance,
    curvature_bound,
    local_minimiser,
)
from tacit.method._consensus_admm import Consensus
from tacit.method.phase import AbstractMethod, Phase
from tacit.network.base import AbstractNetwork
from tacit.privacy.budget import Privacy
from tacit.privacy.mechanism import NO_NOISE, Release
from tacit.privacy.sensitivity import Exact
from tacit.problem.constraint import Free
from tacit.problem.convex_cost import ConvexCost
from tacit.problem.regularisers import NoRegulariser
from tacit.problem.task import Task
from tacit.ranges import PositiveOne
from tacit.types import AbstractDifferentiable, Context, Inbox, Index, Oracle, Role, Vector


class ADMM(AbstractMethod):
    """Decentralised consensus ADMM with exact local solutions. Not private.

    Every round, agent `k` sends its solution and then takes its dual step:

        b_k     <- argmin f_k(b) + (eta/K) R(b) + b'gamma_k + rho sum_l ||b - (b_k + b_l)/2||^2
        gamma_k <- gamma_k + rho sum_l (b_k - b_l)

    The sums are over the neighbours `l` of `k`. Each message determines a gradient, so nothing is
    protected; private forms are `PVP` and `DZOA`. Source: Shi et al. (2014), On the Linear
    Convergence of the ADMM in Decentralized Consensus Optimization, algorithm 1. Its `c` is twice
    our `rho`.

    Needs smooth convex losses with a known bound on the second derivative, links that are
    undirected and the same in every round, and an exact proximal map of penalty and set; or costs
    in cvxpy (`problem.convex_costs`), which their solver minimises. It converges for every penalty,
    linearly where the costs are strongly convex.

    Args:
        penalty: ADMM penalty `rho`, positive.
        tolerance: largest distance from the exact local solution, in units of the parameters, at
            least 1e-13.

    Raises:
        ConfigError: a number out of range.

    Example:
        >>> from tacit.method import ADMM
        >>> ADMM(penalty=0.2).phases()[0].release.name
        'local solution'
    """

    name: ClassVar[str] = "admm"
    when: ClassVar[str] = (
        "sites talk to neighbours only, nothing has to be protected, rounds are expensive and "
        "local computation is cheap"
    )
    oracle: ClassVar[Oracle] = Oracle.PROX
    penalty: PositiveOne = 0.2
    tolerance: PositiveOne = 1e-12
    privacy: Privacy | None = eqx.field(init=False, default=None)

    def __check_init__(self) -> None:
        check_tolerance(self.tolerance)

    def init(self, role: Role, x0: Vector, degree: Index) -> Consensus:
        return admm.start(x0, degree)

    def phases(self) -> tuple[Phase, ...]:
        return (
            Phase(
                name="minimise",
                sender=Role.PEER,
                query=Exact(self.minimise, oracle=Oracle.PROX),
                release=Release("local solution", NO_NOISE),
                message=share,
                receiver=Role.PEER,
                update=self.dual_step,
            ),
        )

    def minimise(
        self, state: Consensus, objective: AbstractDifferentiable, context: Context
    ) -> Vector:
        if isinstance(objective, ConvexCost):
            modulus = 2.0 * self.penalty * context.degree
            centre = -admm.linear_part(state, self.penalty, context) / modulus
            return objective.prox(centre, 1.0 / modulus)
        bound = curvature_bound(objective)
        return local_minimiser(
            objective.gradient, bound, state, self.penalty, context, tolerance=self.tolerance
        )

    def dual_step(self, state: Consensus, inbox: Inbox, context: Context) -> Consensus:
        return admm.dual_step(self.penalty, state, inbox, context)

    def solution(self, state: Consensus) -> Vector:
        return state.x

    def check(self, problem: Task, network: AbstractNetwork) -> None:
        if not isinstance(problem.objectives, ConvexCost):
            check_local_problem("ADMM", problem, network)
            return
        admm.check_network("ADMM", network)
        plain = isinstance(problem.regulariser, NoRegulariser) and isinstance(
            problem.constraint, Free
        )
        if not plain:
            raise ProblemError(
                "ADMM has the solver minimise each cost in cvxpy as it is; write regulariser and "
                "constraint into the costs, each agent's share of the regulariser into its own"
            )


def share(state: Consensus, released: Vector, context: Context) -> tuple[Consensus, Vector]:
    """Keep the released value as the agent's own iterate, and send it."""
    return Consensus(released, state.dual, state.neighbours, state.average), released
