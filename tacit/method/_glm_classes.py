"""What a private regression of several classes has instead of one residual per record.

Coefficients are those of orthonormal contrasts between the classes, so that no class is noisier
than another for standing first: a matrix `B` of features and contrasts, flattened row by row. The
logits of the classes at a row `x` are `C B' x` (`contrasts`).
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from tacit.method import _glm_steps as steps
from tacit.privacy.class_score import contrasts

_RAREST = 5e-4
"""Smallest share of a class that a start assumes."""


def gram_of(information: Float[Array, "k k"], classes: int) -> Float[Array, "d d"]:
    """`sum u x x'`, from the information at the point 0, where all classes are equally likely.

    There it is `sum u x x'` times the identity of the contrasts over the number of classes.
    """
    m = classes - 1
    d = len(information) // m
    return jnp.trace(information.reshape(d, m, d, m), axis1=1, axis2=3) * (classes / m)


def start(
    score: Float[Array, " k"], gram: Float[Array, "d d"], noise: Float[Array, ""], classes: int
) -> Float[Array, " k"]:
    """The first point: a linear regression of the classes, taken through the link at the mean.

    Args:
        score: score at the point 0, shape `(d m,)`.
        gram: raised `sum u x x'`, shape `(d, d)`.
        noise: standard deviation of the noise in an entry of the score.
        classes: number of classes, `m + 1`.
    """
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
    deviation = jnp.sqrt(jnp.maximum(jnp.sum(slopes * (spread @ slopes)), 0.0))
    slopes = slopes * jnp.minimum(1.0, steps.STEEPEST / jnp.maximum(deviation, 1e-9))
    intercept = basis.T @ jnp.log(shares) - means[:-1] @ slopes
    return jnp.concatenate([slopes, intercept[None]]).reshape(-1)


def against_first(classes: int) -> Float[np.ndarray, "m m"]:
    """Matrix that takes coefficients of contrasts to those of classes against the first one."""
    basis = contrasts(classes)
    return basis[1:] - basis[0]
