"""The local problem of consensus ADMM, solved to a distance that is certified.

Agent `k` minimises `F(b) = f_k(b) + (eta/K) R(b) + (m/2) ||b - v||^2` over the constraint set, with
the modulus `m = 2 rho |V_k|` and a centre `v` that everybody knows. A proximal gradient step of
length `1 / (L + m)`, for `L` the curvature of `f_k`, brings any two points closer by the factor
`q = L / (L + m)`: so from a start that is `d` away, `log(d / tolerance) / log(1/q)` steps suffice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from tacit.errors import ConfigError, ProblemError
from tacit.method.assumptions import check_smooth
from tacit.method.consensus_admm import Consensus, check_network, check_prox, linear_part
from tacit.method.worst_case import LinearUnits
from tacit.problem.erm import EmpiricalRisk
from tacit.problem.losses import AbstractLinearLoss
from tacit.problem.smoothness import curvature
from tacit.types import AbstractObjective, Context, Scalar, Vector


def local_minimiser(
    gradient: Callable[[Vector], Vector],
    curvature: Scalar,
    state: Consensus,
    penalty: Any,
    tolerance: Any,
    context: Context,
) -> Vector:
    """The minimiser of `F`, or a point at most `tolerance` away from it.

    Args:
        gradient: of a convex `f_k`.
        curvature: `L`, a bound on how fast that gradient changes, at least 0.
        state: where to begin, and what the neighbours said.
        penalty: `rho`.
        tolerance: positive, in units of the parameters.
        context: of the round.
    """
    modulus = 2.0 * penalty * context.degree
    centre = -linear_part(state, penalty, context) / modulus
    step = 1.0 / (curvature + modulus)
    shrink = curvature * step

    def descend(i: Any, b: Vector) -> Vector:
        slope = gradient(b) + modulus * (b - centre)
        return jnp.asarray(context.public.prox(b - step * slope, step))

    start = jnp.asarray(state.x)
    first = descend(0, start)
    # a contraction's fixed point is at most shrink / (1 - shrink) times its last move away
    distance = jnp.linalg.norm(first - start) * shrink / (1.0 - shrink)
    times = jnp.log(jnp.maximum(distance / tolerance, 1.0)) / -jnp.log(shrink)
    return jax.lax.fori_loop(0, jnp.ceil(times).astype(int), descend, first)


def curvature_bound(objective: AbstractObjective) -> Float[Array, ""]:
    """`L`: the loss's own bound times the squared lengths of all rows, over the normaliser.

    The trace of `rows' rows` is at least its largest eigenvalue. Clipping gradients record by
    record does not raise it (docs/proofs/pvp.md).
    """
    if isinstance(objective, LinearUnits):
        return jnp.asarray(0.0)
    if not isinstance(objective, EmpiricalRisk) or not isinstance(
        objective.loss, AbstractLinearLoss
    ):
        raise ProblemError(f"the curvature of {type(objective).__name__} has no known bound")
    lengths = jnp.asarray(objective.norms)[1] * jnp.asarray(objective.mask)
    return objective.loss.curvature * jnp.sum(lengths**2) / objective.normaliser


def check_local_problem(name: str, problem: Any, network: Any) -> None:
    """Refuse what consensus ADMM with certified local solutions is not made for.

    Raises:
        NetworkError: a coordinator, directed or varying links.
        ProblemError: kinks, no bound on the curvature, no convexity, or no exact proximal map.
    """
    check_network(name, network)
    check_prox(name, problem)
    check_smooth(name, problem)
    if not all(curvature(problem) < float("inf")):
        raise ProblemError(
            f"{name} solves its local problems to a certified distance, for which the loss must "
            "have a known bound on its second derivative; this one has none. Use DZOASolver or "
            "DPSG, or a loss such as Huber, Logistic or Squared."
        )
    if not problem.objectives.loss.convex:
        loss = type(problem.objectives.loss).__name__
        raise ProblemError(f"{name} needs a convex loss, and {loss} is not. Use DPSG.")


def check_tolerance(tolerance: Any) -> None:
    """Refuse a tolerance that rounding cannot reach, or that is none.

    Raises:
        ConfigError: naming the value.
    """
    if isinstance(tolerance, int | float) and not 1e-13 <= tolerance < float("inf"):
        raise ConfigError(
            f"tolerance={tolerance!r} must be at least 1e-13, for below it there is only rounding"
        )
