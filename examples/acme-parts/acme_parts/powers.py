"""A feature map of one's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.data import AbstractMap, Schema


@dataclass(frozen=True)
class Powers(AbstractMap):
    """Every number and its powers.

    Args:
        highest: largest exponent, at least 1.
    """

    highest: int = 2

    def names(self, schema: Schema, columns: tuple[str, ...]) -> tuple[str, ...]:
        """One for each power of each number."""
        return tuple(f"{name}^{k}" for k in range(1, self.highest + 1) for name in columns)

    def row(self, schema: Schema, row: np.ndarray) -> Sequence[float]:
        """Numbers, then their squares, and so on."""
        return np.concatenate([row**k for k in range(1, self.highest + 1)]).tolist()
