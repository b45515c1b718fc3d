"""Reading tables from files. Nothing is executed: no loader ever unpickles.

Every loader returns a pandas frame whose index locates each record in the file: the line of a CSV
file, or the row number counted from 0.
"""

from __future__ import annotations

import csv
import gzip
import io
import math
import struct
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Shaped

from tacit.arguments import checked
from tacit.data.columns import check_distinct
from tacit.errors import ProblemError

MISSING_TEXTS = ("", "NA", "N/A", "NaN", "nan", "null", "NULL")
"""Texts that mean a missing value in a CSV file."""

_IDX_TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


@checked(ProblemError)
def load(path: str | Path, **options: Any) -> pd.DataFrame:
    """Read a table; the suffix of the file name selects the loader.

    Args:
        path: `.csv`, `.tsv` (either may end in `.gz`), `.parquet`, `.npz` or idx images.
        options: options of the loader for that kind of file.

    Raises:
        ProblemError: another suffix, or an error from the loader.
    """
    name = Path(path).name.lower().removesuffix(".gz")
    if name.endswith(".csv"):
        return load_csv(path, **options)
    if name.endswith(".tsv"):
        return load_csv(path, **{"separator": "\t", **options})
    if name.endswith((".parquet", ".pq")):
        return load_parquet(path, **options)
    if name.endswith(".npz"):
        return load_npz(path, **options)
    if name.endswith(("ubyte", ".idx")):
        return load_idx(path, **options)
    raise ProblemError(
        f"{path}: no loader for this suffix; use .csv, .tsv, .parquet, .npz or idx (-ubyte), or "
        "read it with pandas and pass the frame to from_pandas"
    )


@checked(ProblemError)
def load_csv(
    path: str | Path,
    separator: str = ",",
    encoding: str = "utf-8-sig",
    missing: Sequence[str] = MISSING_TEXTS,
) -> pd.DataFrame:
    """Read a CSV file with a header line; every value as text, or as missing.

    Types are not guessed, because a guess about a column lets one record change how all others are
    read. `prepare` turns each value into what the schema declares, one by one.

    Args:
        path: path of the file; decompressed first when it ends in `.gz`.
        separator: separator between values, one character.
        encoding: encoding of the text.
        missing: texts that mean a missing value.

    Raises:
        ProblemError: unreadable, empty or wrongly encoded file, a duplicate or empty column name,
            or a line with too few or too many values.
    """
    if len(separator) != 1 or separator in '"\r\n':
        raise ProblemError(
            f"separator={separator!r} must be one character, such as ';' or '\\t' for a tab"
        )
    data = _read(path)
    try:
        text = data.decode(encoding)
    except (UnicodeError, LookupError) as error:
        raise ProblemError(
            f"{path}: not text in encoding={encoding!r} ({error}); give another (`tacit init`: "
            "--encoding), such as encoding='cp1252' or 'latin-1' (older programs) or 'utf-16'"
        ) from error
    lines = _check_csv(text, path, separator)
    try:
        frame = pd.read_csv(
            io.StringIO(text),
            sep=separator,
            dtype=str,
            na_values=list(missing),
            keep_default_na=False,
            index_col=False,
        )
    except (ValueError, pd.errors.ParserError) as error:
        raise ProblemError(f"{path}: not a readable CSV file ({error}); correct it") from error
    # pandas may skip a line of blanks that the csv module counts.
    index = lines if len(lines) == len(frame) else range(2, len(frame) + 2)
    frame.index = pd.Index(index, name="line", dtype=np.int64)
    return frame


def guess_kinds(frame: pd.DataFrame, decimal: str = ".") -> pd.DataFrame:
    """The frame with text columns of numbers, or of true and false, converted to these.

    For a first look at a table. Never prepare the result: a single record with another value turns
    its column back to text.
    """
    return frame.assign(**{str(name): _guessed(column, decimal) for name, column in frame.items()})


def _guessed(column: pd.Series, decimal: str) -> pd.Series:
    if not isinstance(column.dtype, pd.StringDtype) or column.isna().all():
        return column
    words = column.str.strip().str.lower()
    if words.dropna().isin(("true", "false")).all():
        return words.map({"true": True, "false": False})
    if decimal == ",":  # a point is then not part of a number
        words = words.str.replace(".", "?", regex=False).str.replace(",", ".", regex=False)
    try:
        return pd.Series(pd.to_numeric(words))
    except ValueError:
        return column


@checked(ProblemError)
def load_parquet(path: str | Path) -> pd.DataFrame:
    """Read a Parquet file.

    Raises:
        ProblemError: unreadable, empty or truncated file, or a duplicate column name.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ProblemError(
            f"{path}: reading Parquet needs pyarrow; install it with: "
            "pip install 'tacit[parquet]', or convert the file to CSV"
        ) from error
    data = _read(path)
    try:
        table = pq.ParquetFile(pa.BufferReader(data)).read()
    except (pa.ArrowException, OSError) as error:
        raise ProblemError(
            f"{path}: not a complete Parquet file ({_first(error)}); it may be truncated: "
            "copy or export it again"
        ) from error
    check_distinct(table.column_names, str(path))
    return _numbered(table.to_pandas().reset_index(drop=True))


@checked(ProblemError)
def load_npz(
    path: str | Path,
    features: str = "x",
    target: str | None = "y",
    names: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Read an array of features, and of targets, from an npz archive.

    Args:
        path: path of the archive.
        features: name of the array of shape `(n, ...)`; all axes but the first are flattened.
        target: name of the array of shape `(n,)`, which becomes the column of that name, or `None`.
        names: names of the columns; `x0, x1, ...` (from the array's name) when `None`.

    Raises:
        ProblemError: unreadable or truncated archive, an array that is absent or holds Python
            objects, or lengths that differ.
    """
    wanted = [features] if target is None else [features, target]
    data = _read(path)
    try:
        archive = np.load(io.BytesIO(data), allow_pickle=False)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise ProblemError(f"{path}: a single array; save it with numpy.savez, under a name")
        with archive:
            absent = [name for name in wanted if name not in archive.files]
            if absent:
                raise ProblemError(
                    f"{path}: no array {absent[0]!r}; it holds {', '.join(archive.files)}. "
                    "Save them under these names, or in Python give load_npz features= and target="
                )
            arrays = [archive[name] for name in wanted]
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        remedy = (
            "arrays of Python objects are not read, because that could run code: save numbers"
            if "allow_pickle" in str(error)
            else "it may be truncated: copy or save it again"
        )
        raise ProblemError(
            f"{path}: not a complete npz archive ({_first(error)}); {remedy}"
        ) from error
    x = arrays[0]
    if x.ndim < 2:
        raise ProblemError(
            f"{path}: array {features!r} has shape {x.shape}; features need (records, columns)"
        )
    if names is None:
        names = [f"{features}{j}" for j in range(math.prod(x.shape[1:]))]
    return _from_arrays(x, names, arrays[1] if target else None, target, str(path))


@checked(ProblemError)
def load_idx(
    images: str | Path, labels: str | Path | None = None, target: str = "label"
) -> pd.DataFrame:
    """Read images and labels in the idx format of MNIST, plain or gzipped.

    Args:
        images: file with an array of shape `(n, ...)`; pixels become columns `pixel_i_j`.
        labels: file with an array of shape `(n,)`.
        target: name of the column of labels.

    Raises:
        ProblemError: unreadable or truncated file, one that is not idx, or lengths that differ.
    """
    x = _idx(images)
    if x.ndim < 2:
        raise ProblemError(
            f"{images}: shape {x.shape} is that of labels; images need two axes or more"
        )
    names = ["pixel_" + "_".join(str(i) for i in index) for index in np.ndindex(x.shape[1:])]
    return _from_arrays(x, names, None if labels is None else _idx(labels), target, str(images))


@checked(ProblemError)
def from_pandas(frame: pd.DataFrame) -> pd.DataFrame:
    """The user's own frame, checked; its index names the rows in messages.

    Raises:
        ProblemError: not a frame, several levels of columns, or a duplicate column name.
    """
    if not isinstance(frame, pd.DataFrame):
        raise ProblemError(f"expected a pandas DataFrame, got {type(frame).__name__}")
    if frame.columns.nlevels > 1:
        raise ProblemError(
            f"the frame has {frame.columns.nlevels} levels of column names; join them to one"
        )
    names = [str(name) for name in frame.columns]
    check_distinct(names, "the frame")
    return frame.set_axis(names, axis=1)


def _read(path: str | Path) -> bytes:
    path = Path(path)
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise ProblemError(f"{path}: no such file; check the path") from error
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


def _check_csv(text: str, path: str | Path, separator: str) -> list[int]:
    """Check names and lengths, which pandas repairs silently; return each record's first line."""
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        header = next((row for row in reader if row), [])
        _check_separator(header, path)  # first: a wrong one makes lines too short or too long
        lines: list[int] = []
        end = reader.line_num
        for row in reader:
            start, end = end + 1, reader.line_num
            if not row:
                continue
            if len(row) != len(header):
                raise ProblemError(
                    f"{path}, line {start}: {len(row)} values where the header has {len(header)} "
                    "columns; correct the line, or quote a value that holds the separator"
                )
            lines.append(start)
    except csv.Error as error:
        raise ProblemError(
            f"{path}: not a readable CSV file with separator={separator!r} ({error}); correct it"
        ) from error
    check_distinct(header, str(path))
    if "" in header:
        raise ProblemError(f"{path}: column {header.index('') + 1} has no name; name it")
    return lines


def _check_separator(header: list[str], path: str | Path) -> None:
    if len(header) == 1:
        other = next((mark for mark in ";\t|," if mark in header[0]), None)
        if other:
            raise ProblemError(
                f"{path}: a single column {header[0]!r}; the separator seems to be {other!r}: "
                f"give separator={other!r} (`tacit init`: --separator)"
            )


def _idx(path: str | Path) -> np.ndarray:
    data = _read(path)
    kind = _IDX_TYPES.get(data[2]) if len(data) >= 4 and data[:2] == b"\0\0" else None
    if kind is None or data[3] == 0 or len(data) < 4 + 4 * data[3]:
        raise ProblemError(
            f"{path}: not an idx file (it begins with {data[:4].hex(' ')}); expected two zero "
            "bytes, a type and a number of axes"
        )
    start = 4 + 4 * data[3]
    shape = struct.unpack(f">{data[3]}I", data[4:start])
    expected = math.prod(shape) * np.dtype(kind).itemsize
    if len(data) - start != expected:
        raise ProblemError(
            f"{path}: its header announces shape {shape}, {expected} bytes, and "
            f"{len(data) - start} follow; it may be truncated: copy it again"
        )
    array = np.frombuffer(data, dtype=kind, offset=start).reshape(shape)
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _from_arrays(
    x: Shaped[np.ndarray, "n ..."],
    names: Sequence[str],
    y: np.ndarray | None,
    target: str | None,
    source: str,
) -> pd.DataFrame:
    if len(x) == 0:
        raise ProblemError(f"{source}: no records")
    x = x.reshape(len(x), -1)
    if len(names) != x.shape[1]:
        raise ProblemError(f"{source}: {len(names)} names for {x.shape[1]} columns")
    check_distinct(names, source)
    frame = _numbered(pd.DataFrame(x, columns=list(names)))
    if y is not None and target is not None:
        if y.shape != (len(x),):
            raise ProblemError(
                f"{source}: {len(x)} records of features, but targets of shape {y.shape}; "
                f"expected ({len(x)},)"
            )
        if target in frame.columns:
            raise ProblemError(f"{source}: the target {target!r} is also the name of a feature")
        frame[target] = y
    return frame


def _numbered(frame: pd.DataFrame) -> pd.DataFrame:
    frame.index = pd.RangeIndex(len(frame), name="row")
    return frame


def _first(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:120]
