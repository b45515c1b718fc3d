"""Reading Excel workbooks, cell by cell: no cell affects how another is read."""

from __future__ import annotations

import io
import warnings
import zipfile
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

import numpy as np
import pandas as pd

from tacit import checks
from tacit.arguments import checked
from tacit.checks import first_line
from tacit.data.columns import check_distinct
from tacit.data.csv_files import MISSING_TEXTS
from tacit.data.files import read
from tacit.errors import ProblemError

_ABSENT = (None, *MISSING_TEXTS, "#N/A")
"""Cells that mean a missing value; the last is the error that Excel shows for one."""


@checked(ProblemError)
def load_excel(path: str | Path, sheet: str | None = None) -> pd.DataFrame:
    """Read a sheet of an Excel workbook (.xlsx), with its column names in the first filled row.

    Cells keep the type they have in the workbook: text, number, truth value or date. Of a formula
    the value is read that Excel saved. The index holds the numbers of Excel's rows.

    Args:
        path: path of the workbook.
        sheet: name of the sheet; the first one when `None`.

    Raises:
        ProblemError: openpyxl is not installed, or a workbook or sheet that cannot be read or has
            no names for its columns.
    """
    with _opened(path) as book:
        chosen = _sheet(book, sheet, path)
        chosen.reset_dimensions()  # other programs write wrong ones
        rows = list(chosen.iter_rows(values_only=True))
    return _frame(rows, f"{path}, sheet {chosen.title!r}")


def check_workbook(path: str | Path) -> None:
    """Refuse a file that is no workbook, whichever sheet will be read.

    Raises:
        ProblemError: openpyxl is not installed, or a workbook that cannot be read or has no sheet.
    """
    with _opened(path) as book:
        _sheet(book, None, path)


@contextmanager
def _opened(path: str | Path) -> Generator[Any]:
    """The workbook in a file, whose errors name the file."""
    try:
        import openpyxl
    except ModuleNotFoundError:
        raise ProblemError(
            f"{path}: reading Excel workbooks needs the package openpyxl: "
            "pip install 'tacit[excel]', or save the sheet as CSV"
        ) from None
    data = read(path)
    try:
        with warnings.catch_warnings():
            # of what it does not keep, such as validation rules and styles
            warnings.simplefilter("ignore")
            yield openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
    except (zipfile.BadZipFile, KeyError, ValueError, OSError, ParseError, EOFError) as error:
        raise ProblemError(
            f"{path}: not a readable .xlsx workbook ({first_line(error)}); save it again as .xlsx, "
            "without a password, or as CSV"
        ) from error


def _sheet(book: Any, name: str | None, path: str | Path) -> Any:
    sheets = {each.title: each for each in book.worksheets}
    if name is not None and name not in sheets:
        raise ProblemError(
            f"sheet={checks.shown(name)} is not in {path}; it has {', '.join(sheets)}"
        )
    if not sheets:
        raise ProblemError(f"{path}: no sheet with cells; save the table in one")
    return next(iter(sheets.values())) if name is None else sheets[name]


def _frame(rows: Sequence[Sequence[Any]], source: str) -> pd.DataFrame:
    """The table in the filled rows of a sheet."""
    filled = [
        (number, row)
        for number, row in enumerate(map(_present, rows), start=1)
        if any(cell is not None for cell in row)
    ]
    if not filled:
        raise ProblemError(f"{source}: the sheet is empty; give the name of another as sheet=")
    names = [None if cell is None else str(cell) for cell in filled[0][1]]
    while names[-1] is None:
        names.pop()
    if None in names:
        raise ProblemError(
            f"{source}: column {names.index(None) + 1} has no name in row {filled[0][0]}; name it, "
            "or delete rows above the table"
        )
    check_distinct(map(str, names), source)
    width = len(names)
    cells = np.full((len(filled) - 1, width), None, dtype=object)
    for at, (number, row) in enumerate(filled[1:]):
        if any(cell is not None for cell in row[width:]):
            raise ProblemError(
                f"{source}, row {number}: a value to the right of the named columns; name its "
                "column, or delete it"
            )
        cells[at, : len(row[:width])] = row[:width]
    index = pd.Index([number for number, _ in filled[1:]], name="row", dtype=np.int64)
    return pd.DataFrame(cells, columns=pd.Index(names), index=index)


def _present(row: Iterable[Any]) -> list[Any]:
    """The cells of a row, `None` where a value is missing."""
    return [None if isinstance(cell, str | None) and cell in _ABSENT else cell for cell in row]
