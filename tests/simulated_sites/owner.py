"""What owners do: they start members, put copies back, and start a member twice by mistake."""

from __future__ import annotations

import shutil
from pathlib import Path

FOLDERS = {
    "state": ("state",),
    "runs": ("keys/runs",),
    "machine": ("state", "keys/runs"),
    "work": ("state", "own"),
    "empty": ("state",),
}
"""What a copy is of; that of an empty state holds nothing. An owner's own ledger is in `own`."""


def copy(folder: Path, what: str, to: Path) -> bool:
    """Copy parts of a member's folder as they are at this moment; whether they were there."""
    if not all((folder / each).exists() for each in FOLDERS[what]):
        return False
    for each in FOLDERS[what]:
        shutil.copytree(folder / each, to / each)
    return True


def put(folder: Path, what: str, source: Path) -> None:
    """Put a copy in the place of what is there."""
    for each in FOLDERS[what]:
        shutil.rmtree(folder / each, ignore_errors=True)
        if what == "empty" and not source.name.startswith("newest"):
            (folder / each).mkdir(mode=0o700)
            continue
        shutil.copytree(source / each, folder / each)
        # an index of the log belongs to the processes that had it open
        for index in (folder / each).rglob("*-shm"):
            index.unlink()
