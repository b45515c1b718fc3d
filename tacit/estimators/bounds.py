"""Bounds of columns: declared, as one pair or one per column, or read off the records."""

from __future__ import annotations

import warnings

import numpy as np
from jaxtyping import Float, Num
from numpy.typing import ArrayLike

from tacit import checks
from tacit.data.rules import MANY_MOVED
from tacit.errors import ConfigError
from tacit.ranges import numeric

Bounds = tuple[ArrayLike, ArrayLike]
"""Lower and upper bounds as they are given: numbers, or arrays with one per column."""

Ends = tuple[Float[np.ndarray, " d"], Float[np.ndarray, " d"]]


def declared(name: str, bounds: object, width: int) -> Ends:
    """Declared bounds, one lower and one upper per column.

    Args:
        name: name of the argument, for messages.
        bounds: a pair of numbers, or of arrays of shape `(width,)`.
        width: number of columns.

    Raises:
        ConfigError: anything else, or a lower bound that is not below the upper one.

    Example:
        >>> declared("bounds", (0, [1, 2]), 2)
        (array([0., 0.]), array([1., 2.]))
    """
    plain = isinstance(bounds, tuple | list) and all(
        isinstance(each, int | float) or (isinstance(each, list | tuple) and numeric(each))
        for each in bounds
    )
    given = repr(bounds) if plain and len(repr(bounds)) <= 60 else checks.shown(bounds)
    wanted = f"{name}={given} must be a pair (lower, upper)"
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise ConfigError(f"{wanted}, of two numbers or of two arrays with one per column")
    ends = []
    for each in bounds:
        try:
            end = np.asarray(each, dtype=float)
        except (TypeError, ValueError):
            raise ConfigError(f"{wanted} of numbers") from None
        if end.shape not in ((), (width,)):
            raise ConfigError(f"{wanted}; each a number, or {width} numbers, one per column")
        ends.append(np.broadcast_to(end, width).copy())
    low, high = ends
    if not (np.isfinite(low).all() and np.isfinite(high).all() and (low < high).all()):
        columns = width > 1 and all(np.ndim(each) for each in bounds)
        several = ": first all lower ones, then all upper ones" if columns else ""
        raise ConfigError(f"{wanted} of finite numbers, the lower one below the upper one{several}")
    return low, high


def of_target(
    values: Num[np.ndarray, " n"], given: object, least: float | None
) -> tuple[float, float, str]:
    """Lower and upper bound of a target, and what of them was read off the records, in words.

    Args:
        values: targets of all records.
        given: declared pair, or `None` to read them off.
        least: smallest value that the model allows, which is then the lower bound that is read
            off; `None` without one.

    Raises:
        ConfigError: a pair that is no bounds, or below `least`.
        ValueError: a value below `least`.
    """
    if least is not None and values.min() < least:
        raise ValueError(f"y holds {values.min():g}; counts are at least {least:g}")
    if given is None:
        (low,), (high,) = read_off(values[:, None])
        low, high = float(low if least is None else least), float(high)
        return low, high, f"bounds {low:g} to {high:g}"
    (low,), (high,) = declared("target_bounds", given, 1)
    if least is not None and low < least:
        raise ConfigError(f"target_bounds=({low:g}, {high:g}): counts are at least {least:g}")
    warn_of_moved("y", values[:, None], low, high, stacklevel=3)
    return float(low), float(high), ""


def warn_of_moved(
    what: str, values: Num[np.ndarray, "n d"], low: ArrayLike, high: ArrayLike, stacklevel: int
) -> None:
    """Say how many values are beyond the bounds, and moved to them, if many of a column are.

    Args:
        what: argument that holds the values, for the message.
        values: values of all records.
        low: lower bound of each column.
        high: upper bound of each column.
        stacklevel: as for `warnings.warn`, counted from the caller.
    """
    beyond = ((values < low) | (values > high)).sum(axis=0)
    if len(values) and (beyond >= MANY_MOVED * len(values)).any():
        warnings.warn(
            f"{int(beyond.sum()):,} of {values.size:,} values of {what} are beyond the bounds, and "
            "were moved to them. If that is not meant, correct the values, or the bounds by what "
            "is known without the records. This is computed from the private records: keep it to "
            "yourself",
            stacklevel=stacklevel + 1,
        )


def read_off(values: Num[np.ndarray, "n d"]) -> Ends:
    """Smallest and largest value of each column, some way apart where it has one value only.

    Args:
        values: values of all records.
    """
    low, high = (end.astype(float) for end in (values.min(axis=0), values.max(axis=0)))
    reach = np.where(low < high, 0.0, np.maximum(0.5, 1e-3 * np.abs(low)))
    return low - reach, high + reach
