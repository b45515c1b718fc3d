"""Neighbours further apart than one step: the privacy cost of a release at a distance.

A query moves by at most `D` between neighbours. Between inputs at distance `d` (a group of `d`
records, or two cost functions whose gradients differ by at most `d`) it moves by at most `d D`, and
noise made for `D` protects `d` times less. Proofs: docs/proofs/person.md and docs/proofs/metric.md.
"""

from __future__ import annotations

from tacit.arguments import checked
from tacit.errors import PrivacyError, UnsupportedEvent
from tacit.privacy.event import (
    Event,
    GaussianRelease,
    LaplaceRelease,
    Masked,
    NonPrivate,
    NoRelease,
    Repeated,
)
from tacit.ranges import Real


@checked(PrivacyError)
def at_distance(event: Event, distance: Real) -> Event:
    """The event between two inputs `distance` times as far apart as neighbours are.

    Gaussian noise then costs `distance` times the mu, Laplace noise `distance` times the epsilon.

    Args:
        event: the release, as it is accounted between neighbours.
        distance: distance between the inputs, positive; a whole number for a group of records.

    Raises:
        PrivacyError: a distance that is not positive.
        UnsupportedEvent: a release for which no such rule is proved here, such as a sampled one.

    Example:
        >>> at_distance(Repeated(LaplaceRelease(noise_multiplier=10.0), count=5), distance=2.0)
        Repeated(event=LaplaceRelease(noise_multiplier=5.0), count=5)
    """
    if not distance > 0.0:
        raise PrivacyError(f"distance={distance!r} must be positive")
    match event:
        case GaussianRelease(z):
            return GaussianRelease(z / distance)
        case LaplaceRelease(z):
            return LaplaceRelease(z / distance)
        case Repeated(inner, count):
            return Repeated(at_distance(inner, distance), count)
        case Masked(inner, coalition, cohort):
            return Masked(at_distance(inner, distance), coalition, cohort)
        case NoRelease() | NonPrivate():
            return event
        case _:
            raise UnsupportedEvent(
                f"{type(event).__name__}: no rule for inputs at a distance of {distance:g} is "
                "proved here; use Gaussian or Laplace noise on all records (sampling=1)"
            )
