"""The family of releases that are as claimed except for the size of their noise."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from functools import cache

from tacit.arguments import checked
from tacit.errors import PrivacyError
from tacit.privacy import accounting
from tacit.privacy.event import (
    DiscreteGaussianRelease,
    DiscreteLaplaceRelease,
    Event,
    GaussianRelease,
    LaplaceRelease,
)

_STEP = 1.01
"""Ratio of neighbouring sizes of noise; a bound is rounded down to one of them."""

_STEPS = 1400
"""So many steps up or down: a factor of a million."""


@checked(PrivacyError)
def scaled(events: Sequence[Event]) -> Callable[[float, float], float] | None:
    """The epsilon of releases with so little noise that two laws are a given distance apart.

    Of all releases like `events` with their noise multiplied by a common factor, those with more
    noise cannot be a total variation of `v` apart. The epsilon of the others is at least that of
    the one at the border.

    Args:
        events: releases that are claimed.

    Returns:
        A function of a total variation and a delta, which caches its results; `None` where an event
        has no noise to scale.

    Example:
        >>> border = scaled([LaplaceRelease(1.0)])
        >>> round(border(1 - math.exp(-1.0), 0.0), 1)  # the total variation of Laplace noise of 1/2
        2.0
    """
    if not events or any(with_noise(event, 1.0) is None for event in events):
        return None

    @cache
    def at(step: int) -> tuple[Event, ...]:
        found = (with_noise(event, _STEP**step) for event in events)
        return tuple(event for event in found if event is not None)

    @cache
    def variation(step: int) -> float:
        return accounting.delta(at(step), 0.0)

    @cache
    def epsilon(step: int, delta: float) -> float:
        return accounting.epsilon(at(step), delta)

    def border(apart: float, delta: float) -> float:
        low, high = -_STEPS, _STEPS  # the smallest noise that is ruled out is between them
        if apart <= variation(high):
            return 0.0
        while high - low > 1:
            # the claimed noise first: most calls are for values near it
            middle = 0 if low == -_STEPS and high == _STEPS else _between(low, high)
            low, high = (low, middle) if apart > variation(middle) else (middle, high)
        return epsilon(high, delta)

    return border


def with_noise(event: Event, factor: float) -> Event | None:
    """The event with its noise multiplied by `factor`; `None` where it has none to scale."""
    if event.inner is not None:
        inner = with_noise(event.inner, factor)
        return None if inner is None else dataclasses.replace(event, event=inner)
    if isinstance(
        event, GaussianRelease | LaplaceRelease | DiscreteGaussianRelease | DiscreteLaplaceRelease
    ):
        return dataclasses.replace(event, noise_multiplier=factor * event.noise_multiplier)
    return None


def _between(low: int, high: int) -> int:
    """The middle, or closer to no change: far from it loss distributions are costly and useless."""
    if low == -_STEPS:
        return max(2 * high - 16, low + 1) if high <= 0 else (low + high) // 2
    if high == _STEPS:
        return min(2 * low + 16, high - 1) if low >= 0 else (low + high) // 2
    return math.floor((low + high) / 2)
