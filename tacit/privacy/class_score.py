"""Score, information and variance of the score of a multinomial regression, in one block.

The counterpart of `Score` for targets with several classes. Proof: docs/proofs/class_scores.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from tacit.arguments import checked
from tacit.clipping import clipped
from tacit.errors import PrivacyError
from tacit.privacy.blocks import Block, axis_vector, check_score, full, of_record, triangle
from tacit.ranges import Count, Positive
from tacit.types import Relation

_WEIGHTS = {Relation.REPLACE_ONE: (8.0, 0.25), Relation.ADD_REMOVE: (4.0, 0.125)}
"""Squares of the factors on information and variance; the proof needs at most 8 and 1/4."""

_CERTAIN = 800.0
"""Logit that gives a class all of the probability, in double precision."""


def contrasts(classes: int) -> Float[np.ndarray, "classes m"]:
    """Orthonormal columns whose entries add up to 0 (Helmert's), shape `(classes, classes - 1)`."""
    columns = np.arange(1, classes)
    below = np.arange(classes)[:, None] < columns
    at = np.arange(classes)[:, None] == columns
    return (below - columns * at) / np.sqrt(columns * (columns + 1.0))


@final
@checked(PrivacyError)
class ClassScore(Block):
    """Sums of `u x r'`, `u x x' A` and `u^2 x x' r r'` over classes, for `u = w min(1, R / |x|)`.

    With the probabilities `p` of the classes at a public point, the residual is `r = C'(e_y - p)`
    and the curvature `A = C'(diag p - p p') C`, where the columns of `C` are `contrasts`: these are
    score, information and variance of the score of a multinomial logit. Products of matrices are
    Kronecker's, feature by feature and within each one contrast by contrast.

    Attributes:
        rows: `(record, point) -> (x, logits, y)`, shape `(size + classes + 1,)`, with the record's
            own weight `w` behind them if `weighted`. `|x|` above `norm` is moved to it, `w` to
            [0, 1]. A record of which a number is not finite, or whose `y` is not a class, counted
            from 0, counts as 0.
        size: number of entries of `x`, at least 1.
        classes: number of classes, at least 2.
        radius: `R`, norm of `x` above which a record loses weight, positive.
        norm: largest norm of `x`, at least `radius`.
        weighted: whether records have weights of their own.
        relation: adjacency that the factors between the three parts are chosen for.
        share: share of the budget, in (0, 1].

    Raises:
        PrivacyError: a number out of range, or `norm` below `radius`.
    """

    rows: Callable[[Any, Any], Any]
    size: Count = eqx.field(static=True)
    classes: Count = eqx.field(static=True)
    radius: Positive = eqx.field(static=True)
    norm: Positive = eqx.field(static=True)
    weighted: bool = eqx.field(static=True, kw_only=True, default=False)
    relation: Relation = eqx.field(static=True, kw_only=True, default=Relation.REPLACE_ONE)

    def __check_init__(self) -> None:
        if self.classes < 2:
            raise PrivacyError(f"classes={self.classes} must be at least 2")
        check_score(self.radius, self.norm, self.relation)

    @property
    def _apart(self) -> int:
        """Number of contrasts."""
        return self.classes - 1

    @property
    def width(self) -> int:
        """Number of entries of the score: one for every feature and contrast."""
        return self.size * self._apart

    @property
    def _half(self) -> int:
        """Number of free entries of a matrix that is symmetric in features and in contrasts."""
        features, apart = self.size * (self.size + 1) // 2, self._apart * (self._apart + 1) // 2
        return features * apart

    @property
    def length(self) -> int:
        return self.width + 2 * self._half

    @property
    def longest(self) -> float:
        q, v = _WEIGHTS[self.relation]
        # the information costs nothing up to q = 4; above, less than the proof's bound at q = 8
        return math.sqrt(1.0 + v if q <= 4.0 else 1.5 + v / 4.0)

    def movement(self, relation: Relation) -> float:
        return 2.0 if relation is Relation.REPLACE_ONE else self.longest

    def asked(self, record: Float[Array, " d"], point: Any) -> Float[Array, " m"]:
        entries = self.size + self.classes + 1 + self.weighted
        return of_record(self, "rows", record, point, (entries,))

    def bounded(self, asked: Float[Array, "n m"]) -> Float[Array, "n length"]:
        d, end = self.size, self.size + self.classes
        hot = asked[:, end, None] == jnp.arange(self.classes)
        usable = jnp.isfinite(asked).all(axis=1) & hot.any(axis=1)
        asked = jnp.where(usable[:, None], asked, 0.0)
        x = asked[:, :d]
        inside = clipped(x, self.norm, 2) / self.norm
        light = clipped(x, self.radius, 2) / self.radius
        if self.weighted:
            light = light * jnp.clip(asked[:, -1:], 0.0, 1.0)
        p = jax.nn.softmax(asked[:, d:end], axis=1)
        basis = jnp.asarray(contrasts(self.classes), asked.dtype)
        # products of matrices may be less exact than the numbers in them, unless they must not
        residual = jnp.matmul(jnp.where(usable[:, None], hot - p, 0.0), basis, precision="highest")
        residual = residual / math.sqrt(2.0)
        curvature = jnp.einsum("nk,ka,kb->nab", p, basis, basis, precision="highest")
        mean = jnp.matmul(p, basis, precision="highest")
        curvature = (curvature - mean[:, :, None] * mean[:, None, :]) / 2.0
        row, column = np.triu_indices(self._apart)
        curvature = curvature[:, row, column] * np.where(row == column, 1.0, math.sqrt(2.0))
        q, v = (math.sqrt(each) for each in _WEIGHTS[self.relation])
        parts = (
            (light, residual),
            (q * triangle(light, inside), curvature),
            (v * triangle(light, light), triangle(residual, residual)),
        )
        return jnp.concatenate(
            [(a[:, :, None] * b[:, None, :]).reshape(len(asked), -1) for a, b in parts], axis=1
        )

    def shaped(self, flat: Float[Array, " length"]) -> Float[Array, "rows width"]:
        """Score, information and variance, one below the other: `1 + 2 width` rows."""
        score, information, variance = jnp.split(flat, [self.width, self.width + self._half])
        one, two, three = self.units
        return jnp.concatenate(
            [one * score[None], two * self._full(information), three * self._full(variance)]
        )

    def _full(self, flat: Float[Array, " half"]) -> Float[Array, "width width"]:
        """The matrix of which the free entries are given."""
        d, m = self.size, self._apart
        by_features = flat.reshape(d * (d + 1) // 2, m * (m + 1) // 2)
        by_contrasts = jax.vmap(lambda part: full(part, m))(by_features)
        wide = jax.vmap(lambda part: full(part, d), in_axes=1)(by_contrasts.reshape(-1, m * m))
        return wide.reshape(m, m, d, d).transpose(2, 0, 3, 1).reshape(d * m, d * m)

    @property
    def units(self) -> tuple[Any, Any, Any]:
        """Units of score, information and variance in the block.

        Noise of scale `s` in the block (`BlockSum.spread`) is `s` times these; in a matrix
        `1/sqrt(2)` of that between two features, and again between two contrasts.
        """
        q, v = (math.sqrt(each) for each in _WEIGHTS[self.relation])
        return (
            math.sqrt(2.0) * self.radius,
            2.0 * self.radius * self.norm / q,
            2.0 * self.radius**2 / v,
        )

    def farthest(self) -> tuple[Float[ArrayLike, " m"], Float[ArrayLike, " m"]]:
        x = axis_vector(self.size, 0, self.norm)
        own = [1.0] * self.weighted
        # each is certain of the class of the other
        first, other = (
            np.concatenate([x, axis_vector(self.classes, sure, _CERTAIN), [y], own])
            for sure, y in ((1, 0.0), (0, 1.0))
        )
        return first, other
