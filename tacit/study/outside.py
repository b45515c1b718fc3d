"""Bounds that hold no value of a column: of such a column a run can tell nothing."""

from __future__ import annotations

from tacit.data.schema import Altered
from tacit.errors import ProblemError
from tacit.method import PrivateCox, PrivateSurvival
from tacit.method.phase import AbstractMethod
from tacit.study.read import Source


def time_of(method: AbstractMethod) -> str | None:
    """The column of times to an event, if the method has one; times may exceed their last one."""
    return method.time.name if isinstance(method, PrivateSurvival | PrivateCox) else None


def check_bounds(source: Source, method: AbstractMethod, altered: Altered | None) -> None:
    """Refuse bounds that hold no value of a column.

    It is seen in private records, and told to whoever has those of all sites, before a run.

    Args:
        source: study file.
        method: method of the study.
        altered: what preparation changed in the records, if that is known.

    Raises:
        ConfigError: such a column, with its line.
    """
    names = [] if altered is None else altered.outside(time_of(method))
    if not names:
        return
    with source.section("data"):
        raise ProblemError(
            f"column {names[0]!r} has no value between its declared bounds: all would be moved to "
            "one of them, and nothing of the column would be left. Correct the bounds, by what is "
            "known without the records, or the unit of the values"
        )
