"""The directory of a sweep: which sweep it belongs to, and what is written there."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tacit._jobs.store import digest_of
from tacit.errors import ConfigError, RuntimeFailure
from tacit.study._output.files import jsonable
from tacit.sweep.cells import Plan

FORMAT = "tacit-sweep-1"
"""Version of the directory, in `sweep.json`."""

DOCUMENT, PIECES = "sweep.json", "pieces"


def identity(plan: Plan) -> dict[str, Any]:
    """What a directory records about the sweep that it holds."""
    return jsonable(
        {
            "study": tomllib.loads(plan.source.text),
            "seeds": plan.seeds,
            "methods": plan.grid.methods,
            "settings": dict(plan.grid.settings),
            "cases": [dict(case) for case in plan.grid.cases],
            "records": {name: digest_of(path) for name, path in plan.inputs.items()},
        }
    )


def prepare(folder: Path, plan: Plan, *, force: bool = False) -> dict[str, Any]:
    """Make the directory, or check that it belongs to this sweep.

    Args:
        folder: directory of the sweep.
        plan: the sweep.
        force: whether another sweep's table and report may be replaced; its chunks are kept.

    Returns:
        What it records about this sweep; empty if it was made now, or held another one.

    Raises:
        ConfigError: it cannot be read or written, or holds something else.
    """
    mine = identity(plan)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        older = _older(folder)
        if older is None and any(folder.iterdir()):
            raise ConfigError(
                f"output={str(folder)!r} holds something other than a sweep; choose another "
                "directory with --output"
            )
        if older is not None:
            known = {"cases": [], **older}  # which earlier versions did not have
            differing = [key for key, value in mine.items() if known.get(key) != value]
            if differing and not force:
                raise ConfigError(
                    f"output={str(folder)!r} holds another sweep ({_said(differing, older, mine)})"
                    "; choose another directory with --output, or replace its table and report "
                    "with --force, which keeps what was computed"
                )
            older = None if differing else older
        if older is None:
            write_json(folder / DOCUMENT, {"format": FORMAT, "complete": False, **mine})
        if not os.access(folder, os.W_OK):
            raise PermissionError(13, "Permission denied")
        return {} if older is None else older
    except OSError as error:
        raise ConfigError(
            f"output={str(folder)!r} cannot be used ({error.strerror}); choose a directory that "
            "you may read and write"
        ) from error


def _older(folder: Path) -> dict[str, Any] | None:
    """What the directory records about its sweep, if it holds one."""
    try:
        document = json.loads((folder / DOCUMENT).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError:
        document = None
    if not isinstance(document, dict) or not str(document.get("format")).startswith("tacit-sweep"):
        raise ConfigError(
            f"{folder / DOCUMENT} was not written by tacit sweep; choose another directory with "
            "--output"
        )
    if document["format"] != FORMAT:
        raise ConfigError(
            f"{folder / DOCUMENT} has format {document['format']!r} and this version of tacit "
            f"writes {FORMAT!r}; choose another directory with --output"
        )
    return document


def _said(differing: list[str], older: dict[str, Any], mine: dict[str, Any]) -> str:
    """What differs, with both values where they are short."""
    words = []
    for key in differing:
        values = f"{older.get(key)} there, {mine[key]} here"
        words.append(f"{key}: {values}" if len(values) < 120 else f"other {key}")
    return "; ".join(words)


def write_json(path: Path, document: object) -> None:
    """Write strict JSON, completely or not at all.

    Raises:
        OSError: it cannot be written.
    """
    text = json.dumps(jsonable(document), indent=2, allow_nan=False, ensure_ascii=False)
    whole(path, lambda draft: draft.write_text(text + "\n", encoding="utf-8"))


def whole(path: Path, write: Callable[[Path], Any]) -> None:
    """Write a file under a temporary name and rename it at the end.

    Raises:
        OSError: it cannot be written.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        write(draft)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def guarded(folder: Path, write: Callable[[], None]) -> None:
    """Write the results.

    Raises:
        RuntimeFailure: the directory cannot be written; what was computed is kept.
    """
    try:
        write()
    except OSError as error:
        raise RuntimeFailure(
            f"the results cannot be written to {folder} ({error.strerror}); what was computed is "
            "kept: make room and run the same command again"
        ) from error
