"""Declared times until an event: what they must be, and the intervals that they are cut into."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit import checks
from tacit.data.cells import MISSING, Column
from tacit.data.factors import bounds_of
from tacit.errors import ConfigError

_MOST = 10_000
"""Largest number of equal pieces of time: a decade in days is less than half of it."""


def check_time(time: Any) -> None:
    """Refuse what is no column of times from 0 on."""
    remedy = "give a column of the records, such as task.column('days')"
    checks.instance("time", time, Column, remedy, ConfigError)
    if time.scale is None or time.declared.levels:
        raise ConfigError(
            f"time={time.name!r} has levels of its own; a time is a number with bounds"
        )
    if time.scale.lower < 0.0:
        raise ConfigError(
            f"time={time.name!r} may be {time.scale.lower:g}, before the start at 0; declare a "
            "lower bound of at least 0"
        )


def check_event(event: Any) -> None:
    """Refuse what is no column of two levels."""
    remedy = "give a column of the records, such as task.column('died')"
    checks.instance("event", event, Column, remedy, ConfigError)
    levels = event.levels
    if len(levels) - (MISSING in levels) != 2:
        given = f"has the levels {', '.join(levels)}" if levels else "is a number"
        raise ConfigError(
            f"event={event.name!r} {given}; declare a yes or no, or two levels of which the "
            "second is the event. Of several kinds of events take one, "
            f"table[{event.name!r}] == 1, and the others count as censored"
        )


def check_number(name: str, number: int | None) -> None:
    """Refuse more pieces of time than any records say something of, and than memory holds."""
    if number is not None and number > _MOST:
        raise ConfigError(f"{name}={number:,} must be at most {_MOST:,}")


def check_cut(name: str, number: int | None, time: Column) -> None:
    """Refuse a number of equal intervals of times that declared edges cut.

    Args:
        name: name of the argument.
        number: number of intervals; `None` if none was given.
        time: column of times.

    Raises:
        ConfigError: a number, which the edges would override.
    """
    if time.edges and number is not None:
        raise ConfigError(
            f"{name}={number} is for times without edges, and edges cut column {time.name!r}; "
            "leave one of the two out"
        )


def edges_of(time: Column, intervals: int) -> tuple[float, ...]:
    """Start of the first interval, then the ends of all, in the units of the data.

    Args:
        time: column of times, with edges or not.
        intervals: number of equal intervals between the bounds, where it has no edges.
    """
    low, high = bounds_of(time)
    if not time.edges:
        return tuple(np.linspace(low, high, intervals + 1).tolist())
    scale = time.scale
    assert scale is not None
    inner = [float(f"{scale.centre + scale.unit * each:.12g}") for each in time.edges]
    return (low, *inner, high)


def ends_of(time: Column, edges: tuple[float, ...]) -> tuple[float, ...]:
    """Ends of intervals as they are stored in a record, the upper bound last."""
    scale = time.scale
    assert scale is not None
    inner = time.edges or tuple(map(scale.of, edges[1:-1]))
    return (*inner, scale.of(scale.upper))


def place_of(given: float, ends: Sequence[float]) -> int | None:
    """Which of some ends is meant by a number with the digits that messages print, if any."""
    near = np.isclose(ends, given, rtol=1e-5, atol=0.0)
    return int(np.argmax(near)) if near.any() else None
