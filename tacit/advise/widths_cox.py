"""Widths of log hazard ratios: sampling error and noise from the information that is expected.

Columns are those of `made_rows`, effects are taken for small, hazards for constant and the same in
all strata, and nobody for censored before the end of the follow-up. As the number of events
decides, a share of events that counts those censored earlier is the one to give. No record is read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
from jaxtyping import Float

from tacit.advise.made_rows import NARROW, made_rows
from tacit.advise.widths import Width, Word, check_share, enough, noise_in_sum
from tacit.arguments import checked
from tacit.errors import ConfigError
from tacit.method._cox_rows import extent
from tacit.method.answer import NORMAL
from tacit.method.cox import SHARES, PrivateCox
from tacit.privacy.budget import Privacy

Matrix = Float[np.ndarray, "d d"]

LIKELY, UNLIKELY = 0.09, 0.35
"""Noise of the information over its smallest eigenvalue up to which nearly all intervals were
printed, and from which few were (docs/advise.md has all).

With small effects of five uniform columns (benchmarks/cox.py) at least 98 % up to .13, about 3 of 4
at .25, a third at .34 and 3 % at .48. With an age whose effect is strong fewer, because Newton's
method is not done: 98 % at .09, 93 % at .1 and 87 % at .12 to .135.
"""


@checked(ConfigError)
def cox_widths(
    method: PrivateCox,
    counts: Sequence[int],
    budget: Privacy,
    events: float = 0.3,
    spread: Mapping[str, float] = MappingProxyType({}),
) -> list[Width]:
    """The widths of log hazard ratios, of one unit more or of a level against its reference.

    Args:
        method: the regression, with the budget.
        counts: number of records of each site.
        budget: budget of the regression.
        events: share of records with an event until the end of the follow-up, in (0, 1).
        spread: by name of a column, a public guess of its standard deviation in the units of the
            data, or of the share of the second of two levels. Widths are those of other numbers
            that are uniform between their bounds, and intervals are called likely if they are so
            of numbers with half of that standard deviation, too.

    Raises:
        ConfigError: a budget of which nothing is forecast, or a spread that a column cannot have.
    """
    check_share("events", events)
    records, total, layout = sum(counts), noise_in_sum(counts, budget, 1.0), method.layout
    d = layout.columns
    kept, plain = _variances(method, spread, 1.0)
    narrow, _ = _variances(method, spread, NARROW)
    hazard = -math.log1p(-events)
    followed = -math.expm1(-min(hazard, method.followed)) / layout.periods
    # of the last two sums: noise of a score, and of the information on effects
    sums = [method.queries[-1].spread(total / math.sqrt(share)) for share in SHARES[-2:]]
    score = 1.0 / math.hypot(*(1.0 / float(each[0]) for each in sums))
    parts = np.array(SHARES[-2:]) / sum(SHARES[-2:])
    noise = math.hypot(*(p * float(each[1]) for p, each in zip(parts, sums, strict=True)))
    unscaled = method.design.unscaled[:d, :d]

    def curvature(factor: float, variance: Matrix) -> float:
        least = float(np.linalg.eigvalsh(factor * records * followed * variance)[0])
        return noise * math.sqrt(2.0 * d) / least

    inverse = np.linalg.inv(records * followed * kept)
    own = _deviations(inverse + score**2 * inverse @ inverse, unscaled)
    whole = np.linalg.inv(records * events / layout.periods * plain)
    pooled = _deviations(whole, unscaled)
    said = _word(curvature(1.0, narrow), curvature(1.0, kept))
    needed = enough(records, lambda each: curvature(each, narrow) <= LIKELY)
    return [
        Width(
            f"log hazard ratio of {name}",
            NORMAL * float(own[i % d]),
            float(own[i % d] / pooled[i % d]),
            said,
            needed,
        )
        for i, name in enumerate(layout.names)
    ]


def _word(narrow: float, kept: float) -> Word:
    """What the curvature decides, with narrow columns and with those that are assumed."""
    if narrow <= LIKELY:
        return "likely"
    return "uncertain" if kept < UNLIKELY else "unlikely"


def _deviations(covariance: Matrix, unscaled: Matrix) -> Float[np.ndarray, " d"]:
    """Standard errors in the units of the data."""
    return np.sqrt(np.diag(unscaled @ covariance @ unscaled.T))


def _variances(
    method: PrivateCox, spread: Mapping[str, float], narrow: float
) -> tuple[Matrix, Matrix]:
    """Variance of the columns about their mean, with Mallows' factor and without."""
    centre, radius, _ = extent(method.design)
    rows = made_rows(method.design, spread, narrow)[:, :-1] - np.array(centre)
    factors = np.minimum(1.0, radius / np.maximum(np.linalg.norm(rows, axis=1), 1e-12))
    return _variance(rows, factors), _variance(rows, np.ones(len(rows)))


def _variance(rows: Float[np.ndarray, "n d"], factors: Float[np.ndarray, " n"]) -> Matrix:
    """Variance of the columns, in which rows weigh by these factors, about their mean."""
    mean = factors @ rows / factors.sum()
    return (rows * factors[:, None]).T @ rows / len(rows) - np.outer(mean, mean) * factors.mean()
