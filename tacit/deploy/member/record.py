"""What a coordinator claims to have announced, compared with what a client heard.

Its last word holds the digest of the message of each of its turns. A client has the digests of what
it heard on disk, so it sees whether it was told something different from the coordinator's claim.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import numpy as np
from jaxtyping import Int64

from tacit.deploy.member.schedule import Schedule
from tacit.deploy.messages.wire import Leaf
from tacit.types import Role

MOST_TURNS = 1 << 17
"""Turns of a coordinator in one run: a record of more would be no message."""

_STRETCHES = 32


class Record:
    """The turns of a coordinator, and digests of its messages in them.

    Args:
        schedule: schedule of the run.
        noun: word for a round in sentences.
    """

    def __init__(self, schedule: Schedule, noun: str = "round") -> None:
        self._positions = schedule.said_by(Role.SERVER)
        self._rounds = [schedule.round(position) + 1 for position in self._positions]
        self._noun, turns = noun, len(self._positions)
        self._stretches = np.array_split(np.arange(turns), max(1, min(turns, _STRETCHES)))
        self.form: Leaf = ("<i8", (turns, 4))
        """The array of a record: 32 bytes a turn, zeros for a turn that was not taken."""

    @property
    def stretches(self) -> int:
        """The number of parts of a record that are compared to find where two records differ."""
        return len(self._stretches)

    def of(self, said: Mapping[int, bytes]) -> Int64[np.ndarray, "turns 4"]:
        """The record of the messages that were sent.

        Args:
            said: digest of each message, 32 bytes, by position.
        """
        kept = b"".join(said.get(position, bytes(32)) for position in self._positions)
        return np.frombuffer(kept, "<i8").reshape(-1, 4)

    def contradicted(self, record: bytes, heard: Mapping[int, bytes]) -> int:
        """The first turn in which a message was heard that differs from the record; -1 if none.

        Args:
            record: record of the coordinator, as bytes.
            heard: digest of each message that was heard, by position.
        """
        for turn, position in enumerate(self._positions):
            known = heard.get(position)
            if known is not None and known != record[32 * turn : 32 * turn + 32]:
                return turn
        return -1

    def digests(self, record: bytes) -> Int64[np.ndarray, "stretches 4"]:
        """Digests of the parts of a record."""
        parts = [record[32 * part[0] : 32 * part[-1] + 32] for part in self._stretches if part.size]
        found = b"".join(hashlib.sha256(part).digest() for part in parts or [b""])
        return np.frombuffer(found, "<i8").reshape(-1, 4)

    def stretch(self, number: int) -> str:
        """The rounds that a part of a record covers, in words."""
        part = self._stretches[number]
        return self.place(int(part[0]), int(part[-1])) if part.size else "no round"

    def place(self, first: int, last: int | None = None) -> str:
        """The rounds of the given turns, in words; any number is accepted."""
        turns = len(self._positions)
        if not 0 <= first < turns:
            return f"no {self._noun} of this run"
        begin, end = self._rounds[first], self._rounds[first if last is None else last]
        if end == 0:
            return f"what came before the first {self._noun}"
        if begin == end:
            return f"{self._noun} {begin}"
        return f"{self._noun}s {begin} to {end}"
