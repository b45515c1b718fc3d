"""D-ZOA as the paper prints it: the randomness of the solver is claimed to protect."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, ClassVar

import equinox as eqx

from tacit.method._consensus_admm import check_network
from tacit.method._special_case import AbstractSpecialCase
from tacit.method.d_zoa_claim import PaperClaim
from tacit.method.d_zoa_solver import DZOASolver
from tacit.network.base import AbstractNetwork
from tacit.privacy.budget import Privacy
from tacit.problem.task import Task
from tacit.ranges import Count, Numbers, Positive, Range
from tacit.types import Oracle


class DZOAPrinted(AbstractSpecialCase):
    """Distributed zeroth-order ADMM with the printed inner solver and the paper's claim.

    Round m minimises `F_k` (see `consensus_admm`) from 0 by `T` steps `t = 1 .. T`, with `n1` and
    `n2` drawn from `N(0, I_P)` for every one of `J` directions:

        g <- (1/J) sum_j (1/u2_t) [F(b + u1_t n1 + u2_t n2) - F(b + u1_t n1)] n2
        b <- b - (step / sqrt(t)) g

    Here `u1_t = u1/t` and `u2_t = u1/(P t)^2`. Then agents share `b_k` and update their duals. It
    is `DZOASolver` with `printed`, without a warm start, and with a `claim`.

    No noise is added: `J` and `step` are to be such that the solver's own randomness protects.
    The claim is about one iteration and has status `model`. It adds up covariances of steps that
    depend on each other, and uses a bound on their sum as the variance of `b_k`. Private runs:
    `DZOA`.

    `d_zoa_claim` has the paper's recipes: `inner_directions` and `printed_step` for the version of
    2021, which fixes the step and solves for `J`; `initial_step` for that of 2020, which fixes `J`
    and counts an agent among its own neighbours (`closed`).

    Source: Gratton et al. (2021), section III-B, algorithm 1, eqs (4), (5), (7) to (9); section
    IV-E, theorem 1, eqs (20), (21); Gratton et al. (2020), section III-C, algorithm 1, eqs (9),
    (12), (13); section IV-C, theorem 1, eqs (25), (26). Deviations are those of `DZOASolver`.

    Args:
        epsilon: epsilon claimed per iteration, positive.
        step: step size at t = 1, positive; one number or one per agent.
        claimed_delta: claimed delta per iteration, in (0, 1).
        penalty: ADMM penalty `rho`, positive.
        inner_steps: number of inner steps `T`, at least 1.
        directions: number of directions `J`, at least 1; one number or one per agent.
        smoothing: first step `u1` of the finite differences, positive; 1 in the paper.
        closed: count `k` among its own neighbours, as in 2020: `F_k` gains `rho ||b - b_k||^2`.

    Raises:
        ConfigError: a number out of range.
        PrivacyError: `epsilon` out of its range.

    Example:
        >>> from tacit.papers.gratton2021.d_zoa import DZOAPrinted
        >>> DZOAPrinted(epsilon=0.15, step=0.2).phases()[0].release.mechanism.name
        'Intrinsic'
    """

    name: ClassVar[str] = "d-zoa-as-published"
    as_published: ClassVar[bool] = True
    when: ClassVar[str] = "D-ZOA is to be compared with as printed; nothing is proved"
    example: ClassVar[Mapping[str, Any]] = MappingProxyType({"epsilon": 0.5, "step": 0.2})
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
        {"closed": {"closed": True}}
    )
    per_agent: ClassVar[tuple[str, ...]] = DZOASolver.per_agent
    oracle: ClassVar[Oracle] = DZOASolver.oracle
    solver: DZOASolver
    privacy: Privacy | None = eqx.field(init=False, default=None)

    def __init__(
        self,
        epsilon: float,
        step: Positive,
        claimed_delta: Annotated[float, Range(above=0.0, below=1.0)] = 1e-3,
        penalty: Positive = 0.2,
        inner_steps: Count = 100,
        directions: Annotated[Numbers, Range(least=1.0, whole=True)] = 30,
        smoothing: Positive = 1.0,
        closed: bool = False,
    ) -> None:
        self.solver = DZOASolver(
            step,
            penalty,
            inner_steps,
            directions,
            smoothing,
            printed=True,
            warm_start=False,
            claim=PaperClaim(epsilon, claimed_delta),
            closed=closed,
        )
        self.privacy = None

    def general(self) -> DZOASolver:
        return self.solver

    def check(self, problem: Task, network: AbstractNetwork) -> None:
        check_network("DZOAPrinted", network)
        super().check(problem, network)
