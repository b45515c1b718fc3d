"""Which members were away in which rounds, on disk."""

from __future__ import annotations

from typing import NamedTuple

from tacit.deploy.messages.journal import Journal


class Absence(NamedTuple):
    """A member that a run continued without.

    Attributes:
        agent: number of the absent member, which may be this one.
        first: first round without it.
        back: round in which it was present again; `None` if it never was.
    """

    agent: int
    first: int
    back: int | None


class Absences:
    """Absences as one member sees them.

    Args:
        journal: journal of the member.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def left(self, agent: int, round: int) -> None:
        """Note that the run continues without an agent from this round on."""
        with self._journal.writing() as file:
            file.execute("INSERT INTO absences VALUES (?, ?, NULL)", (agent, round))

    def back(self, agent: int, round: int) -> None:
        """Note that an agent is present again; not as away if the missed round is repeated."""
        with self._journal.writing() as file:
            file.execute(
                "DELETE FROM absences WHERE agent = ? AND back IS NULL AND first >= ?",
                (agent, round),
            )
            file.execute(
                "UPDATE absences SET back = ? WHERE agent = ? AND back IS NULL", (round, agent)
            )

    def away(self, agent: int, first: int, back: int) -> None:
        """Note that an agent was away for these rounds, and is present again."""
        with self._journal.writing() as file:
            file.execute("INSERT INTO absences VALUES (?, ?, ?)", (agent, first, back))

    def not_yet_back(self, agent: int, round: int) -> None:
        """Forget absences that an agent, still in this round, has not come back from."""
        with self._journal.writing() as file:
            file.execute("DELETE FROM absences WHERE agent = ? AND back > ?", (agent, round))

    def all(self) -> list[Absence]:
        """All absences, in order."""
        with self._journal.writing() as file:
            rows = file.execute("SELECT agent, first, back FROM absences ORDER BY rowid")
            return [Absence(*row) for row in rows]
