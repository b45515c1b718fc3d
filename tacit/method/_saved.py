"""The format of a file that a regression or a model was saved to."""

from __future__ import annotations

import json
from pathlib import Path

from tacit import checks
from tacit.errors import ProblemError


def check_format(text: str, path: str | Path, known: str) -> None:
    """Refuse a file of another format by its name; what has none is left to its reader.

    Args:
        text: contents of the file, JSON.
        path: path of the file, for messages.
        known: format that is read.

    Raises:
        ProblemError: another format.
    """
    try:
        found = json.loads(text)["format"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return
    if found != known:
        raise ProblemError(
            f"{path}: has the format {checks.shown(found)}; this version of tacit reads {known!r}"
        )
