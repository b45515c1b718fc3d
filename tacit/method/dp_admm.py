"""DP-ADMM: linearised ADMM with a coordinator whose clients send noisy local solutions."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp

from tacit.method._dp_iadmm_step import proximal_point
from tacit.method._oracle import gradient_query
from tacit.method._schedule import decayed
from tacit.method.outp import PublicMean, check_outputs, collect, send_mean
from tacit.method.phase import AbstractMethod, Phase
from tacit.network.base import AbstractNetwork
from tacit.privacy.budget import Privacy
from tacit.problem.task import Task
from tacit.ranges import PositiveOne
from tacit.types import Context, Inbox, Index, Oracle, Role, Vector


class NoisedCopy(eqx.Module):
    """A client's noisy solution `w~_k` (`x`), its multiplier and the last mean `w`."""

    x: Vector
    dual: Vector
    mean: Vector


class DPADMM(AbstractMethod):
    """Differentially private linearised ADMM; private when a budget is given.

    With a coordinator, in round `t = 1, 2, ...`, for `g_k` the clipped gradient of client `k` at
    its own `w~_k` plus that of its regulariser share, and `eta = c / sqrt t`:

        w~_k    <- (rho w + w~_k / eta - g_k + gamma_k) / (rho + 1/eta) + noise     -> server
        w       <- mean_k (w~_k - gamma_k / rho)                                    -> clients
        gamma_k <- gamma_k - rho (w~_k - w)

    One record moves the solution by what it moves the gradient, divided by `rho + 1/eta`: so the
    noise is `N(0, (z 2C / (N_k (rho + 1/eta)))^2 I)` under replace-one, made on the gradient.

    Source: Huang et al. (2020), DP-ADMM: ADMM-Based Distributed Learning With Differential Privacy,
    algorithm 2. Deviations: gradients are clipped record by record (the paper assumes a bound), and
    the noise is composed exactly over the whole run. As published: `DPADMMPrinted`; with gradients
    at the common `w`: `OutP`.

    What leaves: each client's `w~_k`, to a server which need not be trusted when `privacy` is given
    (Gaussian mechanism on l2-clipped records with exact composition, docs/proofs/gaussian.md;
    status proved). Without it, not private.

    Args:
        penalty: ADMM penalty `rho`, positive.
        step: step parameter `c`, positive; larger values allow longer steps.
        average: answer with the mean of the second half of the iterates instead of the last: less
            noise where there is a budget.
        privacy: budget, clip and relation, or `None`.

    Raises:
        ConfigError: a number out of range.

    Example:
        >>> from tacit.method import DPADMM
        >>> [(phase.name, phase.sender.value) for phase in DPADMM().phases()]
        [('noised solution', 'client'), ('mean', 'server')]
    """

    name: ClassVar[str] = "dp-admm"
    when: ClassVar[str] = (
        "sites have a coordinator, records must be protected, and the answer is to be compared "
        "with the ADMM baselines of the literature"
    )
    example: ClassVar[Mapping[str, Any]] = MappingProxyType({"penalty": 2.0})
    oracle: ClassVar[Oracle] = Oracle.GRADIENT
    penalty: PositiveOne = 1.0
    step: PositiveOne = 1.0
    average: bool = eqx.field(static=True, kw_only=True, default=False)
    privacy: Privacy | None = eqx.field(kw_only=True, default=None)

    def init(self, role: Role, x0: Vector, degree: Index) -> PublicMean | NoisedCopy:
        if role is Role.SERVER:
            return PublicMean(x0, x0)
        return NoisedCopy(x0, jnp.zeros_like(jnp.asarray(x0)), x0)

    def phases(self) -> tuple[Phase, ...]:
        query, release = gradient_query(self.privacy)
        return (
            Phase(
                name="noised solution",
                sender=Role.CLIENT,
                query=query,
                release=release,
                message=self.solve,
                point=True,
                receiver=Role.SERVER,
                update=collect,
            ),
            Phase(
                name="mean",
                sender=Role.SERVER,
                message=send_mean,
                point=True,
                receiver=Role.CLIENT,
                update=self.ascend,
            ),
        )

    def solve(
        self, state: NoisedCopy, released: Vector, context: Context
    ) -> tuple[NoisedCopy, Vector]:
        eta = decayed(self.step, 0.5, context.round)
        slope = released + context.public.gradient(state.x)
        x = proximal_point(state.mean, state.dual, slope, state.x, self.penalty, eta)
        return NoisedCopy(x, state.dual, state.mean), x

    def ascend(self, state: NoisedCopy, inbox: Inbox, context: Context) -> NoisedCopy:
        w = inbox.total
        return NoisedCopy(state.x, state.dual - self.penalty * (state.x - w), w)

    def solution(self, state: PublicMean) -> Vector:
        return state.average if self.average else state.w

    def check(self, problem: Task, network: AbstractNetwork) -> None:
        check_outputs("DPADMM", problem, network)
