"""Reading the status file of a member."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tacit.arguments import checked
from tacit.deploy.files import why
from tacit.errors import ConfigError


@checked(ConfigError)
def read_status(state: Path) -> dict[str, Any]:
    """The last status that a member wrote (`"format": "tacit-status-1"`): public values only.

    Args:
        state: state directory of the member.

    Raises:
        ConfigError: no status file, since the member has not been started.
    """
    try:
        found: Any = json.loads((state / "status.json").read_bytes())
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"{state} has no status ({why(error)}); give the --state directory of a member that "
            "has been started"
        ) from error
    if not isinstance(found, dict) or found.get("format") != "tacit-status-1":
        raise ConfigError(
            f"{state / 'status.json'} is not the status of a member; give the --state directory of "
            "a member that has been started"
        )
    return found


def spent(status: dict[str, Any]) -> dict[str, Any] | None:
    """The budget that the member's ledger has counted as spent.

    Args:
        status: status from `read_status`.

    Returns:
        `spent` of the budget `epsilon` at `delta`, and what it is `about`; `None` for a member that
        releases nothing.

    Raises:
        LedgerError: a ledger that cannot be read.
    """
    paid = status["paid"]
    if not paid:
        return None
    from tacit.privacy.ledger import read

    for each in read(Path(paid["ledger"])).balances:
        if (each.owner, each.dataset) == (paid["owner"], paid["dataset"]):
            return {
                "spent": each.spent,
                "epsilon": each.epsilon,
                "delta": each.delta,
                "about": each.about,
            }
    return None
