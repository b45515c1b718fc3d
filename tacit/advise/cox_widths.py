"""Widths of log hazard ratios: sampling error and noise from the information that is expected.

Columns are taken for independent, numbers for uniform between their bounds and levels for equally
frequent, effects for small, hazards for constant and the same in all strata, and nobody for
censored before the end of the follow-up. As the number of events decides, a share of events that
counts those censored earlier is the one to give. No record is read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from scipy.stats import qmc

from tacit.advise.widths import Width, Word, enough, noise_in_sum
from tacit.method._cox_rows import extent
from tacit.method.answer import NORMAL
from tacit.method.cox import SHARES, PrivateCox
from tacit.privacy.budget import Privacy

Matrix = Float[np.ndarray, "d d"]

LIKELY, UNLIKELY = 0.14, 0.35
"""Noise of the information over its smallest eigenvalue up to which nearly all intervals were
printed, and from which few were.

With five uniform columns and six pieces (benchmarks/cox.py; docs/advise.md has all): at least 98 %
up to .13, about 3 of 4 at .25, a third at .34 and 3 % at .48.
"""

_POINTS = 13
"""Logarithm to base 2 of the number of points at which columns are averaged."""


def cox_widths(
    method: PrivateCox, counts: Sequence[int], budget: Privacy, events: float = 0.3
) -> list[Width]:
    """The widths of log hazard ratios, of one unit more or of a level against its reference.

    Args:
        method: the regression, with the budget.
        counts: number of records of each site.
        budget: budget of the regression.
        events: share of records with an event until the end of the follow-up, in (0, 1).

    Raises:
        ConfigError: a budget of which nothing is forecast.
    """
    records, total, layout = sum(counts), noise_in_sum(counts, budget, 1.0), method.layout
    centre, radius, _ = extent(method.design)
    d = layout.columns
    rows = _rows(method) - np.array(centre)
    factors = np.minimum(1.0, radius / np.maximum(np.linalg.norm(rows, axis=1), 1e-12))
    spread, plain = _variance(rows, factors), _variance(rows, np.ones(len(rows)))
    hazard = -math.log1p(-events)
    followed = -math.expm1(-min(hazard, method.followed)) / layout.periods
    # of the last two sums: noise of a score, and of the information on effects
    sums = [method.queries[-1].spread(total / math.sqrt(share)) for share in SHARES[-2:]]
    score = 1.0 / math.hypot(*(1.0 / float(each[0]) for each in sums))
    parts = np.array(SHARES[-2:]) / sum(SHARES[-2:])
    noise = math.hypot(*(p * float(each[1]) for p, each in zip(parts, sums, strict=True)))
    unscaled = method.design.unscaled[:d, :d]

    def curvature(factor: float) -> float:
        least = float(np.linalg.eigvalsh(factor * records * followed * spread)[0])
        return noise * math.sqrt(2.0 * d) / least

    inverse = np.linalg.inv(records * followed * spread)
    own = _deviations(inverse + score**2 * inverse @ inverse, unscaled)
    whole = np.linalg.inv(records * events / layout.periods * plain)
    pooled = _deviations(whole, unscaled)
    said, needed = _word(curvature(1.0)), enough(records, lambda each: curvature(each) <= LIKELY)
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


def _word(curvature: float) -> Word:
    if curvature <= LIKELY:
        return "likely"
    return "uncertain" if curvature < UNLIKELY else "unlikely"


def _deviations(covariance: Matrix, unscaled: Matrix) -> Float[np.ndarray, " d"]:
    """Standard errors in the units of the data."""
    return np.sqrt(np.diag(unscaled @ covariance @ unscaled.T))


def _variance(rows: Float[np.ndarray, "n d"], factors: Float[np.ndarray, " n"]) -> Matrix:
    """Variance of the columns, in which rows weigh by these factors, about their mean."""
    mean = factors @ rows / factors.sum()
    return (rows * factors[:, None]).T @ rows / len(rows) - np.outer(mean, mean) * factors.mean()


def _rows(method: PrivateCox) -> Float[np.ndarray, "n d"]:
    """Columns of records that fill the bounds: numbers in [-1, 1], levels 0 or 1."""
    terms = method.design.terms
    points = qmc.Sobol(len(terms), scramble=False).random_base2(_POINTS)
    made: list[np.ndarray] = []
    for term, uniform in zip(terms, points.T, strict=True):
        if len(term.names) == 1 and not term.factors[0].column.levels:
            made.append(2.0 * uniform[:, None] - 1.0)
            continue
        levels = len(term.names) + 1
        made.append((np.floor(levels * uniform)[:, None] == np.arange(1, levels)).astype(float))
    return np.hstack(made)
