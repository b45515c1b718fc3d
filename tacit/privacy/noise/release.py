"""A release on a grid (round, add discrete noise, scale back) and its event."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, TypeAlias

import numpy as np

from tacit.arguments import checked
from tacit.arguments.own import is_own
from tacit.errors import PrivacyError
from tacit.privacy.event import (
    DiscreteGaussianRelease,
    DiscreteLaplaceRelease,
    Event,
    NonPrivate,
    PoissonSampled,
)
from tacit.privacy.hiding import ALONE
from tacit.privacy.laws import NoiseKind
from tacit.privacy.mechanism import Mechanism
from tacit.privacy.noise.grid import Grid
from tacit.privacy.noise.source import AbstractNoise, law_on_grid
from tacit.privacy.query import AbstractQuery
from tacit.privacy.rounding import DOUBLE
from tacit.ranges import Listed, Range, Whole
from tacit.types import PublicContext, Relation

STATISTICAL_DISTANCE = 2.0**-133
"""Largest total variation between the law of one coordinate's noise and the exact law."""

_Epsilon: TypeAlias = Annotated[float, Range(least=0.0, most=700.0, axes=0)]
"""Beyond it a float no longer holds its exponential."""


@dataclass(frozen=True)
class GridRelease:
    """One kind of release, fixed by public constants before any data are seen.

    Attributes:
        law: law of the noise.
        grid: grid to which values are rounded.
        scale: scale of the noise, in steps.
        event: event of one release.
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

    def __call__(self, value: Listed, noise: AbstractNoise) -> np.ndarray:
        """The release, float64 of the shape of `value`; every entry is a grid point.

        Args:
            value: the private answer, any shape with the grid's number of entries.
            noise: source of the noise.

        Raises:
            PrivacyError: a value that the grid was not made for; nothing is then released.
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


@checked(PrivacyError, own="law noise_multiplier")
def grid_release(
    law: NoiseKind | str,
    noise_multiplier: float,
    sensitivity: float,
    dimension: int,
    largest: float,
    roundoff: float = DOUBLE,
) -> GridRelease:
    """A release with a given noise multiplier.

    The noise grows by as much as rounding adds to the sensitivity, usually a millionth.

    Args:
        law: "gaussian" (sensitivity in the l2 norm) or "laplace" (in the l1 norm).
        noise_multiplier: noise scale over sensitivity, positive.
        sensitivity: sensitivity of the computed value, including `sum_error`; positive.
        dimension: number of coordinates.
        largest: public bound on the size of every coordinate, positive.
        roundoff: unit roundoff of the arithmetic that `sensitivity` allows for.

    Raises:
        PrivacyError: an argument out of range, a law that has no form on a grid, or no grid that
            fits (the message says why).
    """
    law = law_on_grid(law)
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
    mechanism: Mechanism,
    query: AbstractQuery,
    public: PublicContext,
    relation: Relation,
    *,
    most_records: int | None = None,
    roundoff: float = DOUBLE,
) -> GridRelease:
    """The release on a grid that implements a Gaussian or Laplace mechanism on real numbers.

    Its event is the discrete one with the same noise multiplier. The sensitivity is the query's,
    plus what the rounding errors in its answer may add.

    Args:
        mechanism: proved mechanism with Gaussian or Laplace noise.
        query: one of tacit's queries whose computed answers have a bound
            (`AbstractQuery.computed`).
        public: declared constants of the owner; `dimension` among them.
        relation: adjacency of the data sets.
        most_records: public bound on the number of records, as for `AbstractQuery.computed`.
        roundoff: unit roundoff of the arithmetic of the query.

    Raises:
        PrivacyError: a mechanism that adds no noise to the answer or also changes the objective
            (discrete noise does not protect that), a query whose computed answers have no bound, no
            `dimension`, or no grid that fits.
    """
    if not is_own(type(query)):
        raise PrivacyError(
            f"{type(query).__name__} has no secure form: nothing proves that the answers of a "
            "query that is not tacit's keep the bound that it states. If you have a proof, give "
            "grid_release the bound; or simulate it"
        )
    computed = query.computed(public, relation, most_records, roundoff)
    assert public.dimension is not None  # no answer is bounded without it
    law, dose = mechanism.law, mechanism.dose
    alone = mechanism.hides is ALONE and mechanism.claim is None and not mechanism.varying
    if law is None or dose is None or not alone:
        raise PrivacyError(
            f"{mechanism.name} has no secure form: only Gaussian or Laplace noise of one scale, "
            "which is added to a query's answer and proved, is drawn on a grid. Choose a method "
            "with such a release, or simulate it."
        )
    law_on_grid(law.kind)
    event = mechanism.event(query, public, relation)
    multiplier = dose.multiplier(query, public, relation)
    if isinstance(event, NonPrivate):
        raise PrivacyError(
            f"noise_multiplier=0 for agent {public.agent} releases its answer without noise; "
            "give a positive noise multiplier"
        )
    release = grid_release(
        law.kind,
        multiplier,
        computed.sensitivity,
        query.size(public.dimension),
        largest=computed.largest,
        roundoff=roundoff,
    )
    if not isinstance(event, PoissonSampled):
        return release
    sampled = PoissonSampled(event.rate, release.event)
    return GridRelease(release.law, release.grid, release.scale, sampled, roundoff)


@checked(PrivacyError)
def sampling_delta(epsilon: _Epsilon, draws: Whole) -> float:
    """What imperfect sampling adds to delta: `(1 + e^epsilon) draws 2^-133`.

    Args:
        epsilon: epsilon of all releases together, in [0, 700].
        draws: number of coordinates released, over all releases, at least 0.

    Raises:
        PrivacyError: a number out of range.

    Example:
        >>> sampling_delta(epsilon=1.0, draws=10**9) < 1e-30
        True
    """
    return (1.0 + math.exp(epsilon)) * draws * STATISTICAL_DISTANCE
