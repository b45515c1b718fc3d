"""Vanishing noise on messages: its certain properties, and why it then hides nothing.

A method that perturbs its messages settles where its noise vanishes. If it is stable, its messages
settle at its own minimiser and at no other, which distinguishes the two with certainty.

Source: Nozari, Tallapragada, Cortes (2018), section IV-A, eq (8). Methods whose steps vanish as
well are not covered; their loss is in `stability`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import ArrayLike, Float

from tacit.arguments import checked
from tacit.errors import ConfigError
from tacit.method._schedule import positive
from tacit.method.forms import not_negative

Law: TypeAlias = Literal["laplace", "normal"]
"""Law of the noise at step `k`: `Lap(b(k))`, or normal with *variance* `b(k)`, as in the paper."""

Update: TypeAlias = Callable[[Any, Any], Any]
"""`(x(k), message(k)) -> x(k+1)`, written in JAX."""

_TERMS = 100_000
"""Number of factors of the product that are multiplied; a bound replaces the rest."""


@checked(ConfigError)
def bounded_noise_probability(
    scale: float, decay: float, radius: float, *, law: Law = "laplace"
) -> float:
    r"""A lower bound on the probability that noise never exceeds a radius, at any of all steps.

    For independent `eta(k)`, `k = 1, 2, ...`, with `b(k) = b / k^p`:

    .. math::

        \text{Laplace:} && & \prod_k \left(1 - \exp\left(-\frac{r}{b(k)}\right)\right) \\
        \text{normal:} && & \prod_k \operatorname{erf}\left(\frac{r}{\sqrt{2 b(k)}}\right)

    It is positive for every `p > 0`, and `eta(k)` tends to 0 with probability 1. With
    `b(k) = 1 / log k` both are false. The first 100,000 factors are exact, the rest is bounded by
    an integral; a result that is too small for a float is 0.

    Source: Nozari, Tallapragada, Cortes (2018), section IV-A, lemma IV.1.

    Args:
        scale: scale `b` of the noise, positive.
        decay: decay exponent `p`, positive.
        radius: radius `r`, positive.
        law: law of the noise, "laplace" or "normal".

    Raises:
        ConfigError: a number out of its range.

    Example:
        >>> [round(bounded_noise_probability(1.0, p, radius=2.0), 3) for p in (1.0, 0.5)]
        [0.846, 0.745]
    """
    from scipy.special import erfc, gammaincc, gammaln

    for name, value in (("scale", scale), ("decay", decay), ("radius", radius)):
        positive(name, value)
    k = np.arange(1.0, _TERMS + 1.0)
    if law == "laplace":
        rate = radius / scale
        outside = np.exp(-rate * k**decay)
    else:
        rate = radius**2 / (2.0 * scale)
        outside = erfc(np.sqrt(rate * k**decay))
    # sum_(k > K) exp(-rate k^p) <= int_K^oo; erfc(sqrt(x)) <= exp(-x)
    upper = float(gammaincc(1.0 / decay, rate * _TERMS**decay))
    rest = 0.0
    if upper > 0.0:
        logs = math.log(upper) + float(gammaln(1.0 / decay)) - math.log(decay)
        rest = math.exp(min(logs - math.log(rate) / decay, 700.0))
    last = float(outside[-1])
    return math.exp(float(np.sum(np.log1p(-outside))) - rest / (1.0 - last))


@dataclass(frozen=True)
class Impossibility:
    """Whether a method that perturbs its messages is ruled out, hypothesis by hypothesis.

    Attributes:
        shift: distance by which each system moves its own minimiser; 0 at an equilibrium.
        spectral_radius: spectral radius of each system's linear part there; below 1 it is stable.
        apart: distance of the two minimisers.
        moved: distance by which the other system moves the first minimiser.
        within: whether it lies in the interior of the other's ball of robust stability; `None` if
            no radius was given.
        tolerance: largest number that counts as 0.
    """

    shift: tuple[float, float]
    spectral_radius: tuple[float, float]
    apart: float
    moved: float
    within: bool | None
    tolerance: float

    @property
    def stable(self) -> bool:
        """Whether both systems are found locally asymptotically stable at their minimisers."""
        at_rest = max(self.shift) <= self.tolerance
        return at_rest and max(self.spectral_radius) < 1.0 - self.tolerance

    @property
    def applies(self) -> bool:
        """Whether no finite epsilon suffices; `False` is inconclusive."""
        told_apart = self.moved > self.tolerance or self.within is True
        return self.stable and self.apart > self.tolerance and told_apart

    def __str__(self) -> str:
        if self.applies:
            return (
                "both systems are stable at different minimisers: with noise that vanishes, "
                "messages settle at one of them with positive probability under its own costs and "
                "with probability 0 under the other's, so no epsilon is enough"
            )
        if not self.stable:
            return (
                "at least one system is not seen to be stable (minimisers move by up to "
                f"{max(self.shift):.3g}, spectral radii are up to {max(self.spectral_radius):.3g}),"
                " so nothing follows"
            )
        return "the minimisers are not told apart, so nothing follows"


@checked(ConfigError)
def check_impossibility(
    update: Update,
    other: Update,
    minimiser: Sequence[float] | Float[ArrayLike, " n"],
    other_minimiser: Sequence[float] | Float[ArrayLike, " n"],
    *,
    decay: float,
    stability_radius: float | None = None,
    tolerance: float = 1e-9,
) -> Impossibility:
    """Whether two sets of costs show that a method with vanishing message noise is never private.

    The method is `x(k+1) = a(x(k), x(k) + eta(k))`, the same in every step, with independent
    Laplace or normal noise, `b_i(k) = O(1/k^p)` for some `p > 0`. No epsilon is enough if without
    noise it is locally asymptotically stable at both minimisers, these differ, and

    (i) the first is not an equilibrium of the other system, which is continuous, or
    (ii) the first lies inside the ball of robust stability around the other.

    Stability follows from the eigenvalues of the Jacobian of `x -> a(x, x)`: all below 1 in
    absolute value is enough. The run is infinite; vanishing steps are not covered.

    Source: Nozari, Tallapragada, Cortes (2018), section IV-A, proposition IV.2.

    Args:
        update: update `a` for the first set of costs.
        other: update `a` for the second; continuous.
        minimiser: minimiser of the first, shape `(n,)`: all agents' variables.
        other_minimiser: minimiser of the second.
        decay: decay exponent `p`, positive.
        stability_radius: radius `rho'` of robust stability of the second system, for (ii).
        tolerance: largest number that counts as 0.

    Raises:
        ConfigError: a number out of its range, or minimisers of different shapes.

    Example:
        >>> def descent(mean, step=0.3):  # on (x - mean)^2 / 2, from its message
        ...     return lambda x, message: message - step * (message - mean)
        >>> check_impossibility(descent(1.0), descent(-1.0), [1.0], [-1.0], decay=0.5).applies
        True
        >>> frozen = [descent(mean, step=0.0) for mean in (1.0, -1.0)]
        >>> check_impossibility(*frozen, [1.0], [-1.0], decay=0.5).applies
        False
    """
    positive("decay", decay)
    not_negative(tolerance=tolerance)
    if stability_radius is not None:
        positive("stability_radius", stability_radius)
    here, there = (np.asarray(x, dtype=np.float64) for x in (minimiser, other_minimiser))
    if here.ndim != 1 or here.shape != there.shape or not np.all(np.isfinite([here, there])):
        raise ConfigError(
            f"minimiser has shape {here.shape} and other_minimiser {there.shape}; give two finite "
            "vectors of the same length"
        )
    with jax.enable_x64(True):
        radii = [_spectral_radius(a, x) for a, x in ((update, here), (other, there))]
        shifts = [_moved(a, x) for a, x in ((update, here), (other, there))]
        moved = _moved(other, here)
    apart = float(np.linalg.norm(here - there))
    return Impossibility(
        (shifts[0], shifts[1]),
        (radii[0], radii[1]),
        apart,
        moved,
        None if stability_radius is None else apart < stability_radius,
        tolerance,
    )


def _moved(update: Update, x: np.ndarray) -> float:
    return float(jnp.linalg.norm(jnp.asarray(update(jnp.asarray(x), jnp.asarray(x))) - x))


def _spectral_radius(update: Update, x: np.ndarray) -> float:
    jacobian = jax.jacfwd(lambda point: jnp.asarray(update(point, point)))(jnp.asarray(x))
    return float(np.abs(np.linalg.eigvals(np.asarray(jacobian))).max())
