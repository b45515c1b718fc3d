"""FedAvg and FedProx: clients take several local steps between two visits to the server."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import equinox as eqx

from tacit.errors import ConfigError
from tacit.method.oracle import gradient_query
from tacit.method.phase import AbstractMethod, Phase
from tacit.method.schedule import decayed, positive
from tacit.privacy.budget import Privacy
from tacit.types import Context, Inbox, Oracle, Role, Vector


class Local(eqx.Module):
    """The iterate, and the server's model that the round began with."""

    x: Vector
    anchor: Vector


class FedAvg(AbstractMethod):
    """Federated averaging, with noise at every local step when a budget is given.

    The server sends `w`; every client that takes part starts at `x_k = w`, takes `E` steps

        x_k <- prox[ x_k - s_t (g_k + m (x_k - w)) ],

    and sends `x_k`; the server takes `w <- w + a (mean_k x_k - w)`.

    Source: McMahan et al. (2017), Communication-Efficient Learning of Deep Networks from
    Decentralized Data, algorithm 1, with full local gradients and equal weights; `m > 0` is
    FedProx, Li et al. (2020), algorithm 2, whose local problems are solved by these steps.

    What leaves: local models that are functions of the noised clipped gradients, one release a
    local step. Theorem: Gaussian mechanism (l2 clip) with exact composition; status proved for
    single records. Noise on the update alone would protect an agent's whole cost, not a record.

    With several local steps and sites that differ it settles at a distance from the optimum that
    shrinks with the step.

    Args:
        step: first local step size, positive.
        local_steps: `E`, at least 1.
        proximal: `m`, at least 0: how strongly a client is held at the server's model.
        server_step: `a`, positive; 1 takes the mean of the clients.
        decay: the local step size of round t is `step / (t + 1)^decay`, at least 0.
        privacy: budget, clip and relation, or `None`.

    Raises:
        ConfigError: a number out of range.

    Example:
        >>> from tacit.method import FedAvg
        >>> [(phase.name, phase.repeat) for phase in FedAvg(step=0.1, local_steps=5).phases()]
        [('model', 1), ('local step', 5), ('local model', 1)]
    """

    name: ClassVar[str] = "fedavg"
    when: ClassVar[str] = "a coordinator can be reached by every site, but only now and then"
    example: ClassVar[Mapping[str, Any]] = MappingProxyType({"step": 0.1})
    oracle: ClassVar[Oracle] = Oracle.GRADIENT
    step: Any
    local_steps: int = eqx.field(static=True, default=5)
    proximal: Any = 0.0
    server_step: Any = 1.0
    decay: Any = 0.0
    privacy: Privacy | None = eqx.field(kw_only=True, default=None)

    def __check_init__(self) -> None:
        positive("step", self.step)
        positive("local_steps", self.local_steps)
        positive("server_step", self.server_step)
        if isinstance(self.proximal, int | float) and not 0 <= self.proximal < float("inf"):
            raise ConfigError(f"proximal={self.proximal!r} must be at least 0 and finite")

    def init(self, role: Role, x0: Vector, degree: Any) -> Local:
        return Local(x0, x0)

    def phases(self) -> tuple[Phase, ...]:
        query, release = gradient_query(self.privacy)
        return (
            Phase(
                name="model",
                sender=Role.SERVER,
                message=_send_iterate,
                receiver=Role.CLIENT,
                update=_adopt,
            ),
            Phase(
                name="local step",
                sender=Role.CLIENT,
                query=query,
                release=release,
                message=self.descend,
                repeat=self.local_steps,
            ),
            Phase(
                name="local model",
                sender=Role.CLIENT,
                message=_send_iterate,
                receiver=Role.SERVER,
                update=self.average,
            ),
        )

    def descend(self, state: Local, released: Vector, context: Context) -> tuple[Local, None]:
        step = decayed(self.step, self.decay, context.round)
        slope = released + self.proximal * (state.x - state.anchor)
        return Local(context.public.descend(state.x, slope, step), state.anchor), None

    def average(self, state: Local, inbox: Inbox, context: Context) -> Local:
        x = state.x + self.server_step * (inbox.mixed - state.x)
        return Local(context.public.project(x), state.anchor)

    def solution(self, state: Local) -> Vector:
        return state.x


def _send_iterate(state: Local, released: None, context: Context) -> tuple[Local, Vector]:
    return state, state.x


def _adopt(state: Local, inbox: Inbox, context: Context) -> Local:
    return Local(inbox.total, inbox.total)
