"""The log-rank test from counts of events and censorings by interval, with the noise in it.

Observed less expected events of every group (Mantel, 1966) with their hypergeometric covariance, to
which that of the noise is added: each cell's is known, and is carried through by the delta method.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.method._survival_curve import Cells

_POWER = 1.959963984540054 + 0.8416212335729143
"""Standard errors from 0 at which a test of size .05 has a power of .8."""


@dataclass(frozen=True)
class LogRank:
    """A log-rank test.

    Attributes:
        statistic: chi-squared statistic; not a number where there is no test.
        degrees: degrees of freedom.
        p_value: probability of a larger one if hazards do not differ.
        until: end of the last interval that is compared.
        observed: events of each group.
        expected: events of each group that would be expected if hazards did not differ.
        detectable: smallest hazard ratio above 1 of two groups that the test finds with a power of
            .8; not a number with more groups.
        why: the reason, where there is no test.
    """

    statistic: float
    degrees: int
    p_value: float
    until: float
    observed: tuple[float, ...] = ()
    expected: tuple[float, ...] = ()
    detectable: float = math.nan
    why: str = ""


def log_rank(groups: Sequence[Cells], edges: Sequence[float]) -> LogRank:
    """Whether the hazards of groups differ, as far as all of them have records at risk.

    Args:
        groups: counts of at least two groups.
        edges: ends of all intervals, with the start of the first one.
    """
    from scipy.stats import chi2

    size, degrees = min(each.known for each in groups), len(groups) - 1

    def none(why: str) -> LogRank:
        return LogRank(math.nan, degrees, math.nan, float(edges[size]), why=why)

    if not size:
        return none("the noise hides how many records a group has")
    events = np.stack([each.events[:size] for each in groups])
    risk = np.stack([each.at_risk[:size] for each in groups])
    d, r = events.sum(axis=0), risk.sum(axis=0)
    shares = risk / r
    observed, expected = events.sum(axis=1), (d * shares).sum(axis=1)
    weights = d * (r - d) / np.maximum(r - 1.0, 1.0)
    spread = np.diag(shares @ weights) - (shares * weights) @ shares.T
    unit = np.eye(len(groups))
    noise = np.zeros_like(spread)
    later = len(groups[0].events) - size  # intervals that only add to those at risk before
    for h, cells in enumerate(groups):
        direct = unit[:, h, None] - shares
        per_risk = -d / r * direct
        before = np.cumsum(per_risk, axis=1)
        rest = np.repeat(before[:, -1:], later, axis=1)
        within = before - per_risk / 2.0
        moved = np.hstack([direct + before, rest, within, rest, before[:, -1:]])
        noise += cells.noise**2 * moved @ moved.T
    if not (d.sum() > 0.0 and np.linalg.eigvalsh(spread[:-1, :-1]).min() > 0.0):
        return none("no events are left above the noise")
    apart = (observed - expected)[:-1]
    whole = (spread + noise)[:-1, :-1]
    statistic = float(apart @ np.linalg.solve(whole, apart))
    detectable = math.nan
    if degrees == 1:
        detectable = math.exp(min(_POWER * math.sqrt(whole[0, 0]) / spread[0, 0], 700.0))
    return LogRank(
        statistic,
        degrees,
        float(chi2.sf(statistic, degrees)),
        float(edges[size]),
        tuple(observed.tolist()),
        tuple(expected.tolist()),
        detectable,
    )
