"""Members that lie: what leaves an honest process is changed by somebody with its keys."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.deploy.messages.wire import Address, decode, digest_of, encode
from tests.simulated_sites.world import World


class Liar:
    """What a member says to others in the place of what it would say.

    Args:
        at: the world.
        number: number of the member.
        identity: its signing key.
        run: id of the run.
    """

    def __init__(self, at: World, number: int, identity: Any, run: bytes) -> None:
        self._at, self._number, self._identity, self._run = at, number, identity, run
        self.lies: dict[str, int] = {}
        """By lie, to whom."""
        self._greeting: dict[int, bytes] = {}
        self._earlier: dict[str, bytes] = {}

    def said(self, receiver: int, key: str, data: bytes) -> list[bytes]:
        """What it says in the place of this; after a second content the first, too."""
        if "/hello/" in key:
            greeted = self._greeted(receiver, data)
            return [] if greeted is None else [greeted]
        told: bytes | None = data
        for lie, victim in self.lies.items():
            if lie == "silence" and receiver == victim:
                told = None
            elif lie == "garbage" and self._often(key, receiver):
                told = self._at.chance.data(len(data), "garbage", key, receiver)
            elif lie == "earlier message" and self._earlier and self._often(key, receiver):
                told = self._earlier[min(self._earlier)]
            elif (lie == "second contents" and receiver == victim) or lie == "out of bounds":
                told = self._other(key, data, 1e308 if lie == "out of bounds" else None) or told
        self._earlier.setdefault(key, data)
        if told is not data:
            self._at.note("lied", None, self._number, receiver, key)
        both = told is not data and "second contents" in self.lies
        return [each for each in ([told, data] if both else [told]) if each is not None]

    def _often(self, key: str, receiver: int) -> bool:
        return self._at.chance.share("lie", key, receiver) < 0.3

    def _greeted(self, receiver: int, data: bytes) -> bytes | None:
        first = self._greeting.setdefault(receiver, data)
        for lie, victim in self.lies.items():
            if lie == "replayed greeting" and first is not data:
                return first
            if lie == "foreign greeting" and receiver == victim:
                others = [each for who, each in sorted(self._greeting.items()) if who != receiver]
                return others[0] if others else data
            if lie == "silence" and receiver == victim:
                return None
        return data

    def _other(self, key: str, data: bytes, number: float | None) -> bytes | None:
        """Another message of the same address, with its signature."""
        if any(not part.isdigit() for part in key.split("/")):
            return None
        sender, round, phase, step = map(int, key.split("/"))
        party = self._party()
        if phase == 255 or party is None:
            return None
        address = Address(self._run, sender, round - 1, phase, step)
        form = party._terms.forms[phase].leaves
        leaves = decode(data, address, form, self._identity.public_key()).leaves
        arrays = [np.frombuffer(each, kind).reshape(shape).copy() for each, kind, shape in leaves]
        for array in arrays:
            if array.dtype.kind == "f":
                array[...] = array + 0.25 if number is None else number
                break
        else:
            arrays[0][...] += 1
        made = encode(address, arrays, self._identity)
        self._at.note("forged", None, digest_of(made).hex()[:16], key)
        return made

    def _party(self) -> Any:
        for each in self._at.network.open[self._number]:
            return each.process.party
        return None
