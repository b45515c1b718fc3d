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
from tacit.data.factors import Number, bounds_of, number

Record = Float[Array, " m"]

_LARGEST = 50.0
"""Largest logarithm of a hazard, in either direction."""


class Reader(eqx.Module):
    """The columns of a record, and its events and exposures by piece of time.

    Time is scaled to [0, 1] by its bounds. A record whose time reaches the upper bound is followed
    to it without an event. A record without a value has no number in its place.

    Attributes:
        design: columns of the regression; its intercept is not used.
        centre: what is subtracted from each column, shape `(d,)`: hazards are those of records
            there.
        time: column of the time until the event or the censoring.
        event: column of two levels, the second of which is the event.
        strata: column whose levels have a baseline of their own, or `None`.
        ends: ends of the pieces as stored in a record, ascending, the upper bound last.
        cuts: the same ends as parts of the distance between the bounds.
        periods: number of the period in which each piece is.
        radius: norm of the columns above which a record loses weight.
    """

    design: Design = eqx.field(static=True)
    centre: tuple[float, ...] = eqx.field(static=True)
    time: Column = eqx.field(static=True)
    event: Column = eqx.field(static=True)
    strata: Column | None = eqx.field(static=True)
    ends: tuple[float, ...] = eqx.field(static=True)
    cuts: tuple[float, ...] = eqx.field(static=True)
    periods: tuple[int, ...] = eqx.field(static=True)
    radius: float = eqx.field(static=True)

    @property
    def pieces(self) -> int:
        """Number of pieces."""
        return len(self.ends)

    @property
    def cells(self) -> int:
        """Number of pieces of all strata."""
        return self.pieces * (1 if self.strata is None else len(self.strata.levels))

    def columns(self, record: Record) -> tuple[Float[Array, " d"], Float[Array, ""]]:
        """Columns, and Mallows' factor."""
        x = self.design.values(record)[:-1] - jnp.asarray(self.centre, record.dtype)
        return x, clip_factor(row_norms(x, 2), self.radius)

    def stratum(self, record: Record) -> Float[Array, ""]:
        """Number of the stratum; -1 for none."""
        if self.strata is None:
            return jnp.zeros((), record.dtype)
        return self.strata.cell(record)

    def place(self, record: Record) -> Float[Array, ""]:
        """Number of the piece of an event; -1 without one, not a number if a value is missing."""
        value, ends = record[self.time.places[0]], jnp.asarray(self.ends, record.dtype)
        happened = self.event.cell(record)
        found = jnp.sum(value > ends[:-1]).astype(record.dtype)
        found = jnp.where((happened == 1) & (value < ends[-1]), found, -1.0)
        there = jnp.isfinite(number(self.time, record)) & ((happened == 0) | (happened == 1))
        return jnp.where(there & (self.stratum(record) >= 0), found, jnp.nan)

    def exposures(self, record: Record) -> Float[Array, " pieces"]:
        """Time at risk in each piece, in [0, 1] together."""
        low, high = bounds_of(self.time)
        time = jnp.clip((number(self.time, record) - low) / (high - low), 0.0, 1.0)
        cuts = jnp.asarray((0.0, *self.cuts), record.dtype)
        return jnp.maximum(jnp.minimum(time, cuts[1:]) - cuts[:-1], 0.0)

    def placed(self, record: Record, values: Float[Array, " pieces"]) -> Float[Array, " cells"]:
        """Values by piece, among the pieces of all strata."""
        strata = jnp.arange(self.cells // self.pieces)
        here = strata[:, None] == self.stratum(record)
        return jnp.where(here, values[None], jnp.where(jnp.isnan(values), jnp.nan, 0.0)).ravel()


class Events(eqx.Module):
    """The cell of an event."""

    read: Reader = eqx.field(static=True)

    def __call__(self, record: Record, point: Any = None) -> Float[Array, ""]:
        place = self.read.place(record)
        return jnp.where(place < 0, -1.0, place + self.read.pieces * self.read.stratum(record))


class Exposures(eqx.Module):
    """The exposures by cell."""

    read: Reader = eqx.field(static=True)

    def __call__(self, record: Record, point: Any = None) -> Float[Array, " cells"]:
        spent = self.read.placed(record, self.read.exposures(record))
        return jnp.where(jnp.isnan(self.read.place(record)), jnp.nan, spent)


class Followed(eqx.Module):
    """Columns, Mallows' factor, and events and expected events at a point.

    Attributes:
        read: reader of a record.
        limit: cumulative hazard up to which a record is followed.
        length: largest norm of the columns.
    """

    read: Reader = eqx.field(static=True)
    limit: float = eqx.field(static=True)
    length: float = eqx.field(static=True)

    @property
    def members(self) -> Float[np.ndarray, "periods pieces"]:
        """1 for the pieces of each period, else 0."""
        periods = np.array(self.read.periods)
        return (np.arange(periods.max() + 1)[:, None] == periods).astype(float)

    def terms(self, record: Record, point: Float[Array, " k"]) -> tuple[Array, Array, Array, Array]:
        """Columns, factor, and by piece events `d` and expected events `mu`."""
        read, (x, u) = self.read, self.read.columns(record)
        effects, base = jnp.split(point, [len(self.members) * len(x)])
        effects = effects.reshape(-1, len(x))[np.array(read.periods)]
        own = jnp.maximum(read.stratum(record), 0.0).astype(int)
        logarithm = base.reshape(-1, read.pieces)[own] + effects @ x
        whole = read.exposures(record) * jnp.exp(jnp.clip(logarithm, -_LARGEST, _LARGEST))
        before = jnp.cumsum(jnp.concatenate([jnp.zeros(1, whole.dtype), whole[:-1]]))
        mu = jnp.clip(self.limit - before, 0.0, whole)
        place = read.place(record)
        events = (place == jnp.arange(read.pieces)) & (jnp.sum(whole) <= self.limit)
        gone = jnp.isnan(place)
        return x, u, jnp.where(gone, jnp.nan, events), jnp.where(gone, jnp.nan, mu)


class Scores(Followed):
    """The score `u (x sum_{j in p} r_j for every period p, r)` with `r = d - mu`."""

    def __call__(self, record: Record, point: Any) -> Array:
        x, u, events, mu = self.terms(record, point)
        r = events - mu
        whole = jnp.outer(self.members @ r, x).ravel()
        return u * jnp.concatenate([whole, self.read.placed(record, r)])

    @property
    def bound(self) -> float:
        """Largest norm of a score."""
        # convex in mu, so that it is largest where mu is 0 or all in one piece
        c, square = self.limit, self.read.radius**2
        if len(self.members) > 1:
            return math.sqrt((square + 1.0) * (c**2 + 1.0))
        ended = max(square + 1.0, square * (c - 1.0) ** 2 + c**2 + 1.0)
        return math.sqrt(max(ended, (square + 1.0) * (c - 1.0) ** 2, (square + 1.0) * c**2))


class Roots(Followed):
    """A vector `w = (sqrt(u mu_p) x for every period p)`: `w w'` has the information on effects."""

    def __call__(self, record: Record, point: Any) -> Array:
        x, u, _, mu = self.terms(record, point)
        return jnp.outer(jnp.sqrt(u * (self.members @ mu)), x).ravel()

    @property
    def bound(self) -> float:
        """Largest norm of such a vector."""
        return math.sqrt(self.limit * self.read.radius * self.length)


class Crossings(Followed):
    """The information `u mu_j x` between effects and log hazards."""

    def __call__(self, record: Record, point: Any) -> Array:
        x, u, _, mu = self.terms(record, point)
        return u * jnp.outer(x, self.read.placed(record, mu)).ravel()

    @property
    def bound(self) -> float:
        """Largest Frobenius norm of such a matrix."""
        return self.limit * self.read.radius


class Expected(Followed):
    """The information `u mu_j` on log hazards, over the limit: parts of at most 1 together."""

    def __call__(self, record: Record, point: Any) -> Array:
        _, u, _, mu = self.terms(record, point)
        return u * self.read.placed(record, mu) / self.limit


def extent(design: Design) -> tuple[tuple[float, ...], float, float]:
    """Centre of the columns, and their typical and their largest norm from there.

    Levels are taken from their mean if all were equally frequent, which the hazards make up for.

    Args:
        design: columns of the regression.
    """
    centre: list[float] = []
    typical, longest = 0.0, 0.0
    for term in design.terms:
        (factor,) = term.factors
        if isinstance(factor, Number):
            centre, typical, longest = [*centre, 0.0], typical + factor.square, longest + 1.0
            continue
        part = 1.0 / len(factor.column.levels)
        centre += [part] * len(factor.names)
        typical += (1.0 - part) ** 2
        longest += 1.0 - part - part**2
    return tuple(centre), math.sqrt(typical), math.sqrt(longest)
