"""What came from other agents and was not read yet: never much, whoever sends it."""

from __future__ import annotations

import threading
import time
from typing import NamedTuple

from tacit.study._grammar import toml

LARGEST = toml.LARGEST
"""Bytes of a list or a manifest, at most."""

MOST_BYTES = 8 * LARGEST
"""Bytes of all that waits to be read, at most; if there is more, it comes again."""

MOST_AWAITED = 3
"""Manifests that one member is asked for at a time."""

ANSWER_SECONDS = 10.0
"""Seconds after which an answer is not waited for, or taken, any longer."""


class Came(NamedTuple):
    """Something that came.

    Attributes:
        sender: number of its sender.
        run: id of the run that was asked for; empty for a list.
        data: bytes of the manifest, or of the list.
    """

    sender: int
    run: str
    data: bytes


class Inbox:
    """Lists, of which the newest counts, and manifests that were asked for. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._came: dict[tuple[int, str], bytes] = {}
        self._awaited: dict[tuple[int, str], float] = {}

    def expect(self, sender: int, run: str) -> bool:
        """Note that a member is asked for a run.

        Returns:
            Whether to ask it: neither for the same run already, nor for several others.
        """
        with self._lock:
            now = time.monotonic()
            self._awaited = {
                asked: at for asked, at in self._awaited.items() if now - at < ANSWER_SECONDS
            }
            others = sum(asked == sender for asked, _ in self._awaited)
            if (sender, run) in self._awaited or others >= MOST_AWAITED:
                return False
            self._awaited[sender, run] = now
            return True

    def put(self, came: Came) -> None:
        """Take a list, or a manifest that was asked for; anything else is dropped."""
        where = came.sender, came.run
        with self._lock:
            before = len(self._came.get(where, b""))
            waiting = sum(map(len, self._came.values())) - before + len(came.data)
            if len(came.data) > LARGEST or waiting > MOST_BYTES:
                return
            if came.run and self._awaited.pop(where, None) is None:
                return
            self._came[where] = came.data

    def take(self) -> list[Came]:
        """All that came since the last call."""
        with self._lock:
            found, self._came = self._came, {}
        return [Came(sender, run, data) for (sender, run), data in found.items()]
