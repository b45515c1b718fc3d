"""Messages that pass from site to site over a graph, where no site is connected to all others.

A site is connected to its neighbours alone, and passes on what is for others. Between them stand
the messages of any run, signed by who made them, so that nobody on the way can change one. They
are pushed towards the site that adds up, or away from it. A message that is asked for by name is
looked for over all links at once, and comes back the way the question went: around a link or a site
that fails, as long as there is another way.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tacit.deploy.identity.keys import Card
from tacit.deploy.messages.carrier import Carrier, Endpoint, Link
from tacit.deploy.messages.handshake import HELLO, Question
from tacit.deploy.waited import Waited

_REMEMBERED = 4096
"""Questions, and messages that were passed on, that are remembered."""

_LONGEST = 96
"""Characters of the longest name: two sites on the link, and a greeting between two members."""

_SELDOM = 4
"""Intervals between requests after which a question is passed on again, at most."""

_MOST_CONTENTS = 16
"""Contents under one name that a neighbour gets for a question."""

_LATELY = 10.0
"""Seconds within which a neighbour that is there has asked or said something."""

_OVER = "over"
"""What is said when everybody has what it needs."""


@dataclass(frozen=True)
class Place:
    """A site's place in the graph.

    Attributes:
        number: number of its agent.
        above: number of who adds up: that of a coordinator.
        neighbours: cards of the sites that it is connected to, by number.
        towards: neighbours to which messages for who adds up are pushed; none at its own site.
        away: neighbours to which those of who adds up are pushed.
    """

    number: int
    above: int
    neighbours: Mapping[int, Card]
    towards: tuple[int, ...]
    away: tuple[int, ...]


@dataclass
class _Asked:
    """A message that is looked for.

    Attributes:
        given: contents that each neighbour got that asks for it. One that is forged must not keep
            the right one from it, so it gets several.
        again: when neighbours may be asked again.
        intervals: after how many intervals then.
    """

    given: dict[int, set[bytes]] = field(default_factory=dict)
    again: float = 0.0
    intervals: int = 1

    def owed(self, digest: bytes) -> set[int]:
        """Neighbours that ask and have not got this content; they have got it then."""
        found = set[int]()
        for hop, given in self.given.items():
            if digest not in given and len(given) < _MOST_CONTENTS:
                given.add(digest)
                found.add(hop)
        return found


class Relay:
    """One site's connections, which carry its own messages and those that pass through it.

    It is what carries the messages of the parties at this site: its agent, and who adds up, if it
    is here.

    Args:
        carrier: what connects neighbours.
        place: place of this site in the graph.
    """

    def __init__(self, carrier: Carrier, place: Place) -> None:
        self._carrier, self._place = carrier, place
        self._own = {place.number} if place.towards else {place.number, place.above}
        self._parties: dict[int, Endpoint] = {}
        self._link: Link | None = None
        self._lock, self._ended = threading.Lock(), threading.Event()
        self._asked: OrderedDict[str, _Asked] = OrderedDict()
        self._passed: OrderedDict[bytes, None] = OrderedDict()
        self.ask_every = carrier.ask_every
        self._heard: dict[int, float] = {}

    def connect(self, endpoint: Endpoint) -> Link:
        """Connect a party at this site; the first opens the connections."""
        with self._lock:
            if self._link is None:
                own = replace(
                    endpoint,
                    number=self._place.number,
                    neighbours=self._place.neighbours,
                    listen=True,
                    serve=self._serve,
                    accept=self._accept,
                    apart=True,
                )
                self._link = self._carrier.connect(own)
            self._parties[endpoint.number] = endpoint
            waiting = [key for key in self._asked if _first(key) == endpoint.number]
        for key in waiting:
            if (data := endpoint.serve(key)) is not None:
                self._pass_on(key, data)
        return _Party(self, endpoint.number)

    def doing(self, endpoint: Endpoint) -> str:
        """How a party is connected, in words for its log."""
        names = ", ".join(card.name for card in self._place.neighbours.values())
        adds = "; it adds up for all" if endpoint.number == self._place.above else ""
        return f"listening at {endpoint.keys.card.address}, connected to {names}{adds}"

    @property
    def link(self) -> Link:
        """The connections to the neighbours."""
        assert self._link is not None
        return self._link

    def silence(self) -> dict[int, float | None]:
        """When each neighbour was last heard, as `time.monotonic` has it; `None` for never."""
        return {hop: self._heard.get(hop) for hop in self._place.neighbours}

    def near(self) -> list[int]:
        """Neighbours that were heard within the last seconds."""
        now = time.monotonic()
        return [hop for hop, at in list(self._heard.items()) if now - at < _LATELY]

    def publish(self, key: str, data: bytes) -> None:
        """Push a message of a party at this site."""
        self._pass_on(key, data)

    def request(self, asked: int, keys: Iterable[str]) -> None:
        """Ask for messages of any party of the run."""
        here = self._parties.get(asked)
        for key in keys:
            if here is None:
                self._look_for(key, None)
            elif (data := here.serve(key)) is not None:
                self._deliver(asked, key, data)

    def leave(self, number: int) -> None:
        """Give a party at this site no more messages: others may still ask for what it sent."""
        with self._lock:
            self._parties[number] = replace(self._parties[number], accept=_nothing)

    def finish(self) -> None:
        """Tell everybody that nobody needs anything more; said where the sums are."""
        self._say_over(None)
        time.sleep(2 * self.ask_every)

    def wait_until_over(self, seconds: float, stopped: Callable[[], bool]) -> bool:
        """Pass on messages until nobody needs any.

        Args:
            seconds: for how long at most.
            stopped: function that says whether to stop before.

        Returns:
            Whether it is over.
        """
        waited = Waited(self.ask_every, seconds / 4)
        while not self._ended.wait(self.ask_every) and waited() < seconds and not stopped():
            for hop in self._place.neighbours:
                self.link.request(hop, [passed(hop, self._place.number, _OVER)])
        if self._ended.is_set():
            time.sleep(2 * self.ask_every)  # for neighbours that have not heard it yet
        return self._ended.is_set()

    def close(self) -> None:
        """End the connections."""
        if self._link is not None:
            self._link.close()

    def _serve(self, name: str) -> bytes | None:
        """What a neighbour asks for, if it is here; otherwise it is looked for."""
        _, _, rest = name.partition("/")
        neighbour, key = _first(rest), rest.partition("/")[2]
        if neighbour not in self._place.neighbours:
            return None
        self._heard[neighbour] = time.monotonic()
        if key == _OVER:
            return _OVER.encode() if self._ended.is_set() else None
        here = self._parties.get(_first(key))
        data = None if here is None else here.serve(key)
        if data is None:
            self._look_for(key, neighbour)
        return data

    def _accept(self, hop: int, name: str, data: bytes) -> None:
        """What a neighbour passes on."""
        start = passed(hop, self._place.number, "")
        if hop not in self._place.neighbours or not name.startswith(start):
            return
        self._heard[hop] = time.monotonic()
        key = name.removeprefix(start)
        if key == _OVER:
            self._say_over(hop)
        elif _first(key) not in self._own:  # one's own comes back by no honest way
            self._pass_on(key, data, hop)

    def _pass_on(self, key: str, data: bytes, came: int | None = None) -> None:
        """Push a message to whom it is for, or who asked for it; and take it, if it is for here."""
        origin = _first(key)
        if not 0 <= origin <= self._place.above:
            return
        digest, to = hashlib.sha256(key.encode() + b"\n" + data).digest(), set[int]()
        with self._lock:
            if (asked := self._asked.get(key)) is not None:
                to |= asked.owed(digest)
                asked.again, asked.intervals = 0.0, 1
            fresh = digest not in self._passed
            _remember(self._passed, digest, None)
        if fresh and f"/{HELLO}/" not in key:  # a greeting is for who asked
            away = origin == self._place.above
            to |= {*(self._place.away if away else self._place.towards)}
        for hop in sorted(to - {came}):
            self.link.publish(passed(self._place.number, hop, key), data)
        self._deliver(origin, key, data)

    def _deliver(self, origin: int, key: str, data: bytes) -> None:
        """Give a message to the parties here that it is for."""
        above = self._place.above
        for number, party in list(self._parties.items()):
            # agents hear who adds up, which hears all agents
            if (number == above) != (origin == above):
                party.accept(origin, key, data)

    def _look_for(self, key: str, asker: int | None) -> None:
        """Ask all neighbours for a message, but not again and again."""
        if not 0 <= _first(key) <= self._place.above:
            return
        now, here = time.monotonic(), _first(key) in self._own
        with self._lock:
            asked = self._asked.get(key) or _Asked()
            _remember(self._asked, key, asked)
            if asker is not None:
                asked.given[asker] = set()
            if here or now < asked.again:
                return
            asked.again = now + self.ask_every * asked.intervals
            asked.intervals = min(2 * asked.intervals, _SELDOM)
        for hop in self._place.neighbours:
            if hop != asker:
                self.link.request(hop, [passed(hop, self._place.number, key)])

    def _say_over(self, came: int | None) -> None:
        with self._lock:
            if self._ended.is_set():
                return
            self._ended.set()
        for hop in self._place.neighbours:
            if hop != came:
                self.link.publish(passed(self._place.number, hop, _OVER), _OVER.encode())


class _Party:
    """The connection of one party at a site."""

    def __init__(self, relay: Relay, number: int) -> None:
        self._relay, self._number = relay, number

    @property
    def connections(self) -> dict[str, int]:
        """Numbers of connections of the site admitted and refused."""
        return self._relay.link.connections

    def publish(self, key: str, data: bytes) -> None:
        """Push a message."""
        self._relay.publish(key, data)

    def request(self, sender: int, keys: Iterable[str]) -> None:
        """Ask for messages by name."""
        self._relay.request(sender, keys)

    def question(self, asked: int, asker: int) -> Question:
        """A greeting for a party that has none yet to answer."""
        return self._relay.link.question(asked, asker)

    def close(self) -> None:
        """End this party's connection."""
        self._relay.leave(self._number)


def _nothing(sender: int, key: str, data: bytes) -> None:
    """Take no message."""


def passed(speaker: int, hearer: int, key: str) -> str:
    """The name of a message on the link between two neighbours.

    Args:
        speaker: number of the neighbour that passes it on.
        hearer: number of the other.
        key: name of the message in the run.
    """
    return f"{speaker}/{hearer}/{key}"


def _first(name: str) -> int:
    """The number with which a name begins, as that of a message does with its maker's; else -1."""
    if len(name) > _LONGEST:
        return -1
    first = name.partition("/")[0]
    return int(first) if first.isascii() and first.isdigit() and len(first) < 10 else -1


def _remember(known: OrderedDict[Any, Any], key: Any, value: Any) -> None:
    known[key] = value
    known.move_to_end(key)
    if len(known) > _REMEMBERED:
        known.popitem(last=False)
