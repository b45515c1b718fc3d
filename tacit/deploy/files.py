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
