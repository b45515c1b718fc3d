"""How wide the intervals of a declared regression will be: the formula of the planner, by column.

The planner knows the number of columns only; here they are those of a design (`made_rows`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from tacit.advise.forecast import Forecast, check_family
from tacit.advise.made_rows import NARROW, made_rows
from tacit.advise.widths import check_share, noise_in_sum
from tacit.arguments import checked
from tacit.errors import ConfigError
from tacit.method.glm import SHARES, PrivateGLM
from tacit.privacy.budget import Privacy

Matrix = Float[np.ndarray, "p p"]


@checked(ConfigError)
def regression_width(
    method: PrivateGLM,
    counts: Sequence[int],
    budget: Privacy,
    yes: float = 0.3,
    spread: Mapping[str, float] = MappingProxyType({}),
) -> Forecast:
    """The width of the widest interval of a regression, and whether intervals will be printed.

    Args:
        method: the regression, binomial or Gaussian, with the budget.
        counts: number of records of each site.
        budget: budget of the regression.
        yes: share of yes among the answers of a binomial model, in (0, 1).
        spread: as for `cox_widths`.

    Raises:
        ConfigError: another family, a budget of which nothing is forecast, or a spread that a
            column cannot have.
    """
    check_share("yes", yes)
    check_family(method.family.name)
    before, last = SHARES[method.sums][-2:]
    pooled = noise_in_sum(counts, budget, before + last)
    spreads, score = float(method.queries[-1].spread(1.0)[0]), method.score(-1)
    with jax.enable_x64(True):
        by = jnp.ones(2)
        unit, informed = (float(each) for each in method.family.units(by))
        weight, ratio = (float(each) for each in method.family.spread(by, by))
    records, logistic = sum(counts), method.family.logistic
    answers = yes * (1.0 - yes) if logistic else 1.0
    rows = made_rows(method.design, spread)
    kept, again = _kept(rows, float(score.radius))
    information = records * answers * weight * kept
    inverse = np.linalg.inv(information)
    noise = pooled * spreads * float(score.units[0]) * unit
    varied = ratio * information * (1.0 if logistic else again)
    covariance = inverse @ (varied + noise**2 * np.eye(len(inverse))) @ inverse
    plain = np.linalg.inv(records * answers * (rows.T @ rows) / len(rows))
    unscaled = method.design.unscaled
    errors, fitted = (
        np.sqrt(np.diag(unscaled @ each @ unscaled.T))[:-1] for each in (covariance, plain)
    )
    blurred = pooled * spreads * float(method.curvature_unit) * informed
    blurred *= math.sqrt(2.0 * method.width)
    narrow, _ = _kept(made_rows(method.design, spread, NARROW), float(score.radius))
    return Forecast(
        records,
        float(np.max(errors / fitted)),
        blurred / _least(information),
        blurred / _least(records * answers * weight * narrow),
    )


def _kept(rows: Float[np.ndarray, "n p"], radius: float) -> tuple[Matrix, float]:
    """`E u x x'` with Mallows' factor `u`, and `E u^2 |x|^2 / E u |x|^2`."""
    squares = np.sum(rows * rows, axis=1)
    u = np.minimum(1.0, radius / np.sqrt(squares))
    return (rows * u[:, None]).T @ rows / len(rows), float(u * u @ squares / (u @ squares))


def _least(matrix: Matrix) -> float:
    return float(np.linalg.eigvalsh(matrix)[0])
