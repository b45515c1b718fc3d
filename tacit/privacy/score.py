"""Score, information and variance of the score of a regression, in one block.

A record adds them along its own direction only, so that together they move by hardly more than the
score does. Proof: docs/proofs/scores.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from tacit.arguments import checked
from tacit.clipping import clipped
from tacit.errors import PrivacyError
from tacit.privacy.blocks import Block, axis_vector, check_score, full, of_record, triangle
from tacit.ranges import Count, Positive
from tacit.types import Relation


@dataclass(frozen=True)
class _Weights:
    """Squares of the factors on information and variance, where the score has the factor 1."""

    information: float
    variance: float


_OWN = {
    Relation.REPLACE_ONE: _Weights(0.75, 0.25),
    Relation.ADD_REMOVE: _Weights(0.25, 0.125),
}
"""Factors for weights that do not follow from the residual."""

_LOGISTIC = {
    Relation.REPLACE_ONE: _Weights(21.0, 0.5),
    Relation.ADD_REMOVE: _Weights(12.0, 0.125),
}
"""Factors for weights `|r| (1 - |r|)`; the proof needs at most 21 and 1/2 of them."""


@final
@checked(PrivacyError)
class Score(Block):
    """Sums of `u r x`, `u a x x'` and `u^2 r^2 x x'`, for `u = w min(1, radius / |x|)`.

    With the residual `r` and the weight `a` of a generalised linear model at a public point these
    are its score, its information and the variance of the score. Mallows' factor bounds what
    one record can do to the score, and leaves its mean at the true parameters 0; `w` is the
    record's own weight, 1 unless `weighted`.

    Attributes:
        rows: `(record, point) -> (x, r, a)`, shape `(size + 2,)`; without `a`, shape `(size + 1,)`,
            if `logistic`; with `w` behind them if `weighted`. What is out of range is moved to its
            end: `|x|` to `norm`, `r` to [-1, 1], `a` and `w` to [0, 1]. A record of which a number
            is not finite counts as 0.
        size: number of entries `d` of `x`, at least 1.
        radius: norm of `x` above which a record loses weight, positive.
        norm: largest norm of `x`, at least `radius`.
        logistic: whether `a = |r| (1 - |r|)`, as for a logit.
        weighted: whether records have weights of their own.
        relation: adjacency that the factors between the three parts are chosen for.
        share: share of the budget, in (0, 1].

    Raises:
        PrivacyError: a number out of range, or `norm` below `radius`.
    """

    rows: Callable[[Any, Any], Any]
    size: Count = eqx.field(static=True)
    radius: Positive = eqx.field(static=True)
    norm: Positive = eqx.field(static=True)
    logistic: bool = eqx.field(static=True, default=False)
    weighted: bool = eqx.field(static=True, kw_only=True, default=False)
    relation: Relation = eqx.field(static=True, kw_only=True, default=Relation.REPLACE_ONE)

    def __check_init__(self) -> None:
        check_score(self.radius, self.norm, self.relation)

    @property
    def _weights(self) -> _Weights:
        return (_LOGISTIC if self.logistic else _OWN)[self.relation]

    @property
    def _entries(self) -> int:
        return self.size + 2 - self.logistic + self.weighted

    @property
    def _half(self) -> int:
        return self.size * (self.size + 1) // 2

    @property
    def length(self) -> int:
        return self.size + 2 * self._half

    @property
    def longest(self) -> float:
        q, v = self._weights.information, self._weights.variance
        if not self.logistic:
            return math.sqrt(1.0 + q + v)
        # p^2 + q p^2 (1 - p)^2 + v p^4 for p in [0, 1]
        squared = np.polynomial.Polynomial([0.0, 0.0, 1.0 + q, -2.0 * q, q + v])
        turns = squared.deriv().roots()
        inside = turns.real[(abs(turns.imag) < 1e-9) & (turns.real > 0.0) & (turns.real < 1.0)]
        return math.sqrt(max(float(squared(p)) for p in (*inside, 1.0)))

    def movement(self, relation: Relation) -> float:
        if relation is not Relation.REPLACE_ONE:
            return self.longest
        if self.logistic:
            return 2.0
        q, both = self._weights.information, self._weights.information + self._weights.variance
        turned = 2.0 + 2.0 * both + 0.5 / both if both >= 0.5 else 4.0
        return math.sqrt(max(4.0 + q, turned))

    def asked(self, record: Float[Array, " d"], point: Any) -> Float[Array, " m"]:
        return of_record(self, "rows", record, point, (self._entries,))

    def bounded(self, asked: Float[Array, "n m"]) -> Float[Array, "n length"]:
        usable = jnp.all(jnp.isfinite(asked), axis=1, keepdims=True)
        asked = jnp.where(usable, asked, 0.0)
        x, r = asked[:, : self.size], jnp.clip(asked[:, self.size, None], -1.0, 1.0)
        a = (
            jnp.abs(r) * (1.0 - jnp.abs(r))
            if self.logistic
            else jnp.clip(asked[:, self.size + 1, None], 0.0, 1.0)
        )
        inside = clipped(x, self.norm, 2) / self.norm
        light = clipped(x, self.radius, 2) / self.radius
        if self.weighted:
            light = light * jnp.clip(asked[:, -1:], 0.0, 1.0)
        score = r * light
        q, v = math.sqrt(self._weights.information), math.sqrt(self._weights.variance)
        return jnp.concatenate(
            [score, q * (a * triangle(light, inside)), v * triangle(score, score)], axis=1
        )

    def shaped(self, flat: Float[Array, " length"]) -> Float[Array, "rows size"]:
        """Score, information and variance, one below the other: `1 + 2 size` rows."""
        score, information, variance = jnp.split(flat, [self.size, self.size + self._half])
        one, two, three = self.units
        return jnp.concatenate(
            [
                one * score[None],
                two * full(information, self.size),
                three * full(variance, self.size),
            ]
        )

    @property
    def units(self) -> tuple[Any, Any, Any]:
        """Units of score, information and variance in the block.

        Noise of scale `s` in the block (`BlockSum.spread`) is `s` times these; off the diagonal of
        a matrix `1/sqrt(2)` of that.
        """
        q, v = math.sqrt(self._weights.information), math.sqrt(self._weights.variance)
        return self.radius, self.radius * self.norm / q, self.radius**2 / v

    def farthest(self) -> tuple[Float[ArrayLike, " m"], Float[ArrayLike, " m"]]:
        x = axis_vector(self.size, 0, self.norm)
        ends = ([1.0], [-1.0]) if self.logistic else ([1.0, 1.0], [-1.0, 0.0])
        own = [1.0] * self.weighted
        return np.concatenate([x, ends[0], own]), np.concatenate([x, ends[1], own])
