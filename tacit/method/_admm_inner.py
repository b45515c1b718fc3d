"""The local problem of consensus ADMM, solved to a distance that is certified.

Agent `k` minimises `F(b) = f_k(b) + (eta/K) R(b) + (m/2) ||b - v||^2` over the constraint set, with
the modulus `m = 2 rho |V_k|` and a public centre `v`. With `L` the curvature of `f_k`
and `G` the length of its gradient at the start `prox_{(eta/K) R / m}(v)`, `t` accelerated steps end
within

    sqrt(2) (G / m) (1 - sqrt(m / (L + m)))^(t/2)

of the minimiser. Source: Beck (2017), First-Order Methods in Optimization, theorem 10.42. How the
distance follows: docs/proofs/pvp.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from tacit.errors import ConfigError, ProblemError
from tacit.method._assumptions import check_smooth
from tacit.method._consensus_admm import Consensus, check_network, check_prox, linear_part
from tacit.method.worst_case import LinearUnits
from tacit.network.base import AbstractNetwork
from tacit.problem.erm import EmpiricalRisk
from tacit.problem.losses import AbstractLinearLoss
from tacit.problem.smoothness import curvature
from tacit.problem.task import Task
from tacit.ranges import Numbers
from tacit.types import AbstractObjective, Context, Scalar, Vector


def local_minimiser(
    gradient: Callable[[Vector], Vector],
    curvature: Scalar,
    state: Consensus,
    penalty: Numbers,
    context: Context,
    *,
    tolerance: Numbers,
    steps: Numbers | None = None,
) -> Vector:
    """The minimiser of `F`, or a point at most `tolerance` away from it.

    Args:
        gradient: gradient of a convex `f_k`.
        curvature: `L`, a Lipschitz bound of that gradient, at least 0.
        state: ADMM state, with the neighbours' last messages.
        penalty: ADMM penalty `rho`.
        context: context of the round.
        tolerance: largest distance from the minimiser, positive, in units of the parameters.
        steps: number of steps, whatever the data; `certified_curvature` gives the `L` for which
            they suffice. `None` takes the number that `tolerance` needs, which depends on the data.
    """
    modulus = 2.0 * penalty * context.degree
    centre = -linear_part(state, penalty, context) / modulus
    step = 1.0 / (curvature + modulus)
    rate = jnp.sqrt(modulus * step)
    momentum = (1.0 - rate) / (1.0 + rate)

    def descend(i: Any, both: tuple[Vector, Vector]) -> tuple[Vector, Vector]:
        last, b = both
        slope = gradient(b) + modulus * (b - centre)
        new = jnp.asarray(context.public.prox(b - step * slope, step))
        return new, new + momentum * (new - last)

    start = jnp.asarray(context.public.prox(centre, 1.0 / modulus))
    if steps is None:
        steps = _steps(jnp.linalg.norm(gradient(start)) / modulus / tolerance, rate)
    return jax.lax.fori_loop(0, steps, descend, (start, start))[0]


def _steps(ratio: Numbers, rate: Any) -> Any:
    """Number of steps that bring a distance of `ratio` tolerances, `G / m` at first, below one."""
    times = 2.0 * jnp.log(jnp.maximum(jnp.sqrt(2.0) * ratio, 1.0)) / -jnp.log1p(-rate)
    return jnp.maximum(jnp.ceil(times), 1.0).astype(int)


def certified_curvature(
    longest: ArrayLike, modulus: Numbers, tolerance: Numbers, steps: int
) -> Array:
    """The largest `L` for which `steps` steps are certain to end within `tolerance`.

    Args:
        longest: `G`, an upper bound on the gradient norm of `f_k`; infinite if none is known, in
            which case no `L` is too large, as nothing is certified.
        modulus: modulus `m`, positive.
        tolerance: largest distance from the minimiser, positive, in units of the parameters.
        steps: number of steps, at least 1.

    Example:
        >>> round(float(certified_curvature(1.0, 0.8, 1e-8, 1000)))
        575
    """
    ratio = jnp.asarray(longest / (modulus * tolerance))
    shrink = 2.0 * jnp.log(jnp.maximum(jnp.sqrt(2.0) * ratio, jnp.e)) / steps
    rate = -jnp.expm1(-shrink)
    return jnp.where(jnp.isfinite(ratio), modulus * (1.0 / rate**2 - 1.0), jnp.inf)


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


def check_local_problem(
    name: str, problem: Task, network: AbstractNetwork, *, shortens: bool = False
) -> None:
    """Refuse problems and networks unsuited to consensus ADMM with certified local solutions.

    Args:
        name: name of the method.
        problem: problem to solve.
        network: network of the agents.
        shortens: whether the method shortens long rows, and so accepts rows of any length.

    Raises:
        NetworkError: a coordinator, directed or varying links.
        ProblemError: kinks, no bound on the curvature, no convexity, or no exact proximal map.
    """
    check_network(name, network)
    check_prox(name, problem)
    check_smooth(name, problem)
    loss = getattr(problem.objectives, "loss", None)
    if not isinstance(loss, AbstractLinearLoss) or math.isinf(loss.curvature):
        raise ProblemError(
            f"{name} solves its local problems to a certified distance, for which the loss must "
            "have a known bound on its second derivative; "
            + (
                "whole costs have none. Use DPSG or, without privacy, ADMM."
                if loss is None
                else "this one has none. Use DZOASolver or DPSG, or a loss such as Huber, Logistic "
                "or Squared."
            )
        )
    if not shortens and not all(curvature(problem) < math.inf):
        raise ProblemError(
            f"{name} solves its local problems to a certified distance, and rows of this length "
            "are squared to more than a floating point number holds. Scale the features."
        )
    if not loss.convex:
        raise ProblemError(
            f"{name} needs a convex loss, and {type(loss).__name__} is not. Use DPSG."
        )


def check_tolerance(tolerance: Numbers) -> None:
    """Refuse a tolerance that is below rounding error, or not a valid number.

    Raises:
        ConfigError: naming the value.
    """
    if isinstance(tolerance, int | float) and not 1e-13 <= tolerance < float("inf"):
        raise ConfigError(
            f"tolerance={tolerance!r} must be at least 1e-13, for below it there is only rounding"
        )
