"""How wide a regression's intervals will be, from public numbers: the formula of docs/planner.md.

Columns are taken for independent and uniform between their declared bounds, sites for equally
large. Nothing is simulated and no record is read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from scipy.stats import qmc

from tacit import data
from tacit.advise.widths import check_share, noise_in_sum, two_digits_up
from tacit.data.cells import columns_of
from tacit.data.design import design_of
from tacit.errors import ConfigError
from tacit.method.glm import SHARES, PrivateGLM
from tacit.privacy.budget import Privacy

MOST_COLUMNS = 30
"""Largest number of columns of a planned regression, beside the intercept."""

LIKELY, UNLIKELY = 0.08, 0.2
"""Curvatures of forecasts up to which nearly all intervals were printed, and from which few were.

With correlated columns, two of them binary (benchmarks/regression.py; docs/advise.md has all): at
least 99 % up to .07, 97 % at .09, 81 to 88 % of rare events at .13 to .15, 34 to 41 % at .16, 5 %
at .2. Linear models are printed more often: 99 % at .13, 17 to 33 % at .25.
"""

KNOWN = (0.14, 0.35)
"""The same two where the spread of columns is known: those that were measured are narrower than the
uniform ones for which they are forecast (docs/advise.md)."""

FAMILIES = ("binomial", "gaussian")
"""Families whose widths are forecast."""


@dataclass(frozen=True)
class Forecast:
    """What is to be expected of the intervals of a regression.

    Attributes:
        records: number of records of all sites.
        width: width of the intervals over those of the pooled fit without privacy.
        curvature: noise of the information over its smallest eigenvalue, which a fit compares with
            0.75 for the columns that it finds.
        narrow: the same if numbers whose spread nobody has guessed are narrower; `None` where
            nothing is guessed.
    """

    records: int
    width: float
    curvature: float
    narrow: float | None = None

    @property
    def intervals(self) -> Literal["likely", "uncertain", "unlikely"]:
        """Whether intervals will be printed, for columns that use their bounds less than fully."""
        likely, unlikely = self._limits
        if self._worse <= likely:
            return "likely"
        return "uncertain" if self.curvature < unlikely else "unlikely"

    @property
    def enough(self) -> int:
        """Number of records of all sites, to two digits, from which on they are likely."""
        return two_digits_up(self.records * self._worse / self._limits[0])

    @property
    def _limits(self) -> tuple[float, float]:
        return (LIKELY, UNLIKELY) if self.narrow is None else KNOWN

    @property
    def _worse(self) -> float:
        return self.curvature if self.narrow is None else self.narrow


def check_family(family: str) -> None:
    """Refuse a family of regressions whose widths are not forecast."""
    if family not in FAMILIES:
        raise ConfigError(
            f"family={family!r}: widths are forecast for {' and '.join(FAMILIES)} regressions; for "
            "others docs/regression.md has a table of coverage by the number of records"
        )


def forecast(
    family: str,
    parameters: int,
    counts: Sequence[int],
    budget: Privacy,
    sums: int = 4,
    yes: float = 0.3,
    inflation: float = 1.0,
) -> Forecast:
    """The expected width of the intervals of a regression.

    Args:
        family: "binomial" or "gaussian".
        parameters: number of coefficients with the intercept, from 2 to 31.
        counts: number of records of each site.
        budget: budget of the whole fit, with its masks.
        sums: number of sums, 3 or 4.
        yes: share of yes among the answers of a binomial model, in (0, 1).
        inflation: variance inflation of the columns, at least 1.

    Raises:
        ConfigError: another family, or a number out of range.
    """
    check_family(family)
    if not 2 <= parameters <= MOST_COLUMNS + 1:
        raise ConfigError(
            f"parameters={parameters} must be from 2 (one column and the intercept) to "
            f"{MOST_COLUMNS + 1} for a forecast"
        )
    check_share("yes", yes)
    records = sum(counts)
    columns, logistic = parameters - 1, family == "binomial"
    unit = noise(family, budget.relation)
    before, last = SHARES[sums][-2:]
    pooled = noise_in_sum(counts, budget, before + last)
    square, again = kept()[columns - 1]
    weight = yes * (1.0 - yes) if logistic else 1.0
    information = records * weight * unit["weight"] * square / inflation
    sampling = unit["ratio"] * information * (1.0 if logistic else again)
    score = unit["score"][columns - 1] * pooled
    variance = (sampling + score * score) / information**2
    blurred = unit["information"][columns - 1] * pooled
    return Forecast(
        records,
        math.sqrt(variance * records * weight / (3.0 * inflation)),
        blurred * math.sqrt(2.0 * parameters) / information,
    )


@cache
def noise(family: str, relation: Any) -> dict[str, Any]:
    """Noise of score and information for noise of scale 1 in the released vector.

    Lists are by the number of columns, from 1. Errors of a numeric target have variance 1.

    Args:
        family: family of the model.
        relation: adjacency.
    """
    privacy = Privacy(1.0, 1.0, relation=relation)
    methods = [regression(columns, family, privacy) for columns in range(1, MOST_COLUMNS + 1)]
    with jax.enable_x64(True):
        by, own = jnp.ones(2), methods[0].family
        unit, informed = (float(each) for each in own.units(by))
        weight, ratio = (float(each) for each in own.spread(by, by))
        spreads = [float(method.queries[-1].spread(1.0)[0]) for method in methods]
        scores = [float(method.score(-1).units[0]) for method in methods]
        curvatures = [float(method.curvature_unit) for method in methods]
    score = [spread * each * unit for spread, each in zip(spreads, scores, strict=True)]
    information = [
        spread * each * informed for spread, each in zip(spreads, curvatures, strict=True)
    ]
    return {
        "score": score,
        "information": information,
        "weight": weight,
        "ratio": ratio,
        "logistic": own.logistic,
    }


@cache
def kept() -> list[tuple[float, float]]:
    """What Mallows' factor `u` leaves of uniform columns, by their number.

    `E u x_j^2` of a column, and `E u^2 |x|^2 / E u |x|^2` of a row with its intercept.
    """
    points = 2.0 * qmc.Sobol(MOST_COLUMNS, scramble=False).random_base2(13) - 1.0
    found: list[tuple[float, float]] = []
    for columns in range(1, MOST_COLUMNS + 1):
        x = points[:, :columns]
        squares = 1.0 + np.sum(x * x, axis=1)
        radius = regression(columns, "gaussian", None).design.typical
        u = np.minimum(1.0, radius / np.sqrt(squares))
        again = np.sum(u * u * squares) / np.sum(u * squares)
        found.append((float(np.mean(u[:, None] * x * x)), float(again)))
    return found


def regression(columns: int, family: str, privacy: Privacy | None, sums: int = 4) -> PrivateGLM:
    """A regression on numbers that are declared from -1 to 1."""
    found = _columns(columns, family)
    design = design_of([found[f"x{i}"] for i in range(columns)])
    return PrivateGLM(design, found["y"], family, sums, privacy=privacy)


@cache
def schema(columns: int, family: str) -> data.Schema:
    """Numbers from -1 to 1, and a target."""
    target = data.Boolean() if family == "binomial" else data.Numeric(-6, 6)
    numbers = {f"x{i}": data.Numeric(-1, 1) for i in range(columns)}
    return data.Schema({**numbers, "y": target}, target=None, intercept=False)


@cache
def _columns(columns: int, family: str) -> Any:
    return columns_of(schema(columns, family))
