"""The composition of a synthetic record: the declared columns, and how they are drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from jaxtyping import Float

from tacit.arguments import checked
from tacit.errors import ConfigError
from tacit.ranges import Count, Range, Whole

Kind = Literal["numeric", "standard", "boolean", "rare", "levels"]

_DECAY = 0.5
"""Features are correlated: the variances of their principal components fall as 1/j^_DECAY."""

_SPREADS = ((0.08, 0.4), (0.4, 0.9))
"""Range of standard deviations of a bounded number, drawn evenly on a log scale, in half widths of
its interval: in narrow laws public bounds are far wider than the values; in wide ones many values
lie at the bounds."""

_OFFSET = 0.75
"""Largest offset of a mean from the middle, in half widths of what the spread leaves."""

_RATES = {"boolean": (0.03, 0.5), "rare": (0.02, 0.1)}
"""Range from which a fraction of yes is drawn: for a boolean, and for a missing-value indicator."""


@checked(ConfigError)
@dataclass(frozen=True)
class Columns:
    """Columns with the same declaration.

    Attributes:
        kind: "numeric" within bounds, "standard" for numbers of mean 0 and deviation 1, "boolean",
            "rare" for indicators of missing values, "levels" for one column per level.
        count: number of columns, at least 1.
        low: image of the lower bound, for "numeric".
        high: image of the upper bound, for "numeric".
        levels: number of levels, at least `count`, for "levels".
    """

    kind: Kind
    count: Count = 1
    low: Annotated[float, Range()] = -1.0
    high: Annotated[float, Range()] = 1.0
    levels: Whole = 0


class Table:
    """The law of synthetic rows.

    Args:
        columns: declared columns, without an intercept.
        intercept: whether a column of ones is added at the end.
        row_norm: largest l2 norm of a row, longer ones are scaled down; `None` for no bound.
        rng: source of everything that differs between laws: means, fractions, and correlations.
        wide: whether numbers fill their bounds, or only a part of them.
    """

    def __init__(
        self,
        columns: Sequence[Columns],
        intercept: bool,
        row_norm: float | None,
        rng: np.random.Generator,
        wide: bool,
    ) -> None:
        self.columns, self.intercept, self.row_norm = columns, intercept, row_norm
        self.width = sum(each.count for each in columns)
        mixing = np.linalg.qr(rng.normal(size=(self.width, self.width)))[0]
        mixing = mixing * np.arange(1.0, self.width + 1) ** (-_DECAY / 2)
        self._mixing = mixing / np.linalg.norm(mixing, axis=1, keepdims=True)
        self._constants = [_constants(each, rng, wide) for each in columns]

    def draw(self, count: int, rng: np.random.Generator) -> Float[np.ndarray, "n d"]:
        """`count` rows of features, the intercept last."""
        latent = rng.normal(size=(count, self.width)) @ self._mixing.T
        parts: list[np.ndarray] = []
        at = 0
        for each, constants in zip(self.columns, self._constants, strict=True):
            parts.append(_values(each, constants, latent[:, at : at + each.count], rng))
            at += each.count
        if self.intercept:
            parts.append(np.ones((count, 1)))
        rows = np.concatenate(parts, axis=1)
        if self.row_norm is not None:
            norms = np.linalg.norm(rows, axis=1, keepdims=True)
            rows *= np.minimum(1.0, self.row_norm / np.maximum(norms, 1e-300))
        return rows


def _constants(each: Columns, rng: np.random.Generator, wide: bool) -> np.ndarray:
    """Means and standard deviations, fractions of yes, or fractions of the levels."""
    if each.kind == "numeric":
        low, high = _SPREADS[wide]
        spread = np.exp(rng.uniform(math.log(low), math.log(high), each.count))
        return np.stack([rng.uniform(-1.0, 1.0, each.count) * _OFFSET * (1.0 - spread), spread])
    if each.kind == "levels":
        return rng.dirichlet(np.full(each.levels, 2.0))
    low, high = _RATES.get(each.kind, (0.5, 0.5))
    return rng.uniform(low, high, each.count)


def _values(
    each: Columns, constants: np.ndarray, latent: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    from scipy.special import ndtri

    if each.kind == "standard":
        return latent
    if each.kind == "numeric":
        mean, spread = constants
        unit = np.clip(mean + spread * latent, -1.0, 1.0)
        return each.low + (unit + 1.0) / 2.0 * (each.high - each.low)
    if each.kind == "levels":
        drawn = rng.choice(each.levels, size=len(latent), p=constants)
        # with a reference level the first one has no column
        kept = np.arange(each.levels - each.count, each.levels)
        return (drawn[:, None] == kept).astype(float)
    return (latent > ndtri(1.0 - constants)).astype(float)
