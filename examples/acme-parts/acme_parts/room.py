"""A simulator of one's own."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.problem import AbstractBlackBox


class Room(AbstractBlackBox):
    """How far a simulated room ends from the temperature that was measured, squared.

    The room begins at the first feature of a record, is heated by the second and loses heat; the
    parameters are how well it is heated and how fast it loses heat.

    Args:
        steps: of the simulation, at least 1.
    """

    steps: int = 10

    def dimension(self, features: int) -> int:
        """Two, whatever the number of columns."""
        return 2

    def value(self, x: np.ndarray, row: np.ndarray, target: float) -> float:
        """One simulation."""
        temperature: Any = row[0]
        for _ in range(self.steps):
            temperature += (x[0] * row[1] - x[1] * temperature) / self.steps
        return float((temperature - target) ** 2)
