"""Linear predictors of new records with their variance, for one mean or for every level."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import log_softmax

from tacit.method.coefficients import CoefficientTable

PerRecord = Float[np.ndarray, " n"]


class Predicted(NamedTuple):
    """A mean of every record, as a linear predictor through the link.

    Attributes:
        name: level whose probability it is, and a space; empty for the mean of the target.
        predictor: linear predictor.
        variance: its variance.
    """

    name: str
    predictor: PerRecord
    variance: PerRecord


def predicted(
    table: CoefficientTable, rows: Float[np.ndarray, "n d"], added: PerRecord
) -> list[Predicted]:
    """The predictor of the mean, or with several levels the log odds of each against all others.

    The variance of the latter is that of its linear part (delta method).

    Args:
        table: coefficients.
        rows: rows of the design, the intercept first.
        added: offset of each record.
    """
    if not table.levels:
        variance = np.einsum("ij,jk,ik->i", rows, table.covariance, rows)
        return [Predicted("", rows @ table.values + added, variance)]
    rest = len(table.levels) - 1
    logits = np.pad(rows @ table.values.reshape(rest, -1).T, ((0, 0), (1, 0)))
    logs = log_softmax(logits, axis=1)
    found = []
    for at, level in enumerate(table.levels):
        others = np.log(-np.expm1(np.minimum(logs[:, at], -1e-300)))
        # of the log odds of a level, by the logits of all but the first
        share = np.exp(logs[:, 1:] - others[:, None])
        slopes = np.where(np.arange(1, rest + 1) == at, 1.0, -share)
        whole = (slopes[:, :, None] * rows[:, None, :]).reshape(len(rows), -1)
        variance = np.einsum("ij,jk,ik->i", whole, table.covariance, whole)
        found.append(Predicted(f"{level} ", logs[:, at] - others, variance))
    return found
