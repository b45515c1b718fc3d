"""FedProx: FedAvg whose local models are pulled towards the server's."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import equinox as eqx

from tacit.method._special_case import AbstractSpecialCase
from tacit.method.fed_avg import FedAvg, Released
from tacit.privacy.budget import Privacy
from tacit.ranges import Count, NotNegativeOne, PositiveOne
from tacit.types import Oracle


class FedProx(AbstractSpecialCase):
    """Federated averaging with a proximal term, for sites whose data differ.

    The server sends `w`; every client that takes part lowers `f_k(x) + (m / 2) ||x - w||^2` from
    `x_k = w` by `E` steps:

        x_k <- prox[ x_k - s_t (g_k + m (x_k - w)) ],

    and sends `x_k`; the server takes `w <- w + a (mean_k x_k - w)`. It is `FedAvg` with a
    `proximal` above 0.

    Source: Li et al. (2020), algorithm 2. The local problem is solved by a number of steps instead
    of to an inexactness, and the weights of the clients are equal.

    What leaves, with a budget, is that of `FedAvg`, with the same guarantees (Gaussian mechanism,
    l2 clip, exact composition; status proved): the proximal term is public and needs no noise.

    Args:
        step: first local step size, positive.
        proximal: strength `m` of the pull towards the server's model, positive.
        local_steps: number of local steps `E`, at least 1.
        server_step: the server's step `a`, positive; 1 takes the mean of the clients.
        decay: exponent of the local step size `step / (t + 1)^decay` in round t, at least 0.
        release: what is clipped and gets noise: "gradients" protects a record (or a whole cost,
            where the problem consists of costs), "update" a client's data as a whole.
        privacy: budget, clip and relation, or `None`.

    Raises:
        ConfigError: a number out of range.
        PrivacyError: a budget with sampled records, for an update that is clipped as a whole.

    Example:
        >>> from tacit.method import FedProx
        >>> [(phase.name, phase.repeat) for phase in FedProx(step=0.1, proximal=1.0).phases()]
        [('model', 1), ('local step', 5), ('local model', 1)]
    """

    name: ClassVar[str] = "fedprox"
    when: ClassVar[str] = (
        "a coordinator can be reached only now and then, and the sites' data differ so much that "
        "local steps drift apart"
    )
    example: ClassVar[Mapping[str, Any]] = MappingProxyType({"step": 0.1, "proximal": 1.0})
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
        {"with whole updates": {"release": "update"}}
    )
    oracle: ClassVar[Oracle] = Oracle.GRADIENT
    absences: ClassVar[bool] = True
    step: PositiveOne
    proximal: PositiveOne
    local_steps: Count = eqx.field(static=True, default=5)
    server_step: PositiveOne = 1.0
    decay: NotNegativeOne = 0.0
    release: Released = eqx.field(static=True, default="gradients")
    privacy: Privacy | None = eqx.field(kw_only=True, default=None)

    def general(self) -> FedAvg:
        return FedAvg(
            self.step,
            self.local_steps,
            self.proximal,
            self.server_step,
            self.decay,
            self.release,
            privacy=self.privacy,
        )
