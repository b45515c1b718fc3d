"""What a black box has to answer, and the errors that say what it answered instead."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from tacit.errors import OracleError


def complaint(
    answer: np.ndarray, shape: tuple[int, ...], agent: int, points: Float[np.ndarray, "m p"]
) -> OracleError | None:
    """What is wrong with the type or the shape of an answer, if anything.

    Args:
        answer: what was returned.
        shape: shape that it must have.
        agent: number of the agent that was asked.
        points: where.
    """
    expected = f"an array of shape {shape}" if shape else "one number"
    if answer.dtype.kind not in "biuf":
        got = f"{answer.item()!r:.40}" if answer.ndim == 0 else f"an array of {answer.dtype}"
        return OracleError(
            f"the black box of agent {agent} returned {got} instead of {expected} at "
            f"{place(points[0])}: return real numbers"
        )
    if answer.shape != shape and not (shape == () and answer.shape == (1,)):
        return OracleError(
            f"the black box of agent {agent} returned an array of shape {answer.shape} instead of "
            f"{expected} at {place(points[0])}"
        )
    return None


def not_finite(
    answer: np.ndarray, agent: int, points: Float[np.ndarray, "m p"]
) -> OracleError | None:
    """The complaint about a whole cost; a record's loss is left to the clip, which makes it 0.

    Args:
        answer: numbers of the right shape.
        agent: number of the agent that was asked.
        points: where.
    """
    if not np.isfinite(answer).all():
        bad = np.argwhere(~np.isfinite(answer))
        # Only a batched function knows which of its points it was.
        point = points[bad[0][0]] if len(points) > 1 else points[0]
        value = np.atleast_1d(answer)[tuple(bad[0])] if answer.ndim else answer
        return OracleError(
            f"the black box of agent {agent} returned {value:g}, which is not a finite number, at "
            f"{place(point)}: return finite values, or constrain x to where they are"
        )
    return None


def place(point: Float[np.ndarray, " p"]) -> str:
    """A point in words, short even if it has many coordinates."""
    entries = ", ".join(f"{entry:.6g}" for entry in point[:4])
    more = ", ..." if len(point) > 4 else ""
    return f"a point of norm {np.linalg.norm(point):.6g} ({entries}{more})"
