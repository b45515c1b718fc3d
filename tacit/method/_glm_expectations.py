"""Expectations of clipped counts and clipped normal numbers, for the scores of regressions.

All end after a number of steps that is bounded by their public arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaincc, gammaln, ndtr
from jaxtyping import Array, Float

Scalar = Float[Array, ""]
Each = Float[Array, "*n"]

COUNTS = np.arange(0.0, 2000.0)
"""Counts over which expectations are added up."""

STEEP = 7.0
"""Largest logarithm of a mean count."""

MOST = 1000.0
"""Largest count that a declared bound may allow, below the mean at which that logarithm ends."""


def chances(mean: Scalar) -> Float[Array, " counts"]:
    """Probability of each of `COUNTS`."""
    return jnp.exp(COUNTS * jnp.log(mean) - mean - gammaln(COUNTS + 1.0))


def clipped_count(mean: Each, bound: Scalar) -> tuple[Each, Each, Each]:
    """Of a count `Y`: `E clip(Y - m)`, `E[clip(Y - m) (Y - m)]` and `P(|Y - m| > bound)`."""

    def least(c: Each) -> tuple[Each, Each, Each, Each]:
        """`E min(Y, c)`, `m E[min(Y + 1, c) - min(Y, c)]`, `P(Y <= c)` and `P(Y < c)`."""
        k = jnp.maximum(jnp.floor(c), 0.0)
        at = gammaincc(k + 1.0, mean)
        exactly = jnp.exp(k * jnp.log(mean) - mean - gammaln(k + 1.0))
        before = at - exactly
        two = before - exactly * k / mean
        below = mean * before + c * (1.0 - at)
        # with one more, fewer counts lie below: E min(Y + 1, c) has those up to k - 1
        one_more = mean * two + before + c * (1.0 - before)
        none = c < 0.0
        strictly = jnp.where(jnp.floor(c) == c, before, at)
        return (
            jnp.where(none, c, below),
            jnp.where(none, 0.0, mean * (one_more - below)),
            jnp.where(none, 0.0, at),
            jnp.where(none, 0.0, strictly),
        )

    # both ends at once: what compiles longest is compiled once
    ends = jnp.stack(jnp.broadcast_arrays(mean + bound, mean - bound))
    (upper, lower), (upper_weight, lower_weight), (inside, _), (_, under) = least(ends)
    # clip(Y - m, -b, b) = min(Y, m + b) - min(Y, m - b) - b
    return upper - lower - bound, upper_weight - lower_weight, 1.0 - inside + under


def clipped_square(c: Scalar) -> Scalar:
    """`E min(Z^2, c^2)` of a standard normal `Z`."""
    density = jnp.exp(-0.5 * c**2) / jnp.sqrt(2.0 * jnp.pi)
    return 1.0 - 2.0 * c * density + 2.0 * (c**2 - 1.0) * ndtr(-c)


def solved(falling: Callable[[Scalar], Scalar], value: Scalar, low: float, high: float) -> Scalar:
    """The argument at which a falling function has a value, by 40 bisections."""

    def halve(_: Any, ends: tuple[Scalar, Scalar]) -> tuple[Scalar, Scalar]:
        middle = 0.5 * (ends[0] + ends[1])
        right = falling(middle) > value
        return jnp.where(right, middle, ends[0]), jnp.where(right, ends[1], middle)

    found = jax.lax.fori_loop(
        0, 40, halve, (jnp.asarray(low, value.dtype), jnp.asarray(high, value.dtype))
    )
    return 0.5 * (found[0] + found[1])
