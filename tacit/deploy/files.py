"""Small files that are there whole or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


def write_text(path: Path, text: str) -> None:
    """Write a file in one step: whoever reads it sees the old one or the new one."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)


def write_json(path: Path, document: Any) -> None:
    """The same for a JSON document."""
    write_text(path, json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def write_secret(path: Path, data: bytes) -> None:
    """A file that only its owner may read, there whole or not at all, in the place of an older."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.unlink(missing_ok=True)
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


def why(error: Exception) -> str:
    """What is wrong, without the path, which stands in the sentence already."""
    return (isinstance(error, OSError) and error.strerror) or str(error)
