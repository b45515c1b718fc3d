"""What a survival curve asks of one record."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from tacit.data.cells import Column

Record = Float[Array, " d"]


class Lifetimes(eqx.Module):
    """The cell of a record: an event or a censoring in an interval of time, in its group.

    The cells of a group are its events by interval, its censorings by interval, and one for records
    whose time reaches the upper bound: they are followed to it without an event. An end of an
    interval belongs to the interval before it. A record that lacks a value is in no cell.

    Attributes:
        time: column of the time until the event or the censoring.
        event: column of two levels, the second of which is the event.
        by: column by whose levels records are grouped, or `None` for one group of all.
        ends: ends of the intervals as stored in a record, ascending, the upper bound last.
    """

    time: Column = eqx.field(static=True)
    event: Column = eqx.field(static=True)
    by: Column | None = eqx.field(static=True)
    ends: tuple[float, ...] = eqx.field(static=True)

    @property
    def groups(self) -> int:
        """Number of groups."""
        return 1 if self.by is None else len(self.by.levels)

    @property
    def each(self) -> int:
        """Number of cells in a group."""
        return 2 * len(self.ends) + 1

    def __call__(self, record: Record, point: None = None) -> Float[Array, ""]:
        """Number of the cell, or -1 for none."""
        value, ends = record[self.time.places[0]], jnp.asarray(self.ends, record.dtype)
        happened = self.event.cell(record)
        group = jnp.zeros((), record.dtype) if self.by is None else self.by.cell(record)
        there = jnp.isfinite(value) & ((happened == 0) | (happened == 1)) & (group >= 0)
        if self.time.missing is not None:
            there &= record[self.time.missing] <= 0.5
        interval = jnp.sum(value > ends[:-1])
        interval = jnp.where(happened == 1, interval, interval + len(self.ends))
        cell = jnp.where(value >= ends[-1], 2 * len(self.ends), interval)
        return jnp.where(there, group * self.each + cell, -1.0)
