"""A user's function in JAX, tried before a run: a mistake in it is told where it is handed over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from tacit.data.files import first_line
from tacit.errors import ProblemError

_UNKNOWN = (
    jax.errors.ConcretizationTypeError,
    jax.errors.NonConcreteBooleanIndexError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
)
"""What JAX raises where a value is needed that it does not know while it traces."""


def check_one_number(name: str, function: Callable[..., Any], takes: str, *given: Any) -> None:
    """Refuse a function that JAX cannot trace, or that returns something other than one number.

    Nothing is computed: the function sees shapes and types only.

    Args:
        name: what the function is, in words.
        function: function to be tried.
        takes: its arguments, in words.
        given: an array, `jax.ShapeDtypeStruct` or a nest of them for each of its arguments.

    Raises:
        ProblemError: a function that raises, decides by the value of an argument, or returns
            anything but one number.

    Example:
        >>> check_one_number("the loss", lambda x: x[0] ** 2, "(x)", jax.numpy.zeros(3))
    """
    should = f"it takes {takes} and returns one number"
    try:
        with jax.enable_x64(True):
            found = jax.eval_shape(function, *given)
    except _UNKNOWN as error:
        raise ProblemError(
            f"{name} needs the value of an argument, which JAX does not know while it traces; "
            "write jnp.where(condition, a, b) for `if`, and use jax.numpy instead of numpy"
        ) from error
    except Exception as error:
        raise ProblemError(
            f"{name} raised {type(error).__name__} ({first_line(error)}); {should}"
        ) from error
    shape, dtype = getattr(found, "shape", None), getattr(found, "dtype", None)
    if shape is None or dtype is None:
        raise ProblemError(f"{name} returned a {type(found).__name__}; {should}")
    if shape != ():
        raise ProblemError(f"{name} returned an array of shape {shape}; {should}")
    if dtype.kind != "f":
        raise ProblemError(
            f"{name} returned a number of type {dtype}, which has no slope; {should}"
        )
