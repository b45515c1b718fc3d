"""D-ZOA as a solver: zeroth-order ADMM; as published: `tacit.papers.gratton2021.d_zoa`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Annotated, Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from tacit.errors import ConfigError, ProblemError
from tacit.method import _consensus_admm as admm
from tacit.method._consensus_admm import Consensus
from tacit.method._d_zoa_neighbours import bounded_neighbours
from tacit.method._directions import normal_directions
from tacit.method._two_point import SMALLEST, check_noise
from tacit.method.d_zoa_claim import PaperClaim
from tacit.method.phase import AbstractMethod, Phase
from tacit.method.worst_case import Neighbours
from tacit.network.base import AbstractNetwork
from tacit.privacy.budget import Privacy
from tacit.privacy.caution import DELTA
from tacit.privacy.mechanism import NO_NOISE, Into, Mechanism, Release
from tacit.privacy.query import own
from tacit.privacy.sensitivity import Exact
from tacit.problem.task import Task
from tacit.ranges import Count, Numbers, Positive, Range
from tacit.types import AbstractObjective, Context, Inbox, Index, Oracle, Role, Vector


class DZOASolver(AbstractMethod):
    """Distributed zeroth-order ADMM: a solver, and the paper's privacy claim if one is attached.

    Round m minimises `F_k` (see `consensus_admm`) by `T` steps `t = 1 .. T`, with `n1` and `n2`
    drawn from `N(0, I_P)` for every one of `J` directions:

        g <- (1/J) sum_j (1/u2_t) [F(b + u1_t n1 + u2_t n2) - F(b + u1_t n1)] n2
        b <- b - (step / sqrt(t)) g

    Here `u1_t = u1/t` and `u2_t = u1/(P t)^2`, at least `shortest`. Then agents share `b_k` and
    update their duals.

    With `printed=False`, the default, only the private `f_k` is estimated, around its running
    estimate `c`: `g = c + (1/J) sum_j (slope_j - c'n2) n2` has the same mean, and a variance that
    vanishes as `c` reaches the gradient. The public rest of `F_k` enters exactly, the regulariser
    by a proximal step.

    Source: Gratton et al. (2021), section III-B, algorithm 1, eqs (4), (5), (7) to (9); Gratton et
    al. (2020), section III-C, algorithm 1, eqs (9), (12), (13); section IV, eq (20). Deviations:
    dual steps use the fresh iterates, `u2_t` is at most `u1_t / 2` (the paper's own condition fails
    at P = 1, t = 1) and never below `shortest`, where rounding or noise would take over.

    What leaves: `b_k`. Without `claim` there is no guarantee. With it the method carries the
    paper's claim, whose status is `model`: it adds up covariances of steps that depend on each
    other, and uses a bound on their sum as the variance of `b_k`. As published, under its own name:
    `DZOAPrinted`. For a proof use `DZOA`.

    Args:
        penalty: ADMM penalty `rho`, positive.
        inner_steps: number of inner steps `T`, at least 1.
        directions: number of directions `J`, at least 1; one number or one per agent. For a solver,
            `2 (P + 1)` or more.
        step: step size at t = 1, positive; one number or one per agent. `None` takes
            `0.5 / (2 rho |V_k| + curvature_k)`, which is stable but depends on the data.
        smoothing: first step `u1` of the finite differences, positive; 1 in the paper; smaller
            values follow kinks and curvature more closely.
        printed: estimate the gradient of the whole `F_k`, without a centre, as printed in the
            paper.
        warm_start: start at the last `b_k` instead of the public starting point.
        claim: the paper's claim per iteration; for the printed algorithm only.
        shortest: smallest `u2`, positive. Noisy values need a larger one: `smoothing` of
            `problem.measure_noise`, over the root of `P`, since `n2` is about that long.
        closed: count `k` among its own neighbours, as the earlier version (2020) does: `F_k` gains
            `rho ||b - b_k||^2`, and duals do not change.

    Raises:
        ConfigError: a number out of range, or a claim without the printed algorithm.
    """

    name: ClassVar[str] = "d-zoa-solver"
    when: ClassVar[str] = (
        "only values of the loss can be had; with claim, to reproduce the D-ZOA paper"
    )
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
        {
            "with claim": {"step": 0.2, "printed": True, "claim": PaperClaim(0.5, 1e-3)},
            "closed": {"closed": True},
        }
    )
    per_agent: ClassVar[tuple[str, ...]] = ("step", "directions")
    oracle: ClassVar[Oracle] = Oracle.VALUE
    step: Numbers | None = None
    penalty: Numbers = 0.2
    inner_steps: int = eqx.field(static=True, default=100)
    directions: Numbers = 30
    draws: int = eqx.field(static=True, default=0)
    smoothing: Numbers = 0.01
    printed: bool = eqx.field(static=True, default=False)
    warm_start: bool = eqx.field(static=True, default=True)
    claim: PaperClaim | None = eqx.field(static=True, default=None)
    closed: bool = eqx.field(static=True, default=False)
    shortest: Numbers = SMALLEST
    privacy: Privacy | None = eqx.field(kw_only=True, default=None)

    def __init__(
        self,
        step: Positive | None = None,
        penalty: Positive = 0.2,
        inner_steps: Count = 100,
        directions: Annotated[Numbers, Range(least=1.0, whole=True)] = 30,
        smoothing: Positive = 0.01,
        printed: bool = False,
        warm_start: bool = True,
        claim: PaperClaim | None = None,
        closed: bool = False,
        shortest: Positive = SMALLEST,
    ) -> None:
        self.step, self.penalty = step, penalty
        self.smoothing, self.shortest = smoothing, shortest
        self.inner_steps, self.warm_start, self.claim = inner_steps, warm_start, claim
        if claim is not None and not (printed and step is not None):
            raise ConfigError(
                "the paper's claim is about its printed algorithm with a step chosen in advance: "
                "give printed=True and step (d_zoa_claim.printed_step computes the paper's)"
            )
        self.printed, self.closed = printed, closed
        self.directions = directions if np.ndim(directions) == 0 else np.asarray(directions)
        self.draws = int(np.max(directions))
        self.privacy = None

    def init(self, role: Role, x0: Vector, degree: Index) -> Consensus:
        return admm.start(x0, degree)

    def phases(self) -> tuple[Phase, ...]:
        mechanism = NO_NOISE
        if self.claim is not None:
            mechanism = Mechanism(claim=self.claim.event, into=Into.NOWHERE)
        return (
            Phase(
                name="minimise",
                sender=Role.PEER,
                query=Exact(
                    self.minimise,
                    oracle=Oracle.VALUE,
                    points=2 * self.inner_steps,
                    times=self.directions,
                ),
                release=Release("local minimiser", mechanism),
                message=_share,
                receiver=Role.PEER,
                update=self.dual_step,
            ),
        )

    def minimise(self, state: Consensus, objective: AbstractObjective, context: Context) -> Vector:
        if self.closed:
            state, context = admm.closed(state, context)
        linear = admm.linear_part(state, self.penalty, context)
        start = jnp.asarray(state.x)
        shape = (2, self.draws, start.shape[0])
        count = own(self.directions, context.agent)
        # an agent with fewer directions than the maximum does not query along the others
        used = jnp.arange(self.draws) < count
        share = jnp.where(used, 1.0 / count, 0.0)

        def augmented(b: Vector) -> Float[Array, ""]:
            return objective.value(b) + admm.known_part(b, linear, self.penalty, context)

        def descend(i: Any, carry: Any) -> Any:
            b, centre = carry
            t = i + 1.0
            assert self.step is not None
            step = own(self.step, context.agent) / jnp.sqrt(t)
            directions = normal_directions(jax.random.fold_in(context.key, i), shape)
            slopes = two_point_slopes(
                augmented if self.printed else objective.value,
                b,
                t,
                self.smoothing,
                directions,
                used,
                self.shortest,
            )
            n2 = directions[1]
            if self.printed:
                g = (share * slopes) @ n2.astype(b.dtype)
                return context.public.project(b - step * g), centre
            g = centre + (share * (slopes - n2 @ centre)) @ n2.astype(b.dtype)
            known = linear + 2.0 * self.penalty * context.degree * b
            b = context.public.descend(b, g + known, step)
            return b, centre + (g - centre) / (1.0 + (shape[2] + 2.0) / count)

        if not self.warm_start:
            start = jnp.zeros_like(start)
        carry = start, jnp.zeros_like(start)
        return jax.lax.fori_loop(0, self.inner_steps, descend, carry)[0]

    def dual_step(self, state: Consensus, inbox: Inbox, context: Context) -> Consensus:
        return admm.dual_step(self.penalty, state, inbox, context)

    def solution(self, state: Consensus) -> Vector:
        return state.x

    def check(self, problem: Task, network: AbstractNetwork) -> None:
        admm.check_network("DZOASolver", network)
        check_noise(problem, self.shortest, "noise.smoothing / p**0.5 for p parameters")
        for name, value in (("step", self.step), ("directions", self.directions)):
            if value is not None and np.ndim(value) and np.shape(value) != (problem.agents,):
                raise ProblemError(
                    f"{name} has shape {np.shape(value)}; give one number, or one for each of the "
                    f"{problem.agents} agents"
                )

    def worst_case(self, problem: Task, owner: int) -> Neighbours:
        """Neighbours that satisfy the paper's assumptions, so that its theorem is put to the test.

        Raises:
            PrivacyError: without a claim there is nothing to test.
        """
        if self.claim is None:
            return super().worst_case(problem, owner)
        return bounded_neighbours(problem, owner)

    def delta(self, agent: int) -> float:
        return DELTA if self.claim is None else self.claim.delta

    def prepare(self, problem: Task, network: AbstractNetwork) -> DZOASolver:
        """Choose the step from the degrees and the largest local curvatures, if none is given."""
        if self.step is not None:
            return self
        from tacit.problem.smoothness import curvature

        bound = curvature(problem)
        if not np.all(np.isfinite(bound)):
            raise ProblemError(
                "the second derivative of this problem has no known bound, so DZOASolver cannot "
                "choose its step; give step, about 0.5 / (2 penalty * degree + curvature)"
            )
        step = 0.5 / (2.0 * self.penalty * (network.degrees + self.closed) + bound)
        return eqx.tree_at(lambda m: m.step, self, step, is_leaf=lambda leaf: leaf is None)


def two_point_slopes(
    function: Callable[[Vector], Any],
    b: Vector,
    t: Numbers,
    smoothing: Numbers,
    directions: Float[Array, "2 J p"],
    used: Bool[Array, " J"] | None = None,
    shortest: Numbers = SMALLEST,
) -> Float[Array, " J"]:
    """`[F(b + u1 n1 + u2 n2) - F(b + u1 n1)] / u2` for every pair of directions `(n1, n2)`.

    Source: Gratton et al. (2021), section III-B, algorithm 1, eq (7). The steps `u1`, `u2` are
    those of inner step `t = 1, 2, ...`.

    Args:
        function: function `F` to differentiate.
        b: point at which the gradient is estimated.
        t: index of the inner step, from 1.
        smoothing: `u1` at t = 1, positive.
        directions: `n1` and `n2`.
        used: mask of the pairs to evaluate; the others give 0. `None` for all.
        shortest: smallest `u2`, positive; `u1` is at least twice that.
    """
    n1, n2 = directions
    u1 = jnp.maximum(smoothing / t, 2.0 * shortest)
    u2 = jnp.maximum(jnp.minimum(smoothing / (n2.shape[1] * t) ** 2, u1 / 2), shortest)
    base = b + u1 * n1
    if used is not None:
        # a black box is not called at a point that is not finite
        base = jnp.where(used[:, None], base, jnp.nan)
    values = jax.vmap(function)(jnp.concatenate([base, base + u2 * n2]))
    slopes = (values[n2.shape[0] :] - values[: n2.shape[0]]) / u2
    return slopes if used is None else jnp.where(used, slopes, 0.0)


def _share(state: Consensus, released: Vector, context: Context) -> tuple[Consensus, Vector]:
    return Consensus(released, state.dual, state.neighbours, state.average), released
