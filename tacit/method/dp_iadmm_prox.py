"""DP-IADMM-Prox: the noisy local problem with a proximal term."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import equinox as eqx

from tacit.method._dp_iadmm_step import Penalty, proximal_point
from tacit.method._schedule import decayed
from tacit.method.dp_iadmm import AbstractIADMM, Copy, check_setting
from tacit.privacy.budget import Privacy
from tacit.ranges import PositiveOne
from tacit.types import Context, Scalar, Vector


class DPIADMMProx(AbstractIADMM):
    """Differentially private linearised ADMM with a proximal term; private with a budget.

    With a coordinator, in round `t = 1, 2, ...`, for `G_p` the noisy clipped gradient of client
    `p` plus that of its regulariser share, and `eta = a / sqrt t`:

        w     <- mean_p (z_p - lam_p / rho)                                    -> clients
        z_p   <- P_X[ (rho w + lam_p - G_p + z_p/eta) / (rho + 1/eta) ]        -> server
        lam_p <- lam_p + rho (w - z_p)

    The answer is the mean of the `z_p`. Without a constraint, it follows
    `mean z <- mean z - mean G / (rho + 1/eta)` exactly: noisy gradient descent.

    Source: Ryu, Kim (2021), Differentially Private Federated Learning via Inexact ADMM, section 2,
    eqs (4), (5); section 3, algorithm 1, eqs (8), (10). Deviations: gradients are clipped record by
    record, with noise for the whole run's budget (the paper scales its noise to the agent's own
    records, see `DPIADMMPrinted`); they are taken at the mean of the `z_p`, known to all; the
    answer is that mean.

    What leaves: each client's `z_p`, a function of its noisy gradients, to a server which need not
    be trusted when `privacy` is given (Gaussian mechanism on l2-clipped records with exact
    composition; status proved). Without it, not private.

    Args:
        penalty: ADMM penalty `rho`, positive, where larger values give shorter steps; or a
            `GrowingPenalty`.
        proximity: step parameter `a`, positive; larger values allow longer steps.
        point: where gradients are taken: at the "mean" of the `z_p`, or, as in the paper, at each
            client's "own".
        average: answer with the mean of the second half of the iterates instead of the last: less
            noise where there is a budget.
        privacy: budget, clip and relation, or `None`.

    Raises:
        ConfigError: a number out of range.

    Example:
        >>> from tacit.method import DPIADMMProx
        >>> [(phase.name, phase.sender.value) for phase in DPIADMMProx().phases()]
        [('consensus', 'server'), ('local problem', 'client')]
    """

    name: ClassVar[str] = "dp-iadmm-prox"
    when: ClassVar[str] = (
        "a coordinator can be reached by every site in every round and copies with multipliers are "
        "wanted; gradient-descent takes the same path with fewer parameters"
    )
    example: ClassVar[Mapping[str, Any]] = MappingProxyType({"penalty": 2.0})
    penalty: Penalty = 1.0
    proximity: PositiveOne = 1.0
    point: Literal["mean", "own"] = eqx.field(static=True, default="mean")
    average: bool = eqx.field(static=True, kw_only=True, default=False)
    privacy: Privacy | None = eqx.field(kw_only=True, default=None)

    def __check_init__(self) -> None:
        check_setting("proximity", self.penalty, self.proximity, self.point)

    def minimise(self, state: Copy, slope: Vector, penalty: Scalar, context: Context) -> Vector:
        eta = decayed(self.proximity, 0.5, context.round)
        point = proximal_point(state.w, state.dual, slope, state.z, penalty, eta)
        return context.public.project(point)
