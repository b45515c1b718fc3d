"""The two-point query that OR-ZO and ZOO-ADMM make of a mean cost, with or without privacy.

The server draws `J` directions and sends them with its iterate; every client answers with the
difference quotients of its own cost along them. Their mean is the quotient of the mean cost, so the
server estimates the gradient of `(1/K) sum_k f_k` as if all costs were one, and a client sends only
`J` numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from tacit.errors import ConfigError
from tacit.method._oracle import combined, iterate, send_released
from tacit.method.phase import Phase
from tacit.privacy.budget import Privacy
from tacit.privacy.mechanism import NO_NOISE, Release
from tacit.privacy.sensitivity import ClippedDifferences
from tacit.problem.task import Task
from tacit.types import Context, Inbox, Role, Vector

SMALLEST = float(np.sqrt(np.finfo(np.float64).eps))
"""Shortest finite difference: with a shorter one, rounding would lose more digits than it gains."""


SMOOTHING = 1e-6
"""Finite difference of D-ZOA unless it is told another, for values without noise."""


def check_noise(
    problem: Task, length: Any, scale: str, name: str = "shortest", least: float = SMALLEST
) -> None:
    """Refuse a black box with noise where its finite differences would be next to nothing.

    Args:
        problem: problem of the run.
        length: shortest finite difference of the method, or one per agent.
        scale: what `measure_noise(task)` says of it, such as "noise.smoothing".
        name: argument of the method that it is.
        least: length that is too short, the default.

    Raises:
        ConfigError: a simulator that is declared to be stochastic, and no greater length.
    """
    host = getattr(getattr(problem, "objectives", None), "host", None)
    if host is not None and host.evaluation.stochastic and (size := np.min(length)) <= least:
        raise ConfigError(
            f"{name}={size:.2g}: the simulator is stochastic, and so short a finite difference "
            f"divides its noise by almost nothing; give {name}={scale}, where noise = "
            "tacit.problem.measure_noise(task) of a public test case. The task of a study is "
            "tacit.study.assemble(tacit.study.read_study('study.toml')).problem"
        )


class Probe(eqx.Module):
    """Points at which every client is queried: from `x + offset_j` a step of `width d_j`.

    Attributes:
        x: the server's iterate.
        directions: `d_j`, scaled such that `sum_j q_j d_j` estimates the gradient from the
            quotients `q_j`; shape `(J, p)`. The mean of `||q||^2` is then the squared norm of the
            gradient, so that a clip of `q` is comparable with a clip of gradients.
        width: the finite-difference step, positive.
        offsets: starting offsets, shape `(J, p)`, or `None` if all start at `x`.
    """

    x: Vector
    directions: Float[Array, "J p"]
    width: Float[Array, ""]
    offsets: Float[Array, "J p"] | None = None


def unasked(x0: Vector, count: int, *, offsets: bool) -> Probe:
    """The probe that all agents hold before round 0: no direction at all."""
    nowhere = jnp.zeros((count, *jnp.shape(x0)))
    return Probe(x0, nowhere, jnp.zeros(()), nowhere if offsets else None)


def two_point_phases(
    ask: Callable[[Any, None, Context], tuple[Any, Probe]],
    update: Callable[[Any, Inbox, Context], Any],
    *,
    count: int,
    offsets: bool,
    privacy: Privacy | None,
) -> tuple[Phase, Phase]:
    """The phases of one round: the server queries, the clients answer.

    Args:
        ask: function that draws a `Probe` at the server and keeps it in the server's state.
        update: function that updates the server's state from the answers.
        count: number of directions, `J`.
        offsets: whether the quotients start at points other than `x`.
        privacy: budget; every unit's quotients are clipped jointly and their sum gets noise; `None`
            for neither.
    """
    query = ClippedDifferences(
        point=iterate,
        directions=_directions,
        smoothing=_width,
        clip=math.inf if privacy is None else privacy.clip,
        count=count,
        offsets=_offsets if offsets else None,
        order=2 if privacy is None else privacy.order,
        rate=1.0 if privacy is None else privacy.sampling,
        norm=None if privacy is None else privacy.clip_norm,
    )
    release = (
        Release("differences", NO_NOISE)
        if privacy is None
        else Release("noised clipped differences", privacy.mechanism, privacy.relation)
    )
    return (
        Phase(
            name="points",
            sender=Role.SERVER,
            message=ask,
            receiver=Role.CLIENT,
            update=_asked,
        ),
        Phase(
            name="differences",
            sender=Role.CLIENT,
            query=query,
            release=release,
            message=send_released,
            receiver=Role.SERVER,
            update=update,
            combine=combined(privacy),
        ),
    )


def estimate(probe: Probe, inbox: Inbox) -> Vector:
    """`g = sum_j q_j d_j` with the mean `q` of the clients' quotients."""
    return inbox.mixed @ probe.directions


def _asked(state: Probe, inbox: Inbox, context: Context) -> Probe:
    return inbox.total


def _directions(state: Probe, context: Context) -> Float[Array, "J p"]:
    return state.directions


def _width(state: Probe, context: Context) -> Float[Array, ""]:
    return state.width


def _offsets(state: Probe, context: Context) -> Float[Array, "J p"]:
    assert state.offsets is not None
    return state.offsets
