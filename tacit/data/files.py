"""Bytes of a file, with messages that name the file and the remedy."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

import pandas as pd

from tacit.errors import ProblemError


def read(path: str | Path) -> bytes:
    """The contents of a file, decompressed when its name ends in `.gz`.

    Raises:
        ProblemError: a file that is absent, empty, truncated or cannot be read.
    """
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


def numbered(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with its rows numbered from 0, as messages name them."""
    frame.index = pd.RangeIndex(len(frame), name="row")
    return frame


def first_line(error: BaseException) -> str:
    """The first line of an error of another package, shortened."""
    return (str(error).splitlines() or [type(error).__name__])[0][:120]
