"""What a private regression of several classes has instead of one residual per record.

Coefficients are those of orthonormal contrasts between the classes, so that no class is noisier
than another for standing first: a matrix `B` of features and contrasts, flattened row by row. The
logits of the classes at a row `x` are `C B' x` (`contrasts`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from tacit.method import _glm_steps as steps
from tacit.privacy.class_score import contrasts

if TYPE_CHECKING:
    from tacit.method.glm import PrivateGLM

_RAREST = 5e-4
"""Smallest share of a class that a start assumes."""

_NEAR = 0.3
"""Mean square of a last step towards a level, over its standard error, that is printed: of a rare
level less than of all coefficients (1/2), because its logit bends more where its records are."""


def gram_of(method: PrivateGLM, first: Any, noise: Any) -> Float[Array, "d d"]:
    """`sum u x x'`, raised, from the information at the point 0, where classes are equally likely.

    There it is `sum u x x'` times the identity of the `m` contrasts over the `m + 1` classes.

    Args:
        method: method of the run.
        first: first sum, released.
        noise: standard deviation of the noise in each of its entries.
    """
    query, d, m = method.queries[0], method.design.width, method.outputs
    information = query.split(first)[0][1 : method.width + 1]
    gram = jnp.trace(information.reshape(d, m, d, m), axis1=1, axis2=3) * ((m + 1) / m)
    spread = query.spread(noise)[0] * method.score(0).units[1] * (m + 1) / math.sqrt(m)
    return steps.raised(gram, jnp.asarray(spread, gram.dtype))


def start(method: PrivateGLM, first: Any, noise: Any) -> Float[Array, " k"]:
    """The first point: a linear regression of the classes, taken through the link at the mean.

    Arguments as for `gram_of`.
    """
    query, classes = method.queries[0], method.outputs + 1
    score, gram = query.split(first)[0][0], gram_of(method, first, noise)
    noise = query.spread(noise)[0] * method.score(0).units[0]
    basis = jnp.asarray(contrasts(classes), score.dtype)
    total = gram[-1, -1]
    slopes = jnp.linalg.solve(gram, score.reshape(len(gram), -1))
    means = gram[:, -1] / total
    shares = 1.0 / classes + basis @ (means @ slopes)
    shares = jnp.maximum(shares, jnp.maximum(noise / total, _RAREST))
    shares = shares / jnp.sum(shares)
    curvature = basis.T @ (jnp.diag(shares) - jnp.outer(shares, shares)) @ basis
    slopes = jnp.linalg.solve(curvature, slopes[:-1].T).T
    spread = gram[:-1, :-1] / total - jnp.outer(means[:-1], means[:-1])
    longest = steps.STEEPEST * math.sqrt(classes - 1)
    deviation = jnp.sqrt(jnp.maximum(jnp.sum(slopes * (spread @ slopes)), 0.0))
    slopes = slopes * jnp.minimum(1.0, longest / jnp.maximum(deviation, 1e-9))
    intercept = basis.T @ jnp.log(shares) - means[:-1] @ slopes
    return jnp.concatenate([slopes, intercept[None]]).reshape(-1)


def against_first(classes: int) -> Float[np.ndarray, "m m"]:
    """Matrix that takes coefficients of contrasts to those of classes against the first one."""
    basis = contrasts(classes)
    return basis[1:] - basis[0]


def by_level(
    score: Float[np.ndarray, " k"],
    information: Float[np.ndarray, "k k"],
    gram: Float[np.ndarray, "k k"],
    noise: float,
    classes: int,
) -> list[tuple[float, float]]:
    """Mean square of the last step towards each level against all others, and how much may be.

    Of all coefficients together it is a mean over records in which a rare level hardly counts.

    Args:
        score: score of the last sum.
        information: raised information.
        gram: raised `sum u x x'`, once for every contrast.
        noise: variance of the noise in an entry of the pooled score.
        classes: number of levels.
    """
    found = []
    for contrast in contrasts(classes):
        towards = np.kron(np.eye(len(score) // len(contrast)), contrast)
        weight = towards @ information @ towards.T
        inverse, part = np.linalg.inv(weight), towards @ score
        records = gram[-1, -1] * max(np.trace(weight) * len(contrast) / np.trace(gram), 1e-300)
        moved = float(part @ inverse @ part) / records
        error = np.sqrt((len(weight) + noise * np.trace(inverse)) / records)
        found.append((moved, _NEAR * float(error)))
    return found
