"""What was heard of each neighbour: on the disk before it is used.

So a member can tell a neighbour that comes back with an older state what it has of it, also after a
restart of its own; and no message that it used can be replaced by another.
"""

from __future__ import annotations

from collections.abc import Sequence

from tacit.deploy.messages.evidence import keep
from tacit.deploy.messages.journal import Journal
from tacit.deploy.messages.mailbox import Conflict, Heard


class HeardStore:
    """Digests of all messages that one member heard. Any thread may call.

    Args:
        journal: of the member.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        with journal.writing() as file:
            file.execute(
                "CREATE TABLE IF NOT EXISTS heard (sender INTEGER, position INTEGER, digest BLOB, "
                "signature BLOB, PRIMARY KEY (sender, position)) WITHOUT ROWID"
            )
            # of a coordinator, the newest that was heard
            file.execute(
                "CREATE TABLE IF NOT EXISTS copy (one INTEGER PRIMARY KEY CHECK (one = 1), "
                "position INTEGER, data BLOB)"
            )

    def keep(self, heard: Sequence[Heard], copy: tuple[int, bytes] | None = None) -> None:
        """Put on the disk what came from neighbours, before it is used.

        Args:
            heard: of each message; the first of an address stays.
            copy: position and bytes of a coordinator's newest one, if it is to be kept.
        """
        with self._journal.transaction() as file:
            self.note(heard)
            if copy is not None:
                file.execute("INSERT OR REPLACE INTO copy VALUES (1, ?, ?)", copy)

    def note(self, heard: Sequence[Heard]) -> None:
        """Within a transaction of the caller's."""
        with self._journal.writing() as file:
            file.executemany("INSERT OR IGNORE INTO heard VALUES (?, ?, ?, ?)", heard)

    def find(self, sender: int, position: int) -> Heard | None:
        """What was heard in one place."""
        query = "SELECT * FROM heard WHERE sender = ? AND position = ?"
        with self._journal.writing() as file:
            row = file.execute(query, (sender, position)).fetchone()
        return None if row is None else Heard(*row)

    def of(self, sender: int) -> list[Heard]:
        """What was heard of a sender, or what this member said itself."""
        query = "SELECT * FROM heard WHERE sender = ?"
        with self._journal.writing() as file:
            return [Heard(*row) for row in file.execute(query, (sender,)).fetchall()]

    def digests(self, sender: int) -> dict[int, bytes]:
        """Of all messages of a sender, by position."""
        return {each.position: each.digest for each in self.of(sender)}

    def newest(self) -> dict[int, int]:
        """Position of each sender's newest message that was ever on the disk here."""
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
            name: of the neighbour.
            conflict: the two.

        Returns:
            What is to be said of it.
        """
        return keep(self._journal.path.parent, self._journal.run, name, conflict)
