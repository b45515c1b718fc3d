"""CSV files as programs of many countries write them."""

import codecs
from pathlib import Path

import pandas as pd
import pytest

from tacit.data.csv_dialect import decimal_of, decoded, separator_of
from tacit.data.csv_files import column_names, load_csv
from tacit.data.schema import Numeric, Schema
from tacit.data.table import prepare
from tacit.errors import ProblemError

TABLE = "Größe (cm);Gewicht;Klinik\n183,5;80;Köln\n171,2;75;Bonn\n"
NAMES = ["Größe (cm)", "Gewicht", "Klinik"]


@pytest.mark.parametrize(
    "data",
    [
        TABLE.encode(),
        TABLE.encode("cp1252"),
        TABLE.replace("\n", "\r\n").encode("utf-8-sig"),
        TABLE.encode("utf-16"),
        codecs.BOM_UTF16_BE + TABLE.encode("utf-16-be"),
        TABLE.encode("utf-32"),
        TABLE.encode("utf-16-le"),
        TABLE.encode("utf-16-be"),
        TABLE.replace("\n", ";\n").encode(),
        ("sep=;\n" + TABLE).encode("cp1252"),
        ("sep=;\n" + TABLE).encode("utf-16"),
        TABLE.replace(";", "\t").encode(),
        TABLE.replace(",", ".").replace(";", ",").encode(),
        TABLE.replace(";", "|").encode(),
    ],
)
def test_encoding_and_separator_are_recognised(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(data)
    frame = load_csv(path)
    assert frame.columns.tolist() == NAMES == column_names(path, None, None)
    assert frame["Klinik"].tolist() == ["Köln", "Bonn"]
    assert frame["Größe (cm)"].iloc[0] in ("183,5", "183.5")
    assert frame.index.tolist() == ([3, 4] if b"s\0e\0p" in data or b"sep" in data else [2, 3])


def test_no_record_affects_how_another_is_decoded() -> None:
    lines = [b"a,b\n", "Köln,1\n".encode(), "Köln,2\n".encode("cp1252")]
    assert decoded(b"".join(lines)) == "a,b\nKöln,1\nKöln,2\n"


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"a,b\n\x81\x8d,2\n")
    with pytest.raises(ProblemError, match="not text in UTF-8 or Windows-1252"):
        load_csv(path)


@pytest.mark.parametrize(
    ("header", "separator"),
    [
        ("a;b", ";"),
        ("a", ","),
        ("length (cm, lying);b", ";"),
        ("length; lying,b,c", ","),
        ('"a;b;c",d', ","),
        ("a|b\tc\td", "\t"),
    ],
)
def test_the_separator_follows_from_the_column_names(header: str, separator: str) -> None:
    assert separator_of(f"{header}\n1,2,3,4,5,6\n") == separator


@pytest.mark.parametrize(
    ("columns", "decimal"),
    [
        ({"a": ["1,5", None, "2"]}, ","),
        ({"a": ["1.5", "2"]}, "."),
        ({"a": ["1,5"], "b": ["1.5"]}, "."),
        ({"a": ["1,234", "12,000"]}, "."),
        ({"a": ["1,234", "0,5"]}, ","),
        ({"a": ["x", "1,5"]}, "."),
        ({"a": [None, None]}, "."),
    ],
)
def test_the_decimal_mark_of_a_table(columns: dict, decimal: str) -> None:
    assert decimal_of(pd.DataFrame(columns, dtype="str")) == decimal


def test_row_names_of_r_and_pandas_get_a_name(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    pd.DataFrame({"age": [30, 41]}, index=["p1", "p2"]).to_csv(path)
    assert load_csv(path).to_dict("list") == {"row": ["p1", "p2"], "age": ["30", "41"]}


def test_numbers_with_a_decimal_comma_get_a_point(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("dose;day;town;none;version\n1,5;03.04.2024;Bonn, Ost;;7.1\n2;;Ulm;;x\n;;;;\n")
    found = load_csv(path, decimal=",")
    assert found["dose"].tolist()[:2] == ["1.5", "2"] and found["dose"].isna()[4]
    assert found.drop(columns="dose").equals(load_csv(path).drop(columns="dose"))
    path.write_text("dose;cost\n1,5;1.234\n2;980\n")
    with pytest.raises(ProblemError, match=r"a\.csv: column 'cost': line 2 holds '1\.234', and"):
        load_csv(path, decimal=",")
    with pytest.raises(ProblemError, match="decimal=';' must be"):
        load_csv(path, decimal=";")


def test_tables_with_either_mark_are_read_together(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("dose;ill\n1,5;1\n2,5;0\n")
    (tmp_path / "b.csv").write_text("dose,ill\n1.5,1\n2.5,0\n")
    tables = {"a": load_csv(tmp_path / "a.csv", decimal=","), "b": load_csv(tmp_path / "b.csv")}
    schema = Schema({"dose": Numeric(0, 3)}, None, intercept=False)
    first, second = (prepare(each, schema).features.tolist() for each in tables.values())
    assert first == second
