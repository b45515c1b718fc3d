"""A package of others where tacit runs: its names in a study, and its pins."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
NETWORK = '[network]\ngraph = "acme-wheel"'
METHOD = 'name = "acme-momentum"\nstep = 0.3\nmomentum = 0.2'
METHODS, GRAPHS = "[tacit.methods]\n", "[tacit.graphs]\n"

Command = Callable[..., "subprocess.CompletedProcess[str]"]


def pin(tacit: Command) -> str:
    """Pin what is installed; its digest."""
    digest: str = parts(tacit)[0]["sha256"]
    tacit("parts", "trust", "acme-parts", "--digest", digest)
    return digest


def parts(tacit: Command) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(tacit("parts", "list", "--json").stdout)["parts"]
    return found
