"""Tables of other libraries, in memory and in Excel workbooks."""

import datetime
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tacit import data
from tacit.data.excel import load_excel
from tacit.errors import ConfigError, ProblemError

COLUMNS = {
    "größe": [183.5, None, 171.0],
    "raucher": [True, False, None],
    "aufnahme": [datetime.date(2024, 1, 6), None, datetime.date(2024, 1, 11)],
    "gruppe": ["A", "B", "A"],
}
SCHEMA = data.Schema(
    {
        "größe": data.Numeric(100, 200),
        "raucher": data.Boolean(),
        "aufnahme": data.Date("2024-01-01", "2024-01-11"),
        "gruppe": data.Categorical(["A", "B"]),
    },
    None,
    intercept=False,
    missing="indicator",
)


class Handed:
    """A table of a library that only hands it over as Arrow."""

    def __init__(self, table: pa.Table | pa.ChunkedArray) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


class Lazy:
    def collect(self) -> None: ...


def test_tables_of_other_libraries_become_the_same_numbers() -> None:
    table = pa.table(COLUMNS)
    expected = data.prepare(pd.DataFrame(COLUMNS), SCHEMA)
    coded = table.set_column(3, "gruppe", table["gruppe"].dictionary_encode())
    for each in (table, Handed(table), coded, Handed(coded)):
        found = data.prepare(each, SCHEMA)
        assert found.feature_names == expected.feature_names
        np.testing.assert_array_equal(found.features, expected.features)
    assert data.from_frame(Handed(table)).index.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (Lazy(), "Lazy, which is not computed yet; call its collect()"),
        ([1], "frame=a list is not a table; give one of pandas, polars or pyarrow"),
        (pd.Series([1, 2]), "a Series is one column; give a table"),
        (Handed(pa.chunked_array([[1]])), "the Handed cannot be read as a table"),
        (pa.table([[1], [2]], names=["a", "a"]), "column name 'a' occurs twice"),
    ],
)
def test_what_is_no_table_is_refused(given: Any, message: str) -> None:
    with pytest.raises(ProblemError) as caught:
        data.from_frame(given)
    assert message in str(caught.value)
    with pytest.raises(ProblemError):
        data.prepare(given, SCHEMA)


def test_a_regression_takes_them() -> None:
    import tacit

    rows: Any = [1]
    with pytest.raises(ConfigError, match="data is a list; give a table of pandas, polars or"):
        tacit.glm("gruppe ~ größe", rows, family="binomial")
    with pytest.raises(ProblemError, match=r"the model names 'grösse'.*did you mean 'größe'"):
        tacit.glm("gruppe ~ grösse", pa.table(COLUMNS), family="binomial", site="gruppe")


def workbook(path: Path, *sheets: list[list[object]]) -> Path:
    openpyxl = pytest.importorskip("openpyxl", reason="workbooks are written with openpyxl")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for number, rows in enumerate(sheets, start=1):
        sheet = book.create_sheet(f"Blatt {number}")
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def test_a_workbook_is_read_cell_by_cell(tmp_path: Path) -> None:
    names = [*COLUMNS, None]
    rows = [
        [],
        names,
        [183.5, True, datetime.date(2024, 1, 6), "A"],
        [],
        [None, "Nein", "NA", "B"],
        ["171", None, "2024-01-11", "A", None],
    ]
    path = workbook(tmp_path / "a.xlsx", rows, [["x"], [1]])
    frame = data.load(path)
    assert frame.index.tolist() == [3, 5, 6] and frame.index.name == "row"
    np.testing.assert_array_equal(
        data.prepare(frame, SCHEMA).features,
        data.prepare(pd.DataFrame(COLUMNS), SCHEMA).features,
    )
    assert data.load(path, sheet="Blatt 2").to_dict("list") == {"x": [1]}
    rows[2][0] = "hoch"
    wrong = load_excel(workbook(path, rows))
    with pytest.raises(ProblemError, match=r"column 'größe' is not numeric: row 3 holds 'hoch'"):
        data.prepare(wrong, SCHEMA)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "the sheet is empty"),
        ([["a", None, "b"], [1, 2, 3]], "column 2 has no name in row 1"),
        ([["a", "a"]], "column name 'a' occurs twice"),
        ([["a"], [1], [1, 2]], "row 3: a value to the right of the named columns"),
    ],
)
def test_workbooks_that_are_no_tables(tmp_path: Path, rows: list, message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        load_excel(workbook(tmp_path / "a.xlsx", rows))


def test_files_that_are_no_workbooks(tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx", [["a"], [1]])
    with pytest.raises(ProblemError, match=r"sheet='b' is not in .*; it has Blatt 1"):
        load_excel(path, sheet="b")
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(ProblemError, match=r"save it again as \.xlsx, without a password"):
        load_excel(path)


def test_what_is_missing_for_workbooks_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ProblemError, match=r"pip install 'tacit\[excel\]', or save the sheet as"):
        load_excel(tmp_path / "a.xlsx")
