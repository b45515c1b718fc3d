"""Reading the status file of a member."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tacit.arguments import checked
from tacit.deploy.files import why
from tacit.errors import ConfigError

_KEYS = {"run", "name", "time", "state", "round", "rounds", "round_seconds", "without"} | {
    *("waiting_for", "neighbours", "messages", "paid")
}
_OF_A_PEER = {"silent_seconds", "waited_seconds", "finished"}

_DAMAGED = (
    "is damaged: it was cut off or changed. A running member writes it again within a second; if "
    "it has ended, restore the file, or give the same command again"
)


@checked(ConfigError)
def read_status(state: Path) -> dict[str, Any]:
    """The last status that a member wrote (`"format": "tacit-status-1"`): public values only.

    Args:
        state: state directory of the member.

    Raises:
        ConfigError: no status file, since the member has not been started, or a damaged one.
    """
    try:
        found: Any = json.loads((state / "status.json").read_bytes())
    except ValueError as error:
        raise ConfigError(f"{state / 'status.json'} {_DAMAGED}") from error
    except OSError as error:
        raise ConfigError(
            f"{state} has no status ({why(error)}); give the --state directory of a member that "
            "has been started"
        ) from error
    if not isinstance(found, dict) or found.get("format") != "tacit-status-1":
        raise ConfigError(
            f"{state / 'status.json'} is not the status of a member; give the --state directory of "
            "a member that has been started"
        )
    if not _whole(found):
        raise ConfigError(f"{state / 'status.json'} {_DAMAGED}")
    return found


def _whole(found: dict[str, Any]) -> bool:
    """Whether a status has all its parts."""
    peers, numbers = found.get("neighbours"), (int, float)
    return (
        found.keys() >= _KEYS
        and isinstance(found["time"], numbers)
        and isinstance(found["messages"], dict)
        and isinstance(peers, dict)
        and all(isinstance(each, dict) and each.keys() >= _OF_A_PEER for each in peers.values())
    )


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
