"""Scaling vectors down to a largest norm: what bounds one unit's influence."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float


def clip_factor(norm: Any, clip: Any) -> Array:
    """`min(1, clip / norm)`, safe at 0 and for an infinite clip; 0 where the norm is not finite."""
    longer = norm > clip
    factor = jnp.where(longer, clip / jnp.where(longer, norm, 1.0), 1.0)
    return jnp.where(jnp.isfinite(norm), factor, 0.0)


def clipped(rows: Float[Array, "n p"], clip: Any, order: int) -> Float[Array, "n p"]:
    """Each row scaled down to norm `clip` where it is longer, or to 0 where it is not finite."""
    rows = jnp.where(jnp.all(jnp.isfinite(rows), axis=1, keepdims=True), rows, 0.0)
    norms = jnp.linalg.norm(rows, ord=order, axis=1, keepdims=True)
    return jnp.where(jnp.isfinite(norms), rows, 0.0) * clip_factor(norms, clip)
