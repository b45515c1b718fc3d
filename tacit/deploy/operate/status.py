"""What the status file of a member says, for whoever asks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tacit.deploy.files import why
from tacit.errors import ConfigError


def read_status(state: Path) -> dict[str, Any]:
    """The last status that a member wrote (`"format": "tacit-status-1"`): public values only.

    Args:
        state: the member's state directory.

    Raises:
        ConfigError: no status there: the member has not been started.
    """
    try:
        found: dict[str, Any] = json.loads((state / "status.json").read_bytes())
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"{state} has no status ({why(error)}); give the --state directory of a member that "
            "has been started"
        ) from error
    return found


def spent(status: dict[str, Any]) -> dict[str, float] | None:
    """What the member's ledger has counted.

    Args:
        status: from `read_status`.

    Returns:
        `spent` of the budget `epsilon` at `delta`; `None` for a member that releases nothing.

    Raises:
        LedgerError: a ledger that cannot be read.
    """
    paid = status["paid"]
    if not paid:
        return None
    from tacit.privacy.ledger import read

    for each in read(Path(paid["ledger"])).balances:
        if (each.owner, each.dataset) == (paid["owner"], paid["dataset"]):
            return {"spent": each.spent, "epsilon": each.epsilon, "delta": each.delta}
    return None
