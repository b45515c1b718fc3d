"""Noised cells of several columns, made to add up to the same numbers of records.

Every column divides the records of a group, so all of them tell that group's number of records.
Weighted least squares gives the one that fits them all, and the cells that add up to it:

    N_g = sum_v w_v S_vg / sum_v w_v,   S_vg = sum_c y_vgc,   w_v = 1 / (C_v s_v^2),
    x_vgc = y_vgc + (N_g - S_vg) / C_v,

where column `v` has `C_v` cells in a group, with independent noise of standard deviation `s_v`.
Deviations of cells from their mean are independent of their sum, so that within a group

    cov(x_v) = s_v^2 (I - 1 1' / C_v) + var(N_g) 1 1' / C_v^2,   var(N_g) = 1 / sum_v w_v.

Groups are independent of each other, and alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of one column.

    Attributes:
        values: cells of every group, shape `(groups, cells)`.
        noise: covariance of the noise in the cells of a group, shape `(cells, cells)`.
    """

    values: Float[np.ndarray, "groups cells"]
    noise: Float[np.ndarray, "cells cells"]

    @property
    def overall(self) -> Cells:
        """The cells of all groups together."""
        groups = len(self.values)
        return Cells(self.values.sum(axis=0, keepdims=True), groups * self.noise)

    def part(self, begin: int, end: int) -> Cells:
        """Some of the cells, of every group."""
        return Cells(self.values[:, begin:end], self.noise[begin:end, begin:end])


def consistent(
    columns: Sequence[Float[np.ndarray, "groups _"]], spreads: Sequence[float]
) -> tuple[Cells, list[Cells]]:
    """Numbers of records of every group, and cells that add up to them.

    Args:
        columns: released cells of every column.
        spreads: standard deviation of the noise in each cell of a column.

    Returns:
        The numbers of records, as one cell of every group, and the cells of every column.
    """
    sizes = np.array([column.shape[1] for column in columns], dtype=float)
    scales = np.asarray(spreads, dtype=float)
    exact = not scales.all()
    weights = 1.0 / (sizes * (np.ones_like(scales) if exact else scales**2))
    sums = np.stack([column.sum(axis=1) for column in columns])
    counts = weights @ sums / weights.sum()
    variance = 0.0 if exact else 1.0 / weights.sum()
    found: list[Cells] = []
    for column, total, size, scale in zip(columns, sums, sizes, scales, strict=True):
        ones = np.ones((int(size), int(size)))
        noise = scale**2 * (np.eye(int(size)) - ones / size) + variance * ones / size**2
        found.append(Cells(column + ((counts - total) / size)[:, None], noise))
    return Cells(counts[:, None], np.array([[variance]])), found
