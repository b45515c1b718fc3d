"""Logarithms of hazards of new records with their standard errors, from a Cox regression."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from tacit.method.cox_answer import HazardRatios

PerRecord = Float[np.ndarray, " n"]
Rows = Float[np.ndarray, "n d"]


class Log(NamedTuple):
    """A logarithm of every record, and its standard error for sampling and noise."""

    value: PerRecord
    error: PerRecord


def relative(table: HazardRatios, rows: Rows) -> list[Log]:
    """The log relative hazard `x'b` in each period of time.

    Args:
        table: hazard ratios.
        rows: columns of the regression in the units of the data, less those of a reference.
    """
    d = rows.shape[1]
    found = []
    for start in range(0, len(table.values), d):
        own = slice(start, start + d)
        found.append(Log(rows @ table.values[own], _error(rows, table.joint[own, own])))
    return found


def cumulative(table: HazardRatios, rows: Rows, strata: Int[np.ndarray, " n"], time: float) -> Log:
    """The log cumulative hazard at a time, `log sum_j h_j t_j exp(x'b_j)` over pieces of time.

    Its error follows from that of effects and log hazards together (delta method).

    Args:
        table: hazard ratios and baseline.
        rows: columns of the regression in the units of the data.
        strata: number of the stratum of each record.
        time: time, within the pieces.
    """
    d, edges = rows.shape[1], np.array(table.edges)
    periods, pieces = len(table.periods) - 1, len(edges) - 1
    middles = (edges[:-1] + edges[1:]) / 2.0
    places = np.searchsorted(table.periods[1:], middles)
    within = np.clip(time - edges[:-1], 0.0, np.diff(edges))
    risk = np.exp(rows @ table.values.reshape(periods, d).T)
    each = risk[:, places] * table.hazards[strata] * within
    total = each.sum(axis=1)
    shares = each / total[:, None]
    slopes = np.zeros((len(rows), len(table.joint)))
    for p in range(periods):
        slopes[:, p * d : (p + 1) * d] = rows * shares[:, places == p].sum(axis=1)[:, None]
    cells = periods * d + strata[:, None] * pieces + np.arange(pieces)
    np.put_along_axis(slopes, cells, shares, axis=1)
    return Log(np.log(total), _error(slopes, table.joint))


def _error(slopes: Rows, covariance: Float[np.ndarray, "d d"]) -> PerRecord:
    return np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", slopes, covariance, slopes), 0.0))
