"""What the sums of a private Cox regression ask of one record.

A record is followed until its cumulative hazard at the public point reaches a limit: what comes
later, exposure and event, is left out. That is a censoring at a time which is known beforehand, so
that the score keeps its mean of 0 at the true parameters, and it bounds what a record adds without
a clip that binds. Proof of both: docs/proofs/hazards.md.
"""

from __future__ import annotations

import math
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from tacit.clipping import clip_factor, row_norms
from tacit.data.cells import Column
from tacit.data.design import Design
from tacit.data.factors import bounds_of, number

Record = Float[Array, " m"]

_LARGEST = 50.0
"""Largest logarithm of a hazard, in either direction."""


class Followed(eqx.Module):
    """The columns of a record, and its events and exposures by piece of time.

    Time is scaled to [0, 1] by its bounds. A record whose time reaches the upper bound is followed
    to it without an event.

    Attributes:
        design: columns of the regression; its intercept is not used.
        time: column of the time until the event or the censoring.
        event: column of two levels, the second of which is the event.
        ends: ends of the pieces as stored in a record, ascending, the upper bound last.
        cuts: the same ends as parts of the distance between the bounds.
        radius: norm of the columns above which a record loses weight.
    """

    design: Design = eqx.field(static=True)
    time: Column = eqx.field(static=True)
    event: Column = eqx.field(static=True)
    ends: tuple[float, ...] = eqx.field(static=True)
    cuts: tuple[float, ...] = eqx.field(static=True)
    radius: float = eqx.field(static=True)

    @property
    def pieces(self) -> int:
        """Number of pieces."""
        return len(self.ends)

    def columns(self, record: Record) -> tuple[Float[Array, " d"], Float[Array, ""]]:
        """Columns, and Mallows' factor."""
        x = self.design.values(record)[:-1]
        return x, clip_factor(row_norms(x, 2), self.radius)

    def place(self, record: Record) -> Float[Array, ""]:
        """Number of the piece of an event; -1 without one, not a number if a value is missing."""
        value, ends = record[self.time.places[0]], jnp.asarray(self.ends, record.dtype)
        happened = self.event.cell(record)
        found = jnp.sum(value > ends[:-1]).astype(record.dtype)
        found = jnp.where((happened == 1) & (value < ends[-1]), found, -1.0)
        there = jnp.isfinite(number(self.time, record)) & ((happened == 0) | (happened == 1))
        return jnp.where(there, found, jnp.nan)

    def exposures(self, record: Record) -> Float[Array, " pieces"]:
        """Time at risk in each piece, in [0, 1] together."""
        low, high = bounds_of(self.time)
        time = jnp.clip((number(self.time, record) - low) / (high - low), 0.0, 1.0)
        cuts = jnp.asarray((0.0, *self.cuts), record.dtype)
        return jnp.maximum(jnp.minimum(time, cuts[1:]) - cuts[:-1], 0.0)


class Events(Followed):
    """The piece of an event."""

    def __call__(self, record: Record, point: Any = None) -> Float[Array, ""]:
        return self.place(record)


class Exposures(Followed):
    """The exposures by piece."""

    def __call__(self, record: Record, point: Any = None) -> Float[Array, " pieces"]:
        return jnp.where(jnp.isnan(self.place(record)), jnp.nan, self.exposures(record))


class Hazards(Followed):
    """Columns, Mallows' factor, and events and expected events at a point.

    Attributes:
        limit: cumulative hazard up to which a record is followed.
    """

    limit: float = eqx.field(static=True)

    def terms(self, record: Record, point: Float[Array, " k"]) -> tuple[Array, Array, Array, Array]:
        """Columns, factor, and by piece events `d` and expected events `mu`."""
        x, u = self.columns(record)
        slopes, base = point[: len(x)], point[len(x) :]
        whole = self.exposures(record) * jnp.exp(jnp.clip(base + x @ slopes, -_LARGEST, _LARGEST))
        before = jnp.cumsum(whole) - whole
        mu = jnp.clip(self.limit - before, 0.0, whole)
        place = self.place(record)
        events = (place == jnp.arange(self.pieces)) & (jnp.sum(whole) <= self.limit)
        return x, u, jnp.where(jnp.isnan(place), jnp.nan, events), mu


class Scores(Hazards):
    """The score `u (x sum_j r_j, r_1, ...)` with `r = d - mu`."""

    def __call__(self, record: Record, point: Any) -> Array:
        x, u, events, mu = self.terms(record, point)
        r = events - mu
        return u * jnp.concatenate([x * jnp.sum(r), r])

    @property
    def bound(self) -> float:
        """Largest norm of a score."""
        # convex in mu, so that it is largest where mu is 0 or all in one piece
        c, square = self.limit, self.radius**2
        ended = max(square + 1.0, square * (c - 1.0) ** 2 + c**2 + 1.0)
        return math.sqrt(max(ended, (square + 1.0) * (c - 1.0) ** 2, (square + 1.0) * c**2))


class Informations(Hazards):
    """The information `u sum_j mu_j z_j z_j'` with `z_j = (x, e_j)`, its upper triangle."""

    def __call__(self, record: Record, point: Any) -> Array:
        x, u, events, mu = self.terms(record, point)
        mu = jnp.where(jnp.isnan(events), jnp.nan, mu)
        one = jnp.concatenate([jnp.sum(mu) * jnp.outer(x, x), jnp.outer(x, mu)], axis=1)
        two = jnp.concatenate([jnp.outer(mu, x), jnp.diag(mu)], axis=1)
        row, column = np.triu_indices(len(x) + self.pieces)
        weights = np.where(row == column, 1.0, math.sqrt(2.0))
        return u * jnp.concatenate([one, two])[row, column] * weights

    @property
    def bound(self) -> float:
        """Largest Frobenius norm of an information."""
        return self.limit * (self.radius * math.sqrt(self.design.longest**2 - 1.0) + 1.0)
