"""Reading tables from files. Nothing is executed: no loader ever unpickles.

Every loader returns a pandas frame whose index locates each record in the file: the line of a CSV
file, or the row number counted from 0.
"""

from __future__ import annotations

import io
import math
import struct
import zipfile
import zlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Shaped

from tacit.arguments import checked
from tacit.checks import first_line
from tacit.data.columns import check_distinct
from tacit.data.csv_files import load_csv
from tacit.data.excel import load_excel
from tacit.data.files import check_path, numbered, read
from tacit.errors import ProblemError

FILE = "file"
"""Column with the names of files that are read together."""

_IDX_TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


@checked(ProblemError)
def load(path: str | Path, **options: Any) -> pd.DataFrame:
    """Read a table; the suffix of the file name selects the loader.

    Args:
        path: `.csv`, `.tsv` (either may end in `.gz`), `.xlsx`, `.parquet`, `.npz` or idx images. A
            name with `*` stands for all matching files, with a column `file` that has their names
            without the suffix.
        options: options of the loader for that kind of file.

    Raises:
        ProblemError: another suffix, a directory, an error from the loader, no file that matches,
            or files with different columns.
    """
    check_path(path)
    if several(path):
        return _load_all(Path(path), options)
    name = Path(path).name.lower().removesuffix(".gz")
    if name.endswith(".csv"):
        return load_csv(path, **options)
    if name.endswith(".tsv"):
        return load_csv(path, **{"separator": "\t", **options})
    if name.endswith((".xlsx", ".xlsm")):
        return load_excel(path, **options)
    if name.endswith((".parquet", ".pq")):
        return load_parquet(path, **options)
    if name.endswith(".npz"):
        return load_npz(path, **options)
    if name.endswith(("ubyte", ".idx")):
        return load_idx(path, **options)
    if name == "-":
        raise ProblemError("-: standard input is not read; write the table to a file")
    with suppress(OSError):  # as of a name that is too long
        if Path(path).is_dir():
            raise ProblemError(f"{path}: a directory; name a file in it")
        if Path(path).is_fifo():
            raise ProblemError(f"{path}: a pipe; write the table to a file, and give its path")
    raise ProblemError(
        f"{path}: no loader for this suffix; save the table as .csv, .tsv, .xlsx, .parquet, .npz "
        "or idx (-ubyte), as with pandas or polars"
    )


def several(path: str | Path) -> bool:
    """Whether a path stands for all files that match it."""
    return "*" in Path(path).name and not Path(path).exists()


def matching(path: str | Path) -> list[Path]:
    """The files that a path stands for, in the order in which they are read."""
    pattern = Path(path)
    return sorted(pattern.parent.glob(pattern.name)) if several(path) else [pattern]


def _load_all(pattern: Path, options: dict[str, Any]) -> pd.DataFrame:
    files = matching(pattern)
    if not files:
        raise ProblemError(f"{pattern}: no file matches; check the path")
    tables: list[pd.DataFrame] = []
    for file in files:
        table = load(file, **options)
        names, first = list(table.columns), list(tables[0].columns)[:-1] if tables else None
        if FILE in names:
            raise ProblemError(
                f"{file}: has a column {FILE!r}, which here names the files; rename it"
            )
        if first is not None and set(names) != set(first):
            other = sorted(map(str, set(names) ^ set(first)))
            raise ProblemError(
                f"{file}: has other columns than {files[0]} ({', '.join(other[:12])}); files that "
                "are read together need the same"
            )
        where = pd.Index([f"{row} of {file.name}" for row in table.index], name=table.index.name)
        stem = file.name.removesuffix(".gz").rpartition(".")[0]
        tables.append(table.set_axis(where).assign(**{FILE: stem}))
    return pd.concat(tables)


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
    data = read(path)
    try:
        table = pq.ParquetFile(pa.BufferReader(data)).read()
    except (pa.ArrowException, OSError) as error:
        raise ProblemError(
            f"{path}: not a complete Parquet file ({first_line(error)}); it may be truncated: "
            "copy or export it again"
        ) from error
    check_distinct(table.column_names, str(path))
    return numbered(table.to_pandas().reset_index(drop=True))


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
    data = read(path)
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
        raise ProblemError(f"{path}: {_unread(error)}") from error
    x = arrays[0]
    if x.ndim < 2:
        raise ProblemError(
            f"{path}: array {features!r} has shape {x.shape}; features need (records, columns)"
        )
    if names is None:
        names = [f"{features}{j}" for j in range(math.prod(x.shape[1:]))]
    return _from_arrays(x, names, arrays[1] if target else None, target, str(path))


def _unread(error: Exception) -> str:
    """Why an archive was not read; NumPy's own words advise to load it unsafely."""
    said = first_line(error)
    if "Object arrays" in said:
        return (
            "it holds Python objects, which are not read, because that could run code: save numbers"
        )
    if "pickle" in said:
        return "not an npz archive; save one with numpy.savez"
    return f"not a complete npz archive ({said}); it may be truncated: copy or save it again"


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


def _idx(path: str | Path) -> np.ndarray:
    data = read(path)
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
    frame = numbered(pd.DataFrame(x, columns=list(names)))
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
