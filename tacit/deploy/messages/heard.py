"""What was heard from each neighbour, on disk before it is used.

So a member can tell a neighbour that returns with an older state what it has from it, even after
its own restart; and no message that it used can be replaced by another.
"""

from __future__ import annotations

from collections.abc import Sequence

from tacit.deploy.messages.evidence import keep
from tacit.deploy.messages.journal import Journal
from tacit.deploy.messages.mailbox import Conflict, Heard


class HeardStore:
    """Digests of all messages that one member heard. Thread-safe.

    Args:
        journal: journal of the member.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def keep(self, heard: Sequence[Heard], copy: tuple[int, bytes] | None = None) -> None:
        """Store on disk what came from neighbours, before it is used.

        Args:
            heard: entries of the messages; the first one of an address is kept.
            copy: position and bytes of a coordinator's newest message, if it is to be kept.
        """
        with self._journal.transaction() as file:
            self.note(heard)
            if copy is not None:
                file.execute("INSERT OR REPLACE INTO copy VALUES (1, ?, ?)", copy)

    def note(self, heard: Sequence[Heard]) -> None:
        """Store the entries within the caller's transaction."""
        with self._journal.writing() as file:
            file.executemany("INSERT OR IGNORE INTO heard VALUES (?, ?, ?, ?)", heard)

    def find(self, sender: int, position: int) -> Heard | None:
        """What was heard from a sender at a position."""
        query = "SELECT * FROM heard WHERE sender = ? AND position = ?"
        with self._journal.writing() as file:
            row = file.execute(query, (sender, position)).fetchone()
        return None if row is None else Heard(*row)

    def of(self, sender: int) -> list[Heard]:
        """What was heard from a sender, or what this member itself sent."""
        query = "SELECT * FROM heard WHERE sender = ?"
        with self._journal.writing() as file:
            return [Heard(*row) for row in file.execute(query, (sender,)).fetchall()]

    def digests(self, sender: int) -> dict[int, bytes]:
        """Digests of all messages of a sender, by position."""
        return {each.position: each.digest for each in self.of(sender)}

    def newest(self) -> dict[int, int]:
        """Position of each sender's newest message that was ever on disk here."""
        query = "SELECT sender, max(position) FROM heard GROUP BY sender"
        with self._journal.writing() as file:
            return dict(file.execute(query).fetchall())

    def copy(self) -> tuple[int, bytes]:
        """Position and bytes of a coordinator's newest message that was heard; -1 for none."""
        with self._journal.writing() as file:
            row = file.execute("SELECT position, data FROM copy").fetchone()
        return row or (-1, b"")

    def contradicted(self, name: str, conflict: Conflict) -> str:
        """Keep a neighbour's two messages of one address.

        Args:
            name: name of the neighbour.
            conflict: the two messages.

        Returns:
            A description of the conflict, for the owner.
        """
        return keep(self._journal.path.parent, self._journal.run, name, conflict)
