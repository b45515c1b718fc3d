"""Families of generalised linear models, with scores that are bounded and yet unbiased.

Each residual is clipped and then centred by its expectation under the model at the point where it
is asked, so that the clip moves no coefficient when the model is true (a Fisher-consistent score,
of Mallows' type). Residuals and weights are given in public units, so that the former are in
[-1, 1] and the latter in [0, 1].
"""

from __future__ import annotations

import math
from typing import ClassVar, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import digamma, gammainc, gammaln, ndtr, polygamma
from jaxtyping import Array, Float

from tacit.method._glm_expectations import (
    COUNTS,
    MOST,
    STEEP,
    Each,
    Scalar,
    chances,
    clipped_count,
    clipped_square,
    solved,
)
from tacit.method._glm_family import Family, Linear, Link, Terms
from tacit.method._glm_negative_binomial import NegativeBinomial

_TINY = 1e-6
"""Smallest dispersion, relative to the range of the target."""

_FLATTEST = 0.3
"""Smallest shape of a gamma distribution: below, the clipped variance falls again."""

_SMALLEST = 1e-4
"""Smallest target of a gamma model that the first sum tells apart, over the declared bound."""


class Binomial(Family):
    """A yes or no with a logit link: nothing needs a clip."""

    name: ClassVar[str] = "binomial"
    link: ClassVar[str] = "logit"
    clips: ClassVar[bool] = False
    logistic: ClassVar[bool] = True

    def linked(self, linear: Linear, least: Scalar) -> Link:
        mean = jnp.clip(linear.mean, least, 1.0 - least)
        return Link(jnp.log(mean / (1.0 - mean)), mean * (1.0 - mean), jnp.ones_like(mean))

    def settled(self, link: Link, variance: Scalar) -> Float[Array, " 2"]:
        return jnp.ones(2, variance.dtype)

    def terms(self, y: Each, predictor: Each, by: Float[Array, " 2"]) -> Terms:
        p = jax.nn.sigmoid(predictor)
        return Terms(y - p, p * (1.0 - p), jnp.zeros_like(p))

    def units(self, by: Float[Array, " 2"]) -> tuple[Scalar, Scalar]:
        return jnp.ones_like(by[0]), jnp.ones_like(by[0])

    def spread(self, by: Float[Array, " 2"], now: Float[Array, " 2"]) -> tuple[Scalar, Scalar]:
        return jnp.ones_like(by[0]), jnp.ones_like(by[0])


class Multinomial(Binomial):
    """One of several classes with a logit of each against the first: `ClassScore` has its score."""

    name: ClassVar[str] = "multinomial"
    classes: ClassVar[bool] = True


class Gaussian(Family):
    """A number with normal errors, clipped at two standard deviations: `by = (sigma, -)`."""

    name: ClassVar[str] = "gaussian"
    measured: ClassVar[bool] = True
    link: ClassVar[str] = "identity"
    linear: ClassVar[bool] = True
    clip: ClassVar[float] = 2.0
    steepest: ClassVar[float] = 6.0
    """Largest clip over the next sigma, which is then a third of the last."""

    def linked(self, linear: Linear, least: Scalar) -> Link:
        # a clip that is too narrow costs more than one that is too wide
        variance = jnp.maximum(linear.residual + 2.0 * linear.error, _TINY)
        return Link(linear.mean, jnp.ones_like(variance), jnp.sqrt(variance))

    def settled(self, link: Link, variance: Scalar) -> Float[Array, " 2"]:
        return jnp.stack([link.dispersion, jnp.ones_like(variance)])

    def terms(self, y: Each, predictor: Each, by: Float[Array, " 2"]) -> Terms:
        residual = (y - predictor) / (self.clip * by[0])
        beyond = (jnp.abs(residual) > 1.0).astype(y.dtype)
        expected = 2.0 * ndtr(-jnp.asarray(self.clip, y.dtype))
        return Terms(jnp.clip(residual, -1.0, 1.0), jnp.ones_like(residual), beyond - expected)

    def likely(self, by: Float[Array, " 2"]) -> Scalar:
        return 2.0 * ndtr(-jnp.asarray(self.clip, by.dtype))

    def units(self, by: Float[Array, " 2"]) -> tuple[Scalar, Scalar]:
        return self.clip * by[0], jnp.ones_like(by[0])

    def dispersion(self, square: Scalar, by: Float[Array, " 2"]) -> Float[Array, " 2"]:
        # E min(Z^2, c^2) / c^2 falls in c = clip / sigma
        at = solved(lambda c: clipped_square(c) / c**2, square, 0.2, 50.0)
        # noise may leave nothing of a square, and with a clip far too narrow no step gets anywhere
        at = jnp.minimum(at, self.steepest)
        return jnp.stack([self.clip * by[0] / at, by[1]])

    def expected(self, by: Float[Array, " 2"], now: Float[Array, " 2"]) -> tuple[Scalar, Scalar]:
        clip = jnp.asarray(self.clip, by.dtype)
        return jnp.zeros_like(by[0]), 2.0 * (ndtr(-clip * by[0] / now[0]) - ndtr(-clip))

    def spread(self, by: Float[Array, " 2"], now: Float[Array, " 2"]) -> tuple[Scalar, Scalar]:
        c = self.clip * by[0] / now[0]
        weight = 1.0 - 2.0 * ndtr(-c)
        return weight, now[0] ** 2 * clipped_square(c) / weight


class Gamma(Family):
    """A positive number with a constant coefficient of variation.

    `by = (shape k, mean of min(Y / mean, 2))`.
    """

    name: ClassVar[str] = "gamma"
    measured: ClassVar[bool] = True
    link: ClassVar[str] = "log"
    clip: ClassVar[float] = 2.0

    def transformed(self, y: Each, largest: float) -> Each:
        # the mean of a logarithm is the predictor and a constant, however steep the predictor is
        return jnp.log(jnp.maximum(y, _SMALLEST * largest))

    def linked(self, linear: Linear, least: Scalar) -> Link:
        variance = jnp.maximum(linear.residual + linear.error, 1e-3)
        log_shape = solved(
            lambda log: polygamma(1, jnp.exp(log)), variance, math.log(_FLATTEST), math.log(1e3)
        )
        shape = jnp.exp(log_shape)
        centre = digamma(shape) - log_shape
        return Link(linear.mean - centre, jnp.ones_like(shape), shape)

    def settled(self, link: Link, variance: Scalar) -> Float[Array, " 2"]:
        return self._by(link.dispersion)

    def _by(self, shape: Scalar) -> Float[Array, " 2"]:
        return jnp.stack([shape, self._clipped(shape)[0]])

    def _mass(self, shape: Scalar) -> Scalar:
        """`P(k, 2k) - P(k + 1, 2k)`, of the regularised incomplete gamma function."""
        at = self.clip * shape
        return jnp.exp(shape * jnp.log(at) - at - gammaln(shape + 1.0))

    def _clipped(self, shape: Scalar) -> tuple[Scalar, Scalar]:
        """Mean and variance of the clipped ratio, from one incomplete gamma function."""
        at, mass = self.clip * shape, self._mass(shape)
        inside = gammainc(shape, at)
        one = inside - mass
        two = one - mass * at / (shape + 1.0)
        mean = one + self.clip * (1.0 - inside)
        square = (1.0 + 1.0 / shape) * two + self.clip**2 * (1.0 - inside)
        return mean, square - mean**2

    def _beyond(self, by: Float[Array, " 2"]) -> Scalar:
        """Probability of a clipped ratio, from the mean: with a clip of 2 no integral is left."""
        return jnp.maximum(by[1] - 1.0 + self._mass(by[0]), 0.0)

    def terms(self, y: Each, predictor: Each, by: Float[Array, " 2"]) -> Terms:
        ratio = y * jnp.exp(-predictor)
        residual = (jnp.minimum(ratio, self.clip) - by[1]) / self.units(by)[0]
        beyond = (ratio > self.clip).astype(ratio.dtype)
        return Terms(residual, jnp.ones_like(residual), beyond - self._beyond(by))

    def likely(self, by: Float[Array, " 2"]) -> Scalar:
        return self._beyond(by)

    def units(self, by: Float[Array, " 2"]) -> tuple[Scalar, Scalar]:
        # the mean of a clipped ratio is at most 1, so the upper end is the longer one
        return self.clip - by[1], jnp.ones_like(by[0])

    def dispersion(self, square: Scalar, by: Float[Array, " 2"]) -> Float[Array, " 2"]:
        def about(log_shape: Scalar) -> Scalar:
            mean, variance = self._clipped(jnp.exp(log_shape))
            return variance + (mean - by[1]) ** 2

        wanted = square * self.units(by)[0] ** 2
        return self._by(jnp.exp(solved(about, wanted, math.log(_FLATTEST), math.log(1e3))))

    def expected(self, by: Float[Array, " 2"], now: Float[Array, " 2"]) -> tuple[Scalar, Scalar]:
        return now[1] - by[1], self._beyond(now) - self._beyond(by)

    def spread(self, by: Float[Array, " 2"], now: Float[Array, " 2"]) -> tuple[Scalar, Scalar]:
        weight = now[1] - self.clip * self._beyond(now)
        return weight, self._clipped(now[0])[1] / weight


class Poisson(Family):
    """A count with a log link: `by = (mean of all counts, unit of residuals)`."""

    name: ClassVar[str] = "poisson"
    link: ClassVar[str] = "log"
    most: ClassVar[float] = MOST
    clip: ClassVar[float] = 1.5

    def transformed(self, y: Each, largest: float) -> Each:
        return jnp.log1p(y)

    def linked(self, linear: Linear, least: Scalar) -> Link:
        def mean(log: Scalar) -> Scalar:
            """Mean of log(1 + Y) of a count with this logarithm of its mean."""
            return jnp.sum(chances(jnp.exp(log)) * jnp.log1p(COUNTS))

        at = jnp.clip(linear.mean, 1e-3, math.log1p(MOST))
        log = -solved(lambda log: mean(-log), at, -STEEP, STEEP)
        return Link(log, jax.grad(mean)(log), jnp.ones_like(log))

    def settled(self, link: Link, variance: Scalar) -> Float[Array, " 2"]:
        # the mean of a mean whose logarithm varies
        mean = jnp.exp(jnp.minimum(link.predictor + 0.5 * variance, STEEP))
        # centring moves a clipped residual, by most where some counts are cut off on one side
        means = mean * jnp.asarray(np.geomspace(0.02, 50.0, 64), mean.dtype)
        bound = self.clip * jnp.sqrt(mean)
        moved = jnp.max(jnp.abs(clipped_count(means, bound)[0]))
        return jnp.stack([mean, bound + moved])

    def terms(self, y: Each, predictor: Each, by: Float[Array, " 2"]) -> Terms:
        bound = self.clip * jnp.sqrt(by[0])
        # a probability takes as many steps as the mean has standard deviations: without an end
        # to that, one record could say by the time that its site takes who is in it
        mean = jnp.exp(jnp.clip(predictor, -STEEP, STEEP))
        centre, weight, beyond = clipped_count(mean, bound)
        light = jnp.minimum(1.0, 2.0 * by[0] / jnp.maximum(weight, _TINY))
        residual = light * (jnp.clip(y - mean, -bound, bound) - centre)
        clipped = (jnp.abs(y - mean) > bound).astype(mean.dtype)
        return Terms(residual / self.units(by)[0], light * weight / (2.0 * by[0]), clipped - beyond)

    def likely(self, by: Float[Array, " 2"]) -> Scalar:
        return clipped_count(by[0], self.clip * jnp.sqrt(by[0]))[2]

    def units(self, by: Float[Array, " 2"]) -> tuple[Scalar, Scalar]:
        return by[1], 2.0 * by[0]

    def spread(self, by: Float[Array, " 2"], now: Float[Array, " 2"]) -> tuple[Scalar, Scalar]:
        # at the mean of all counts, where most of the information is
        mean, bound = by[0], self.clip * jnp.sqrt(by[0])
        centre, weight, _ = clipped_count(mean, bound)
        square = jnp.sum(chances(mean) * jnp.clip(COUNTS - mean, -bound, bound) ** 2)
        return 2.0 * by[0], (square - centre**2) / weight


FamilyName = Literal["gaussian", "binomial", "multinomial", "poisson", "negative_binomial", "gamma"]

FAMILIES: dict[str, Family] = {
    each.name: each
    for each in (Gaussian(), Binomial(), Multinomial(), Poisson(), NegativeBinomial(), Gamma())
}
"""All families, by name."""
