"""Rounds, phases and owners by their numbers, refused where a run has none of that number."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit import checks
from tacit.errors import ConfigError


def check_stops(stops: Any, rounds: int) -> None:
    """Refuse what are no rounds of a run.

    Args:
        stops: numbers of rounds, from 0 on.
        rounds: number of rounds of the run.

    Raises:
        ConfigError: something else.
    """
    numbers = np.asarray(stops)
    if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
        raise ConfigError(
            f"stops={checks.shown(stops)} must be a list of whole numbers, such as [0, {rounds}]"
        )
    wrong = numbers[(numbers < 0) | (numbers > rounds)]
    if wrong.size:
        raise ConfigError(f"stops has {wrong[0]}, which must be between 0 and rounds={rounds}")


def check_place(name: str, value: Any, number: int) -> None:
    """Refuse a position that nothing stands at.

    Args:
        name: name of the argument.
        value: position, from 0 on.
        number: number of phases or owners.

    Raises:
        ConfigError: another position.
    """
    if checks.whole(name, value, 0, ConfigError) >= number:
        raise ConfigError(f"{name}={value} must be below {number}, as many as there are")
