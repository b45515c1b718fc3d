"""Clients of a coordinator compare what it told them.

They communicate with nobody else, so a coordinator could run two halves under one id and tell each
its own model, or its own cohorts. At the end each client signs digests of what it was told: of the
model, and of the record of everything that the coordinator claims to have announced; and the round
in which it heard something different. The coordinator forwards these last words. It cannot forge
them; it can only withhold one, and that is noticed too.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tacit.deploy.identity.keys import Card
from tacit.deploy.member.record import Record
from tacit.deploy.messages.wire import Address, Leaf, decode
from tacit.errors import WireError

_CONTEXT = b"tacit model 1\n"
_WORD = "word"
"""In the name under which a last word is forwarded, below the coordinator's number."""


@dataclass(frozen=True)
class Comparison:
    """What the other clients were told, by name.

    Attributes:
        same: names of the clients that were told the same.
        other: names of the clients that were told something different.
        silent: names of the clients whose last word did not arrive.
        where: description of the difference, for each of `other`.
        own: round in which this member heard something different from what the coordinator claims
            to have announced; empty if there is none.
    """

    same: tuple[str, ...]
    other: tuple[str, ...]
    silent: tuple[str, ...]
    where: tuple[str, ...] = ()
    own: str = ""

    def others(self) -> str:
        """Who was told something else, and what, in words."""
        pairs = zip(self.other, self.where, strict=True)
        return "; ".join(f"{name} ({what})" for name, what in pairs)


def word_form(record: Record) -> list[Leaf]:
    """The form of a client's last word: digests of model and record, and a turn or -1."""
    return [("<i8", (4,)), ("<i8", (record.stretches, 4)), ("<i8", ())]


def word_of(record: Record, told: Sequence[bytes], heard: Mapping[int, bytes]) -> list[np.ndarray]:
    """A client's last word.

    Args:
        record: turns of the coordinator.
        told: arrays of the coordinator's last word as bytes, with the record last.
        heard: digest of each message that was received from it, by position.
    """
    *model, said = told
    doubt = np.array(record.contradicted(said, heard), "<i8")
    return [digest_of(model), record.digests(said), doubt]


def digest_of(parts: Sequence[bytes]) -> np.ndarray:
    """A digest of a coordinator's last word without its record; shape `(4,)`.

    Args:
        parts: arrays of the last word as bytes.
    """
    found = hashlib.sha256(_CONTEXT)
    for part in parts:
        found.update(len(part).to_bytes(8, "little") + part)
    return np.frombuffer(found.digest(), "<i8")


def names_word(key: str) -> bool:
    """Whether a name is that of a client's last word, as a coordinator forwards it."""
    return key.split("/")[1:2] == [_WORD]


class Words:
    """Last words of the clients of a star, each checked with its card. Thread-safe.

    Args:
        run: id of the run, 32 bytes.
        rounds: number of rounds, as in the address of a last word.
        coordinator: number of the coordinator.
        cards: cards of the clients, by number.
        record: turns of the coordinator.
    """

    def __init__(
        self, run: bytes, rounds: int, coordinator: int, cards: Mapping[int, Card], record: Record
    ) -> None:
        self._run, self._rounds, self._cards = run, rounds, dict(cards)
        self._record, self._form = record, word_form(record)
        self._place = f"{coordinator}/{_WORD}/"
        self._lock = threading.Lock()
        self._words: dict[int, bytes] = {}
        self._told: dict[int, list[bytes]] = {}

    def keys(self) -> dict[int, str]:
        """Names under which the coordinator forwards the last words still missing, by client."""
        with self._lock:
            return {i: f"{self._place}{i}" for i in self._cards if i not in self._words}

    def find(self, key: str) -> bytes | None:
        """The last word with a given name."""
        with self._lock:
            number = key.removeprefix(self._place)
            known = key != number and number.isascii() and number.isdigit() and len(number) < 10
            return self._words.get(int(number)) if known else None

    def take(self, key: str, data: bytes) -> bool:
        """Take a forwarded last word; return whether the name is that of a last word."""
        if not key.startswith(self._place):
            return False
        for client, name in self.keys().items():
            if name == key:
                self.keep(client, data)
        return True

    def keep(self, client: int, data: bytes) -> str | None:
        """Keep a client's last word if it is one; return its name if it is new."""
        if client not in self.keys():
            return None
        address = Address.last(self._run, client, self._rounds)
        try:
            word = decode(data, address, self._form, self._cards[client].public_key())
        except WireError:
            return None
        with self._lock:
            self._words[client], self._told[client] = data, [leaf for leaf, _, _ in word.leaves]
        return f"{self._place}{client}"

    def compared(self, own: Sequence[np.ndarray]) -> Comparison:
        """What the others were told, compared with this member's own last word."""
        with self._lock:
            names = {i: card.name for i, card in self._cards.items()}
            found = {i: self._differs(told, own) for i, told in self._told.items()}
        doubt = int(own[2])
        return Comparison(
            same=tuple(name for i, name in names.items() if found.get(i) == ""),
            other=tuple(name for i, name in names.items() if found.get(i)),
            silent=tuple(name for i, name in names.items() if i not in found),
            where=tuple(found[i] for i in names if found.get(i)),
            own=self._record.place(doubt) if doubt >= 0 else "",
        )

    def _differs(self, told: Sequence[bytes], own: Sequence[np.ndarray]) -> str:
        """How another client was told something different, in words; empty if it was not."""
        model, digests, doubt = (np.frombuffer(each, "<i8") for each in told)
        places = np.flatnonzero((digests.reshape(-1, 4) != own[1]).any(axis=1))
        found = ["another model"] if not np.array_equal(model, own[0]) else []
        if places.size:
            found.append(f"another message in {self._record.stretch(int(places[0]))}")
        if doubt[0] >= 0:
            heard = self._record.place(int(doubt[0]))
            found.append(f"another message in {heard} than the coordinator says it sent")
        return " and ".join(found)
