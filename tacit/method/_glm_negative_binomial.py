"""Counts that vary more than a Poisson model says: `var Y = m + alpha m^2`, with a log link.

The score of such a count is `r = (y - m) / (1 + alpha m)`. It is clipped smoothly, to
`c tanh(r / c)`, so that its expectations are smooth functions of `log m` alone: they are tabulated
at the public point, and a record only looks them up, in as many steps as any other one.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from tacit.method._glm_expectations import COUNTS, MOST, STEEP, Each, Scalar, solved
from tacit.method._glm_family import Family, Linear, Link, Terms

Count = Float[Array, "*#n"]

LEAST, GREATEST = 1e-4, 20.0
"""Ends of the overdispersion: below the first one a count is one of Poisson's."""

_STEP = 0.1
"""Distance of two nodes of a table, in the logarithm of a mean."""

_NODES = np.arange(-STEEP - _STEP, STEEP + 2.5 * _STEP, _STEP)
"""Logarithms of means in a table: one more below, and two above, than a record can have."""

_WIDER = 1.5
"""Clip of what tells the overdispersion, over that of scores: the one that tells most."""

_LOG_FACTORIALS = np.cumsum(np.log(np.maximum(COUNTS, 1.0)))


class Moments(NamedTuple):
    """What is expected of a count with a given mean.

    Attributes:
        centre: mean of the clipped score.
        weight: its covariance with the score.
        beyond: mean share of the clip.
        excess: mean of `over`.
        variance: variance of the clipped score.
        shaken: variance of the share of the clip.
    """

    centre: Any
    weight: Any
    beyond: Any
    excess: Any
    variance: Any
    shaken: Any


def chances(alpha: Scalar, log: Scalar) -> Float[Array, " counts"]:
    """Probability of each of `COUNTS`, of a count among them.

    Args:
        alpha: overdispersion, positive.
        log: logarithm of the mean.
    """
    counts, factorials = (jnp.asarray(each, log.dtype) for each in (COUNTS, _LOG_FACTORIALS))
    # log(1 + alpha) + ... + log(1 + alpha (y - 1)): no difference of large numbers for small alpha
    risen = jnp.cumsum(jnp.log1p(alpha * jnp.maximum(counts - 1.0, 0.0)))
    damped = jnp.log1p(alpha * jnp.exp(log))
    found = jnp.exp(risen - factorials + counts * (log - damped) - damped / alpha)
    return found / jnp.sum(found)


def score(alpha: Scalar, y: Count, mean: Count) -> Count:
    """Derivative of the log-likelihood with respect to the predictor."""
    return (y - mean) / (1.0 + alpha * mean)


def over(alpha: Scalar, y: Count, mean: Count, bound: Scalar) -> Count:
    """What a count says of the overdispersion, in (-1, 1): clipped, too.

    Without a clip its mean is `alpha m^2 / (1 + alpha m)^2` over a constant, if `alpha` is right.
    """
    square = score(alpha, y, mean) ** 2 - y / (1.0 + alpha * mean) ** 2
    return jnp.tanh(square / (_WIDER * bound) ** 2)


def share(score: Each, bound: Scalar) -> Each:
    """How far a score is clipped, from 0 to 1: half at the bound."""
    return 1.0 - 1.0 / (1.0 + (score / bound) ** 4)


def clip_of(by: Float[Array, " 2"]) -> Scalar:
    """Where scores are clipped: their standard deviation at the mean of all counts.

    Args:
        by: overdispersion, and mean of all counts.
    """
    return jnp.sqrt(by[1] / (1.0 + by[0] * by[1]))


def moments(by: Float[Array, " 2"], alpha: Scalar, log: Scalar) -> Moments:
    """Moments of what is measured by `by`, of a count with an overdispersion of its own.

    Args:
        by: overdispersion, and mean of all counts.
        alpha: overdispersion of the count.
        log: logarithm of its mean.
    """
    mean, chance = jnp.exp(log), chances(alpha, log)
    counts, bound = jnp.asarray(COUNTS, mean.dtype), clip_of(by)
    r = score(by[0], counts, mean)
    clipped, beyond = bound * jnp.tanh(r / bound), share(r, bound)
    centre, likely = jnp.sum(chance * clipped), jnp.sum(chance * beyond)
    away = clipped - centre
    return Moments(
        centre,
        jnp.sum(chance * away * score(alpha, counts, mean)),
        likely,
        jnp.sum(chance * over(by[0], counts, mean, bound)),
        jnp.sum(chance * away**2),
        jnp.sum(chance * (beyond - likely) ** 2),
    )


@jax.jit
def typical(by: Float[Array, " 2"], alpha: Scalar) -> Moments:
    """Moments at the mean of all counts."""
    return moments(by, alpha, jnp.log(by[1]))


@jax.jit
def tabulated(by: Float[Array, " 2"]) -> Moments:
    """Moments at all nodes."""
    return jax.lax.map(lambda log: moments(by, by[0], log), jnp.asarray(_NODES, by.dtype))


@jax.jit
def dispersion(moment: Scalar, by: Float[Array, " 2"]) -> Scalar:
    """The overdispersion with which the mean moment is what it is."""
    expected = typical(by, by[0]).excess
    wanted = expected + (1.0 + jnp.abs(expected)) * moment
    ends = -math.log(GREATEST), -math.log(LEAST)
    log = -solved(lambda log: typical(by, jnp.exp(-log)).excess, wanted, *ends)
    return jnp.exp(log)


class NegativeBinomial(Family):
    """A count that varies more than its mean: `by = (alpha, mean of all counts)`."""

    name: ClassVar[str] = "negative_binomial"
    link: ClassVar[str] = "log"
    measured: ClassVar[bool] = True
    signed: ClassVar[bool] = True
    most: ClassVar[float] = MOST

    def transformed(self, y: Each, largest: float) -> Each:
        return jnp.log1p(y)

    def linked(self, linear: Linear, least: Scalar) -> Link:
        at = jnp.clip(linear.mean, 1e-3, math.log1p(MOST))
        logs = jnp.log1p(jnp.asarray(COUNTS, at.dtype))

        def mean(alpha: Scalar, log: Scalar) -> Scalar:
            return jnp.sum(chances(alpha, log) * logs)

        def predictor(alpha: Scalar) -> Scalar:
            return -solved(lambda log: mean(alpha, -log), at, -STEEP, STEEP)

        def residual(alpha: Scalar) -> Scalar:
            chance = chances(alpha, predictor(alpha))
            return jnp.sum(chance * (logs - jnp.sum(chance * logs)) ** 2)

        ends = -math.log(GREATEST), -math.log(LEAST)
        alpha = jnp.exp(-solved(lambda log: residual(jnp.exp(-log)), linear.residual, *ends))
        log = predictor(alpha)
        return Link(log, jax.grad(mean, 1)(alpha, log), alpha)

    def settled(self, link: Link, variance: Scalar) -> Float[Array, " 2"]:
        mean = jnp.exp(jnp.minimum(link.predictor + 0.5 * variance, STEEP))
        return jnp.stack([link.dispersion, mean])

    def _units(self, by: Float[Array, " 2"], table: Moments) -> tuple[Scalar, Scalar]:
        # centring moves a clipped score, by most where many counts are far above the mean
        return clip_of(by) + jnp.max(jnp.abs(table.centre)), clip_of(by) ** 2

    def units(self, by: Float[Array, " 2"]) -> tuple[Scalar, Scalar]:
        return self._units(by, tabulated(by))

    def terms(self, y: Each, predictor: Each, by: Float[Array, " 2"]) -> Terms:
        table, bound = tabulated(by), clip_of(by)
        unit, most = self._units(by, table)
        log = jnp.clip(predictor, -STEEP, STEEP)
        centre, weight, beyond = looked_up(jnp.stack(table[:3]), log)
        r = score(by[0], y, jnp.exp(log))
        light = jnp.minimum(1.0, most / weight)
        return Terms(
            light * (bound * jnp.tanh(r / bound) - centre) / unit,
            light * weight / most,
            share(r, bound) - beyond,
        )

    def moment(self, y: Each, predictor: Each, by: Float[Array, " 2"]) -> Each:
        log = jnp.clip(predictor, -STEEP, STEEP)
        expected = looked_up(tabulated(by).excess, log)
        found = over(by[0], y, jnp.exp(log), clip_of(by))
        return (found - expected) / (1.0 + jnp.abs(expected))

    def dispersion(self, square: Scalar, by: Float[Array, " 2"]) -> Float[Array, " 2"]:
        return jnp.stack([dispersion(square, by), by[1]])

    def likely(self, by: Float[Array, " 2"]) -> Scalar:
        return typical(by, by[0]).shaken

    def expected(self, by: Float[Array, " 2"], now: Float[Array, " 2"]) -> tuple[Scalar, Scalar]:
        old, new = typical(by, by[0]), typical(by, now[0])
        return new.centre - old.centre, new.beyond - old.beyond

    def spread(self, by: Float[Array, " 2"], now: Float[Array, " 2"]) -> tuple[Scalar, Scalar]:
        # at the mean of all counts, where most of the information is
        old, new = typical(by, by[0]), typical(by, now[0])
        weight = clip_of(by) ** 2 * new.weight / old.weight
        return weight, new.variance / new.weight


def looked_up(table: Float[Array, "*k nodes"], log: Each) -> Float[Array, ...]:
    """Functions between the nodes of their tables, by cubics through the next four of them."""
    at = (log - _NODES[1]) / _STEP
    first = jnp.clip(jnp.floor(at).astype(int), 0, len(_NODES) - 4)
    t = at - first
    four = table[..., first[..., None] + np.arange(4)]
    weights = jnp.stack(
        [
            -t * (t - 1.0) * (t - 2.0) / 6.0,
            (t + 1.0) * (t - 1.0) * (t - 2.0) / 2.0,
            -(t + 1.0) * t * (t - 2.0) / 2.0,
            (t + 1.0) * t * (t - 1.0) / 6.0,
        ],
        axis=-1,
    )
    return jnp.sum(four * weights, axis=-1)
