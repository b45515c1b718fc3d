"""ZOO-ADMM: a zeroth-order step on the costs, an exact one on the regulariser, and multipliers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp

from tacit.errors import ConfigError
from tacit.method._assumptions import check_smooth
from tacit.method._consensus_admm import check_prox
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


class Splitting(eqx.Module):
    """`x` for the costs, `y` for regulariser and constraint, and the multiplier of `x = y`."""

    x: Vector
    y: Vector
    dual: Vector
    average: Vector
    probe: Probe


class ZOOADMM(AbstractMethod):
    """Zeroth-order online ADMM with a coordinator; private when a budget is given.

    For `min f(x) + R(y)` subject to `x = y`, with the mean cost `f = (1/K) sum_k f_k` and its share
    `R` of the regulariser and the constraint, the server draws `z_j`, `j = 1 .. J`, on the unit
    sphere and computes in round `t = 1, 2, ...`:

        g    = (P/J) sum_j [f(x + b z_j) - f(x)] / b * z_j,       b = u / (P t),
        x   <- x - (c / sqrt t) (g + rho (x - y) - lam),
        y   <- prox_{R / rho}(x - lam / rho),
        lam <- lam - rho (x - y).

    The answer is `y`, which is sparse where the penalty makes it so and never leaves the
    constraint.

    Source: Liu et al. (2018), Zeroth-Order Online Alternating Direction Method of Multipliers:
    Convergence Analysis and Applications, algorithm 1. There are several directions per round,
    `A = I` and `B = -I`; the step `s = c / sqrt t` is the paper's with `eta_t = s / (1 - rho s)`
    and `G_t = I`. Deviations: one cost that stays the same, split over clients; `b` never falls
    below `shortest`; the constraint is kept by `y`; the answer averages the second half of the
    iterates only.

    What leaves: `J` difference quotients per client and round. With a budget every record's vector
    of them (scaled by `sqrt(P / J)`, so that it is about as long as the record's gradient) is
    clipped to `C`, and noise is added to the mean. Theorem: Gaussian mechanism (l2 clip) with exact
    composition; status proved. Without a budget, not private.

    Args:
        step: first step size `c`, positive, relative to the mean objective; `step * penalty`
            must be below 1.
        penalty: ADMM penalty `rho`, positive; strength of the coupling between `x` and `y`.
        directions: number of directions `J`, at least 1. Below the dimension `P` the estimate needs
            steps about `J / P` times those of a gradient method.
        smoothing: distance `u` of the first round's points from the iterate, times `P`, positive.
        decay: exponent of the step size `step / t^decay` in round t, at least 0.
        average: answer with the mean of the second half of the iterates instead of the last.
        shortest: smallest `b`, positive. Noisy values need a larger one: `smoothing` of
            `problem.measure_noise`.
        privacy: budget, clip and relation, or `None`.

    Raises:
        ConfigError: a number out of range, or `step * penalty` not below 1.
        ProblemError: losses with kinks, or a regulariser and constraint without an exact joint
            proximal map, when a run begins.

    Example:
        >>> from tacit.method import ZOOADMM
        >>> from tacit.privacy import Privacy
        >>> points, differences = ZOOADMM(step=0.1, privacy=Privacy(clip=1.0, epsilon=1.0)).phases()
        >>> differences.query.evaluations(dimension=30), differences.release.name
        (11, 'noised clipped differences')
    """

    name: ClassVar[str] = "zoo-admm"
    when: ClassVar[str] = (
        "only values of smooth costs can be had, and the answer must be sparse or keep to a set"
    )
    example: ClassVar[Mapping[str, Any]] = MappingProxyType({"step": 0.1})
    oracle: ClassVar[Oracle] = Oracle.VALUE
    step: PositiveOne
    penalty: PositiveOne = 1.0
    directions: Count = eqx.field(static=True, default=10)
    smoothing: PositiveOne = 1.0
    decay: NotNegativeOne = 0.5
    average: bool = eqx.field(static=True, default=True)
    shortest: PositiveOne = SMALLEST
    privacy: Privacy | None = eqx.field(kw_only=True, default=None)

    def __check_init__(self) -> None:
        plain = isinstance(self.step, int | float) and isinstance(self.penalty, int | float)
        if plain and self.step * self.penalty >= 1.0:
            raise ConfigError(
                f"step={self.step!r} times penalty={self.penalty!r} must be below 1: a longer step "
                "on x would overshoot its penalty (the paper's G_t would not be positive "
                "definite); lower one of them"
            )

    def init(self, role: Role, x0: Vector, degree: Index) -> Splitting | Probe:
        nothing = unasked(x0, self.directions, offsets=False)
        if role is not Role.SERVER:
            return nothing
        return Splitting(x0, x0, jnp.zeros_like(jnp.asarray(x0)), x0, nothing)

    def phases(self) -> tuple[Phase, ...]:
        return two_point_phases(
            self.ask, self.alternate, count=self.directions, offsets=False, privacy=self.privacy
        )

    def ask(self, state: Splitting, released: None, context: Context) -> tuple[Splitting, Probe]:
        x = jnp.asarray(state.x)
        size = x.shape[0]
        normal = normal_directions(context.key, (self.directions, size)).astype(x.dtype)
        sphere = normal / jnp.linalg.norm(normal, axis=1, keepdims=True)
        b = jnp.maximum(self.smoothing / (size * (context.round + 1.0)), self.shortest)
        # longer directions, as much less width: a move of b z
        longer = math.sqrt(size / self.directions)
        probe = Probe(x, longer * sphere, b / longer)
        return Splitting(x, state.y, state.dual, state.average, probe), probe

    def alternate(self, state: Splitting, inbox: Inbox, context: Context) -> Splitting:
        step, rho = decayed(self.step, self.decay, context.round), self.penalty
        slope = estimate(state.probe, inbox) + rho * (state.x - state.y) - state.dual
        x = state.x - step * slope
        y = context.public.prox(x - state.dual / rho, 1.0 / rho)
        dual = state.dual - rho * (x - y)
        return Splitting(x, y, dual, tail_average(state.average, y, context), state.probe)

    def solution(self, state: Splitting) -> Vector:
        return state.average if self.average else state.y

    def check(self, problem: Task, network: AbstractNetwork) -> None:
        check_smooth("ZOOADMM", problem)
        check_prox("ZOOADMM", problem)
        check_noise(problem, self.shortest, "noise.smoothing")
