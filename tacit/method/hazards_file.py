"""Reading a Cox regression that was saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict

from tacit.arguments import checked
from tacit.data.cells import columns_of
from tacit.errors import ProblemError
from tacit.method._new_records import declared
from tacit.method._saved import SavedFit, reading, saved_text
from tacit.method.citation import bibtex
from tacit.method.cox_answer import HazardRatios
from tacit.method.fitted_hazards import FORMAT, FittedHazards


class _Table(BaseModel):
    """The table in the file."""

    model_config = ConfigDict(extra="forbid")

    names: tuple[str, ...]
    values: list[float]
    sampling: list[list[float]]
    privacy: list[list[float]]
    joint: list[list[float]]
    spans: tuple[float, ...]
    edges: tuple[float, ...]
    hazards: list[list[float]]
    time: str
    event: str
    limit: float | None
    sites: int
    of_sites: int
    periods: tuple[float, ...]
    strata: str | None
    levels: tuple[str, ...]
    tested: bool
    private_size: bool
    repeated: bool


class _File(SavedFit):
    """The contents of the file."""

    format: Literal["tacit-hazards-1"]
    on: dict[str, tuple[float, ...]]
    cuts: tuple[float, ...]
    papers: tuple[str, ...] = ()
    table: _Table


@checked(ProblemError)
def load_hazards(path: str | Path) -> FittedHazards:
    """Read a Cox regression that was saved.

    Args:
        path: path of the file, as written by `save`, `tacit cox` or `tacit run`.

    Raises:
        ProblemError: a file that cannot be read, is cut off, or holds something else.

    Example:
        >>> from tacit.method import load_hazards
        >>> load_hazards("fit")
        Traceback (most recent call last):
            ...
        tacit.errors.ProblemError: fit: cannot be read (No such file or directory); check the path
    """
    text = saved_text(path, FORMAT)
    with reading(path, "a Cox regression", "regression.json"):
        found = _File.model_validate_json(text)
        schema = found.as_schema()
        arrays = ("values", "sampling", "privacy", "joint", "hazards")
        told: dict[str, Any] = found.table.model_dump()
        told |= {name: np.array(told[name]) for name in arrays}
        table = HazardRatios(**told)
        bibtex(found.papers)  # refuses a name that is no paper's
        loaded = FittedHazards(
            table, found.on, schema, found.guarantee, found.cuts, found.date, found.papers
        )
        _check(loaded)
    return loaded


def _check(loaded: FittedHazards) -> None:
    """Refuse a table that is not of these columns.

    Raises:
        ValueError: with what does not fit.
    """
    table, columns = loaded.table, columns_of(declared(loaded.schema, loaded.on))
    names = loaded.design(columns).names[:-1]
    shown = tuple(f"{each} {p}".rstrip() for p in loaded.shown_periods for each in names)
    d, cells = len(shown), len(table.levels) * (len(table.edges) - 1)
    shapes = tuple(getattr(table, name).shape for name in ("values", "sampling", "privacy"))
    if shown != table.names or shapes != ((d,), (d, d), (d, d)):
        raise ValueError("its effects are not those of its columns")
    if not all(np.isfinite(each).all() for each in (table.values, table.sampling, table.privacy)):
        raise ValueError("it is damaged: a number in it is not finite")
    if table.hazards.shape != (len(table.levels), len(table.edges) - 1):
        raise ValueError("its baseline is not that of its pieces of time")
    if table.joint.shape != (d + cells, d + cells):
        raise ValueError("its covariance is not that of its effects and baseline")
