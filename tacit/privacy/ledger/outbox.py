"""Releases with their exact bytes, kept until all of their recipients have them."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tacit.errors import LedgerError


@dataclass(frozen=True)
class ReleaseId:
    """Identity of a release: each has exactly one answer, ever.

    Attributes:
        agent: agent that releases.
        run: name of the run, unique among all runs of the agent.
        round: index of the round, at least 0.
        phase: name of the method's phase.
        step: index of the step, at least 0, where a phase repeats within a round.

    Raises:
        LedgerError: an empty name, or a negative number.
    """

    agent: str
    run: str
    round: int
    phase: str
    step: int = 0

    def __post_init__(self) -> None:
        if not (self.agent and self.run and self.phase) or self.round < 0 or self.step < 0:
            raise LedgerError(f"{self}: agent, run and phase need names, round and step start at 0")

    def __str__(self) -> str:
        return (
            f"agent {self.agent!r}, run {self.run!r}, round {self.round}, phase {self.phase!r}, "
            f"step {self.step}"
        )


@dataclass(frozen=True)
class Prepared:
    """A release that is on disk and may be sent, any number of times.

    Attributes:
        id: identity of the release.
        sequence: number of its entry.
        payload: exact bytes; `None` once every recipient has acknowledged them.
        state: state of the method after it; `None` once a later release of the run is prepared.
        input_hash: hash of the state from which it was computed.
        waiting: recipients that have not acknowledged it yet.
    """

    id: ReleaseId
    sequence: int
    payload: bytes | None
    state: bytes | None
    input_hash: str
    waiting: tuple[str, ...]


class Outbox:
    """The tables `releases` and `pending`; writes need an open transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def find(self, id: ReleaseId) -> Prepared | None:
        """The release under this id."""
        key = (id.agent, id.run, id.round, id.phase, id.step)
        where = "WHERE agent = ? AND run = ? AND round = ? AND phase = ? AND step = ?"
        return next(iter(self._select(where, key)), None)

    def latest(self, agent: str, run: str) -> Prepared | None:
        """The latest release of a run, the only one whose state is kept."""
        where = "WHERE agent = ? AND run = ? AND state IS NOT NULL"
        return next(iter(self._select(where, (agent, run))), None)

    def outstanding(self) -> list[Prepared]:
        """Releases that some recipient has yet to acknowledge, oldest first."""
        return self._select("WHERE sequence IN (SELECT sequence FROM pending) ORDER BY sequence")

    def add(self, release: Prepared) -> None:
        """Store a release; the earlier state of its run is deleted."""
        id = release.id
        self._connection.execute(
            "UPDATE releases SET state = NULL WHERE agent = ? AND run = ? AND state IS NOT NULL",
            (id.agent, id.run),
        )
        self._connection.execute(
            "INSERT INTO releases VALUES (?, ?, ?, ?, ?, ?, ?, 'PREPARED', ?, ?)",
            (
                release.sequence,
                id.agent,
                id.run,
                id.round,
                id.phase,
                id.step,
                release.input_hash,
                release.payload,
                release.state,
            ),
        )
        self._connection.executemany(
            "INSERT INTO pending VALUES (?, ?)",
            [(release.sequence, who) for who in release.waiting],
        )

    def acknowledge(self, sequence: int, recipients: Sequence[str]) -> None:
        """Remove recipients; the bytes are deleted with the last of them."""
        self._connection.executemany(
            "DELETE FROM pending WHERE sequence = ? AND recipient = ?",
            [(sequence, who) for who in recipients],
        )
        self._connection.execute(
            "UPDATE releases SET payload = NULL, status = 'DELIVERED' WHERE sequence = ? "
            "AND NOT EXISTS (SELECT 1 FROM pending WHERE sequence = ?)",
            (sequence, sequence),
        )

    def sent(self, agent: str, run: str, before: int) -> list[int]:
        """Numbers of releases of a run, entered before one, whose bytes are still stored."""
        rows = self._connection.execute(
            "SELECT sequence FROM releases WHERE agent = ? AND run = ? AND sequence < ? "
            "AND status = 'PREPARED' ORDER BY sequence",
            (agent, run, before),
        )
        return [sequence for (sequence,) in rows]

    def deliver(self, sequences: Sequence[int]) -> None:
        """Remove all recipients of these releases, and delete their bytes."""
        rows = [(sequence,) for sequence in sequences]
        self._connection.executemany("DELETE FROM pending WHERE sequence = ?", rows)
        self._connection.executemany(
            "UPDATE releases SET payload = NULL, status = 'DELIVERED' WHERE sequence = ?", rows
        )

    def _select(self, where: str, key: tuple[Any, ...] = ()) -> list[Prepared]:
        rows = self._connection.execute(
            "SELECT sequence, agent, run, round, phase, step, payload, state, input_hash "
            f"FROM releases {where}",
            key,
        ).fetchall()
        waiting = self._waiting([row[0] for row in rows])
        return [
            Prepared(ReleaseId(*id), sequence, payload, state, input_hash, waiting[sequence])
            for sequence, *id, payload, state, input_hash in rows
        ]

    def _waiting(self, sequences: Sequence[int]) -> dict[int, tuple[str, ...]]:
        """Who has yet to acknowledge each of these releases, in alphabetical order."""
        found: dict[int, tuple[str, ...]] = dict.fromkeys(sequences, ())
        if not found:
            return found
        rows = self._connection.execute(
            "SELECT sequence, recipient FROM pending WHERE sequence BETWEEN ? AND ? "
            "ORDER BY sequence, recipient",
            (min(found), max(found)),
        )
        for sequence, name in rows:
            if sequence in found:
                found[sequence] += (name,)
        return found
