"""What a black box has to be and to answer, and the errors that say what it answered instead."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from tacit.errors import OracleError, ProblemError
from tacit.problem.processes import Unanswered

ROUNDING = 1e-9
"""Largest relative difference that is taken for rounding, as of sums whose order changes."""

_SHOWN = 6
"""Parameters of a point that an error lists."""

_LINES = 5
"""Lines of a program's standard error that an error quotes."""


def check_function(function: object, whole: bool = True) -> None:
    """Refuse what cannot be called.

    Args:
        function: what was given.
        whole: whether it is to give the whole cost of an agent.

    Raises:
        ProblemError: no function; for a list of functions with what to write instead.
    """
    if callable(function) and not isinstance(function, type):
        return
    got = type(function).__name__
    many = len(function) if isinstance(function, list | tuple) and whole else 0
    if many and isinstance(function, list | tuple) and all(map(callable, function)):
        got = (
            f"a {got} of {many}: write functions = [...] and give one function that is "
            f"told the agent's number, lambda x, agent: functions[agent](x), agents={many}"
        )
    raise ProblemError(f"a black box needs a function of a point, got {got}")


def complaint(
    answer: np.ndarray,
    shape: tuple[int, ...],
    who: str,
    points: Float[np.ndarray, "m p"],
    names: Sequence[str] | None = None,
) -> OracleError | None:
    """What is wrong with the type or the shape of an answer, if anything.

    Args:
        answer: what was returned.
        shape: shape that it must have.
        who: name of the agent that was asked.
        points: where.
        names: names of the parameters; x0, x1, ... by default.
    """
    expected = f"an array of shape {shape}" if shape else "one number"
    if answer.dtype.kind not in "iuf":
        got = f"{answer.item()!r:.40}" if answer.ndim == 0 else f"an array of {answer.dtype}"
        truth = ", such as 1.0 for True and 0.0 for False" if answer.dtype.kind == "b" else ""
        return OracleError(
            f"the black box of {who} returned {got} instead of {expected} at "
            f"{place(points[0], names)}: return real numbers{truth}"
        )
    if answer.shape != shape and not (shape == () and answer.shape == (1,)):
        wanted = "one number for each of them" if shape else "the cost as one number"
        return OracleError(
            f"the black box of {who} returned an array of shape {answer.shape} instead of "
            f"{expected} at {place(points[0], names)}: return {wanted}"
        )
    return None


def not_finite(
    answer: np.ndarray,
    who: str,
    points: Float[np.ndarray, "m p"],
    names: Sequence[str] | None = None,
) -> OracleError | None:
    """The complaint about a whole cost; a record's loss is left to the clip, which makes it 0.

    Args:
        answer: numbers of the right shape.
        who: name of the agent that was asked.
        points: where.
        names: names of the parameters; x0, x1, ... by default.
    """
    if not np.isfinite(answer).all():
        bad = np.argwhere(~np.isfinite(answer))
        # Only a batched function knows which of its points it was.
        point = points[bad[0][0]] if len(points) > 1 else points[0]
        value = np.atleast_1d(answer)[tuple(bad[0])] if answer.ndim else answer
        return OracleError(
            f"the black box of {who} returned {value:g}, which is not a finite number, at "
            f"{place(point, names)}: return finite values, or constrain x to where they are"
        )
    return None


def unanswered(
    error: Unanswered,
    who: str,
    point: Float[np.ndarray, " p"],
    names: Sequence[str] | None,
    retried: bool,
) -> OracleError:
    """The error about a function or a program that gave no answer.

    Args:
        error: what happened.
        who: name of the agent that was asked.
        point: where.
        names: names of the parameters; x0, x1, ... by default.
        retried: whether points are asked for again already.
    """
    text = f"the black box of {who} {error}, at {place(point, names)}."
    lines = [line.rstrip() for line in error.said.splitlines() if line.strip()]
    if lines:
        ends = "".join(f"\n    {line:.200}" for line in lines[-_LINES:])
        text += f" Its standard error ends with:{ends}\n{error.remedy}"
    else:
        text += f" {error.remedy}"
    if error.chance and not retried:
        text += "; where it fails by chance, tries=3 asks again"
    return OracleError(text)


def place(point: Float[np.ndarray, " p"], names: Sequence[str] | None = None) -> str:
    """A point in words, short even if it has many coordinates.

    Args:
        point: the values.
        names: names of the parameters; x0, x1, ... by default.
    """
    names = names or [f"x{j}" for j in range(len(point))]
    pairs = list(zip(names, point, strict=False))[:_SHOWN]
    entries = ", ".join(f"{name} = {entry:.6g}" for name, entry in pairs)
    return entries + (f" and {len(point) - _SHOWN} more" if len(point) > _SHOWN else "")


def difference(first: np.ndarray, second: np.ndarray) -> str:
    """How two answers at one point differ, after "the black box"; empty if they agree.

    Args:
        first: values of the first evaluation.
        second: values of the second one.
    """
    known = np.isfinite(first) & np.isfinite(second)
    apart = np.abs(first - second) > ROUNDING * np.maximum(np.abs(first), np.abs(second))
    wrong = np.flatnonzero(known & apart)
    if not wrong.size:
        return ""
    return f"answered {first[wrong[0]]:.10g} and then {second[wrong[0]]:.10g}"
