"""OR-ZO: zeroth-order descent on the sum of all costs, from pairs of function values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp

from tacit.method._directions import normal_directions
from tacit.method._schedule import decayed, tail_average
from tacit.method._two_point import (
    SMALLEST,
    Probe,
    check_noise,
    estimate,
    two_point_phases,
    unasked,
)
from tacit.method.phase import AbstractMethod, Phase
from tacit.network.base import AbstractNetwork
from tacit.privacy.budget import Privacy
from tacit.problem.task import Task
from tacit.ranges import Count, NotNegativeOne, PositiveOne
from tacit.types import Context, Inbox, Index, Oracle, Role, Vector


class Centre(eqx.Module):
    """The server's iterate, its tail average, and the probe sent to the clients."""

    x: Vector
    average: Vector
    probe: Probe


class ORZO(AbstractMethod):
    """Two-point zeroth-order descent with a coordinator; private when a budget is given.

    In round `t = 1, 2, ...` the server draws `n1_j, n2_j ~ N(0, I)`, `j = 1 .. J`, and computes:

        q_j = [F(x + u1 n1_j + u2 n2_j) - F(x + u1 n1_j)] / u2,    F = (1/K) (sum_k f_k + R),
        g   = (1/J) sum_j q_j n2_j,
        x  <- P_X[ x - (c / sqrt t) g ],          u1 = u/t,   u2 = u / (P t)^2 <= u1/2.

    The first point is moved at random, too, which smooths a cost with kinks. Clients answer with
    the quotients of their own `f_k`; the server adds those of the regulariser, which is public. As
    the whole objective is differenced, the estimate's variance vanishes at a smooth optimum.

    Source: Duchi et al. (2015), Optimal Rates for Zero-Order Convex Optimization: The Power of Two
    Function Evaluations, theorem 2. It is the estimate for non-smooth functions, with the mean over
    several pairs. Deviations: `u2` never falls below `shortest`, where rounding or noise would take
    over; the answer averages the second half of the iterates only. With `proximal` the regulariser
    enters through its proximal map instead of being differenced: the answer is sparse where the
    penalty makes it so, but the variance of the estimate does not vanish.

    What leaves: `J` difference quotients per client and round. With a budget every record's vector
    of them (scaled by `1 / sqrt J`, so that it is about as long as the record's gradient) is
    clipped to `C`, and noise is added to the mean. Theorem: Gaussian mechanism (l2 clip) with exact
    composition; status proved. Without a budget, not private.

    Args:
        step: first step size `c`, positive, relative to the mean objective
            `(1/K) sum_k f_k`.
        directions: number of directions `J`, at least 1. More directions make the estimate less
            random; below the dimension `P` it needs steps about `J / (J + P)` times those of a
            gradient method.
        smoothing: distance `u` of the first round's points from the iterate, positive.
        decay: exponent of the step size `step / t^decay` in round t, at least 0.
        average: answer with the mean of the second half of the iterates instead of the last.
        proximal: use the regulariser's proximal map instead of differencing it with the costs.
        shortest: smallest `u2`, positive. Noisy values need a larger one: `smoothing` of
            `problem.measure_noise`, over the root of `P`, since `n2` is about that long.
        privacy: budget, clip and relation, or `None`.

    Raises:
        ConfigError: a number out of range.

    Example:
        >>> from tacit.method import ORZO
        >>> from tacit.privacy import Privacy
        >>> points, differences = ORZO(step=0.1, privacy=Privacy(clip=1.0, epsilon=1.0)).phases()
        >>> differences.query.evaluations(dimension=30), differences.release.name
        (20, 'noised clipped differences')
    """

    name: ClassVar[str] = "or-zo"
    when: ClassVar[str] = (
        "only values of costs can be had, perhaps with kinks, and a coordinator reaches every site"
    )
    example: ClassVar[Mapping[str, Any]] = MappingProxyType({"step": 0.1})
    oracle: ClassVar[Oracle] = Oracle.VALUE
    step: PositiveOne
    directions: Count = eqx.field(static=True, default=10)
    smoothing: PositiveOne = 0.01
    decay: NotNegativeOne = 0.5
    average: bool = eqx.field(static=True, default=True)
    proximal: bool = eqx.field(static=True, default=False)
    shortest: PositiveOne = SMALLEST
    privacy: Privacy | None = eqx.field(kw_only=True, default=None)

    def init(self, role: Role, x0: Vector, degree: Index) -> Centre | Probe:
        nothing = unasked(x0, self.directions, offsets=True)
        return Centre(x0, x0, nothing) if role is Role.SERVER else nothing

    def check(self, problem: Task, network: AbstractNetwork) -> None:
        check_noise(problem, self.shortest, "noise.smoothing / p**0.5 for p parameters")

    def phases(self) -> tuple[Phase, ...]:
        return two_point_phases(
            self.ask, self.descend, count=self.directions, offsets=True, privacy=self.privacy
        )

    def ask(self, state: Centre, released: None, context: Context) -> tuple[Centre, Probe]:
        x = jnp.asarray(state.x)
        t, root = context.round + 1.0, math.sqrt(self.directions)
        u1 = jnp.maximum(self.smoothing / t, 2.0 * self.shortest)
        u2 = jnp.minimum(self.smoothing / (x.shape[0] * t) ** 2, u1 / 2)
        normal = normal_directions(context.key, (2, self.directions, x.shape[0])).astype(x.dtype)
        # root times the width, root times shorter directions: a move of u2 n2
        width = root * jnp.maximum(u2, self.shortest)
        probe = Probe(x, normal[1] / root, width, normal[0] * u1)
        return Centre(x, state.average, probe), probe

    def descend(self, state: Centre, inbox: Inbox, context: Context) -> Centre:
        step = decayed(self.step, self.decay, context.round)
        if self.proximal:
            x = context.public.descend(state.x, estimate(state.probe, inbox), step)
        else:
            g = estimate(state.probe, inbox) + _known(state.probe, context)
            x = context.public.project(state.x - step * g)
        return Centre(x, tail_average(state.average, x, context), state.probe)

    def solution(self, state: Centre) -> Vector:
        return state.average if self.average else state.x


def _known(probe: Probe, context: Context) -> Vector:
    """Contribution of the regulariser share's quotients to the estimate."""
    assert probe.offsets is not None
    starts = probe.x + probe.offsets
    value = jax.vmap(context.public.value)
    quotients = (value(starts + probe.width * probe.directions) - value(starts)) / probe.width
    return quotients @ probe.directions
