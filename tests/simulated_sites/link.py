"""Connections between members: late, lost, repeated, damaged and cut messages.

A member's `Transport` is one of these. Every push, question and answer is an event of its own; the
nth of a link has the fault that the run's list names for it.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING

from tacit.deploy.messages.carrier import Endpoint
from tacit.deploy.messages.handshake import Question
from tacit.deploy.messages.wire import MAGIC, digest_of
from tests.simulated_sites.disk import committed
from tests.simulated_sites.hub import Process
from tests.simulated_sites.world import World, world

if TYPE_CHECKING:
    from tests.simulated_sites.byzantine import Liar

FASTEST, SLOWEST = 0.002, 0.05
"""Seconds that a message takes, but for faults."""

LATEST = 3.0
"""Seconds by which a late message is late, at most."""

OPENING = 0.02
"""Seconds from when a member hears others until it knows that it is connected."""


def digest(data: bytes) -> str:
    """A name for bytes in a history."""
    return hashlib.sha256(data).hexdigest()[:16]


@functools.lru_cache(1024)
def greeting(data: bytes) -> str:
    """What stands for what a greeting says: a damaged bit beside it, as in padding, is harmless."""
    return digest(json.loads(data)["text"].encode())


class Network:
    """All links of a run.

    Args:
        at: the world.
    """

    def __init__(self, at: World) -> None:
        self._at = at
        self.open: dict[int, list[Transport]] = defaultdict(list)
        self.cut: dict[tuple[int, int], float] = {}
        """Links that are cut, with the time at which they are whole again."""
        self.faults: dict[tuple[int, int, int], str] = {}
        """By sender, receiver and number of the message."""
        self.liars: dict[int, Liar] = {}
        self.counts: dict[str, int] = defaultdict(int)
        self._sent: dict[tuple[int, int], int] = defaultdict(int)
        self._damaged: set[bytes] = set()

    def carry(
        self, sender: int, receiver: int, deliver: Callable[[bytes], None], data: bytes
    ) -> None:
        """Take something from one member to another, perhaps."""
        at, link = self._at, (sender, receiver)
        number = self._sent[link]
        self._sent[link] = number + 1
        self.counts["messages"] += 1
        if self.cut.get(link, 0.0) > at.hub.now:
            self.counts["cut"] += 1
            return
        fault = self.faults.get((sender, receiver, number), "")
        wait = FASTEST + (SLOWEST - FASTEST) * at.chance.share("link", sender, receiver, number)
        times = [wait]
        if fault:
            self.counts[fault] += 1
            at.note("fault", None, fault, sender, receiver, number)
            share = at.chance.share(fault, sender, receiver, number)
            if fault == "lost":
                return
            if fault == "late":
                times = [wait + LATEST * share]
            elif fault == "repeated":
                times = [wait, wait + LATEST * share]
            elif fault == "damaged" and data:
                place = int(share * len(data) * 8)
                flipped = bytearray(data)
                flipped[place // 8] ^= 1 << place % 8
                data = bytes(flipped)
                self._damaged.add(data)
        for each in times:
            at.hub.at(at.hub.now + each, partial(deliver, data))

    def push(self, process: Process, sender: int, key: str, data: bytes) -> None:
        """What a member sends to all that listen to it."""
        self._leaves(process, key, data)
        for receiver in sorted(self.open):
            for each in self.open[receiver]:
                if sender in each.neighbours and (not each.apart or _is_for(key, receiver)):
                    for said in self._said(sender, receiver, key, data):
                        self.carry(sender, receiver, partial(self.arrive, each, sender, key), said)

    def ask(self, asker: Transport, asked: int, key: str) -> None:
        """A question by name."""
        for each in list(self.open.get(asked, ())):
            if asker.number in each.neighbours:
                asks = partial(self._answer, each, asker, key)
                self.carry(asker.number, asked, asks, b"")

    def _answer(self, asked: Transport, asker: Transport, key: str, _: bytes) -> None:
        def answer() -> None:
            data = asked.serve(key)
            if data is None:
                return
            self._leaves(asked.process, key, data)
            for said in self._said(asked.number, asker.number, key, data):
                arrives = partial(self.arrive, asker, asked.number, key)
                self.carry(asked.number, asker.number, arrives, said)

        if asked.closed or asked.process.dead:
            return
        self._at.hub.spawn(asked.process, answer)

    def _leaves(self, process: Process, key: str, data: bytes) -> None:
        if not process.relays:
            self.left(process, process.member, key, data)

    def left(self, process: Process, number: int, key: str, data: bytes) -> None:
        """Note what leaves a member: it must be on its disk.

        Args:
            process: process that it leaves.
            number: number of who made it: of a member, or of who adds up at its site.
            key: name of it.
            data: bytes of it.
        """
        if "/hello/" in key:
            self._at.note("greeted", process, key, greeting(data))
            return
        told, whole = digest_of(data).hex()[:16] if data.startswith(MAGIC) else "", digest(data)
        self._at.note("left", Process(number, process.start), key, whole, told)
        if "/word/" in key or (process.relays and whole in process.sent):
            return  # who passes on messages answers from memory when its part has ended
        if not committed(process, data):
            self._at.note("not on disk", process, key)
        process.sent.add(whole)

    def _said(self, sender: int, receiver: int, key: str, data: bytes) -> list[bytes]:
        liar = self.liars.get(sender)
        if liar is None:
            return [data]
        if self._at.shape.sums:  # what it passes on it may withhold, and does not sign
            key = key.split("/", 2)[2]
            if key.partition("/")[0] != str(sender):
                return [] if liar.lies.get("silence") == receiver else [data]
        return liar.said(receiver, key, data)

    def arrive(self, to: Transport, sender: int, key: str, data: bytes) -> None:
        """Something arrives at a member, if it still listens."""
        if to.closed or to.process.dead:
            return
        # the digest of a message leaves out its head and signature, which may be what is damaged
        whole = data.startswith(MAGIC) and data not in self._damaged
        told = digest_of(data).hex()[:16] if whole else digest(data)
        self._at.note("arrived", to.process, sender, key, told)
        self._at.hub.spawn(to.process, partial(to.accept, sender, key, data))


def _is_for(key: str, receiver: int) -> bool:
    """Whether a message between neighbours that read different ones is for this one."""
    return key.split("/")[1] == str(receiver)


class Transport:
    """In the place of `tacit.deploy.messages.transport.Transport`."""

    def __init__(self, endpoint: Endpoint) -> None:
        at = world()
        self.number, self.neighbours = endpoint.number, endpoint.neighbours
        self.serve, self.accept = endpoint.serve, endpoint.accept
        process = at.process
        assert process is not None
        self.process, self.closed, self._at = process, False, at
        self.apart = process.relays = endpoint.apart
        if not self.apart:
            process.party = getattr(self.serve, "__self__", None)
        self.connections: dict[str, int] = {}
        at.network.open[self.number].append(self)
        at.hub.park(at.hub.now + OPENING)

    def publish(self, key: str, data: bytes) -> None:
        at, process = self._at, self.process
        at.hub.touch()
        fault = at.point("publish", process)
        if fault is not None:
            at.reached(fault)
        if fault is not None and fault.kind == "kill before publish":
            at.die(process, fault)
        at.network.push(process, self.number, key, data)
        if fault is not None and fault.kind == "kill after publish":
            at.die(process, fault)

    def request(self, sender: int, keys: Iterable[str]) -> None:
        self._at.hub.touch()
        for key in list(keys):
            self._at.network.ask(self, sender, key)

    def question(self, asked: int, asker: int) -> Question:
        return Question(asked, asker)

    def close(self) -> None:
        self.closed = True
        listening = self._at.network.open[self.number]
        if self in listening:
            listening.remove(self)
