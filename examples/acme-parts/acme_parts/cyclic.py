"""A feature of one's own."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tacit.data import AbstractFeature


@dataclass(frozen=True)
class Cyclic(AbstractFeature):
    """A number that begins again, such as an hour, as a point of the unit circle.

    Args:
        period: after which it begins again, positive.
    """

    period: float

    def names(self, column: str) -> tuple[str, ...]:
        """Both coordinates."""
        return f"{column}:cos", f"{column}:sin"

    def numbers(self, value: str) -> tuple[float, float]:
        """Both coordinates."""
        angle = 2.0 * math.pi * float(value) / self.period
        return math.cos(angle), math.sin(angle)
