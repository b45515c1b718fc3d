"""Scaling vectors down to a largest norm, which bounds one unit's influence.

A norm is named by its order: 1, 2 or infinity. Proofs: docs/proofs/clipping.md.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from tacit.ranges import Numbers
from tacit.types import Order, Scalar

ORDERS: tuple[Order, ...] = (1, 2, math.inf)
"""Every norm in which a clip may be measured."""


def norm_ratio(of: Order, to: Order, size: int) -> float:
    """Largest `||v||_to / ||v||_of` over vectors `v` with `size` entries.

    1 where `to >= of`, else `size^(1/to - 1/of)`; a vector of equal entries attains it.

    Args:
        of: norm in which a bound is known.
        to: norm in which a bound is needed.
        size: number of entries, at least 1.

    Example:
        >>> norm_ratio(of=math.inf, to=2, size=9), norm_ratio(of=math.inf, to=1, size=9)
        (3.0, 9.0)
        >>> norm_ratio(of=1, to=2, size=9)
        1.0
    """
    if to >= of:
        return 1.0
    # 2 to 1 and infinity to 2 lose a square root, infinity to 1 the whole size
    return float(size) if (of, to) == (math.inf, 1) else math.sqrt(size)


def row_norms(rows: np.ndarray | Array, order: Order) -> Any:
    """Norms of the last axis; NumPy stays NumPy.

    For the l2 norm a row is scaled to its largest entry first: squares of tiny entries would vanish
    and those of huge ones overflow, and a norm that comes out too small lets a row through a clip.

    Args:
        rows: shape `(..., p)`.
        order: 1, 2 or infinity.
    """
    xp = jnp if isinstance(rows, jax.Array) else np
    sizes = xp.abs(rows)
    # a norm that overflows is infinite, and so is that of an infinite entry (or it is NaN)
    with np.errstate(over="ignore", invalid="ignore"):
        if order == 1:
            return xp.sum(sizes, axis=-1)
        largest = xp.max(sizes, axis=-1, keepdims=True, initial=0.0)
        if order == math.inf:
            return largest[..., 0]
        # XLA multiplies by the reciprocal, which must not be so small that it is flushed to 0.
        most = 0.25 / xp.finfo(sizes.dtype).tiny
        scale = xp.where(largest > 0.0, xp.minimum(largest, most), 1.0)
        return scale[..., 0] * xp.sqrt(xp.sum(xp.square(sizes / scale), axis=-1))


def clip_factor(norm: np.ndarray | Array, clip: Numbers | Scalar) -> Array:
    """`min(1, clip / norm)`, safe at 0 and for an infinite clip.

    0 where norm or clip is not a number, where the norm is not finite, and where the factor is
    below the smallest normal number: it would be too coarsely rounded to keep the product within
    the clip.
    """
    kept = norm <= clip
    factor = jnp.where(kept, 1.0, clip / jnp.where(kept, 1.0, norm))
    usable = jnp.isfinite(norm) & (factor >= jnp.finfo(factor.dtype).tiny)
    return jnp.where(usable, factor, 0.0)


def clipped(rows: Float[Array, "n p"], clip: Numbers | Scalar, order: Order) -> Float[Array, "n p"]:
    """Each row scaled down to norm `clip` where it is longer, or to 0 where it is not finite."""
    norms = row_norms(rows, order)[:, None]
    # selected, not multiplied by 0: that would keep what is not a number
    return jnp.where(jnp.isfinite(norms), rows, 0.0) * clip_factor(norms, clip)
