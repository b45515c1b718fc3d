"""DPSG: decentralised subgradient descent with noisy, clipped gradients."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import ArrayLike, Int

from tacit.method._oracle import gradient_query
from tacit.method._schedule import decayed
from tacit.method.phase import AbstractMethod, Phase
from tacit.privacy.budget import Privacy
from tacit.ranges import NotNegativeOne, PositiveOne
from tacit.types import Context, Inbox, Index, Oracle, Role, Vector


class NoisyIterate(eqx.Module):
    """Iterate and average of the last ones; `gradient` (noisy) is held only within a round."""

    x: Vector
    average: Vector
    averaged: Int[ArrayLike, ""]
    gradient: Any = None


class DPSG(AbstractMethod):
    """Differentially private decentralised subgradient descent.

    `b_k <- prox[ sum_l W_kl b_l - s_t (g_k + z_k) ]` with `g_k` the mean of per-record gradients
    clipped to norm `C` and `z_k ~ N(0, (z 2C/N_k)^2 I)` under replace-one.

    Source: Nedic, Ozdaglar (2009), Distributed Subgradient Methods for Multi-Agent Optimization, eq
    (3). Gratton et al. (2021), section VI, use a private version; its details are not printed, so
    clip and noise are ours: the gradient is clipped record by record, its noise composed exactly
    over the whole run. Deviation: a proximal step where it is exact. With
    `proximal=False` `g_k` includes a subgradient of the regulariser share at `b_k`, as published,
    and the step is projected.

    What leaves: iterates that are functions of the noisy gradients, so anyone may read them.
    Theorem: Gaussian mechanism (l2 clip) with exact composition; status proved.

    Args:
        step: first step size `c`, positive.
        decay: exponent of the step size `step / (t + 1)^decay` in round t, at least 0.
        privacy: budget, clip and relation.
        average: answer with the mean of the second half of the iterates instead of the last.
        proximal: apply the regulariser by a proximal step, if it is exact, instead of by a
            subgradient.

    Example:
        >>> from tacit.method import DPSG
        >>> from tacit.privacy import Privacy
        >>> DPSG(step=0.5, privacy=Privacy(clip=1.0, epsilon=1.0)).phases()[0].release.name
        'noised clipped gradient'
    """

    name: ClassVar[str] = "dpsg"
    when: ClassVar[str] = (
        "sites talk to neighbours only and records must be protected: begin with this one"
    )
    example: ClassVar[Mapping[str, Any]] = MappingProxyType({"step": 0.5})
    oracle: ClassVar[Oracle] = Oracle.GRADIENT
    absences: ClassVar[bool] = True
    step: PositiveOne
    privacy: Privacy = eqx.field(kw_only=True)
    decay: NotNegativeOne = 0.0
    average: bool = eqx.field(static=True, default=True)
    proximal: bool = eqx.field(static=True, default=True)

    def init(self, role: Role, x0: Vector, degree: Index) -> NoisyIterate:
        return NoisyIterate(x0, x0, jnp.zeros((), int))

    def phases(self) -> tuple[Phase, ...]:
        query, release = gradient_query(self.privacy)
        return (
            Phase(
                name="iterate",
                sender=Role.PEER,
                query=query,
                release=release,
                message=self.hold,
                point=True,
                receiver=Role.PEER,
                update=self.mix,
            ),
        )

    def hold(
        self, state: NoisyIterate, released: Vector, context: Context
    ) -> tuple[NoisyIterate, Vector]:
        return NoisyIterate(state.x, state.average, state.averaged, released), state.x

    def mix(self, state: NoisyIterate, inbox: Inbox, context: Context) -> NoisyIterate:
        mean = inbox.self_weight * state.x + inbox.mixed
        step = decayed(self.step, self.decay, context.round)
        if self.proximal:
            x = context.public.descend(mean, state.gradient, step)
        else:
            slope = state.gradient + context.public.gradient(state.x)
            x = context.public.project(mean - step * slope)
        # counted, since an agent that sleeps or is left out averages fewer of them
        tail = context.round >= context.rounds // 2
        averaged = jnp.where(tail, state.averaged + 1, 0)
        average = jnp.asarray(state.average) + (x - state.average) / jnp.maximum(averaged, 1)
        return NoisyIterate(x, average, averaged)

    def solution(self, state: NoisyIterate) -> Vector:
        return state.average if self.average else state.x
