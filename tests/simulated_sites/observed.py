"""What members do inside, noted without a change: what they accept, use, store, believe."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tacit.deploy.member import greetings, peers, sum_session
from tacit.deploy.messages.heard import HeardStore
from tacit.deploy.messages.mailbox import Mailbox
from tacit.deploy.messages.relaying import Relay, _Party
from tests.simulated_sites.link import greeting
from tests.simulated_sites.world import world


def _note(kind: str, *what: Any) -> None:
    at = world()
    at.note(kind, at.process, *what)


def _short(contents: bytes) -> str:
    return contents.hex()[:16]


def observers() -> list[tuple[Any, str, Callable[..., Any]]]:
    """Attributes to be replaced, with what does the same and notes it."""
    keep, take, store = Mailbox._keep, Mailbox.take, HeardStore.keep
    read_hello, mask = greetings.read_hello, sum_session.mask
    connect, publish = Relay.connect, _Party.publish
    found_silent = peers.Neighbours._silence

    def kept(self: Any, sender: int, position: int, received: Any, *, early: bool) -> None:
        keep(self, sender, position, received, early=early)
        _note("accepted", sender, position, _short(received.digest), received.address.key())
        most = (self._window + 1) * max(len(self._keys), 1)
        if len(self._held) > most or len(self._past) > most:
            _note("overfull", len(self._held), len(self._past))

    def taken(self: Any, position: int, senders: Any) -> Any:
        found = take(self, position, senders)
        for sender, message in found.items():
            _note("used", sender, position, _short(message.digest))
        return found

    def stored(self: Any, heard: Any, copy: Any = None) -> None:
        store(self, heard, copy)
        for each in heard:
            _note("stored", each.sender, each.position, _short(each.digest))

    def believed(data: bytes, question: Any, run: bytes, card: Any) -> Any:
        found = read_hello(data, question, run, card)
        _note("believed", question.key(), greeting(data), question.asked, found.round)
        return found

    def silence(self: Any, silent: Any, waited: float) -> str:
        _note("silent", tuple(silent), waited, self._progress.round)
        return found_silent(self, silent, waited)

    def joined(self: Any, endpoint: Any) -> Any:
        process, party, serve = world().process, endpoint.serve.__self__, endpoint.serve

        def served(key: str) -> bytes | None:
            data = serve(key)
            if data is not None:
                world().network.left(process, endpoint.number, key, data)
            return data

        link = connect(self, replace(endpoint, serve=served))
        if process is not None and endpoint.number == process.member:
            process.party = party
        return link

    def pushed(self: Any, key: str, data: bytes) -> None:
        process = world().process
        assert process is not None
        world().network.left(process, self._number, key, data)
        publish(self, key, data)

    def masked(keys: Any, number: int, cohort: Any, label: bytes, size: int) -> Any:
        found = mask(keys, number, cohort, label, size)
        process = world().process
        slot = None if process is None else process.party.progress.round
        _note("masked", number, label.hex()[:16], tuple(cohort), slot)
        return found

    return [
        (Mailbox, "_keep", kept),
        (Mailbox, "take", taken),
        (HeardStore, "keep", stored),
        (greetings, "read_hello", believed),
        (sum_session, "mask", masked),
        (peers.Neighbours, "_silence", silence),
        (Relay, "connect", joined),
        (_Party, "publish", pushed),
    ]
