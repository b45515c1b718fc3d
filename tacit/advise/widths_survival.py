"""Widths of survival curves: sampling and noise, as in the intervals of a curve of expected events.

Groups are taken for equally large, with events at a constant hazard and nobody censored before the
end of the follow-up. Fewer records at risk, as censoring leaves, have wider intervals.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np

from tacit.advise.widths import AWAY, Width, check_share, enough, noise_in_sum, word
from tacit.arguments import checked
from tacit.errors import ConfigError
from tacit.method._survival_curve import SEEN, Cells, curve
from tacit.method.survival import PrivateSurvival
from tacit.privacy.budget import Privacy

_QUARTERS = (0.25, 0.5, 0.75, 1.0)


@checked(ConfigError)
def survival_widths(
    method: PrivateSurvival, counts: Sequence[int], budget: Privacy, events: float = 0.3
) -> list[Width]:
    """The widths of the survival of a group, at quarters of the follow-up.

    Args:
        method: the curves, with the budget.
        counts: number of records of each site.
        budget: budget of the curves.
        events: share of records with an event until the end of the follow-up, in (0, 1).

    Raises:
        ConfigError: a budget of which nothing is forecast.
    """
    check_share("events", events)
    records, total = sum(counts), noise_in_sum(counts, budget)
    noise = float(method.query.spread(total)[0])
    groups = 1 if method.by is None else len(method.by.levels)
    edges = np.array(method.edges)

    @cache
    def of(factor: float) -> Cells:
        return _cells(factor * records / groups, edges, events, noise)

    def shown(factor: float, place: int, away: float) -> bool:
        # a curve ends where it is first hidden
        entering, error = (
            each[: place + 1] for each in (of(factor).entering, of(1.0).entering_noise)
        )
        return bool(np.all(entering + away * error > SEEN * error))

    found: list[Width] = []
    noisy, exact = (curve(each) for each in (of(1.0), of(1.0)._replace(noise=0.0)))
    spans = edges[0] + np.array(_QUARTERS) * (edges[-1] - edges[0])
    for time in spans:
        place = int(np.argmin(np.abs(edges[1:] - time)))
        own = math.nan
        if place < len(noisy.upper):
            own = float(noisy.upper[place] - noisy.lower[place]) / 2.0
        pooled = float(exact.upper[place] - exact.lower[place]) / 2.0
        name = f"survival at {edges[place + 1]:g}" + ("" if groups == 1 else ", a group")
        found.append(
            Width(
                name,
                own,
                own / pooled,
                word(lambda away, place=place: shown(1.0, place, away)),
                enough(records, lambda factor, place=place: shown(factor, place, -AWAY)),
            )
        )
    return found


def _cells(records: float, edges: np.ndarray, events: float, noise: float) -> Cells:
    """Counts of a group whose records are followed to the end."""
    span = (edges - edges[0]) / (edges[-1] - edges[0])
    surviving = records * np.exp(math.log1p(-events) * span)
    return Cells(-np.diff(surviving), np.zeros(len(edges) - 1), float(surviving[-1]), noise)
