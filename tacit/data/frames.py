"""Tables that are in memory: of pandas, of polars, of Arrow."""

from __future__ import annotations

from typing import Any

import pandas as pd

from tacit import checks
from tacit.arguments import checked
from tacit.data.columns import check_distinct
from tacit.data.files import first_line, numbered
from tacit.errors import ProblemError


@checked(ProblemError)
def from_frame(frame: Any) -> pd.DataFrame:
    """The user's own table as a pandas frame, checked.

    Args:
        frame: pandas frame, or a table of any library that hands it over as Arrow
            (`__arrow_c_stream__`): polars, pyarrow, DuckDB and others. Other libraries' tables are
            read through pyarrow. The index of a pandas frame names the rows in messages; others
            count from 0.

    Raises:
        ProblemError: not a table, several levels of columns, or a duplicate column name.

    Example:
        >>> import pyarrow as pa
        >>> from_frame(pa.table({"age": [30, 41]}))["age"].tolist()
        [30, 41]
    """
    if not isinstance(frame, pd.DataFrame):
        frame = _of_arrow(frame)
    if frame.columns.nlevels > 1:
        raise ProblemError(
            f"the frame has {frame.columns.nlevels} levels of column names; join them to one"
        )
    names = [str(name) for name in frame.columns]
    check_distinct(names, "the frame")
    return frame.set_axis(names, axis=1)


def is_frame(value: object) -> bool:
    """Whether `from_frame` takes a value for a table."""
    return isinstance(value, pd.DataFrame) or hasattr(value, "__arrow_c_stream__")


def _of_arrow(frame: Any) -> pd.DataFrame:
    if hasattr(frame, "collect"):
        raise ProblemError(
            f"the frame is a {type(frame).__name__}, which is not computed yet; call its collect()"
        )
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
    try:
        table = pa.table(frame)
        check_distinct(table.column_names, "the frame")
        return numbered(table.to_pandas(date_as_object=True))
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise ProblemError(
            f"the {type(frame).__name__} cannot be read as a table ({first_line(error)}); convert "
            "it to pandas before"
        ) from error
