"""Reading CSV files."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from tacit.arguments import checked
from tacit.data.columns import check_distinct
from tacit.data.csv_dialect import (
    decoded,
    looks_like,
    names_separator,
    separator_of,
    with_points,
    without_separator_line,
)
from tacit.data.files import check_text, read
from tacit.errors import ProblemError

MISSING_TEXTS = ("", "NA", "N/A", "NaN", "nan", "null", "NULL")
"""Texts that mean a missing value in a CSV file."""

_BINARY = re.compile(rb"[\x00-\x08\x0e-\x19]")
"""Bytes that text does not have, in any encoding of one byte a character."""

ROW = "row"
"""Name of a first column that has none: the row names that R and pandas write."""


@checked(ProblemError)
def load_csv(
    path: str | Path,
    separator: str | None = None,
    encoding: str | None = None,
    missing: Sequence[str] = MISSING_TEXTS,
    decimal: str = ".",
) -> pd.DataFrame:
    """Read a CSV file with a header line; every value as text, or as missing.

    Types are not guessed, because a guess about a column lets one record change how all others are
    read. `prepare` turns each value into what the schema declares, one by one.

    Args:
        path: path of the file; decompressed first when it ends in `.gz`.
        separator: separator between values, one character; `None` for the one of comma, semicolon,
            tab and `|` that gives the most column names.
        encoding: encoding of the text; `None` for that of a byte order mark, else UTF-8, or
            Windows-1252 for each line that is not UTF-8.
        missing: texts that mean a missing value.
        decimal: decimal mark of numbers, `"."` or `","`; a comma in them then becomes a point, so
            that tables of several files are alike. `Schema(decimal=...)` reads commas as they are.

    Raises:
        ProblemError: unreadable, empty or wrongly encoded file, a duplicate or empty column name,
            a line with too few or too many values, or with a decimal comma a column of numbers in
            which some have a point.
    """
    if decimal not in (".", ","):
        raise ProblemError(f"decimal={decimal!r} must be '.' or ','")
    if separator is not None and (len(separator) != 1 or separator in '"\r\n'):
        raise ProblemError(
            f"separator={separator!r} must be one character, such as ';' or '\\t' for a tab"
        )
    data = read(path)
    check_text(data, path)
    try:
        text = decoded(data) if encoding is None else _in(data, encoding)
    except (UnicodeError, LookupError) as error:
        if encoding is None and _BINARY.search(data):
            raise ProblemError(
                f"{path}: not text, but a binary file; give a CSV file, or another kind of file by "
                "its own suffix (.xlsx, .parquet)"
            ) from error
        raise ProblemError(_not_in(data, path, encoding, error)) from error
    if (at := text.find("\0")) >= 0:
        raise ProblemError(
            f"{path}, line {text.count(chr(10), 0, at) + 1}: a NUL character, which no text has; "
            "correct the line, or give the encoding of the file, such as encoding='utf-16'"
        )
    between = separator_of(text) if separator is None else separator
    text = without_separator_line(text)
    names, lines = _check_csv(text, path, between, found=separator is None)
    try:
        frame = pd.read_csv(
            io.StringIO(text),
            sep=between,
            dtype=str,
            na_values=list(missing),
            keep_default_na=False,
            index_col=False,
            usecols=range(len(names)),
        )
    except (ValueError, pd.errors.ParserError) as error:
        raise ProblemError(f"{path}: not a readable CSV file ({error}); correct it") from error
    frame.columns = pd.Index(names)
    # pandas may skip a line of blanks that the csv module counts.
    index = lines if len(lines) == len(frame) else range(2, len(frame) + 2)
    frame.index = pd.Index(index, name="line", dtype=np.int64)
    return frame if decimal == "." else with_points(frame, path)


def _in(data: bytes, encoding: str) -> str:
    """The text of a table in an encoding.

    Raises:
        UnicodeError: it is not in it.
        LookupError: an unknown encoding.
    """
    wide = codecs.lookup(encoding).name.startswith(("utf-16", "utf-32"))
    if wide and b"\0" not in data:  # any two bytes are a letter, but the end of a line has a zero
        raise UnicodeError("no end of a line")
    return data.decode(encoding)


def _not_in(data: bytes, path: str | Path, encoding: str | None, error: Exception) -> str:
    """What is said of a file that is no text in an encoding: what it looks like, and the remedy."""
    if encoding is None:
        return (
            f"{path}: not text in UTF-8 or Windows-1252 ({error}); give another, such as "
            "encoding='cp1252' or 'latin-1' (older programs) or 'utf-16'"
        )
    like = looks_like(data)
    told = f"it looks like {like}: leave the encoding out, or give that one"
    unknown = ", which Python does not know" if isinstance(error, LookupError) else ""
    return f"{path}: not text in encoding={encoding!r}{unknown}; {told}"


def column_names(path: Path, separator: str | None, encoding: str | None) -> list[str]:
    """The column names of a CSV file; no record is read.

    Args:
        path: path of the file.
        separator: as for `load_csv`.
        encoding: as for `load_csv`.

    Raises:
        OSError: a file that cannot be read.
    """
    opened = gzip.open if path.name.lower().endswith(".gz") else open
    with opened(path, "rb") as file:
        start = file.readline()
        if names_separator(start):
            start += file.readline()
    text = decoded(start, "ignore") if encoding is None else start.decode(encoding, "replace")
    between = separator_of(text) if separator is None else separator
    return _names(csv.reader(io.StringIO(without_separator_line(text)), delimiter=between))


def _names(reader: Iterator[list[str]]) -> list[str]:
    """The first row; the names of rows, as R and pandas write them, have none of their own."""
    found = next((row for row in reader if row), [])
    if len(found) > 1 and not found[0] and ROW not in found:
        found[0] = ROW
    if len(found) > 1 and not found[-1]:  # lines end with a separator
        found.pop()
    return found


def _check_csv(
    text: str, path: str | Path, separator: str, found: bool
) -> tuple[list[str], list[int]]:
    """Check names and lengths, which pandas repairs silently.

    Args:
        text: contents of the file.
        path: path of the file, for messages.
        separator: separator between values.
        found: whether the separator was found, not given.

    Returns:
        The column names, and the first line of each record.
    """
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        header = _names(reader)
        _check_separator(header, path)  # first: a wrong one makes lines too short or too long
        lines: list[int] = []
        opened = 0
        end = reader.line_num
        for row in reader:
            start, end = end + 1, reader.line_num
            if not row:
                continue
            if end > start and not opened:
                opened = start
            if len(row) == len(header) + 1 and not row[-1]:
                row.pop()
            if len(row) != len(header):
                quote = f"; a quotation mark in line {opened} may be unclosed" if opened else ""
                other = f", or give separator= if it is not {separator!r}" if found else ""
                if not lines and len(row) > len(header):
                    other += "; if a title stands above the column names, delete it"
                raise ProblemError(
                    f"{path}, line {start}: {len(row)} values where the header has {len(header)} "
                    "columns; correct the line, or quote a value that holds the separator"
                    f"{other}{quote}"
                )
            lines.append(start)
    except csv.Error as error:
        raise ProblemError(
            f"{path}: not a readable CSV file with separator={separator!r} ({error}); correct it"
        ) from error
    check_distinct(header, str(path))
    if "" in header:
        raise ProblemError(f"{path}: column {header.index('') + 1} has no name; name it")
    return header, lines


def _check_separator(header: list[str], path: str | Path) -> None:
    if len(header) == 1:
        other = next((mark for mark in ";\t|," if mark in header[0]), None)
        if other:
            raise ProblemError(
                f"{path}: a single column {header[0]!r}; the separator seems to be {other!r}: "
                f"give separator={other!r}"
            )
