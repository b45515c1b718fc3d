"""Bytes of a file, with messages that name the file and the remedy."""

from __future__ import annotations

import gzip
import re
import zlib
from pathlib import Path

import pandas as pd

from tacit.errors import ProblemError


def check_path(path: str | Path) -> None:
    """Refuse a text that can be the path of no file.

    Raises:
        ProblemError: an empty text, or one with a null character.
    """
    if not str(path).strip() or "\0" in str(path):
        raise ProblemError(f"path={str(path)!r} names no file; give the path of one")


def read(path: str | Path) -> bytes:
    """The contents of a file, decompressed when its name ends in `.gz`.

    Raises:
        ProblemError: a file that is absent, empty, truncated or cannot be read.
    """
    check_path(path)
    given, path = str(path), Path(path)
    try:
        if path.is_fifo():  # it may wait for ever for a writer, and can be read only once
            raise ProblemError(f"{path}: a pipe; write the table to a file, and give its path")
        data = path.read_bytes()
    except FileNotFoundError as error:
        if re.match(r"(https?|ftp|s3|gs|file):/", given):
            raise ProblemError(
                f"{given}: addresses are not read; download the file, and give its path"
            ) from error
        remedy = "check the path"
        if "~" in path.parts:
            meant = Path(*path.parts[path.parts.index("~") :]).expanduser()
            remedy = f"~ is not expanded here: write {meant}"
        raise ProblemError(f"{path}: no such file; {remedy}") from error
    except IsADirectoryError as error:
        raise ProblemError(f"{path}: a directory; name a file in it") from error
    except OSError as error:
        raise ProblemError(
            f"{path}: cannot be read ({error.strerror}); check who may read it"
        ) from error
    if path.suffix.lower() == ".gz":
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise ProblemError(
                f"{path}: not a complete gzip file ({error}); it may be truncated: copy it again"
            ) from error
    if not data.strip():
        raise ProblemError(f"{path}: the file is empty; it may not have been written to the end")
    return data


_OTHERS = {
    b"PK\x03\x04": "an Excel workbook or another zip archive; name a workbook .xlsx",
    b"\xd0\xcf\x11\xe0": "an Excel workbook of the old kind (.xls), or one with a password; "
    "save it as .xlsx without one",
    b"PAR1": "a Parquet file; name it .parquet",
    b"\x1f\x8b": "compressed by gzip; name it .csv.gz",
    b"%PDF": "a PDF; export the table as CSV",
}
"""Kinds of files that are taken for CSV files, by their first bytes."""


def check_text(data: bytes, path: str | Path) -> None:
    """Refuse a file of another kind that is named like a CSV file.

    Raises:
        ProblemError: such a file; the message names its kind.
    """
    start = data[:200].removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if start.startswith((b"<!doctype html", b"<html")):
        raise ProblemError(
            f"{path}: not a CSV file but an HTML page, as a server sends in place of a file that "
            "it lacks or asks a login for; open it in a browser, and download the table itself"
        )
    for first, kind in _OTHERS.items():
        if data.startswith(first):
            raise ProblemError(f"{path}: not a CSV file but {kind}")


def numbered(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with its rows numbered from 0, as messages name them."""
    frame.index = pd.RangeIndex(len(frame), name="row")
    return frame
