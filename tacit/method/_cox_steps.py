"""From the sums of a private Cox regression to hazards, steps and an estimate: post-processing.

Effects of different periods meet in no piece of time, and log hazards of different cells never do:
hazards are eliminated cell by cell, and what is left are small matrices, one per period.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from tacit.method._glm_steps import raised

_LONGEST = 1.5
"""Largest step of a coefficient or a log hazard."""

_SEEN = 2.0
"""Standard deviations of noise above which a cell has a rate of its own at the start."""


class Information(NamedTuple):
    """The information, or the standard deviation of the noise in each of its parts.

    Attributes:
        effects: of the effects of each period, shape `(p, d, d)`. Its noise is that on the
            diagonal, and `1/sqrt(2)` of that beside it.
        crossed: between columns and log hazards, shape `(d, cells)`.
        hazards: of the log hazards of the cells, shape `(cells,)`.
    """

    effects: Any
    crossed: Any
    hazards: Any


class Sum(NamedTuple):
    """One sum: its point, score and information, and the noise in these two.

    Attributes:
        point: effects of each period, then log hazards, shape `(p d + cells,)`.
        score: score, of the same shape.
        score_noise: standard deviation of its noise.
        information: information.
        noise: standard deviations of the noise in it.
    """

    point: Any
    score: Any
    score_noise: Any
    information: Information
    noise: Information


class Eliminated(NamedTuple):
    """An information from which log hazards are eliminated.

    Attributes:
        left: information on the effects of each period, shape `(p, d, d)`.
        noise: standard deviation of the noise on its diagonals, shape `(p,)`.
        means: mean of the columns in each cell, shape `(d, cells)`.
        unsure: variance of the information between columns and log hazards, shape `(d, cells)`.
        hazards: information on log hazards, at least the noise in it, shape `(cells,)`.
    """

    left: Any
    noise: Any
    means: Any
    unsure: Any
    hazards: Any


def start(
    events: Float[Array, " cells"],
    exposures: Float[Array, " cells"],
    noise: Any,
    strata: int,
    effects: int,
) -> Float[Array, " k"]:
    """The first point: no effects, and the rate of each cell that stands out of the noise.

    Others have that of their piece in all strata, or of everything.

    Args:
        events: noised events by cell.
        exposures: noised exposures by cell.
        noise: standard deviation of the noise in each of both, shape `(2,)`.
        strata: number of strata.
        effects: number of effects.
    """
    base = jnp.zeros((), events.dtype)
    pieces = len(events) // strata
    for groups, each in ((1, strata * pieces), (pieces, strata), (strata * pieces, 1)):
        happened, spent = (
            jnp.sum(values.reshape(strata, pieces).T.reshape(groups, each), axis=1)
            for values in (events, exposures)
        )
        least = _SEEN * noise[:, None] * jnp.sqrt(1.0 * each) + jnp.array([[1.0], [1e-9]])
        seen = (happened > least[0]) & (spent > least[1])
        own = jnp.log(jnp.where(seen, happened / jnp.where(seen, spent, 1.0), 1.0))
        if groups == 1:
            floor = jnp.maximum(happened, least[0]) / jnp.maximum(spent, least[1] + 1.0)
            base = jnp.log(floor)
        base = jnp.where(seen, own, jnp.repeat(base, groups // len(base)))
    base = base.reshape(pieces, strata).T.ravel()
    return jnp.concatenate([jnp.zeros(effects, base.dtype), base])


def eliminated(found: Information, noise: Information, members: Any) -> Eliminated:
    """The information without log hazards.

    Means of the columns in cells are shrunk to that of their period, as far as their spread is
    noise: a cell of few events has no mean of its own (empirical Bayes).

    Args:
        found: released information.
        noise: standard deviations of the noise in it.
        members: 1 for the cells of each period, else 0, shape `(p, cells)`.
    """
    hazards = jnp.maximum(found.hazards, 2.0 * noise.hazards)
    hazards = jnp.maximum(hazards, 1e-9 * jnp.maximum(jnp.max(hazards), 1.0))
    together = (found.crossed @ members.T) / (members @ hazards) @ members
    apart = found.crossed - together * hazards
    error = noise.crossed**2 + (together * noise.hazards) ** 2
    # the squared spread of means, one standard deviation above its estimate
    square = jnp.sum(hazards**2)
    spread = jnp.maximum(jnp.sum(apart**2 - error, axis=1), 0.0)
    spread = (spread + jnp.sqrt(2.0 * jnp.sum(error**2, axis=1))) / square
    own = spread[:, None] * hazards**2
    own = jnp.where(own > 0.0, own / jnp.where(own > 0.0, own + error, 1.0), 0.0)
    own = jnp.where(error > 0.0, own, 1.0)
    means, unsure = together + own * apart / hazards, own * error
    left = found.effects - jnp.einsum("pc,ic,kc,c->pik", members, means, means, hazards)
    hidden = jnp.einsum("pc,ic->pi", members, unsure / hazards)
    left = left - hidden[:, :, None] * jnp.eye(len(means))
    rest = 4.0 * jnp.einsum("pc,ic->pi", members, unsure * means**2) + 2.0 * jnp.einsum(
        "pc,ic->pi", members, (unsure / hazards) ** 2
    )
    return Eliminated(
        left, jnp.sqrt(noise.effects**2 + jnp.mean(rest, axis=1)), means, unsure, hazards
    )


def moves(asked: Sum, found: Eliminated, members: Any) -> tuple[Array, Array]:
    """Newton's step, of the effects of each period and of log hazards.

    Args:
        asked: the sum.
        found: the information.
        members: 1 for the cells of each period, else 0, shape `(p, cells)`.
    """
    periods, d = len(members), len(found.means)
    one, two = jnp.split(jnp.asarray(asked.score), [periods * d])
    known = jax.vmap(raised)(found.left, found.noise)
    rest = one.reshape(periods, d) - jnp.einsum("pc,ic,c->pi", members, found.means, two)
    effects = jnp.linalg.solve(known, rest[..., None])[..., 0]
    hazards = two / found.hazards - jnp.einsum("pc,ic,pi->c", members, found.means, effects)
    return effects, hazards


def step(asked: Sum, members: Any) -> Array:
    """A Newton step, shortened where it is long; arguments as for `moves`.

    A linear step leaves hazards too high by half of the variance of the log hazard that it adds,
    because the mean of an exponential is above that of its tangent.
    """
    found = eliminated(asked.information, asked.noise, members)
    effects, hazards = moves(asked, found, members)
    longest = jnp.maximum(jnp.max(jnp.abs(effects)), 1e-9)
    effects = effects * jnp.minimum(1.0, _LONGEST / longest)
    added = jnp.einsum("pi,pik,pk->p", effects, found.left, effects) / (members @ found.hazards)
    hazards = hazards - 0.5 * jnp.maximum(added, 0.0) @ members
    return jnp.concatenate([effects.ravel(), jnp.clip(hazards, -_LONGEST, _LONGEST)])
