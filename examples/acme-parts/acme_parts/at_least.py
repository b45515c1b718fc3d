"""A target of one's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tacit.data import AbstractTarget


@dataclass(frozen=True)
class AtLeast(AbstractTarget):
    """Whether a number is at least a threshold.

    Args:
        name: column.
        threshold: of the number.
    """

    name: str
    threshold: float
    binary: ClassVar[bool] = True

    def number(self, value: str) -> float:
        """1 for yes, 0 for no."""
        return float(float(value) >= self.threshold)
