"""Scripts that kill members at random, run as programs of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def survived(script: str, folder: Path, kills: int, seed: int, *options: str) -> dict[str, Any]:
    """What ledger and network hold after so many kills, as a script of this folder says."""
    path = Path(__file__).with_name(script)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", path, folder, str(kills), str(seed), *options],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
