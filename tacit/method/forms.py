"""Statements of papers in two forms: as printed, and corrected."""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

import numpy as np

from tacit import checks
from tacit.errors import ConfigError

Form: TypeAlias = Literal["printed", "corrected"]
"""A formula as printed in a paper, which need not hold, or with its errors corrected."""


def as_printed(form: str) -> bool:
    """Whether a formula is requested as printed.

    Args:
        form: form of the formula, "printed" or "corrected".

    Raises:
        ConfigError: any other word.

    Example:
        >>> as_printed("printed"), as_printed("corrected")
        (True, False)
    """
    if form not in ("printed", "corrected"):
        raise ConfigError(f"form={checks.shown(form)} must be 'printed' or 'corrected'")
    return form == "printed"


def not_negative(**values: object) -> None:
    """Refuse a number, or an array of numbers, that is negative or not finite.

    Raises:
        ConfigError: naming the argument.
    """
    for name, value in values.items():
        checks.real(name, value, ConfigError)
        found = np.asarray(value)
        if not np.all((found >= 0) & np.isfinite(found)):
            raise ConfigError(f"{name}={checks.shown(value)} must be at least 0 and finite")


def between(low: float, high: float, **values: float) -> None:
    """Refuse a number outside the open interval from `low` to `high`.

    Raises:
        ConfigError: naming the argument.
    """
    for name, value in values.items():
        checks.real(name, value, ConfigError)
        if not (low < value < high and math.isfinite(value)):
            raise ConfigError(
                f"{name}={checks.shown(value)} must lie between {low:g} and {high:g}, "
                "which are excluded"
            )
