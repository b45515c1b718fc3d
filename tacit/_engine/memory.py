"""Runs that do not fit in memory, refused before they start where that can be known."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Any

import jax

from tacit import checks
from tacit.errors import ConfigError, RuntimeFailure


def check_trials(trials: int, agents: int, numbers: int, precision: str) -> None:
    """Refuse more trials than can be held together.

    Args:
        trials: number of trials.
        agents: number of agents.
        numbers: numbers in the answer of an agent.
        precision: floating-point type.

    Raises:
        ConfigError: too many; the message says how many might do.
    """
    # the states before and after a call, and the key of the trial
    one = 2 * agents * numbers * (8 if precision == "float64" else 4) + 8
    there = _bytes()
    if trials > 1 and there is not None and trials * one > there:
        raise ConfigError(
            f"trials={checks.shown(trials)}: they need at least "
            f"{checks.shown(trials * one >> 30)} GB of memory, and there are {there >> 30} GB; "
            f"take fewer than {max(2, there // one):,}"
        )


@contextmanager
def exhausted(trials: int) -> Generator[None, None, None]:
    """Report memory that ran out, which JAX says in the words of its compiler.

    Raises:
        RuntimeFailure: it ran out.
    """
    try:
        yield
    except (MemoryError, jax.errors.JaxRuntimeError) as error:
        if not isinstance(error, MemoryError) and "RESOURCE_EXHAUSTED" not in str(error):
            raise
        fewer = "fewer trials, agents or parameters" if trials > 1 else "fewer agents or parameters"
        raise RuntimeFailure(
            f"memory ran out ({str(error).splitlines()[0][:120] if str(error) else 'MemoryError'})"
            f"; take {fewer}, or a machine with more of it"
        ) from error


def _bytes() -> int | None:
    """Memory that this process may use on the device of its arrays, if that is known."""
    device: Any = jax.devices()[0]
    if limit := (device.memory_stats() or {}).get("bytes_limit"):
        return int(limit)
    found: list[int] = []
    with suppress(AttributeError, ValueError, OSError):  # not on Windows
        found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    with suppress(ImportError):
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        found += [] if limit == resource.RLIM_INFINITY else [limit]
    return min(found, default=None)
