"""Messages that have arrived: checked before they are kept, for this round and the next only.

A neighbour may be at most one round ahead, because it needs this agent's message to continue. So
anything else is dropped, and nobody can fill another's memory. Where graphs change, or a run
continues without a silent member, a neighbour can be further ahead; its message only shows how far.

There is exactly one message for each address. A second one with the sender's signature comes from
two processes with one member's keys, or from one that was begun again: it is reported.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from tacit.deploy.identity.keys import Card
from tacit.deploy.messages.wire import FINISHED, Address, Leaf, Received, decode, digest_of
from tacit.errors import WireError

_NEVER = 1 << 62
"""A position that no run reaches."""


class Heard(NamedTuple):
    """What is remembered of a message for as long as the run lasts.

    Attributes:
        sender: number of the sender.
        position: position in the run.
        digest: digest of the message's contents, 32 bytes.
        signature: signature of the sender, 64 bytes.
    """

    sender: int
    position: int
    digest: bytes
    signature: bytes


class Conflict(NamedTuple):
    """Two messages of one address, both with the sender's signature.

    Attributes:
        key: name of both messages.
        heard: what is remembered of the first.
        first: bytes of the first; `None` if they are no longer held.
        second: bytes of the second.
    """

    key: str
    heard: Heard
    first: bytes | None
    second: bytes


class Mailbox:
    """Messages of the neighbours. `offer` may be called from any thread.

    Args:
        run: id of the run, 32 bytes.
        cards: cards of the neighbours, by number.
        shapes: dtypes and shapes of the arrays in a message, by number of the phase.
        position: function that gives the position of an address in the run, or `None`.
        window: number of positions ahead of the current one that are kept.
        largest: largest size of a message in bytes; a larger one is dropped unread.
        refused: function called with sender, key and reason for every refused message.
        drifting: whether a neighbour may be further ahead.
        last: dtypes and shapes of the arrays in a member's last message, by its number; none by
            default.
        stored: function that gives what is on disk about a message that was heard before, by sender
            and position.
        newest: position of each neighbour's newest message that is on disk.
        conflicting: function called with two different messages of one address; the first is kept.
        keeping: number of the neighbour whose newest message is kept whole; none if `None`.
        beyond: function called for every message of a phase with its sender's signature; it says
            whether the numbers are beyond what the run allows, so that the message is refused.
    """

    def __init__(
        self,
        run: bytes,
        cards: Mapping[int, Card],
        shapes: Mapping[int, list[Leaf]],
        position: Callable[[Address], int | None],
        window: int,
        largest: int,
        refused: Callable[[int, str, str], None],
        *,
        drifting: bool = False,
        last: Mapping[int, list[Leaf]] | None = None,
        stored: Callable[[int, int], Heard | None] = lambda sender, position: None,
        newest: Mapping[int, int] | None = None,
        conflicting: Callable[[Conflict], None] = lambda conflict: None,
        beyond: Callable[[Received], str] = lambda received: "",
        keeping: int | None = None,
    ) -> None:
        self._keeping, self._copy = keeping, (-1, b"")
        self._beyond = beyond
        self._stored, self._newest, self._conflicting = stored, newest or {}, conflicting
        self._unstored: dict[tuple[int, int], Heard] = {}
        self._drifting, self._last = drifting, last or {}
        self._awaited_from: dict[int, int] = dict.fromkeys(cards, 0)
        self._run, self._shapes, self._position = run, shapes, position
        self._keys = {number: card.public_key() for number, card in cards.items()}
        self._window, self._largest, self._refused = window, largest, refused
        self._changed = threading.Condition()
        self._now, self._since = 0, time.monotonic()
        self._held: dict[tuple[int, int], Received] = {}
        # of the previous round, to compare with late messages
        self._past: dict[tuple[int, int], Received] = {}
        self.heard: dict[int, float] = {}
        """When neighbours were last heard of, by a message that was accepted."""
        self.reached: dict[int, int] = dict.fromkeys(cards, 0)
        """From which position each neighbour's newest message is: it has stored all before."""
        self.waited: dict[int, float] = dict.fromkeys(cards, 0.0)
        """Seconds for which a message of each neighbour was waited for, on average of late."""
        self.ahead: dict[int, int] = {}
        """From which position a neighbour's newest message is that came too early."""
        self.finished: dict[int, Received] = {}
        """Last messages of neighbours that need nothing more."""
        self.counts: Counter[str] = Counter()

    def offer(self, sender: int, key: str, data: bytes) -> None:
        """Check a message and keep it, or drop it."""
        try:
            address = self._address(sender, key)
            position = self._position(address)
            if position is None or sender not in self._keys:
                raise WireError(f"nobody awaits {key!r}")
            if len(data) > self._largest:
                raise WireError(f"{len(data)} bytes, and at most {self._largest} are read")
            ended = address.kind == FINISHED
            heard, here, now = self._remembered(sender, position)
            if heard is None and position < now:
                self.counts["repeated"] += 1  # in a round without it
                return
            if heard is not None and heard.digest == digest_of(data) and (here or position < now):
                self.counts["repeated"] += 1
                return
            early = position > now + self._window and not ended
            if early and not self._drifting:
                raise WireError(f"position {position} while this agent is at {now}")
            shapes = self._last.get(sender, []) if ended else self._shapes[address.phase]
            received = decode(data, address, shapes, self._keys[sender])
            # a second content is evidence, and kept, whatever it says
            if heard is None and not ended and (told := self._beyond(received)):
                raise WireError(told)
        except WireError as error:
            self.counts["refused"] += 1
            self._refused(sender, key, str(error))
            return
        with self._changed:
            # another thread may have been first
            first = self._message(sender, position)
            if first is not None:
                heard = Heard(sender, position, first.digest, first.signature)
            if heard is None or heard.digest == received.digest:
                self._keep(sender, position, received, early=early)
                return
            self.counts["conflicting"] += 1
        self._conflicting(Conflict(key, heard, first and first.data(), data))

    def _keep(self, sender: int, position: int, received: Received, *, early: bool) -> None:
        ended = received.address.kind == FINISHED
        heard = Heard(sender, position, received.digest, received.signature)
        self._unstored[sender, position] = heard
        self.counts["early" if early else "accepted"] += 1
        self.heard[sender] = arrived = time.monotonic()
        if not ended:
            waited = arrived - self._since if position == self._now else 0.0
            self.waited[sender] += 0.1 * (waited - self.waited[sender])
        self.reached[sender] = max(self.reached[sender], position)
        if sender == self._keeping and position > self._copy[0]:
            self._copy = position, received.data()
        if ended:
            self.finished[sender] = received
        elif early:
            self.ahead[sender] = max(self.ahead.get(sender, 0), position)
        else:
            self._held[position, sender] = received
            self._awaited_from[sender] = min(self._awaited_from[sender], position)
        self._changed.notify_all()

    def newest(self, sender: int) -> int:
        """The position of a neighbour's newest message; -1 if it has sent none."""
        with self._changed:
            before = self._newest.get(sender, -1)
            return max(before, self.reached[sender]) if sender in self.heard else before

    def unstored(self) -> list[Heard]:
        """What was heard and must be stored on disk before it is used; then call `forget`."""
        with self._changed:
            return list(self._unstored.values())

    def copy(self) -> tuple[int, bytes]:
        """Position and bytes of the newest message that is kept whole; -1 if none has come."""
        with self._changed:
            return self._copy

    def forget(self, stored: Collection[Heard]) -> None:
        """Note that these are on disk."""
        with self._changed:
            for each in stored:
                self._unstored.pop((each.sender, each.position), None)

    def advance(self, position: int) -> None:
        """Move the agent to this position; older messages are forgotten."""
        with self._changed:
            self._now, self._since = position, time.monotonic()
            for place in [place for place in self._held if place[0] < position]:
                self._past[place] = self._held.pop(place)
            before = position - (self._window + 1) // 2
            for place in [place for place in self._past if place[0] < before]:
                del self._past[place]

    def leave_out(self, senders: Collection[int]) -> None:
        """Stop awaiting these, until a message of theirs arrives that is not too late."""
        with self._changed:
            for sender in senders:
                self._awaited_from[sender] = _NEVER

    def await_again(self, senders: Collection[int], position: int) -> None:
        """Await these from a position on."""
        with self._changed:
            for sender in senders:
                self._awaited_from[sender] = position

    def left_out(self) -> list[int]:
        """Neighbours that are not awaited."""
        with self._changed:
            return [sender for sender, first in self._awaited_from.items() if first == _NEVER]

    def missing(self, position: int, senders: Collection[int]) -> list[int]:
        """Senders whose message of a position is awaited and has not arrived."""
        with self._changed:
            return self._missing(position, senders)

    def wait(self, position: int, senders: Collection[int], seconds: float) -> bool:
        """Whether all messages of a position have arrived; waits at most `seconds` for them."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._missing(position, senders), seconds)

    def _missing(self, position: int, senders: Collection[int]) -> list[int]:
        return [
            sender
            for sender in senders
            if (position, sender) not in self._held and position >= self._awaited_from[sender]
        ]

    def wait_finished(self, seconds: float) -> bool:
        """Whether all neighbours need nothing more; waits at most `seconds`."""
        with self._changed:
            return self._changed.wait_for(
                lambda: self.finished.keys() >= self._keys.keys(), seconds
            )

    def take(self, position: int, senders: Collection[int]) -> dict[int, Received]:
        """The messages of a position that have arrived, by sender."""
        with self._changed:
            found = {sender: self._held.get((position, sender)) for sender in senders}
        return {sender: message for sender, message in found.items() if message is not None}

    def _remembered(self, sender: int, position: int) -> tuple[Heard | None, bool, int]:
        """What is known about a message, whether it is held here, and the current position."""
        with self._changed:
            now, message = self._now, self._message(sender, position)
            heard = self._unstored.get((sender, position))
        if message is not None:
            return Heard(sender, position, message.digest, message.signature), True, now
        return heard or self._stored(sender, position), False, now

    def _message(self, sender: int, position: int) -> Received | None:
        last = self.finished.get(sender)
        if last is not None and self._position(last.address) == position:
            return last
        place = position, sender
        return self._held.get(place) or self._past.get(place)

    def _address(self, sender: int, key: str) -> Address:
        address = Address.read(key, self._run)
        if address.sender != sender:
            raise WireError(f"{key!r} is a message key of agent {address.sender}")
        return address
