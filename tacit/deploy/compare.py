"""Clients of a coordinator compare the model that it told them.

They speak with nobody else, so a coordinator could run two halves under one id and tell each its
own model. At the end each client signs a digest of the model that it was told, and the coordinator
passes these words on. It can forge none; it can only keep one back, and that is seen as well.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tacit.deploy.keys import Card
from tacit.deploy.wire import FINISHED, Address, Leaf, decode
from tacit.errors import WireError

DIGEST: Leaf = ("<i8", (4,))
"""The array of a client's last word: 32 bytes."""

_CONTEXT = b"tacit model 1\n"


@dataclass(frozen=True)
class Comparison:
    """What the other clients were told, by name.

    Attributes:
        same: those who were told the same model.
        other: those who were told another one.
        silent: those whose word did not come.
    """

    same: tuple[str, ...]
    other: tuple[str, ...]
    silent: tuple[str, ...]


def digest_of(parts: Sequence[bytes]) -> np.ndarray:
    """A digest of a coordinator's last word, as `DIGEST` has it.

    Args:
        parts: its arrays as bytes.
    """
    found = hashlib.sha256(_CONTEXT)
    for part in parts:
        found.update(len(part).to_bytes(8, "little") + part)
    return np.frombuffer(found.digest(), "<i8")


class Words:
    """Last words of the clients of a star, each checked with its card. Any thread may call.

    Args:
        run: its id, 32 bytes.
        rounds: of the run, as the address of a last word has them.
        coordinator: its number.
        cards: of the clients, by number.
    """

    def __init__(
        self, run: bytes, rounds: int, coordinator: int, cards: Mapping[int, Card]
    ) -> None:
        self._run, self._rounds, self._cards = run, rounds, dict(cards)
        self._place = f"{coordinator}/word/"
        self._lock = threading.Lock()
        self._words: dict[int, bytes] = {}
        self._digests: dict[int, bytes] = {}

    def keys(self) -> dict[int, str]:
        """Under which name the coordinator passes on the words that have not come, by client."""
        with self._lock:
            return {i: f"{self._place}{i}" for i in self._cards if i not in self._words}

    def find(self, key: str) -> bytes | None:
        """The word that goes by a name."""
        with self._lock:
            number = key.removeprefix(self._place)
            known = key != number and number.isascii() and number.isdigit() and len(number) < 10
            return self._words.get(int(number)) if known else None

    def take(self, key: str, data: bytes) -> bool:
        """Take a word that was passed on; whether it went by such a name at all."""
        if not key.startswith(self._place):
            return False
        for client, name in self.keys().items():
            if name == key:
                self.keep(client, data)
        return True

    def keep(self, client: int, data: bytes) -> str | None:
        """Keep a client's last word if it is one; the name that it goes by, if it is new."""
        if client not in self.keys():
            return None
        address = Address(self._run, client, self._rounds, 255, 0, FINISHED)
        try:
            word = decode(data, address, [DIGEST], self._cards[client].public_key())
        except WireError:
            return None
        with self._lock:
            self._words[client], self._digests[client] = data, word.leaves[0][0]
        return f"{self._place}{client}"

    def compared(self, own: np.ndarray) -> Comparison:
        """What the others were told, beside one's own digest."""
        with self._lock:
            names = {i: card.name for i, card in self._cards.items()}
            alike = {i: each == own.tobytes() for i, each in self._digests.items()}
        return Comparison(
            same=tuple(name for i, name in names.items() if alike.get(i) is True),
            other=tuple(name for i, name in names.items() if alike.get(i) is False),
            silent=tuple(name for i, name in names.items() if i not in alike),
        )
