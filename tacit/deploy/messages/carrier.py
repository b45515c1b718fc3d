"""What carries a member's messages: tacit's own connections, or a platform that sites already run.

Whatever carries them, they are signed, checked, charged and stored as in any run between sites.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tacit.deploy.identity.keys import Card, Keys
from tacit.deploy.messages.handshake import Question


@dataclass(frozen=True)
class Endpoint:
    """One member's end of its connections.

    Attributes:
        keys: keys of this member.
        run: id of the run in hexadecimal.
        number: number of this member.
        neighbours: cards of the neighbours, by number.
        folder: folder for files of the connections, such as one with the trusted certificates.
        listen: whether this member listens at its address.
        serve: function that gives the bytes of this member's message with a name, or `None`; called
            from other threads.
        accept: function called with sender, name and bytes of each arriving message; called from
            other threads.
        apart: whether the neighbours read different messages: those whose names begin with this
            member's number and then theirs.
    """

    keys: Keys
    run: str
    number: int
    neighbours: Mapping[int, Card]
    folder: Path
    listen: bool
    serve: Callable[[str], bytes | None]
    accept: Callable[[int, str, bytes], None]
    apart: bool = False


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

    def connect(self, endpoint: Endpoint) -> Link:
        """Connect a member.

        Args:
            endpoint: the member's end.
        """
        ...

    def doing(self, endpoint: Endpoint) -> str:
        """How the member is connected, in words for its log.

        Args:
            endpoint: the member's end.
        """
        ...
