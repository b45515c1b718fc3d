"""The result of a setting on synthetic records, in the units of a report."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True, eq=False)
class Measured:
    """The result of a setting, on synthetic records that it was not chosen on.

    Attributes:
        method: name in study files.
        clip: clip of one record's contribution.
        rounds: number of rounds.
        arguments: arguments of the method.
        shares: for every trial, the share of the pooled fit's gain over the base rate that the
            agreed model keeps, in mean loss on fresh records: 1 is as good as the pooled fit, 0 as
            the base rate, minus infinity for a trial that diverged; NaN where the pooled fit gains
        nothing.
        losses: mean loss on fresh records of the "pooled" fit and the "base rate", medians over the
            synthetic tables.
    """

    method: str
    clip: float
    rounds: int
    arguments: dict[str, float]
    shares: Float[np.ndarray, " trials"]
    losses: dict[str, float] = field(default_factory=dict[str, float])

    @property
    def kept(self) -> float:
        """The median share; NaN where the pooled fit itself gains nothing in most trials."""
        known = self.shares[~np.isnan(self.shares)]
        return float(np.median(known)) if 2 * len(known) > len(self.shares) else float("nan")

    @property
    def left(self) -> float:
        """The loss due to privacy: one minus the kept share."""
        return 1.0 - self.kept

    @property
    def spread(self) -> tuple[float, float]:
        """The lowest and the highest share of all trials."""
        return self._between(0.0, 1.0)

    @property
    def middle(self) -> tuple[float, float]:
        """The shares between which the middle half of the trials lies."""
        return self._between(0.25, 0.75)

    @property
    def agreed(self) -> bool:
        """Whether the middle half of the trials is within a factor of two of the median."""
        low, high = self.middle
        return self.kept / 2.0 <= low and high <= 2.0 * self.kept

    def _between(self, *levels: float) -> tuple[float, float]:
        known = self.shares[~np.isnan(self.shares)]
        if not len(known):
            return float("nan"), float("nan")
        # of the trials themselves: between minus infinity and a number there is no other value
        low, high = np.quantile(known, levels, method="nearest")
        return float(low), float(high)
