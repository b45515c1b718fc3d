"""What releases cost at a distance, and what is refused."""

import math

import pytest

from tacit.errors import PrivacyError, UnsupportedEvent
from tacit.privacy import epsilon
from tacit.privacy.adjacency import at_distance
from tacit.privacy.event import (
    DiscreteGaussianRelease,
    Event,
    GaussianRelease,
    LaplaceRelease,
    NonPrivate,
    NoRelease,
    PoissonSampled,
    Repeated,
)
from tacit.privacy.mechanism import gaussian
from tacit.privacy.noise.release import on_grid
from tacit.privacy.sensitivity import ClippedGradient
from tacit.types import PublicContext, Relation, Unit


@pytest.mark.parametrize("distance", [0.25, 1.0, 3.0])
def test_pure_epsilon_is_proportional_to_the_distance(distance: float) -> None:
    spent = Repeated(LaplaceRelease(50.0), 10)
    assert epsilon([at_distance(spent, distance)], 0.0) == pytest.approx(0.2 * distance)


def test_gaussian_noise_protects_that_many_times_less() -> None:
    assert at_distance(GaussianRelease(6.0), 3.0) == GaussianRelease(2.0)
    # mu = 3/6 at distance 3: the same as mu = 1/2 between neighbours
    far = epsilon([at_distance(GaussianRelease(6.0), 3.0)], 1e-6)
    assert far == pytest.approx(epsilon([GaussianRelease(2.0)], 1e-6))


@pytest.mark.parametrize("event", [NoRelease(), NonPrivate()])
def test_nothing_and_everything_stay_what_they_are(event: Event) -> None:
    assert at_distance(event, 5.0) == event


@pytest.mark.parametrize(
    "event", [PoissonSampled(0.1, GaussianRelease(2.0)), DiscreteGaussianRelease(2.0)]
)
def test_without_a_proved_rule_there_is_no_answer(event: Event) -> None:
    with pytest.raises(UnsupportedEvent, match="no rule for inputs at a distance of 2"):
        at_distance(Repeated(event, 3), 2.0)


@pytest.mark.parametrize("distance", [0.0, -1.0, math.nan])
def test_a_distance_is_positive(distance: float) -> None:
    with pytest.raises(PrivacyError, match=r"distance=.* must be positive"):
        at_distance(GaussianRelease(1.0), distance)


def test_a_grid_cannot_be_made_for_a_distance() -> None:
    query = ClippedGradient(lambda state: state, math.inf)
    whole = PublicContext(0, 2, 0, 1, 1, 1.0, Unit.AGENT, 1, 1)
    with pytest.raises(PrivacyError, match="relation='metric' has no secure form"):
        on_grid(gaussian(2.0), query, whole, Relation.METRIC)
