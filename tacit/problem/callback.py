"""Calls from compiled code to plain Python: the only place in tacit that makes them.

JAX calls back on any thread, and only the one that opened it knows of `jax.enable_x64`: elsewhere
float64 numbers become float32, silently on their way in and with an error on their way out. So
numbers travel as bytes, and the function is called within a 64-bit context of its own.

An exception cannot cross compiled code in one piece: XLA passes on its text only. `host_errors`
raises the original one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, UInt8

from tacit.errors import TacitError

_DTYPES = {4: np.dtype(np.float32), 8: np.dtype(np.float64)}

_RAISED: deque[TacitError] = deque(maxlen=16)
"""Recent exceptions of host functions, on any thread."""


@contextmanager
def host_errors() -> Iterator[None]:
    """Raise the exception of a host function instead of the error that JAX makes of it."""
    try:
        yield
    except (jax.errors.JaxRuntimeError, ValueError) as error:  # the latter where arrays are read
        for meant in list(_RAISED):
            if str(meant) in str(error):
                _RAISED.clear()
                raise meant from None
        raise


def call_host(
    function: Callable[..., Any],
    shape: tuple[int, ...],
    numbers: ArrayLike,
    *integers: ArrayLike,
    vmap_method: Literal["sequential", "expand_dims"] = "sequential",
) -> Float[Array, "*shape"]:
    """The result of `function` on `numbers`, in their precision. Traced.

    Args:
        function: `(numbers, *integers) -> numbers` in NumPy, deterministic: gets float64 and int32,
            returns numbers of shape `shape`. Hashable; calls of equal functions compile once.
        shape: shape of the result, without axes that `jax.vmap` adds.
        numbers: floating-point numbers, with at least one axis.
        integers: small integers, which are the same in any precision.
        vmap_method: "sequential" for one call after another, "expand_dims" for one call with all
            arguments, whose leading axes broadcast.
    """
    numbers = jnp.asarray(numbers)
    result = jax.pure_callback(
        _Bytes(function),
        jax.ShapeDtypeStruct((*shape, numbers.dtype.itemsize), jnp.uint8),
        jax.lax.bitcast_convert_type(numbers, jnp.uint8),
        *(jnp.asarray(each, dtype=jnp.int32) for each in integers),
        vmap_method=vmap_method,
    )
    return jax.lax.bitcast_convert_type(result, numbers.dtype)


@dataclass(frozen=True)
class _Bytes:
    """The function, from bytes to bytes; equal if the functions are equal."""

    function: Callable[..., Any]

    def __call__(
        self, numbers: ArrayLike, *integers: ArrayLike
    ) -> UInt8[np.ndarray, "*result size"]:
        data = np.ascontiguousarray(numbers)
        dtype = _DTYPES[data.shape[-1]]
        given = data.view(dtype)[..., 0].astype(np.float64)
        with jax.enable_x64(True):
            try:
                answer = np.asarray(self.function(given, *map(np.asarray, integers)))
            except TacitError as error:
                _RAISED.append(error)
                raise
        # too large for float32 is infinite there, and not worth a warning
        with np.errstate(over="ignore"):
            return answer.astype(dtype)[..., None].view(np.uint8)
