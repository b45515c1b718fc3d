"""Tables that are in memory: of pandas, of polars, of Arrow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol, TypeAlias, cast, runtime_checkable

import pandas as pd

from tacit import checks
from tacit.arguments import checked
from tacit.checks import first_line
from tacit.data.columns import check_distinct
from tacit.data.files import numbered
from tacit.data.loaders import load
from tacit.errors import ConfigError, ProblemError


@runtime_checkable
class ArrowTable(Protocol):
    """A table that its library hands over as Arrow, as polars, pyarrow and DuckDB do."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The columns, as a capsule of the Arrow C stream interface.

        Args:
            requested_schema: types that are asked for, as far as they can be had.
        """


Table: TypeAlias = pd.DataFrame | ArrowTable
"""A table in memory: of pandas, or of a library that hands it over as Arrow."""


@checked(ProblemError, own="frame")
def from_frame(frame: Table) -> pd.DataFrame:
    """The user's own table as a pandas frame, checked.

    Args:
        frame: pandas frame, or a table of polars, pyarrow, DuckDB or any other library that hands
            it over as Arrow; this needs pyarrow. The index of a pandas frame names the rows in
            messages; rows of others count from 0.

    Raises:
        ProblemError: not a table, several levels of columns, or a duplicate column name.

    Example:
        >>> import pyarrow as pa
        >>> from_frame(pa.table({"age": [30, 41]}))["age"].tolist()
        [30, 41]
    """
    frame = frame if isinstance(frame, pd.DataFrame) else _of_arrow(frame)
    if frame.columns.nlevels > 1:
        raise ProblemError(
            f"the frame has {frame.columns.nlevels} levels of column names; join them to one"
        )
    names = [str(name) for name in frame.columns]
    check_distinct(names, "the frame")
    return frame.set_axis(names, axis=1)


def one_table(
    data: Table | str | Path | Mapping[str, Table | str | Path],
    site: str,
    sites: Sequence[str] | None,
    names: Iterable[str] | None = None,
) -> tuple[pd.DataFrame, Sequence[str] | None]:
    """One table with a column of sites, and the names of the sites, if these are known.

    Args:
        data: such a table, or one table per site by name. A path stands for the table in that
            file.
        site: name of the column of sites.
        sites: names of the sites, if they are given.
        names: columns that are asked for; all that any table has by default.

    Raises:
        ConfigError: neither of these, or one table for two sites.
        ProblemError: a file that cannot be read, or a column that only some tables have.
    """
    if isinstance(data, Mapping):
        if not data:
            raise ConfigError("data={} is empty; give one table per site by name")
        _check_apart(data)
        named = [
            _table(f"data[{name!r}]", each, "").assign(**{site: name})
            for name, each in data.items()
        ]
        _check_columns(dict(zip(data, named, strict=True)), names)
        return pd.concat(named, ignore_index=True), list(data) if sites is None else sites
    more = (
        " with a column of sites or the path of one, or a dict with one of these per site by name"
    )
    return _table("data", data, more), sites


def _check_apart(data: Mapping[str, object]) -> None:
    """Refuse one table under two names: its records would count twice, and be protected once."""
    seen: dict[object, str] = {}
    for name, each in data.items():
        first = seen.setdefault(_identity(each), name)
        if first != name:
            raise ConfigError(
                f"data[{first!r}] and data[{name!r}] are one table, whose records would count "
                "twice; give each site its own"
            )


def _identity(table: object) -> object:
    """What two spellings of the path of one file have in common."""
    if not isinstance(table, str | Path):
        return id(table)
    try:
        return str(Path(table).resolve())
    except (OSError, ValueError):  # no path at all, which is told where it is read
        return str(table)


def _check_columns(tables: Mapping[str, pd.DataFrame], names: Iterable[str] | None) -> None:
    """Refuse a column that only some tables have: all its values would be missing in the others."""
    owner: dict[str, str] = {}
    for site, table in tables.items():
        for column in table.columns:
            owner.setdefault(column, site)
    for column in owner if names is None else [name for name in names if name in owner]:
        for site, table in tables.items():
            if column not in table.columns:
                raise ProblemError(
                    f"data[{site!r}] has no column {column!r}, as data[{owner[column]!r}] has; add "
                    "it, with empty cells where nothing is known, or leave it out everywhere"
                )


def _table(what: str, given: object, more: str) -> pd.DataFrame:
    if isinstance(given, str | Path):
        try:
            return load(given)
        except ProblemError as error:
            raise ProblemError(f"{what}: {error}") from error
    if is_frame(given) or hasattr(given, "collect"):
        return from_frame(cast(Table, given))
    raise ConfigError(
        f"{what} is {checks.shown(given)}; give a table of pandas, polars or Arrow{more}"
    )


def is_frame(value: object) -> bool:
    """Whether `from_frame` takes a value for a table."""
    return isinstance(value, pd.DataFrame | ArrowTable) and not isinstance(value, type)


def _of_arrow(frame: object) -> pd.DataFrame:
    if hasattr(frame, "collect"):
        raise ProblemError(
            f"the frame is a {type(frame).__name__}, which is not computed yet; call its collect()"
        )
    if isinstance(frame, pd.Series):  # not Arrow's before pandas 3
        raise _one_column(frame)
    if not is_frame(frame):
        raise ProblemError(
            f"frame={checks.shown(frame)} is not a table; give one of pandas, polars or pyarrow"
        )
    try:
        import pyarrow as pa
    except ModuleNotFoundError:
        raise ProblemError(
            f"reading a {type(frame).__name__} needs the package pyarrow; install it, or give its "
            "to_pandas()"
        ) from None
    if getattr(frame, "ndim", 2) == 1 or isinstance(frame, pa.Array | pa.ChunkedArray):
        raise _one_column(frame)
    try:
        table = pa.table(frame)
        check_distinct(table.column_names, "the frame")
        return numbered(table.to_pandas(date_as_object=True))
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise ProblemError(
            f"the {type(frame).__name__} cannot be read as a table ({first_line(error)}); convert "
            "it to pandas before"
        ) from error


def _one_column(frame: object) -> ProblemError:
    return ProblemError(
        f"a {type(frame).__name__} is one column; give a table, such as frame[['age', 'ill']]"
    )
