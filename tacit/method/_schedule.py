"""Step sizes and averages that several methods share."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from tacit import checks
from tacit.errors import ConfigError
from tacit.ranges import Numbers
from tacit.types import Context, Index, Vector


def decayed(step: Numbers, decay: Numbers, round: Index) -> Any:
    """`step / (round + 1)^decay`: the usual step size, constant where `decay` is 0."""
    return step / (jnp.asarray(round, dtype=float) + 1.0) ** decay


def tail_average(average: Vector, x: Vector, context: Context, closing: int = 0) -> Vector:
    """Running mean of `x` over the second half of the rounds, and `x` itself before.

    Averaging divides the variance that independent noise leaves in a late iterate.

    Args:
        average: running mean so far.
        x: the iterate after this round.
        context: context of the round.
        closing: number of final rounds that do not count.
    """
    count = jnp.maximum(context.round - (context.rounds - closing) // 2 + 1, 1)
    return jnp.asarray(average) + (jnp.asarray(x) - average) / count


def positive(name: str, value: object) -> None:
    """Refuse a hyper-parameter that is not a positive finite number, or several of them.

    Raises:
        ConfigError: naming the parameter and its value.
    """
    if isinstance(value, Tracer):
        return
    checks.real(name, value, ConfigError)
    if not np.all((np.asarray(value) > 0) & np.isfinite(np.asarray(value))):
        raise ConfigError(f"{name}={value!r} must be a positive finite number")
