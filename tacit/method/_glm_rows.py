"""What the sums of a private regression ask of one record.

Every function is a module of declared columns and a family, so that equal ones compile once.
"""

from __future__ import annotations

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from tacit.clipping import clip_factor, row_norms
from tacit.data.cells import Column
from tacit.data.design import Design
from tacit.data.factors import bounds_of, number
from tacit.method._glm_families import Family
from tacit.method._glm_family import Terms
from tacit.method._glm_steps import Scale
from tacit.privacy.class_score import contrasts

Record = Float[Array, " m"]


class Rows(eqx.Module):
    """The columns `x` and the target `y` of a record.

    Attributes:
        design: columns of the regression.
        target: declared column of the target.
        family: family of the model.
        weights: declared column of the records' weights, or `None`.
    """

    design: Design = eqx.field(static=True)
    target: Column = eqx.field(static=True)
    family: Family
    weights: Column | None = eqx.field(static=True, default=None)

    def read(self, record: Record) -> tuple[Float[Array, " d"], Float[Array, ""]]:
        """Columns, and the target: a yes or no as 1 or 0, a number as the model has it."""
        x = self.design.values(record)
        if self.family.logistic:
            cell = self.target.cell(record)
            return x, jnp.where((cell == 0) | (cell == 1), cell, jnp.nan)
        return x, (number(self.target, record) - self.origin) / self.unit

    @property
    def origin(self) -> float:
        """Number that is subtracted from the target before it is fitted."""
        low, high = self._bounds
        return (low + high) / 2.0 if self.family.linear else 0.0

    @property
    def unit(self) -> float:
        """Number by which the target is divided before it is fitted."""
        low, high = self._bounds
        return (high - low) / 2.0 if self.family.linear else 1.0

    @property
    def _bounds(self) -> tuple[float, float]:
        scale = self.target.scale
        return (0.0, 1.0) if scale is None else (scale.lower, scale.upper)

    @property
    def scale(self) -> Scale:
        """How the first sum moves the transformed target to [-1, 1]."""
        ends = (np.array(self._bounds) - self.origin) / self.unit
        with jax.ensure_compile_time_eval():
            low, high = (float(each) for each in self._moved(jnp.asarray(ends)))
        return Scale((low + high) / 2.0, (high - low) / 2.0)

    def _moved(self, y: Array) -> Array:
        return self.family.transformed(y, self._bounds[1])

    def first(self, record: Record) -> tuple[Float[Array, " d"], Float[Array, ""]]:
        """Columns, and the transformed target in [-1, 1]."""
        x, y = self.read(record)
        return x, (self._moved(y) - self.scale.centre) / self.scale.half

    def predictor(
        self, x: Float[Array, " d"], record: Record, point: Float[Array, " k"]
    ) -> Float[Array, ""]:
        """The linear predictor at a point, with the offset."""
        found = x @ point[:-2]
        if self.design.offset is None:
            return found
        return found + self.design.added(record) / self.unit

    def at(self, record: Record, point: Any) -> tuple[Float[Array, " d"], Terms]:
        """Columns, and what the family makes of the target at a point."""
        x, y = self.read(record)
        return x, self.family.terms(y, self.predictor(x, record, point), point[-2:])

    @property
    def offset(self) -> Scale | None:
        """How the first sum moves the offset to [-1, 1], in units of the linear predictor."""
        if self.design.offset is None:
            return None
        centre, half = self.design.offset.moved
        return Scale(centre / self.unit, half / self.unit)

    @property
    def radius(self) -> float:
        """Norm above which a record loses weight in the first sum."""
        # with an offset in [-1, 1], it loses less there than by its own columns
        return math.hypot(self.design.typical, self.design.offset is not None)

    @property
    def norm(self) -> float:
        """Largest norm of the columns of the first sum."""
        return math.hypot(self.design.longest, self.design.offset is not None)

    def light(self, x: Float[Array, " d"], record: Record) -> Float[Array, ""]:
        """Mallows' factor, times the weight of the record."""
        factor = clip_factor(row_norms(x, 2), self.design.typical)
        return factor if self.weights is None else factor * self.weight(record)

    def weight(self, record: Record) -> Float[Array, ""]:
        """The weight of a record over the largest that is declared; 1 without weights."""
        if self.weights is None:
            return jnp.ones((), record.dtype)
        return number(self.weights, record) / bounds_of(self.weights)[1]


class Scaled(Rows):
    """Columns and the moved target, with weight 1; an offset is one more column before them."""

    def __call__(self, record: Record, point: Any) -> Array:
        x, r = self.first(record)
        offset, tail = self.offset, [r, jnp.ones_like(r)]
        if offset is not None:
            moved = (self.design.added(record) / self.unit - offset.centre) / offset.half
            wide = jnp.concatenate([moved[None], x])
            # so that all sums give a record the same factor; it is at most 1
            ratio = self.light(x, record) / clip_factor(row_norms(wide, 2), self.radius)
            return jnp.concatenate([wide, jnp.stack([*tail, ratio])])
        tail += [] if self.weights is None else [self.weight(record)]
        return jnp.concatenate([x, jnp.stack(tail)])


class ScaledRoot(Rows):
    """The moved target, times the root of Mallows' factor: its square is summed."""

    def __call__(self, record: Record, point: Any) -> Array:
        x, r = self.first(record)
        return (jnp.sqrt(self.light(x, record)) * r)[None]


class Model(Rows):
    """Columns, residual and weight at a point."""

    def __call__(self, record: Record, point: Any) -> Array:
        x, found = self.at(record, point)
        tail = [found.residual] if self.family.logistic else [found.residual, found.weight]
        tail += [] if self.weights is None else [self.weight(record)]
        return jnp.concatenate([x, jnp.stack(tail)])


class ModelRoot(Rows):
    """The residual at a point, times the root of Mallows' factor: its square is summed."""

    def __call__(self, record: Record, point: Any) -> Array:
        x, found = self.at(record, point)
        return (jnp.sqrt(self.light(x, record)) * found.residual)[None]


class Moment(Rows):
    """A number that says whether the dispersion is right, times Mallows' factor."""

    def __call__(self, record: Record, point: Any) -> Array:
        x, y = self.read(record)
        found = self.family.moment(y, self.predictor(x, record, point), point[-2:])
        return (self.light(x, record) * found)[None]


class Classes(Rows):
    """Columns, the logit of each class at a point, and the number of the class."""

    def __call__(self, record: Record, point: Any) -> Array:
        x = self.design.values(record)
        cell = self.target.cell(record)
        basis = jnp.asarray(contrasts(len(self.target.levels)), record.dtype)
        logits = basis @ (x @ point[:-2].reshape(len(x), -1))
        tail = [cell] if self.weights is None else [cell, self.weight(record)]
        return jnp.concatenate([x, logits, jnp.stack(tail)])


class Excess(Rows):
    """Whether the residual is clipped, minus the probability of that, times Mallows' factor."""

    def __call__(self, record: Record, point: Any) -> Array:
        x, found = self.at(record, point)
        return (self.light(x, record) * found.excess)[None]
