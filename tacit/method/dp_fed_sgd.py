"""DP-FedSGD: the clients that take part send clipped noisy gradients, one each per round."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import equinox as eqx

from tacit.method._special_case import AbstractSpecialCase
from tacit.method.fed_avg import FedAvg, Released
from tacit.method.gradient_descent import GradientDescent
from tacit.privacy.budget import Privacy
from tacit.ranges import NotNegativeOne, PositiveOne
from tacit.types import Oracle


class DPFedSGD(AbstractSpecialCase):
    """Differentially private federated SGD: one noisy gradient step per round.

    The server sends `x`; every client that takes part answers with its clipped, noisy gradient
    there, or with the step along it, and the server takes their mean:

        x <- prox[ x - s_t mean_k g_k ].

    It is `GradientDescent` with a budget, or, for updates, `FedAvg` with one local step. Clients
    are sampled on `network.Coordinator(K, probability=q)`.

    Source: McMahan et al. (2017), section 2; McMahan et al. (2018), algorithm 1. Gradients are of
    all records or of those that `Privacy(sampling=...)` draws, weights are equal, and the noise is
    added by every client instead of a trusted server.

    What leaves is one release per round (Gaussian mechanism, l2 clip, exact composition; status
    proved), so the server need not be trusted. With `Privacy(masks=...)` it can read only the sum.

    * `release="gradients"`: the gradient, clipped record by record. One record is protected, with a
      sensitivity of `2C / N_k`.
    * `release="update"`: the step `-s_t g_k`, clipped as a whole to `C`, as in the paper of 2018.
      All of a client's data are protected together, with a sensitivity of `2C`.

    Args:
        step: first step size, positive, relative to the mean objective `(1/K) sum_k f_k`.
        decay: exponent of the step size `step / (t + 1)^decay` in round t, at least 0.
        release: what is clipped and gets noise: "gradients" protects a record (or a whole cost,
            where the problem consists of costs), "update" a client's data as a whole.
        privacy: budget, clip and relation.

    Raises:
        ConfigError: a number out of range, or no budget.
        PrivacyError: a budget with sampled records, for an update that is clipped as a whole.

    Example:
        >>> from tacit.method import DPFedSGD
        >>> from tacit.privacy import Privacy
        >>> method = DPFedSGD(step=0.1, privacy=Privacy(clip=1.0, epsilon=1.0))
        >>> [(phase.name, phase.sender.value) for phase in method.phases()]
        [('iterate', 'server'), ('gradient', 'client')]
    """

    name: ClassVar[str] = "dp-fedsgd"
    when: ClassVar[str] = (
        "a coordinator, who need not be trusted, asks some of the sites in every round"
    )
    example: ClassVar[Mapping[str, Any]] = MappingProxyType({"step": 0.5})
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
        {"with whole updates": {"release": "update"}}
    )
    oracle: ClassVar[Oracle] = Oracle.GRADIENT
    absences: ClassVar[bool] = True
    step: PositiveOne
    decay: NotNegativeOne = 0.0
    release: Released = eqx.field(static=True, default="gradients")
    privacy: Privacy = eqx.field(kw_only=True)

    def general(self) -> GradientDescent | FedAvg:
        if self.release == "gradients":
            return GradientDescent(self.step, self.decay, privacy=self.privacy)
        return FedAvg(
            self.step, local_steps=1, decay=self.decay, release=self.release, privacy=self.privacy
        )
