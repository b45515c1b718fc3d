"""A user's function in JAX, tried before a run: a mistake in it is told where it is handed over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tacit.checks import first_line, shown
from tacit.errors import ProblemError

_UNKNOWN = (
    jax.errors.ConcretizationTypeError,
    jax.errors.NonConcreteBooleanIndexError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
)
"""What JAX raises where a value is needed that it does not know while it traces."""


def check_traced(
    name: str,
    function: Callable[..., Any],
    takes: str,
    returns: str,
    shape: tuple[int, ...],
    *given: Any,
) -> np.dtype:
    """Refuse a function that JAX cannot trace, or that returns other than numbers of a shape.

    Nothing is computed: the function sees shapes and types only.

    Args:
        name: what the function is, in words.
        function: function to be tried.
        takes: its arguments, in words.
        returns: what it returns, in words.
        shape: shape of that.
        given: an array, `jax.ShapeDtypeStruct` or a nest of them for each of its arguments.

    Returns:
        Type of the numbers.

    Raises:
        ProblemError: a function that raises, decides by the value of an argument, or returns
            something else.
    """
    should = f"it takes {takes} and returns {returns}{_here(takes, given)}"
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
    if not (hasattr(found, "shape") and hasattr(found, "dtype")):
        raise ProblemError(f"{name} returned {shown(found)}; {should}")
    if found.shape != shape:
        got = f"an array of shape {found.shape}" if found.shape else "a single number"
        raise ProblemError(f"{name} returned {got}; {should}")
    if found.dtype.kind not in "iufV":  # V: a low-precision type of JAX
        raise ProblemError(f"{name} returned values of type {found.dtype}; {should}")
    return found.dtype


def check_one_number(name: str, function: Callable[..., Any], takes: str, *given: Any) -> None:
    """Refuse a function that `check_traced` refuses, or whose number has no slope anywhere.

    Args:
        name: what the function is, in words.
        function: function to be tried.
        takes: its arguments, in words.
        given: an array, `jax.ShapeDtypeStruct` or a nest of them for each of its arguments.

    Raises:
        ProblemError: a function that raises, decides by the value of an argument, or returns
            anything but one number with a slope in the first argument.

    Example:
        >>> check_one_number("the loss", lambda x: x[0] ** 2, "(x)", jax.numpy.zeros(3))
    """
    dtype = check_traced(name, function, takes, "one number", (), *given)
    if dtype.kind != "f":
        raise ProblemError(
            f"{name} returned a number of type {dtype}, which has no slope; it takes {takes} and "
            "returns one number"
        )
    with jax.enable_x64(True):
        if _flat(function, given):
            raise ProblemError(
                f"{name} has slope 0 everywhere, though its value changes: jnp.round, jnp.floor, "
                "jnp.sign and comparisons have no slope. Write a smooth function in their place, "
                "or give its values to problem.black_box_problem, for methods that take no "
                "gradients"
            )


def _flat(function: Callable[..., Any], given: tuple[Any, ...]) -> bool:
    """Whether the slope is 0 whatever the arguments, where values at made-up ones differ."""
    try:
        traced = jax.make_jaxpr(jax.grad(function))(*given).jaxpr
    except Exception:  # no slope in reverse, as of a loop without an end that is known
        return False
    needed = {id(each) for each in traced.outvars}
    for equation in reversed(traced.eqns):
        if needed & {id(each) for each in equation.outvars}:
            needed |= {id(each) for each in equation.invars}
    if needed & {id(each) for each in traced.invars}:
        return False
    rng = np.random.default_rng(0)
    x, *others = jax.tree.map(lambda leaf: _made_up(leaf, rng), given)
    if np.any(jax.grad(function)(x, *others)):
        return False
    points = [far * _made_up(x, rng) for far in (0.0, 1.0, 10.0, 100.0)]
    values = [float(function(point, *others)) for point in points]
    return bool(np.isfinite(values).all()) and len(set(values)) > 1


def _made_up(like: Any, rng: np.random.Generator) -> jax.Array:
    drawn = rng.normal(size=like.shape) if like.dtype.kind == "f" else np.ones(like.shape)
    return jnp.asarray(drawn, like.dtype)


def _here(takes: str, given: tuple[Any, ...]) -> str:
    """The shapes of the arguments that are arrays, to go on with."""
    shapes = zip(
        takes[1:-1].split(", "), [getattr(each, "shape", ()) for each in given], strict=True
    )
    told = [f"{name} has shape {shape}" for name, shape in shapes if shape]
    return f"; here {', '.join(told)}" if told else ""
