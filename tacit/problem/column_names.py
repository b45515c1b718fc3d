"""Names of columns that tables bring themselves: they must be the same for all agents."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tacit.errors import ProblemError

_NUMBER = re.compile(r"[-+]?[\d.,]+")

_SHOWN = 12
"""Columns that an error names."""


def check_columns(
    tables: Sequence[Any], names: tuple[str, ...], declared: tuple[str, ...] | None
) -> None:
    """Refuse tables with names of their columns that are others, or in another order.

    A table without names is taken as it is.

    Args:
        tables: one table per agent.
        names: names of the agents.
        declared: `feature_names`, if they are given; else the first table with names decides.

    Raises:
        ProblemError: such tables.
    """
    whose, wanted = "feature_names are", declared
    for table, name in zip(tables, names, strict=True):
        found = _names_in(table)
        if found is None or found == wanted:
            continue
        if wanted is None:
            whose, wanted = f"those of {name} are", found
            continue
        told = f"{name}: features have the columns {_listed(found)}, and {whose} {_listed(wanted)}"
        if sorted(found) == sorted(wanted):
            raise ProblemError(
                f"{told}, in another order: numbers of one would be taken for another's. Give all "
                "tables one order, as in frame[names]"
            )
        raise ProblemError(f"{told}; name the same columns, or give arrays: frame.to_numpy()")


def _names_in(table: Any) -> tuple[str, ...] | None:
    """Names of the columns of a frame; `None` of an array, or where they are only numbers."""
    found = getattr(table, "column_names", getattr(table, "columns", None))  # of Arrow, or others
    if found is None or callable(found):
        return None
    names = tuple(found)
    return names if names and all(isinstance(name, str) for name in names) else None


def _listed(names: tuple[str, ...]) -> str:
    if any(_NUMBER.fullmatch(name) for name in names):  # a record, which is not to be repeated
        return "names that look like values (is the line of names missing in the table?)"
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
