"""A release on a grid: round, add discrete noise, scale back; and the event that it is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.errors import PrivacyError
from tacit.privacy.budget import NoiseKind
from tacit.privacy.event import (
    DiscreteGaussianRelease,
    DiscreteLaplaceRelease,
    Event,
    NonPrivate,
    PoissonSampled,
)
from tacit.privacy.mechanism import AbstractMechanism, Gaussian, Laplace
from tacit.privacy.noise.grid import Grid
from tacit.privacy.noise.rounding import DOUBLE, sum_error
from tacit.privacy.noise.source import AbstractNoise, check_law
from tacit.privacy.sensitivity import (
    AbstractQuery,
    ClippedDifferences,
    ClippedGradient,
    ClippedUpdate,
    own_public,
)
from tacit.types import PublicContext, Relation

STATISTICAL_DISTANCE = 2.0**-133
"""Largest total variation between the law of one coordinate's noise and the law it stands for."""


@dataclass(frozen=True)
class GridRelease:
    """One kind of release, fixed by public constants before any data are seen.

    Attributes:
        law: of the noise.
        grid: on which values are rounded.
        scale: of the noise, in steps.
        event: what one release costs.
        roundoff: unit roundoff of the arithmetic that the grid's sensitivity allows for.

    Example:
        >>> from tacit.privacy.noise import SecureNoise
        >>> release = grid_release(
        ...     NoiseKind.LAPLACE, noise_multiplier=2.0, sensitivity=0.1, dimension=3, largest=5.0)
        >>> release.event
        DiscreteLaplaceRelease(noise_multiplier=2.0)
        >>> noised = release([0.0, 0.5, 1.0], SecureNoise())
        >>> bool(np.all(noised % release.grid.step == 0.0))
        True
    """

    law: NoiseKind
    grid: Grid
    scale: float
    event: Event
    roundoff: float = DOUBLE

    def __call__(self, value: Any, noise: AbstractNoise) -> np.ndarray:
        """What is released, float64 of the shape of `value`; every entry is a grid point.

        Args:
            value: the private answer, any shape with the grid's number of entries.
            noise: where the noise comes from.

        Raises:
            PrivacyError: a value that the grid was not made for; nothing is released then.
        """
        array = np.asarray(value)
        if array.dtype.kind == "f" and np.finfo(array.dtype).eps > 2 * self.roundoff:
            raise PrivacyError(
                f"a value of type {array.dtype} has larger rounding errors than the grid's "
                f"sensitivity allows for (unit roundoff {self.roundoff:.3g}); compute it in "
                "float64 or make the release with the roundoff of its type"
            )
        steps = noise.added(self.grid.rounded(array), self.law, self.scale)
        return self.grid.value(steps).reshape(array.shape)


def grid_release(
    law: NoiseKind,
    noise_multiplier: float,
    sensitivity: float,
    dimension: int,
    largest: float,
    roundoff: float = DOUBLE,
) -> GridRelease:
    """A release with the noise multiplier that is asked for.

    What rounding adds to the sensitivity is made good by as much more noise, usually a millionth.

    Args:
        law: Gaussian (sensitivity in the l2 norm) or Laplace (in the l1 norm).
        noise_multiplier: noise scale over sensitivity, positive.
        sensitivity: of the computed value: `sum_error` belongs in it. Positive.
        dimension: number of coordinates.
        largest: size that no coordinate exceeds, a public bound, positive.
        roundoff: unit roundoff of the arithmetic that `sensitivity` allows for.

    Raises:
        PrivacyError: an argument out of range, a law that no grid has, or no grid fits (the
            message says why).
    """
    check_law(law)
    if not 0.0 < noise_multiplier < math.inf:
        raise PrivacyError(
            f"noise_multiplier={noise_multiplier!r} must be positive and finite; without noise a "
            "release protects nobody and needs no grid"
        )
    order, event = (
        (2, DiscreteGaussianRelease(noise_multiplier))
        if law is NoiseKind.GAUSSIAN
        else (1, DiscreteLaplaceRelease(noise_multiplier))
    )
    noise_scale = noise_multiplier * sensitivity
    grid = Grid.for_release(sensitivity, order, dimension, noise_scale, largest)
    return GridRelease(law, grid, grid.scale_for(noise_multiplier), event, roundoff)


def on_grid(
    mechanism: AbstractMechanism,
    query: AbstractQuery,
    public: PublicContext,
    relation: Relation,
    dimension: int,
    roundoff: float = DOUBLE,
    *,
    most_records: int | None = None,
) -> GridRelease:
    """The release on a grid that stands for a Gaussian or Laplace mechanism on real numbers.

    Its event is the discrete one with the same noise multiplier. The sensitivity is the query's,
    plus what the rounding errors of a sum over all records may add.

    Args:
        mechanism: `Gaussian` or `Laplace`.
        query: `ClippedGradient`, `ClippedDifferences` or `ClippedUpdate`.
        public: declared constants of the owner.
        relation: when two data sets are neighbours.
        dimension: number of coordinates of the query's answer.
        roundoff: unit roundoff of the arithmetic of the query.
        most_records: a public number that the number of records never exceeds, at least 1; whoever
            asks the query must see to that. Needed under add/remove, where their number is private;
            otherwise that of `public` counts where it is larger.

    Raises:
        PrivacyError: add/remove without `most_records`, a mechanism that adds no noise to the
            answer or also changes the objective (discrete noise does not protect that), a query
            that is no clipped sum or has no bound, the relation metric, or no grid that fits.
    """
    # Not isinstance: a subclass may also perturb the objective.
    if type(mechanism) is not Gaussian and type(mechanism) is not Laplace:
        raise PrivacyError(
            f"{type(mechanism).__name__} has no secure form: only noise added to a query's answer "
            "(Gaussian, Laplace) can be drawn on a grid. Choose a method with such a release, or "
            "simulate it."
        )
    _check_clipped(query, relation)
    event = mechanism.event(query, public, relation)
    multiplier = own_public(mechanism.noise_multiplier, public.agent)
    if isinstance(event, NonPrivate):
        raise PrivacyError(
            f"noise_multiplier=0 for agent {public.agent} releases its answer without noise; "
            "give a positive noise multiplier"
        )
    sensitivity, largest = bounded(query, public, relation, dimension, most_records, roundoff)
    release = grid_release(
        NoiseKind.GAUSSIAN if isinstance(mechanism, Gaussian) else NoiseKind.LAPLACE,
        multiplier,
        sensitivity,
        dimension,
        largest=largest,
        roundoff=roundoff,
    )
    if not isinstance(event, PoissonSampled):
        return release
    sampled = PoissonSampled(event.rate, release.event)
    return GridRelease(release.law, release.grid, release.scale, sampled, roundoff)


def bounded(
    query: AbstractQuery,
    public: PublicContext,
    relation: Relation,
    dimension: int,
    most_records: int | None = None,
    roundoff: float = DOUBLE,
) -> tuple[float, float]:
    """Sensitivity of a query's computed answer, rounding errors included, and how large it may be.

    Args:
        query: `ClippedGradient`, `ClippedDifferences` or `ClippedUpdate`.
        public: declared constants of the owner.
        relation: when two data sets are neighbours.
        dimension: number of coordinates of the query's answer.
        most_records: as for `on_grid`.
        roundoff: unit roundoff of the arithmetic of the query.

    Raises:
        PrivacyError: as for `on_grid`.
    """
    _check_clipped(query, relation)
    sensitivity = query.sensitivity(public, relation)
    replaces = relation is Relation.REPLACE_ONE
    contribution = sensitivity / 2 if replaces else sensitivity
    single = isinstance(query, ClippedUpdate)  # one vector, whatever the records behind it
    if not (replaces or single) and (most_records is None or most_records < 1):
        raise PrivacyError(
            f"most_records={most_records!r}: under add/remove the number of records is private, "
            "and rounding errors of their sum grow with it; declare one that is never exceeded"
        )
    # what is summed, whatever the sum is divided by
    known = max(public.count if replaces else 1, most_records or 1)
    records = 1 if single else known
    error = sum_error(records, contribution, dimension, roundoff)
    return sensitivity + error, 2 * records * contribution


def _check_clipped(query: AbstractQuery, relation: Relation) -> None:
    if not isinstance(query, ClippedGradient | ClippedDifferences | ClippedUpdate):
        raise PrivacyError(
            f"{type(query).__name__} is no clipped sum, so nothing here bounds its answers and "
            "their rounding errors: bound both and use grid_release, or simulate it"
        )
    if relation is Relation.METRIC:
        raise PrivacyError(
            "relation='metric' has no secure form: its bound holds between two costs and says "
            "nothing of how large an answer may be, which a grid needs to know; use "
            "relation='replace_one' with a clip, or simulate it"
        )


def sampling_delta(epsilon: float, draws: int) -> float:
    """What imperfect sampling adds to delta: `(1 + e^epsilon) draws 2^-133`.

    Args:
        epsilon: of all releases together, at least 0.
        draws: coordinates released, over all releases.

    Example:
        >>> sampling_delta(epsilon=1.0, draws=10**9) < 1e-30
        True
    """
    return (1.0 + math.exp(epsilon)) * draws * STATISTICAL_DISTANCE
