"""The laws of noise: how each is drawn, what it costs, and how an audit weighs it.

Proofs about a release rest on one of `LAWS` and on no other: a custom law, say one written to
test an audit, gets a model claim.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from tacit.arguments import checked
from tacit.errors import PrivacyError
from tacit.privacy.event import GaussianRelease, LaplaceRelease
from tacit.privacy.query import OneOrTwo


class NoiseKind(StrEnum):
    """Which law the noise follows; this also fixes the norm of the bound it needs (l2 or l1)."""

    GAUSSIAN = "gaussian"
    LAPLACE = "laplace"
    L2_LAPLACE = "l2_laplace"
    """Density proportional to `exp(-||z||_2 / b)`: pure epsilon from a bound in the l2 norm."""


@checked(PrivacyError)
@dataclass(frozen=True, eq=False)
class Law:
    """A law of additive noise of scale 1.

    Attributes:
        kind: its name in budgets.
        title: its name in tables.
        order: norm in which it needs a bound of the answer, 1 or 2.
        formula: formula for noise of scale `s`.
        sample: `(key, like) -> noise` of the shape and type of `like`.
        event: how the accountant sees one release, as a function of noise scale over sensitivity.
        log_ratio: `(y, mean, other, scale) -> log p(y | mean) / p(y | other)`.
    """

    kind: NoiseKind
    title: str
    order: OneOrTwo
    formula: str
    sample: Callable[[PRNGKeyArray, Array], Array]
    event: type[GaussianRelease] | type[LaplaceRelease]
    log_ratio: Callable[[Array, Array, Array, Any], Float[Array, ""]]

    def deviation(self, size: int) -> float:
        """Standard deviation of a coordinate of noise of scale 1.

        Args:
            size: number of coordinates.
        """
        match self.kind:
            case NoiseKind.GAUSSIAN:
                return 1.0
            case NoiseKind.LAPLACE:
                return math.sqrt(2.0)
            case NoiseKind.L2_LAPLACE:  # its length has second moment n (n + 1)
                return math.sqrt(size + 1.0)


def _normal(key: PRNGKeyArray, like: Array) -> Array:
    return jax.random.normal(key, like.shape, like.dtype)


def _laplace(key: PRNGKeyArray, like: Array) -> Array:
    return jax.random.laplace(key, like.shape, like.dtype)


def _l2_laplace(key: PRNGKeyArray, like: Array) -> Array:
    """A uniform direction; its length is the sum of one exponential variable per entry."""
    along, length = jax.random.split(key)
    direction = jax.random.normal(along, like.shape, like.dtype)
    radius = jnp.sum(jax.random.exponential(length, (like.size,), like.dtype))
    return radius * direction / jnp.linalg.norm(jnp.ravel(direction))


def _normal_ratio(y: Array, mean: Array, other: Array, scale: Any) -> Float[Array, ""]:
    """`(|y - other|^2 - |y - mean|^2) / 2 s^2`, the difference taken before anything is squared."""
    return jnp.sum((mean - other) * (2.0 * y - mean - other)) / (2.0 * scale**2)


def _laplace_ratio(y: Array, mean: Array, other: Array, scale: Any) -> Float[Array, ""]:
    """`(|y - other|_1 - |y - mean|_1) / b`, entry by entry.

    Written as a clip, so that outputs beyond both means score the same to the last bit: rounding
    errors there would tell apart what the exact mechanism does not.
    """
    gap = mean - other
    between = jnp.clip(2.0 * y - mean - other, -jnp.abs(gap), jnp.abs(gap))
    return jnp.sum(jnp.sign(gap) * between) / scale


def _l2_laplace_ratio(y: Array, mean: Array, other: Array, scale: Any) -> Float[Array, ""]:
    """`(|y - other|_2 - |y - mean|_2) / b`, as a difference of squares over their sum."""
    lengths = jnp.linalg.norm(jnp.ravel(y - other)) + jnp.linalg.norm(jnp.ravel(y - mean))
    squares = jnp.sum((mean - other) * (2.0 * y - mean - other))
    # equal answers have no length and reveal nothing
    return jnp.where(lengths > 0.0, squares / jnp.where(lengths > 0.0, lengths, 1.0), 0.0) / scale


GAUSSIAN = Law(
    NoiseKind.GAUSSIAN, "Gaussian", 2, "N(0, s^2 I)", _normal, GaussianRelease, _normal_ratio
)
"""One release is `D/s`-Gaussian-DP (Dong, Roth, Su 2022, theorem 1).
Proof: docs/proofs/gaussian.md."""

LAPLACE = Law(
    NoiseKind.LAPLACE,
    "Laplace",
    1,
    "Lap(s) in every coordinate",
    _laplace,
    LaplaceRelease,
    _laplace_ratio,
)
"""One release is `D/s`-DP (Dwork, McSherry, Nissim, Smith 2006, proposition 1).
Proof: docs/proofs/laplace.md."""

L2_LAPLACE = Law(
    NoiseKind.L2_LAPLACE,
    "L2Laplace",
    2,
    "of density proportional to exp(-||z||_2 / s)",
    _l2_laplace,
    LaplaceRelease,
    _l2_laplace_ratio,
)
"""One release is `D/s`-DP (Chaudhuri, Monteleoni, Sarwate 2011, section 3.1; the K-norm mechanism
of Hardt, Talwar 2010), and many cost no more than as many of one-dimensional Laplace noise.
Proof: docs/proofs/laplace.md."""

LAWS: Mapping[NoiseKind, Law] = MappingProxyType(
    {law.kind: law for law in (GAUSSIAN, LAPLACE, L2_LAPLACE)}
)
"""All laws about which anything is proved."""
