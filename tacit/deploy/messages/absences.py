"""Who was away in which rounds, on the disk."""

from __future__ import annotations

from typing import NamedTuple

from tacit.deploy.messages.journal import Journal


class Absence(NamedTuple):
    """A member that a run went on without.

    Attributes:
        agent: its number; this member's own if it was this one.
        first: round without it.
        back: round in which it was there again; `None` if it never was.
    """

    agent: int
    first: int
    back: int | None


class Absences:
    """Absences as one member sees them.

    Args:
        journal: of the member.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        with journal.writing() as file:
            file.execute(
                "CREATE TABLE IF NOT EXISTS absences (agent INTEGER, first INTEGER, back INTEGER)"
            )

    def left(self, agent: int, round: int) -> None:
        """The run goes on without an agent from this round on."""
        with self._journal.writing() as file:
            file.execute("INSERT INTO absences VALUES (?, ?, NULL)", (agent, round))

    def back(self, agent: int, round: int) -> None:
        """An agent is there again; it was not away if the round that it missed is taken anew."""
        with self._journal.writing() as file:
            file.execute(
                "DELETE FROM absences WHERE agent = ? AND back IS NULL AND first >= ?",
                (agent, round),
            )
            file.execute(
                "UPDATE absences SET back = ? WHERE agent = ? AND back IS NULL", (round, agent)
            )

    def away(self, agent: int, first: int, back: int) -> None:
        """An agent was away for these rounds, and is there again."""
        with self._journal.writing() as file:
            file.execute("INSERT INTO absences VALUES (?, ?, ?)", (agent, first, back))

    def all(self) -> list[Absence]:
        """Who was away, in order."""
        with self._journal.writing() as file:
            rows = file.execute("SELECT agent, first, back FROM absences ORDER BY rowid")
            return [Absence(*row) for row in rows]
