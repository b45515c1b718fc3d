"""Random directions for finite differences: millions of standard normals per second."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, PRNGKeyArray


def normal_directions(key: PRNGKeyArray, shape: tuple[int, ...]) -> Array:
    """Independent standard normals in single precision, for directions only, never for privacy.

    As `jax.random.normal`, by the inverse error function of a uniform number, but each 64-bit
    draw of the generator makes two of them where JAX makes one: two thirds of the time.

    Args:
        key: the agent's own key for this step.
        shape: shape of the result.
    """
    count = math.prod(shape)
    words = jax.random.bits(key, ((count + 1) // 2,), jnp.uint64)
    bits = jax.lax.bitcast_convert_type(words, jnp.uint32).reshape(-1)[:count]
    # 23 bits of mantissa make a number in [1, 2)
    mantissa = jax.lax.bitcast_convert_type((bits >> 9) | jnp.uint32(0x3F800000), jnp.float32)
    low = jnp.nextafter(jnp.float32(-1.0), jnp.float32(0.0))
    uniform = jnp.maximum(low, (mantissa - 1.0) * (1.0 - low) + low)
    return (jnp.float32(math.sqrt(2.0)) * jax.lax.erf_inv(uniform)).reshape(shape)
