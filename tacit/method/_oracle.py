"""The gradient query of first-order methods, with or without privacy."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from tacit.privacy.budget import Privacy
from tacit.privacy.mechanism import NO_NOISE, Release
from tacit.privacy.query import AbstractQuery
from tacit.privacy.sensitivity import ClippedGradient, Exact
from tacit.types import Combine, Context, Vector

iterate: Callable[[Any], Vector] = attrgetter("x")
"""The point at which most methods query the objective: their state's `x`."""


def gradient_query(privacy: Privacy | None) -> tuple[AbstractQuery, Release]:
    """The gradient at `state.x`: clipped and with noise if `privacy` is given, or as it is."""
    if privacy is None:
        return Exact(_gradient), Release("gradient", NO_NOISE)
    release = Release("noised clipped gradient", privacy.mechanism, privacy.relation)
    return ClippedGradient.of(privacy, iterate), release


def combined(privacy: Privacy | None) -> Combine:
    """What a coordinator sees of the answers: each, or under masks only their sum."""
    return Combine.EACH if privacy is None else privacy.combine


def send_released(state: Any, released: Vector, context: Context) -> tuple[Any, Vector]:
    """The message of a phase that sends its release and keeps nothing of it."""
    return state, released


def send_iterate(state: Any, released: None, context: Context) -> tuple[Any, Vector]:
    """The message of a phase that sends the iterate."""
    return state, iterate(state)


def _gradient(state: Any, objective: Any, context: Context) -> Vector:
    return objective.gradient(iterate(state))
