"""What goes wrong in a run: drawn before it begins, so that any part of it can be left out."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """One thing that goes wrong.

    Attributes:
        kind: what.
        member: number of the member; of a message, its sender.
        at: virtual time in seconds; or how many commits, publications, changes of names or messages
            of the link come before.
        down: virtual seconds until the member is started again, or until it is over.
        value: what else there is to say: a receiver, seconds, a number of writes.
        more: members of a partition, or what is copied.
    """

    kind: str
    member: int
    at: float
    down: float = 0.0
    value: float = 0.0
    more: tuple[int | str, ...] = ()


POINTS = {
    "kill before commit": "commit",
    "kill after commit": "commit",
    "torn commit": "commit",
    "full disk": "commit",
    "kill before publish": "publish",
    "kill after publish": "publish",
    "kill before name": "name",
    "lost name": "name",
}
"""Faults that happen where a member is for the nth time, and where that is."""

MESSAGES = ("lost", "late", "repeated", "damaged")
"""Faults of one message."""
