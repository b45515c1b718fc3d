"""FedAvg: clients take several local steps between two visits to the server."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import equinox as eqx
import jax
import jax.numpy as jnp

from tacit.errors import PrivacyError, ProblemError
from tacit.method._oracle import combined, gradient_query, send_iterate, send_released
from tacit.method._schedule import decayed
from tacit.method.phase import AbstractMethod, Phase
from tacit.privacy.budget import Privacy
from tacit.privacy.mechanism import NO_NOISE, Release
from tacit.privacy.query import AbstractQuery
from tacit.privacy.sensitivity import ClippedUpdate, Exact
from tacit.ranges import Count, NotNegativeOne, PositiveOne
from tacit.types import (
    AbstractDifferentiable,
    AbstractObjective,
    Context,
    Inbox,
    Index,
    Oracle,
    Role,
    Unit,
    Vector,
)

Released = Literal["gradients", "update"]
"""What is clipped and gets noise: every gradient, or the change of a round."""


class Local(eqx.Module):
    """The iterate, and the server's model at the start of the round."""

    x: Vector
    anchor: Vector


class FedAvg(AbstractMethod):
    """Federated averaging, with noise at every local step or on each client's whole update.

    The server sends `w`; every client that takes part starts at `x_k = w`, takes `E` steps:

        x_k <- prox[ x_k - s_t (g_k + m (x_k - w)) ],

    and sends `x_k`; the server takes `w <- w + a (mean_k x_k - w)`.

    Source: McMahan et al. (2017), Communication-Efficient Learning of Deep Networks from
    Decentralized Data, algorithm 1; Li et al. (2020), algorithm 2. Local gradients are of all
    records, and weights equal; `m > 0` is FedProx, of the second paper, whose local problems are
    solved by these steps; under its own name: `FedProx`.

    What leaves, with a budget, is one of two (Gaussian mechanism, l2 clip, exact composition;
    status proved):

    * `release="gradients"`: local models made of noisy gradients that are clipped record by
      record, `E` releases per round. One record is protected, with a sensitivity of `2C / N_k`.
    * `release="update"`: the noisy change `x_k - w` instead of `x_k`, clipped as a whole to `C`,
      one release per round whatever the number of local steps. All of a client's data are protected
      together, with a sensitivity of `2C` regardless of the number of records. McMahan, Ramage,
      Talwar, Zhang (2018), algorithm 1, with the noise added by every client instead of a trusted
      server.

    With several local steps and heterogeneous sites it settles at a distance from the optimum that
    shrinks with the step.

    Args:
        step: first local step size, positive.
        local_steps: number of local steps `E`, at least 1.
        proximal: strength `m` of the pull towards the server's model, at least 0.
        server_step: the server's step `a`, positive; 1 takes the mean of the clients.
        decay: exponent of the local step size `step / (t + 1)^decay` in round t, at least 0.
        release: what is clipped and gets noise: "gradients" protects a record (or a whole cost,
            where the problem consists of costs), "update" a client's data as a whole.
        privacy: budget, clip and relation, or `None`.

    Raises:
        ConfigError: a number out of range.
        PrivacyError: a budget with sampled records, for an update that is clipped as a whole.

    Example:
        >>> from tacit.method import FedAvg
        >>> [(phase.name, phase.repeat) for phase in FedAvg(step=0.1, local_steps=5).phases()]
        [('model', 1), ('local step', 5), ('local model', 1)]
        >>> [phase.name for phase in FedAvg(step=0.1, release="update").phases()]
        ['model', 'local update']
    """

    name: ClassVar[str] = "fedavg"
    when: ClassVar[str] = "a coordinator can be reached by every site, but only now and then"
    example: ClassVar[Mapping[str, Any]] = MappingProxyType({"step": 0.1})
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
        {"with whole updates": {"release": "update"}}
    )
    oracle: ClassVar[Oracle] = Oracle.GRADIENT
    absences: ClassVar[bool] = True
    step: PositiveOne
    local_steps: Count = eqx.field(static=True, default=5)
    proximal: NotNegativeOne = 0.0
    server_step: PositiveOne = 1.0
    decay: NotNegativeOne = 0.0
    release: Released = eqx.field(static=True, default="gradients")
    privacy: Privacy | None = eqx.field(kw_only=True, default=None)

    def __check_init__(self) -> None:
        self.check_budget()
        if self.release == "update" and self.privacy is not None and self.privacy.sampling < 1.0:
            raise PrivacyError(
                f"sampling={self.privacy.sampling!r} draws records, and release='update' clips "
                "what all records of a client do together; leave it out, or use "
                "release='gradients'"
            )

    def init(self, role: Role, x0: Vector, degree: Index) -> Local:
        return Local(x0, x0)

    def phases(self) -> tuple[Phase, ...]:
        model = Phase(
            name="model",
            sender=Role.SERVER,
            message=send_iterate,
            point=True,
            receiver=Role.CLIENT,
            update=_adopt,
        )
        if self.release == "update":
            query, release = self._update_query()
            return (
                model,
                Phase(
                    name="local update",
                    sender=Role.CLIENT,
                    query=query,
                    release=release,
                    message=send_released,
                    receiver=Role.SERVER,
                    update=self.move,
                    combine=combined(self.privacy),
                ),
            )
        query, release = gradient_query(self.privacy)
        return (
            model,
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
                message=send_iterate,
                point=True,
                receiver=Role.SERVER,
                update=self.average,
            ),
        )

    def descend(self, state: Local, released: Vector, context: Context) -> tuple[Local, None]:
        return Local(self._local_step(state.x, state.anchor, released, context), state.anchor), None

    def change(self, state: Local, objective: AbstractObjective, context: Context) -> Vector:
        """The change after `E` local steps from the server's model: private, never sent itself."""
        if not isinstance(objective, AbstractDifferentiable):
            raise ProblemError(
                f"local steps take gradients, and {type(objective).__name__} gives values only. "
                "Use a zeroth-order method such as ORZO."
            )
        start = jnp.asarray(state.x)

        def step(i: Any, x: Vector) -> Vector:
            return self._local_step(x, start, objective.gradient(x), context)

        return jax.lax.fori_loop(0, self.local_steps, step, start) - start

    def average(self, state: Local, inbox: Inbox, context: Context) -> Local:
        x = state.x + self.server_step * (inbox.mixed - state.x)
        return Local(context.public.project(x), state.anchor)

    def move(self, state: Local, inbox: Inbox, context: Context) -> Local:
        x = state.x + self.server_step * inbox.mixed
        return Local(context.public.project(x), state.anchor)

    def solution(self, state: Local) -> Vector:
        return state.x

    def protects(self, problem: Any) -> Unit:
        noised = self.release == "update" and self.privacy is not None
        return Unit.AGENT if noised else problem.unit

    def _local_step(self, x: Vector, anchor: Vector, gradient: Vector, context: Context) -> Vector:
        slope = gradient + self.proximal * (jnp.asarray(x) - anchor)
        return context.public.descend(x, slope, decayed(self.step, self.decay, context.round))

    def _update_query(self) -> tuple[AbstractQuery, Release]:
        if self.privacy is None:
            return Exact(self.change, points=self.local_steps), Release("update", NO_NOISE)
        query = ClippedUpdate(
            self.change,
            self.privacy.clip,
            points=self.local_steps,
            order=self.privacy.order,
            norm=self.privacy.clip_norm,
        )
        release = Release("noised clipped update", self.privacy.mechanism, self.privacy.relation)
        return query, release


def _adopt(state: Local, inbox: Inbox, context: Context) -> Local:
    return Local(inbox.total, inbox.total)
