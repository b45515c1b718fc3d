"""Names in a ledger, which cannot be changed once they are in it."""

from __future__ import annotations

from tacit.errors import LedgerError
from tacit.kinds import Relation, Unit
from tacit.privacy.ledger.book import RECORD


def check_names(*names: tuple[str, str]) -> None:
    """Refuse an empty name.

    Args:
        names: role and name of each.

    Raises:
        LedgerError: an empty name.
    """
    for role, name in names:
        if not name:
            raise LedgerError(f"{role}={name!r}: a name must not be empty")


def check_neighbours(text: str) -> None:
    """Refuse a text that names no unit and adjacency: a typo would be another kind of account.

    Raises:
        LedgerError: such a text.
    """
    unit, relation, *_ = (*text.split(", "), "", "")
    units, relations = [each.value for each in Unit], [each.value for each in Relation]
    if unit not in units or relation not in relations:
        raise LedgerError(
            f"neighbours={text!r} is no adjacency that is known; write one of {', '.join(units)}, "
            f"and one of {', '.join(relations)}, as in {RECORD!r}"
        )
