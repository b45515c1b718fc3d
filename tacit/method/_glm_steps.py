"""The arithmetic of a private Newton method, on what its sums released: post-processing.

All matrices are sums over records with noise, so their small eigenvalues are raised to the size of
the noise before anything is divided by them.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from tacit.method._glm_family import Family, Linear, Link

Matrix = Float[Array, "d d"]
Vector = Float[Array, " d"]
Scalar = Float[Array, ""]

STEEPEST = 1.5
"""Largest root mean square of the linear predictor, or of a step, that a start or step may have."""


class First(NamedTuple):
    """What the first sum released: a linear regression of a target that was moved to [-1, 1].

    Attributes:
        score: `sum u x r`, for the moved target `r`; a moved offset is the first entry of `x`.
        gram: `sum u x x'`.
        square: `sum u r^2`; 0 where the family does not need it.
        noise: standard deviation of the noise in the three; that of a matrix on the diagonal.
    """

    score: Vector
    gram: Matrix
    square: Scalar
    noise: Float[Array, " 3"]


class Scale(NamedTuple):
    """How the transformed target was moved: `r = (t - centre) / half`."""

    centre: float
    half: float


ROUNDING = 1e-9
"""Share of the largest eigenvalue of a sum below which one is taken for rounding."""


def raised(matrix: Matrix, noise: Scalar) -> Matrix:
    """A symmetric matrix with its eigenvalues raised to `noise sqrt(d)`.

    Args:
        matrix: sum with noise.
        noise: standard deviation of the noise on its diagonal.
    """
    values, vectors = jnp.linalg.eigh(matrix)
    floor = jnp.maximum(noise * jnp.sqrt(len(matrix)), ROUNDING * jnp.maximum(values[-1], 1.0))
    return (vectors * jnp.maximum(values, floor)) @ vectors.T


def start(
    family: Family, found: First, scale: Scale, offset: Scale | None = None
) -> tuple[Vector, Float[Array, " 2"]]:
    """The first point: a linear regression, taken through the link at the mean.

    Args:
        family: family of the model.
        found: the first sum.
        scale: how the target was moved.
        offset: how the offset was moved, in units of the linear predictor; `None` without one.

    Returns:
        Coefficients, and the numbers by which residuals are measured.
    """
    gram = raised(found.gram, found.noise[1])
    total = gram[-1, -1]
    slopes = jnp.linalg.solve(gram, found.score)
    means = gram[:, -1] / total
    centre = means @ slopes
    fitted = slopes @ gram @ slopes / total
    residual = found.square / total - 2.0 * slopes @ found.score / total + fitted
    error = jnp.sqrt(found.noise[2] ** 2 + 4.0 * (slopes @ slopes) * found.noise[0] ** 2) / total
    half = scale.half
    linear = Linear(scale.centre + half * centre, half**2 * residual, half**2 * error)
    link = family.linked(linear, jnp.maximum(half * found.noise[0] / total, 1e-3 * half))
    slopes = half * slopes / link.slope
    if offset is not None:
        return _beside(offset, slopes[1:], gram / total, link, family)
    deviation = half * jnp.sqrt(jnp.maximum(fitted - centre**2, 0.0)) / link.slope
    if not family.linear:
        shorter = jnp.minimum(1.0, STEEPEST / jnp.maximum(deviation, 1e-9))
        slopes, deviation = slopes * shorter, deviation * shorter
    intercept = link.predictor - slopes[:-1] @ means[:-1]
    return slopes.at[-1].set(intercept), family.settled(link, deviation**2)


def _beside(
    offset: Scale, slopes: Vector, moments: Float[Array, "m m"], link: Link, family: Family
) -> tuple[Vector, Float[Array, " 2"]]:
    """The first point with an offset, whose own coefficient is known and not the one found.

    Args:
        offset: how the offset was moved.
        slopes: coefficients of the columns beside it.
        moments: mean products of all columns, the moved offset first.
        link: what the regression says.
        family: family of the model.
    """
    means = moments[:, -1]
    spread = moments - jnp.outer(means, means)
    if not family.linear:
        deviation = jnp.sqrt(jnp.maximum(slopes @ spread[1:, 1:] @ slopes, 0.0))
        slopes = slopes * jnp.minimum(1.0, STEEPEST / jnp.maximum(deviation, 1e-9))
    whole = jnp.concatenate([jnp.full(1, offset.half, slopes.dtype), slopes])
    intercept = link.predictor - offset.centre - whole[:-1] @ means[:-1]
    variance = jnp.maximum(whole @ spread @ whole, 0.0)
    return slopes.at[-1].set(intercept), family.settled(link, variance)


def step(score: Vector, information: Matrix, noise: Scalar, gram: Matrix, longest: float) -> Vector:
    """A Newton step, shortened to a largest root mean square of the linear predictor.

    Args:
        score: score in natural units.
        information: information, likewise.
        noise: standard deviation of the noise on its diagonal.
        gram: raised `sum u x x'`, in which the length of a step is measured.
        longest: largest root mean square of the step.
    """
    moved = jnp.linalg.solve(raised(information, noise), score)
    rms = jnp.sqrt(jnp.maximum(moved @ gram @ moved / gram[-1, -1], 0.0))
    return moved * jnp.minimum(1.0, longest / jnp.maximum(rms, 1e-9))
