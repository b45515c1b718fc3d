"""Noticing that an older copy was restored: a backup, or a snapshot of the machine.

Such a file is intact, and nothing in it reveals its age. But its owner's peers have seen later
entries, and the numbers of entries only grow.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from tacit.errors import LedgerRolledBack
from tacit.privacy.ledger.chain import Mark


def require_at_least(
    connection: sqlite3.Connection, path: Path, head: Mark, known: int | Mark
) -> None:
    """Refuse a ledger that lacks an entry known to a peer.

    Args:
        connection: connection to the ledger.
        path: path of its file, for the message.
        head: last entry of the ledger.
        known: number of that entry or, better, its mark: a number alone cannot distinguish a later
            copy from one that diverged after the restoration.

    Raises:
        LedgerRolledBack: the entry is not there.
    """
    number = known.sequence if isinstance(known, Mark) else known
    remedy = (
        "What was answered after that copy is not in it, so going on could answer the same "
        "questions again with fresh noise. Nothing was released. Put back the file with that "
        "entry; if it is lost, count every budget in it as spent and start a new ledger"
    )
    if head.sequence < number:
        raise LedgerRolledBack(
            f"the ledger {path} is an older copy: it ends with entry {head.sequence}, and a peer "
            f"has seen entry {number}. {remedy}"
        )
    if isinstance(known, Mark) and number > 0:
        row = connection.execute(
            "SELECT hash FROM entries WHERE sequence = ?", (number,)
        ).fetchone()
        if row != (known.hash,):
            raise LedgerRolledBack(
                f"the ledger {path} has gone another way: its entry {number} is not the one that a "
                f"peer has seen ({known.hash[:12]}...). {remedy}"
            )
