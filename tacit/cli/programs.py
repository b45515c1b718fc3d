"""Compiled programs are kept from one command to the next, which saves a third of a second run.

A program of tacit depends on the shapes of the data, never on their values, and a kept one computes
the same bits. `TACIT_CACHE` names another folder, or, left empty, keeps none.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
import warnings
from pathlib import Path

_DAYS = 90
"""Programs that nobody compiled for so long are deleted: they may be of an older version."""

_SETTINGS = {
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
}


def keep_programs() -> None:
    """Let JAX, which is not imported yet, keep what it compiles; where it cannot, it compiles."""
    if "JAX_COMPILATION_CACHE_DIR" in os.environ:
        return
    named = os.environ.get("TACIT_CACHE")
    if named == "":
        return
    try:
        home = Path.home() / ".cache" / "tacit" if named is None else Path(named)
        # a home may be shared by machines of which one has instructions that another lacks
        folder = home / f"programs-{_machine()}"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        _prune(folder)
    except (OSError, RuntimeError) as error:  # no place, or no home
        if named is not None:
            reason = getattr(error, "strerror", None) or error
            print(
                f"WARNING: TACIT_CACHE={named} cannot be used as a folder ({reason}), so compiled "
                "programs are not kept; name another folder, or leave the variable unset",
                file=sys.stderr,
            )
        return
    os.environ["JAX_COMPILATION_CACHE_DIR"] = str(folder)
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    # a damaged or unwritable one is compiled again, which is no concern of the user's
    warnings.filterwarnings("ignore", message="Error (reading|writing) persistent compilation")


def _machine() -> str:
    """A digest of what the processor is and can do."""
    try:
        text = Path("/proc/cpuinfo").read_text(errors="replace").partition("\n\n")[0]
        rows = [row for row in text.splitlines() if row.startswith(("model", "flags", "Features"))]
        said = "\n".join(rows)
    except OSError:
        import platform

        said = f"{platform.node()} {platform.processor()}"
    return hashlib.sha256(said.encode()).hexdigest()[:12]


def _prune(folder: Path) -> None:
    oldest = time.time() - _DAYS * 86_400
    for entry in os.scandir(folder):
        if entry.stat().st_mtime < oldest:
            Path(entry.path).unlink(missing_ok=True)
