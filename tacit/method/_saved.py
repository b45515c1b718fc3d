"""The format of a file that a regression or a model was saved to."""

from __future__ import annotations

import json
from pathlib import Path

from tacit import checks
from tacit.errors import ProblemError, RuntimeFailure


def saved_text(path: str | Path, known: str) -> str:
    """The contents of a file; what names no format is left to its reader.

    Args:
        path: path of the file.
        known: format that is read.

    Raises:
        ProblemError: a file that cannot be read, or of another format.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise ProblemError(f"{path}: cannot be read ({reason}); check the path") from error
    try:
        found = json.loads(text)["format"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return text
    if found != known:
        raise ProblemError(
            f"{path}: has the format {checks.shown(found)}; this version of tacit reads {known!r}"
        )
    return text


def write_saved(path: str | Path, text: str) -> None:
    """Write such a file.

    Args:
        path: path of the file.
        text: its contents, JSON.

    Raises:
        RuntimeFailure: a file that cannot be written.
    """
    try:
        Path(path).write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise RuntimeFailure(f"{path} cannot be written ({error.strerror})") from error
