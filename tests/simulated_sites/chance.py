"""Numbers drawn by what they are for: one more draw changes no other."""

from __future__ import annotations

import hashlib
from typing import Any


class Chance:
    """Draws that are functions of a seed and a label.

    Args:
        seed: seed of the run.
    """

    def __init__(self, seed: int) -> None:
        self._key = seed.to_bytes(16, "little")
        self._shares = hashlib.blake2b(key=self._key, digest_size=7)
        self._of_run: dict[str, float] = {}

    def data(self, count: int, *label: Any) -> bytes:
        """Bytes for a purpose."""
        found = hashlib.shake_128(self._key + repr(label).encode())
        return found.digest(count)

    def share(self, *label: Any) -> float:
        """A number in [0, 1)."""
        found = self._shares.copy()
        found.update(repr(label).encode())
        return int.from_bytes(found.digest(), "little") / 2.0**56

    def of_run(self, label: str) -> float:
        """The share of a label alone, which is asked for again and again."""
        if label not in self._of_run:
            self._of_run[label] = self.share(label)
        return self._of_run[label]

    def below(self, count: int, *label: Any) -> int:
        """A whole number below `count`."""
        return int(self.share(*label) * count)
