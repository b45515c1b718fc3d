"""A rule of one's own for dividing records."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.data import AbstractPartition, Prepared


@dataclass(frozen=True)
class Turns(AbstractPartition):
    """Records dealt to the sites in turn.

    Args:
        sites: how many.
        first: number of the site that gets the first record, from 0.
    """

    sites: int
    first: int = 0

    def owners(self, prepared: Prepared) -> np.ndarray:
        """One after the other."""
        return (np.arange(len(prepared.targets)) + self.first) % self.sites
