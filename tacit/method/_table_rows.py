"""What a table of groups asks of one record.

Every function is a module of declared columns, so that equal ones compile once.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from tacit.data.cells import Column
from tacit.data.factors import bounds_of, number

Record = Float[Array, " d"]

MOMENTS = 3
"""Parts into which a number divides its record."""


class Groups(eqx.Module):
    """The group that a record is in.

    A record that lacks a value in any column, in one that does not keep missing values apart, is in
    none: so all columns add up to the same number of records.

    Attributes:
        by: column by whose levels records are grouped, or `None` for one group of all.
        read: all columns of the table.
    """

    by: Column | None = eqx.field(static=True)
    read: tuple[Column, ...] = eqx.field(static=True)

    @property
    def size(self) -> int:
        """Number of groups."""
        return 1 if self.by is None else len(self.by.levels)

    def of(self, record: Record) -> Float[Array, ""]:
        """Number of a record's group, or -1 for none."""
        group = jnp.zeros((), record.dtype) if self.by is None else self.by.cell(record)
        return jnp.where(self._complete(record), group, -1.0)

    def _complete(self, record: Record) -> Array:
        """Whether a record has a value in every column, or is known to lack one.

        All columns at once: one by one they would be compiled again in every block.
        """
        entries = [place for column in self.read for place in column.places]
        entries += [column.missing for column in self.read if column.missing is not None]
        coded = [column for column in self.read if column.scale is None]
        levels = np.zeros((len(coded), len(record)))
        for row, column in zip(levels, coded, strict=True):
            row[list(column.places)] = 1.0
        found = jnp.asarray(levels, record.dtype) @ (record > 0.5).astype(record.dtype)
        return jnp.all(jnp.isfinite(record[np.array(entries)])) & jnp.all(found > 0.5)


class Levels(eqx.Module):
    """The cell of a record: its level of one column, in its group.

    Attributes:
        column: column with levels.
        groups: groups of records.
    """

    column: Column = eqx.field(static=True)
    groups: Groups

    @property
    def each(self) -> int:
        """Number of cells in a group."""
        return len(self.column.levels)

    def __call__(self, record: Record, point: Any = None) -> Float[Array, ""]:
        """Number of the cell, or -1 for none."""
        level, group = self.column.cell(record), self.groups.of(record)
        return jnp.where((level >= 0) & (group >= 0), group * self.each + level, -1.0)


class Moments(eqx.Module):
    """The parts into which a number divides its record, in the cells of its group.

    With `z` in [-1, 1] they are `((1 - z)^2 / 4, (1 - z^2) / 2, (1 + z)^2 / 4)`, which add up to 1:
    their sums give the number of records, and the sums of `z` and of `z^2`. A missing number is in
    a cell of its own.

    Attributes:
        column: column with bounds.
        groups: groups of records.
    """

    column: Column = eqx.field(static=True)
    groups: Groups

    @property
    def each(self) -> int:
        """Number of cells in a group."""
        return MOMENTS + (self.column.missing is not None)

    def __call__(self, record: Record, point: Any = None) -> Float[Array, " m"]:
        """Parts of the record, group by group."""
        low, high = bounds_of(self.column)
        value = number(self.column, record)
        z = jnp.clip((2.0 * value - (low + high)) / (high - low), -1.0, 1.0)
        parts = jnp.stack([(1.0 - z) ** 2 / 4.0, (1.0 - z * z) / 2.0, (1.0 + z) ** 2 / 4.0])
        absent = jnp.isnan(value)
        parts = jnp.where(absent, 0.0, parts)
        if self.column.missing is not None:
            parts = jnp.append(parts, absent.astype(parts.dtype))
        chosen = jnp.arange(self.groups.size) == self.groups.of(record)
        return (chosen[:, None] * parts).ravel()
