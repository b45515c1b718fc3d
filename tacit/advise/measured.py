"""What a setting came to on made-up records, in the units of a report."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True, eq=False)
class Measured:
    """What a setting came to, on made-up records that it was not chosen on.

    Attributes:
        method: name in study files.
        clip: of one record's contribution.
        rounds: how many.
        arguments: of the method.
        shares: of every trial, what the agreed model keeps of what the pooled fit gains over the
            base rate in mean loss on fresh records: 1 is as good as the pooled fit, 0 as the base
            rate, minus infinity a trial that diverged; NaN where the pooled fit gains nothing.
        losses: mean loss on fresh records of the "pooled" fit and the "base rate", medians over the
            made-up tables.
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
        """What privacy takes: one minus the share that is kept."""
        return 1.0 - self.kept

    @property
    def spread(self) -> tuple[float, float]:
        """The lowest and the highest share of all trials."""
        known = self.shares[~np.isnan(self.shares)]
        return (
            (float(np.min(known)), float(np.max(known)))
            if len(known)
            else (float("nan"), float("nan"))
        )
