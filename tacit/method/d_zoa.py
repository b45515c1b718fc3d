"""D-ZOA, certified: zeroth-order ADMM with clipped finite differences and Gaussian noise.

As published: `tacit.papers.gratton2021.d_zoa`, by the solver in `d_zoa_solver`.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from tacit.method import _consensus_admm as admm
from tacit.method._consensus_admm import Consensus
from tacit.method._oracle import iterate
from tacit.method._two_point import SMOOTHING, check_noise
from tacit.method.phase import AbstractMethod, Phase
from tacit.network.base import AbstractNetwork
from tacit.privacy.budget import Privacy
from tacit.privacy.mechanism import Release
from tacit.privacy.sensitivity import ClippedDifferences
from tacit.problem.task import Task
from tacit.ranges import PositiveOne
from tacit.types import Context, Inbox, Index, Oracle, Role, Vector


class DZOA(AbstractMethod):
    """Distributed zeroth-order ADMM with a proved guarantee, from function values only.

    Without privacy take `DZOASolver`, which needs no budget.

    Every round, each agent asks its objective for finite differences, clipped record by record,
    releases them with noise as `g`, and solves the known part of its subproblem in closed form:

        d = 1/a + 2 rho |V_k|,  v = (b_k/a - g - gamma_k + rho sum_l (b_k + b_l)) / d,
        b_k <- prox_{(eta/K) R / d}(v),

    then sends `b_k` and updates its dual.

    Source: Gratton et al. (2021), section III-B, algorithm 1; Zhang et al. (2024), algorithm 2. The
    inner stochastic solver of the first (whose claimed privacy is a model, see `DZOASolver`) is
    replaced by one private query per round; the scalar estimator is that of the second, DPZero.
    Theorem: Gaussian mechanism (l2 clip) with exact composition; status proved.

    Args:
        privacy: budget, clip and relation.
        penalty: ADMM penalty `rho`, positive; 0.1 to 0.4 suits a mean loss.
        proximity: step parameter `a`, positive; larger values let one noisy difference move the
            iterate further.
        estimator: "vector" asks for differences along all `p` axes, `p + 1` values per record;
            "scalar" along one random unit direction, 2 values per record.
        smoothing: finite-difference step `u`, positive; in float64 values below 1e-8 lose
            digits, and a stochastic simulator needs more than the default (`measure_noise`).
        average: answer with the mean of the second half of the iterates instead of the last.

    Example:
        >>> from tacit.method import DZOA
        >>> from tacit.privacy import Privacy
        >>> DZOA(privacy=Privacy(clip=1.0, epsilon=1.0)).phases()[0].query.evaluations(dimension=10)
        11
    """

    name: ClassVar[str] = "d-zoa"
    when: ClassVar[str] = (
        "only values of the loss can be had, no gradients, and records must be protected"
    )
    oracle: ClassVar[Oracle] = Oracle.VALUE
    privacy: Privacy = eqx.field(kw_only=True)
    penalty: PositiveOne = 0.2
    proximity: PositiveOne = 1.0
    estimator: Literal["vector", "scalar"] = eqx.field(static=True, default="vector")
    smoothing: PositiveOne = SMOOTHING
    average: bool = eqx.field(static=True, default=True)

    def init(self, role: Role, x0: Vector, degree: Index) -> Consensus:
        return admm.start(x0, degree)

    def phases(self) -> tuple[Phase, ...]:
        query = ClippedDifferences(
            point=iterate,
            directions=_axes if self.estimator == "vector" else _random_direction,
            count=None if self.estimator == "vector" else 1,
            smoothing=self.smoothing,
            clip=self.privacy.clip,
            order=self.privacy.order,
            rate=self.privacy.sampling,
            norm=self.privacy.clip_norm,
        )
        release = Release(
            "noised clipped differences", self.privacy.mechanism, self.privacy.relation
        )
        return (
            Phase(
                name="estimate",
                sender=Role.PEER,
                query=query,
                release=release,
                message=self.minimise,
                point=True,
                receiver=Role.PEER,
                update=self.dual_step,
            ),
        )

    def minimise(
        self, state: Consensus, released: Float[Array, " m"], context: Context
    ) -> tuple[Consensus, Vector]:
        g = released
        if self.estimator == "scalar":
            # an unbiased estimate of the gradient from one direction of the unit sphere
            direction = _random_direction(state, context)[0]
            g = direction.shape[0] * released[0] * direction
        d = 1.0 / self.proximity + 2.0 * self.penalty * context.degree
        linear = admm.linear_part(state, self.penalty, context)
        b = context.public.prox((state.x / self.proximity - g - linear) / d, 1.0 / d)
        return Consensus(b, state.dual, state.neighbours, state.average), b

    def dual_step(self, state: Consensus, inbox: Inbox, context: Context) -> Consensus:
        return admm.dual_step(self.penalty, state, inbox, context)

    def solution(self, state: Consensus) -> Vector:
        return state.average if self.average else state.x

    def check(self, problem: Task, network: AbstractNetwork) -> None:
        admm.check_network("DZOA", network)
        admm.check_prox("DZOA", problem)
        check_noise(problem, self.smoothing, "noise.smoothing", "smoothing", SMOOTHING)


def _axes(state: Consensus, context: Context) -> Float[Array, "p p"]:
    x = jnp.asarray(state.x)
    return jnp.eye(x.shape[0], dtype=x.dtype)


def _random_direction(state: Consensus, context: Context) -> Float[Array, "1 p"]:
    x = jnp.asarray(state.x)
    z = jax.random.normal(context.key, (1, x.shape[0]), x.dtype)
    return z / jnp.linalg.norm(z)
