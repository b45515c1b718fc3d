"""The plain Python side of a black box: calls, their count, and the first error."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from jaxtyping import ArrayLike, Float, Int

from tacit.errors import OracleError, ProblemError

NOBODY = -1
"""The agent of a point at which nothing is queried: its values are 0."""


class Host:
    """Calls a user's function for compiled code; compared by identity, safe between threads.

    Args:
        function: `(x, own) -> value`, or `(points, own) -> values` when `batched`.
        own: second argument of the function, for every agent.
        counts: number of values per call, for every agent; `None` for a single number.
        batched: whether the function takes many points per call.
        width: number of values returned, padded with 0; the largest count if 0.

    Raises:
        ProblemError: the function cannot be called.
    """

    def __init__(
        self,
        function: Any,
        own: tuple[Any, ...],
        counts: tuple[int, ...] | None,
        batched: bool,
        width: int = 0,
    ) -> None:
        if not callable(function) or isinstance(function, type):
            raise ProblemError(
                f"a black box needs a function of a point, got {type(function).__name__}"
            )
        self._function = function
        self._own = own
        self._counts = counts
        self._batched = batched
        self._width = width or max(counts or (1,))
        self._calls = np.zeros(len(own), dtype=np.int64)
        self._error: BaseException | None = None
        self._lock = threading.RLock()

    @property
    def calls(self) -> Int[np.ndarray, " agents"]:
        """Number of points at which the function was evaluated, for every agent."""
        with self._lock:
            return self._calls.copy()

    def raise_pending(self) -> None:
        """Raise the first error since the last call, if there was one, and forget it."""
        with self._lock:
            error, self._error = self._error, None
        if error is not None:
            raise error

    def evaluate(self, points: ArrayLike, agents: ArrayLike) -> Float[np.ndarray, "*batch n"]:
        """All values of a batch.

        Args:
            points: float64, shape `(*batch, p)`.
            agents: shape `(*batch,)`, `NOBODY` where nothing is queried; axes of `points` and
                `agents` broadcast.
        """
        dimension = np.shape(points)[-1]
        batch = np.broadcast_shapes(np.shape(points)[:-1], np.shape(agents))
        x = np.broadcast_to(points, (*batch, dimension)).reshape(-1, dimension)
        owners = np.broadcast_to(agents, batch).reshape(-1)
        values = np.zeros((len(owners), self._width))
        # A program that queries two boxes at once calls from two threads; user code sees one.
        with self._lock:
            self._fill(values, x, owners)
        return values.reshape(*batch, self._width)

    def _fill(
        self,
        values: Float[np.ndarray, "m n"],
        x: Float[np.ndarray, "m p"],
        owners: Int[np.ndarray, " m"],
    ) -> None:
        # A point that is not finite is unused, or belongs to a run that diverged: not an error of
        # the function.
        usable = np.isfinite(x).all(axis=1)
        values[~usable] = np.nan
        values[owners == NOBODY] = 0.0
        usable &= owners != NOBODY
        for agent in np.unique(owners[usable]):
            rows = np.flatnonzero(usable & (owners == agent))
            width = 1 if self._counts is None else self._counts[agent]
            for group in [rows] if self._batched else rows[:, None]:
                if self._error is None:
                    values[group, :width] = self._ask(x[group], int(agent), width)
                else:
                    values[group] = np.nan

    def _ask(
        self, points: Float[np.ndarray, "m p"], agent: int, width: int
    ) -> Float[np.ndarray, "m n"]:
        self._calls[agent] += len(points)
        argument = points.copy() if self._batched else points[0].copy()
        try:
            answer = np.asarray(self._function(argument, self._own[agent]))
        except Exception as error:
            self._error = OracleError(
                f"the black box of agent {agent} raised {type(error).__name__}: {error}; "
                f"it was asked for its value at {_describe(points[0])}. Correct the function"
            )
            self._error.__cause__ = error
        except BaseException as error:
            # An interrupt is not the function's fault, and ends the run as it is.
            self._error = error
        else:
            shape = (len(points),) if self._batched else ()
            shape = shape if self._counts is None else (*shape, width)
            self._error = _complaint(answer, shape, agent, points)
            if self._error is None and self._counts is None:
                self._error = _not_finite(answer, agent, points)
            if self._error is None:
                values = answer.astype(np.float64).reshape(len(points), width)
                return np.where(np.isfinite(values), values, np.nan)
        return np.full((len(points), width), np.nan)


def _complaint(
    answer: np.ndarray, shape: tuple[int, ...], agent: int, points: Float[np.ndarray, "m p"]
) -> OracleError | None:
    expected = f"an array of shape {shape}" if shape else "one number"
    if answer.dtype.kind not in "biuf":
        got = f"{answer.item()!r:.40}" if answer.ndim == 0 else f"an array of {answer.dtype}"
        return OracleError(
            f"the black box of agent {agent} returned {got} instead of {expected} at "
            f"{_describe(points[0])}: return real numbers"
        )
    if answer.shape != shape and not (shape == () and answer.shape == (1,)):
        return OracleError(
            f"the black box of agent {agent} returned an array of shape {answer.shape} instead of "
            f"{expected} at {_describe(points[0])}"
        )
    return None


def _not_finite(
    answer: np.ndarray, agent: int, points: Float[np.ndarray, "m p"]
) -> OracleError | None:
    """The complaint about a whole cost; a record's loss is left to the clip, which makes it 0."""
    if not np.isfinite(answer).all():
        bad = np.argwhere(~np.isfinite(answer))
        # Only a batched function knows which of its points it was.
        point = points[bad[0][0]] if len(points) > 1 else points[0]
        value = np.atleast_1d(answer)[tuple(bad[0])] if answer.ndim else answer
        return OracleError(
            f"the black box of agent {agent} returned {value:g}, which is not a finite number, at "
            f"{_describe(point)}: return finite values, or constrain x to where they are"
        )
    return None


def _describe(point: Float[np.ndarray, " p"]) -> str:
    entries = ", ".join(f"{entry:.6g}" for entry in point[:4])
    more = ", ..." if len(point) > 4 else ""
    return f"a point of norm {np.linalg.norm(point):.6g} ({entries}{more})"
