"""What carries a member's messages: tacit's own connections, or a platform that sites already run.

Whatever carries them, they are signed, checked, charged and stored as in any run between sites.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from tacit.deploy.identity.keys import Card, Keys
from tacit.deploy.messages.handshake import Question
from tacit.deploy.messages.transport import Transport


class Link(Protocol):
    """The connection of one member to its neighbours."""

    @property
    def connections(self) -> dict[str, int]:
        """Numbers of connections admitted and refused here; empty where there are none."""
        ...

    def publish(self, key: str, data: bytes) -> None:
        """Push a message to all neighbours; if it is lost, it is requested later."""
        ...

    def request(self, sender: int, keys: Iterable[str]) -> None:
        """Ask a neighbour for messages; answers arrive as if they had been pushed."""
        ...

    def question(self, asked: int, asker: int) -> Question:
        """A greeting for a neighbour that has none yet to answer."""
        ...

    def close(self) -> None:
        """End the connection."""
        ...


class Carrier(Protocol):
    """What makes the connection of a member.

    Attributes:
        ask_every: interval between requests for a missing message, in seconds.
    """

    ask_every: float

    def connect(
        self,
        keys: Keys,
        run: str,
        number: int,
        neighbours: Mapping[int, Card],
        folder: Path,
        *,
        listen: bool,
        serve: Callable[[str], bytes | None],
        accept: Callable[[int, str, bytes], None],
    ) -> Link:
        """Connect a member; the arguments are those of `Transport`."""
        ...


class Zenoh:
    """Tacit's own connections, over mutual TLS."""

    ask_every: float = 0.25

    def connect(self, *members: Any, **named: Any) -> Link:
        """Connect a member; the arguments are those of `Transport`."""
        return Transport(*members, **named)
