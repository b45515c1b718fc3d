"""Columns of kinds added by other packages, read value by value: no value affects another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

from tacit.data.columns import distinct, show, where
from tacit.data.feature import AbstractFeature
from tacit.data.rules import level_key
from tacit.data.target import AbstractTarget
from tacit.errors import ProblemError


def read_values(
    column: pd.Series, kind: AbstractFeature | AbstractTarget
) -> tuple[Float[np.ndarray, "n m"], Bool[np.ndarray, " n"]]:
    """The numbers of every value, 0 where missing or invalid; and which values are invalid.

    Args:
        column: column of a table.
        kind: declared kind of its values.
    """
    numbers, width = _asked(column, kind)
    positions, found = distinct(column)
    table, wrong = np.zeros((len(found) + 1, width)), np.zeros(len(found) + 1, dtype=bool)
    for row, value in enumerate(found):
        try:
            table[row] = numbers(level_key(value))
        except Exception:  # any exception of foreign code: the value is not of its kind
            wrong[row] = True
    return table[positions], wrong[positions]


def values_of(
    column: pd.Series, kind: AbstractFeature | AbstractTarget
) -> Float[np.ndarray, "n m"]:
    """`read_values` for a column in which every value is of its kind or missing.

    Raises:
        ProblemError: first invalid value, with its row.
    """
    found, wrong = read_values(column, kind)
    if not wrong.any():
        return found
    row = int(np.argmax(wrong))
    value = column.iloc[row]
    try:
        _asked(column, kind)[0](level_key(value))
    except Exception as error:
        raise ProblemError(
            f"column {column.name!r}: {where(column, row)} holds {show(value)}, which is not a "
            f"value of {type(kind).__name__} ({type(error).__name__}: {error}); correct it, or "
            "leave the record out"
        ) from error
    raise ProblemError(  # pragma: no cover - it gave no answer before
        f"column {column.name!r}: {type(kind).__name__} gives a different answer when called again"
    )


def trusted(kind: Any, column: str) -> tuple[str, ...]:
    """What a guarantee assumes about a column whose kind another package adds."""
    if not isinstance(kind, AbstractFeature | AbstractTarget):
        return ()
    return (
        f"{type(kind).__name__}, with code that is not tacit's, makes of each value of column "
        f"{column} the same numbers whatever the others are",
    )


def _asked(
    column: pd.Series, kind: AbstractFeature | AbstractTarget
) -> tuple[Callable[[str], Float[np.ndarray, " m"]], int]:
    """The conversion of a value to numbers, and their count.

    Raises:
        ProblemError: invalid names of a feature.
    """
    if isinstance(kind, AbstractTarget):
        return lambda value: _number(kind, value), 1
    names = names_of(kind, str(column.name))
    return lambda value: _numbers(kind, value, len(names)), len(names)


def names_of(kind: AbstractFeature, column: str) -> tuple[str, ...]:
    """Names of the numbers that a value becomes.

    Raises:
        ProblemError: no name, or one that is not text.
    """
    names = kind.names(column)
    if not isinstance(names, tuple) or not names or not all(type(n) is str for n in names):
        raise ProblemError(
            f"column {column!r}: {type(kind).__name__}.names gives {names!r}, and must give a "
            "tuple of at least one name"
        )
    return names


def _numbers(kind: AbstractFeature, value: str, width: int) -> Float[np.ndarray, " m"]:
    found = np.asarray(kind.numbers(value), dtype=np.float64)
    if found.shape != (width,) or not np.isfinite(found).all():
        raise ValueError(f"it becomes {found!r}, and must become {width} finite numbers")
    return found


def _number(kind: AbstractTarget, value: str) -> Float[np.ndarray, " 1"]:
    found = np.asarray(kind.number(value), dtype=np.float64)
    if found.shape != () or not np.isfinite(found) or (kind.binary and found not in (0.0, 1.0)):
        asked = "0 or 1" if kind.binary else "one finite number"
        raise ValueError(f"it becomes {found!r}, and must become {asked}")
    return found.reshape(1)
