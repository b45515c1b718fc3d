"""How a CSV file is written, where nobody says: encoding, separator and decimal mark.

Encoding and separator are found without letting one record change how another is read: the
separator follows from the line of column names, and each line is decoded by itself. A decimal mark
can be found from the records only, so that it is for a first look at a table (`tacit init`,
`tacit fit`), which writes it down and says so.
"""

from __future__ import annotations

import codecs
import csv
import io
import re

import numpy as np
import pandas as pd

from tacit.data.columns import distinct, is_text, read_numbers, show, where, with_comma
from tacit.errors import ProblemError

SEPARATORS = ("\t", ";", "|", ",")
"""Separators that are looked for; of two that give as many columns, the first is taken."""

_MARKS = (
    # UTF-32 first: its mark begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""Byte order marks."""

_SAID = re.compile(r'"?sep=(.)"?[ ;,\t]*(\r?\n|\Z)', re.IGNORECASE)
"""A first line for Excel that names the separator."""

_THOUSANDS = re.compile(r"\s*[-+]?[1-9]\d{0,2}(,\d{3})+\s*")
"""Whole numbers that may have marks of thousands."""


def decoded(data: bytes, errors: str = "strict") -> str:
    r"""The text of a file, by its byte order mark; else each line as UTF-8, or Windows-1252.

    Line by line, so that no record affects how another is read.

    Args:
        data: contents of the file.
        errors: as for `bytes.decode`, where there is a mark.

    Raises:
        UnicodeError: a line that is neither.

    Example:
        >>> decoded("town\nKöln\n".encode("cp1252")) == decoded("town\nKöln\n".encode())
        True
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data.decode(encoding, errors)
    if b"\0" in data[:2]:  # without a mark, as some databases write it
        return data.decode("utf-16-be" if data[:1] == b"\0" else "utf-16-le", errors)
    try:
        return data.decode()
    except UnicodeDecodeError:
        return "".join(_line(raw) for raw in data.splitlines(keepends=True))


def looks_like(data: bytes) -> str:
    r"""The encoding of a file in words, by its byte order mark and its bytes.

    Args:
        data: contents of the file.

    Example:
        >>> looks_like(b"town\n"), looks_like("town\nK\xf6ln\n".encode("cp1252"))
        ('ascii, or utf-8', 'cp1252')
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return encoding
    if b"\0" in data[:2]:
        return "utf-16-be" if data[:1] == b"\0" else "utf-16-le"
    if data.isascii():
        return "ascii, or utf-8"
    try:
        data.decode()
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def _line(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("cp1252")


def separator_of(text: str) -> str:
    r"""The separator of a CSV file, from a line `sep=` at its beginning or its column names.

    Args:
        text: text of the file.

    Example:
        >>> separator_of("Größe (cm, nüchtern);Gewicht\n183,5;80\n")
        ';'
    """
    if said := _SAID.match(text):
        return said[1]
    found = {mark: len(_header(text, mark)) for mark in SEPARATORS}
    best = max(SEPARATORS, key=found.__getitem__)  # the first of equals
    return best if found[best] > 1 else ","


def names_separator(start: bytes) -> bool:
    """Whether the first line of a file names its separator, and no columns."""
    return _SAID.match(decoded(start, "ignore")) is not None


def without_separator_line(text: str) -> str:
    """The text with the line that names the separator left empty, so that lines keep numbers."""
    said = _SAID.match(text)
    return text if said is None else "\n" + text[said.end() :]


def _header(text: str, separator: str) -> list[str]:
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        return next((row for row in reader if row), [])
    except csv.Error:
        return []


def decimal_of(frame: pd.DataFrame) -> str:
    """The decimal mark of a table of texts: a comma where only that makes columns numbers.

    For a first look at a table: what it finds is read off the records. Marks of thousands, as in
    1,234, are not taken for decimals.

    Args:
        frame: table as `load_csv` reads it.

    Example:
        >>> import pandas as pd
        >>> decimal_of(pd.DataFrame({"dose": ["1,5", "2,25"]}))
        ','
    """
    return "," if with_commas(frame) and not _with_points(frame) else "."


def with_commas(frame: pd.DataFrame) -> list[str]:
    """Columns of texts that are numbers only where a comma is the decimal mark."""
    return [
        str(name)
        for name, column in frame.items()
        if _all_numbers(column, ",")
        and any("," in text and not _THOUSANDS.fullmatch(text) for text in column.dropna().unique())
    ]


def with_points(frame: pd.DataFrame, path: object) -> pd.DataFrame:
    """The table with a point in texts that are numbers with a decimal comma.

    Args:
        frame: table as `load_csv` reads it.
        path: its file, for messages.

    Raises:
        ProblemError: a column of numbers in which some have a point, that of thousands perhaps:
            it would become a decimal mark.
    """
    made: dict[str, pd.Series] = {}
    for name, column in frame.items():
        positions, texts = distinct(column)
        commas = np.array([*map(with_comma, texts), False], dtype=bool)[positions]
        points = ~read_numbers(column)[1] & column.str.contains(".", regex=False, na=False)
        if points.any() and not read_numbers(column.mask(commas))[1].any():
            row = int(points.to_numpy().argmax())
            raise ProblemError(
                f"{path}: column {name!r}: {where(column, row)} holds {show(column.iloc[row])}, "
                "and with decimal=',' a number has no point: leave out marks of thousands; or if "
                "these are no numbers, leave decimal out here and give it to Schema"
            )
        if commas.any():
            made[str(name)] = column.mask(commas, column.str.replace(",", ".", regex=False))
    return frame.assign(**made)


def _with_points(frame: pd.DataFrame) -> bool:
    return any(
        _all_numbers(column, ".") and column.dropna().str.contains(".", regex=False).any()
        for _, column in frame.items()
    )


def _all_numbers(column: pd.Series, decimal: str) -> bool:
    if not is_text(column) or column.isna().all():
        return False
    return not read_numbers(column, decimal=decimal)[1].any()
