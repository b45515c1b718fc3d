"""The loop around a runtime: recording, progress, checkpoints and divergence."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from tacit._engine import checkpoint
from tacit.errors import RuntimeFailure
from tacit.problem.callback import host_errors
from tacit.types import State

STOPS = 32
"""Recorded rounds in one compiled call; shorter lists are padded with empty intervals."""

_CALL_SECONDS = 1.0
_CHECKPOINT_SECONDS = 5.0

Progress = Callable[[int, int], None]
"""Callback with (rounds done, total rounds)."""


@runtime_checkable
class Engine(Protocol):
    """A runtime: advances states through intervals of rounds."""

    def start(self) -> Any:
        """States of all trials before round 0."""
        ...

    def advance(
        self, states: State, bounds: Int[np.ndarray, "stops 2"]
    ) -> tuple[Any, dict[str, Float[np.ndarray, "stops trials"]]]:
        """Run through the intervals and measure after each."""
        ...


@dataclass(frozen=True)
class Trace:
    """The results of the loop.

    Attributes:
        states: final states of all trials (for a diverged trial, the last ones before it diverged).
        rounds: the recorded rounds.
        measured: measurements at them, each of shape `(rows, trials)`.
        diverged: first round after which a trial had diverged, or -1; shape `(trials,)`.
    """

    states: State
    rounds: Int[np.ndarray, " rows"]
    measured: dict[str, Float[np.ndarray, "rows trials"]]
    diverged: Int[np.ndarray, " trials"]


@host_errors()
def drive(
    engine: Engine,
    *,
    rounds: int,
    record: Sequence[int],
    identity: str = "",
    seed: int | None = None,
    path: Path | None = None,
    progress: Progress | None = None,
) -> Trace:
    """Run all rounds.

    Args:
        engine: the runtime.
        rounds: number of rounds.
        record: rounds after which to measure, ascending, ending with `rounds`.
        identity: fingerprint of the run, for the checkpoint.
        seed: seed of the run, for the checkpoint.
        path: checkpoint file, written every few seconds and read first if it exists.
        progress: callback that receives the progress of the run.

    Raises:
        TacitError: an exception of a host function, such as a projection.
    """
    states = engine.start()
    _, first = engine.advance(states, np.zeros((STOPS, 2), dtype=int))
    rows = {0: {name: values[0] for name, values in first.items()}}
    names = sorted(first)
    diverged = np.where(rows[0]["bounded"], -1, 0)
    done = 0
    if path is not None:
        like = (states, diverged, _pack(rows, names, record))
        found = checkpoint.load(path, identity, like)
        if found is not None:
            done, (states, diverged, packed) = found
            rows = _unpack(packed, names, record, done)
    pace, saved = None, time.monotonic()
    while done < rounds and not np.all(diverged >= 0):
        stops = _next_stops(done, record, pace, eager=progress is not None or path is not None)
        began = time.monotonic()
        after, measured = engine.advance(states, _bounds(done, stops))
        jax.block_until_ready(after)
        seconds = time.monotonic() - began
        bounded = measured["bounded"][: len(stops)]
        fresh = ~np.all(bounded, axis=0) & (diverged < 0)
        if np.any(fresh):
            diverged = _locate(engine, states, done, stops[-1], diverged, fresh)
        states = _keep_finite(after, states, diverged < 0)
        for i, stop in enumerate(stops):
            rows[stop] = {name: values[i] for name, values in measured.items()}
        # the first call may have compiled
        pace = None if pace is None and done == 0 and seconds > 1 else seconds / (stops[-1] - done)
        done = stops[-1]
        if path is not None and (time.monotonic() - saved > _CHECKPOINT_SECONDS or done == rounds):
            packed = _pack(rows, names, record)
            checkpoint.save(path, identity, done, (states, diverged, packed), seed)
            saved = time.monotonic()
        if progress is not None:
            progress(done, rounds)
    kept = [stop for stop in (0, *record) if stop in rows]
    measured = {
        name: np.stack([rows[stop][name] for stop in kept]) for name in names if name != "bounded"
    }
    return Trace(states, np.array(kept), measured, diverged)


def _next_stops(done: int, record: Sequence[int], pace: float | None, *, eager: bool) -> list[int]:
    """The next recorded rounds that one call should cover, and where to stop in between.

    If nobody is watching, as many as a call holds. Otherwise about a second's worth, starting
    with a single round to learn how long one takes.
    """
    ahead = [stop for stop in record if stop > done]
    if not eager:
        return ahead[:STOPS]
    reach = done + (1 if pace is None else max(1, int(_CALL_SECONDS / max(pace, 1e-9))))
    stops = [stop for stop in ahead if stop <= reach][:STOPS]
    return stops or [min(reach, ahead[0])]


def _bounds(done: int, stops: Sequence[int]) -> Int[np.ndarray, "stops 2"]:
    ends = np.array([*stops, *[stops[-1]] * (STOPS - len(stops))])
    return np.stack([np.concatenate([[done], ends[:-1]]), ends], axis=1)


def _locate(
    engine: Engine,
    states: State,
    done: int,
    end: int,
    diverged: Int[np.ndarray, " trials"],
    fresh: Any,
) -> Int[np.ndarray, " trials"]:
    """Repeat a call round by round to find after which one a trial had diverged."""
    diverged = diverged.copy()
    while done < end and np.any(fresh):
        stops = list(range(done + 1, min(done + STOPS, end) + 1))
        states, measured = engine.advance(states, _bounds(done, stops))
        for i, stop in enumerate(stops):
            gone = ~measured["bounded"][i].astype(bool) & fresh
            diverged[gone] = stop
            fresh = fresh & ~gone
        done = stops[-1]
    if np.any(fresh):
        raise RuntimeFailure("a diverged run did not diverge when repeated; report this")
    return diverged


def _keep_finite(after: Any, before: Any, finite: Any) -> Any:
    if np.all(finite):
        return after
    alive = jnp.asarray(finite)

    def choose(new: Any, old: Any) -> Any:
        return jnp.where(alive.reshape((-1,) + (1,) * (new.ndim - 1)), new, old)

    return jax.tree.map(choose, after, before)


def _pack(rows: Any, names: Sequence[str], record: Sequence[int]) -> dict[str, Any]:
    """Measurements so far, in a layout that does not depend on the progress of the run."""
    stops = (0, *record)
    return {
        name: np.stack([rows[stop][name] if stop in rows else 0 * rows[0][name] for stop in stops])
        for name in names
    }


def _unpack(packed: Any, names: Sequence[str], record: Sequence[int], done: int) -> Any:
    stops = (0, *record)
    return {
        stop: {name: packed[name][i] for name in names}
        for i, stop in enumerate(stops)
        if stop <= done
    }
