"""The mechanism of a masked sum: what it costs, against whom, and what it refuses."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from tacit.errors import PrivacyError
from tacit.privacy import accounting, masks
from tacit.privacy.adjacency import at_distance
from tacit.privacy.budget import Privacy
from tacit.privacy.event import (
    DiscreteGaussianRelease,
    GaussianRelease,
    Masked,
    NonPrivate,
    PoissonSampled,
    Repeated,
    on_grid,
)
from tacit.privacy.laws import NoiseKind
from tacit.privacy.masked import Masks, SecureSum
from tacit.privacy.mechanism import Mechanism, gaussian
from tacit.privacy.sensitivity import ClippedGradient
from tacit.types import Combine, PublicContext, Relation, Unit


def masked(noise_multiplier: float, masks: Masks) -> Mechanism:
    return replace(gaussian(noise_multiplier), hides=SecureSum(masks))


def context(agents: int = 10, count: int = 100) -> PublicContext:
    return PublicContext(0, agents, 0, 5, count, float(count), Unit.RECORD, 1, 5)


QUERY = ClippedGradient(lambda state: state.x, 1.0)


@pytest.mark.parametrize("coalition", [0, 1, 2, 8])
def test_a_sum_costs_what_the_general_accountant_says(coalition: int) -> None:
    event = masked(2.0, Masks(coalition)).event(QUERY, context(), Relation.REPLACE_ONE)
    assert isinstance(event, Masked) and isinstance(event.event, GaussianRelease)
    learned = masks.worst_masked_mu(~np.eye(10, dtype=bool), coalition)
    assert event.event.noise_multiplier == pytest.approx(2.0 / learned, rel=1e-12)
    assert (event.coalition, event.cohort) == (coalition, 10)


def test_masks_that_count_for_themselves_are_refused() -> None:
    class Many(Masks):  # pyright: ignore[reportGeneralTypeIssues] - final, which Python lets pass
        def cohort(self, agents: int) -> int:
            return 10**6

    with pytest.raises(PrivacyError, match="masks=Many"):
        SecureSum(Many())
    budget = Privacy(clip=1.0, noise_multiplier=1.0, masks=Many())
    with pytest.raises(PrivacyError, match="masks=Many"):
        budget.mechanism  # noqa: B018 - a property that raises


def test_absent_agents_hide_nobody() -> None:
    event = masked(2.0, Masks(1, 8)).event(QUERY, context(), Relation.REPLACE_ONE)
    learned = masks.worst_masked_mu(~np.eye(10, dtype=bool), 1, absent=2)
    assert isinstance(event, Masked) and isinstance(event.event, GaussianRelease)
    assert event.event.noise_multiplier == pytest.approx(2.0 / learned, rel=1e-12)
    assert (event.coalition, event.cohort) == (1, 8)


def test_the_noise_of_an_agent_is_its_own_multiplier() -> None:
    own = masked(2.0, Masks()).scale(QUERY, context(), Relation.REPLACE_ONE)
    assert own == 2.0 * 2.0 / 100


def test_without_noise_nothing_is_hidden_from_who_knows_the_sum() -> None:
    none = masked(0.0, Masks()).event(QUERY, context(), Relation.REPLACE_ONE)
    assert none == NonPrivate()


def test_a_sample_of_the_records_stays_a_sample() -> None:
    query = ClippedGradient(lambda state: state.x, 1.0, rate=0.5)
    event = masked(2.0, Masks()).event(query, context(), Relation.ADD_REMOVE)
    assert event == Masked(PoissonSampled(0.5, GaussianRelease(6.0)), 1, 10)


def test_accountants_grids_and_distances_look_through_the_masks() -> None:
    event = Masked(GaussianRelease(6.0), 1, 10)
    assert accounting.epsilon([Repeated(event, 4)], 1e-6) == accounting.epsilon(
        [Repeated(GaussianRelease(6.0), 4)], 1e-6
    )
    assert on_grid(event) == Masked(DiscreteGaussianRelease(6.0), 1, 10)
    assert at_distance(event, 2) == Masked(GaussianRelease(3.0), 1, 10)


def test_all_agents_get_the_largest_noise_that_one_needs() -> None:
    multipliers, scales = np.array([1.0, 2.0, 1.0]), np.array([3.0, 1.0, 0.5])
    level = SecureSum().level(multipliers, scales)
    assert level[0] == 1.0  # to the bit, where nothing is raised
    np.testing.assert_allclose(level * scales, 3.0, rtol=1e-15)
    assert (level * scales >= 3.0).all() and (level >= multipliers).all()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"coalition": -1}, "coalition=-1 must be a whole number from 0"),
        ({"min_cohort": 1, "coalition": 0}, "min_cohort=1 must be a whole number from 2"),
        ({"attempts": 0}, "attempts=0"),
        ({"coalition": 3, "min_cohort": 3}, "min_cohort=3 must be above coalition=3"),
    ],
)
def test_impossible_terms_are_refused(given: dict[str, int], told: str) -> None:
    with pytest.raises(PrivacyError, match=told):
        Masks(**given)


def test_more_corrupted_than_there_are_is_refused() -> None:
    with pytest.raises(PrivacyError, match="leaves nobody who is honest"):
        Masks(coalition=3).cohort(3)
    with pytest.raises(PrivacyError, match="a sum of 1 agent hides nobody"):
        Masks(coalition=0).cohort(1)
    with pytest.raises(PrivacyError, match="min_cohort=9, and there are 8"):
        Masks(min_cohort=9).cohort(8)


def test_masks_go_with_gaussian_noise_and_one_site_a_person() -> None:
    with pytest.raises(PrivacyError, match="does not go with masks"):
        Privacy(clip=1.0, epsilon=1.0, noise=NoiseKind.LAPLACE, masks=Masks())
    with pytest.raises(PrivacyError, match="sites_per_person=2 does not go with masks"):
        Privacy(clip=1.0, epsilon=1.0, sites_per_person=2, masks=Masks())
    assert Privacy(clip=1.0, epsilon=1.0, masks=Masks()).combine is Combine.SUM
    assert Privacy(clip=1.0, epsilon=1.0).combine is Combine.EACH


def test_what_a_sum_hides_grows_with_the_root_of_the_honest() -> None:
    def mu(coalition: int) -> float:
        event = masked(1.0, Masks(coalition)).event(QUERY, context(), Relation.REPLACE_ONE)
        assert isinstance(event, Masked) and isinstance(event.event, GaussianRelease)
        return 1.0 / event.event.noise_multiplier

    assert mu(1) == pytest.approx(1.0 / 3.0)
    assert mu(9) == 1.0  # one honest agent has its own noise and no more
    assert mu(0) == pytest.approx(1.0 / math.sqrt(10))


@pytest.mark.parametrize(("coalition", "cohort"), [(5, 2), (2, 2), (0, 0)])
def test_a_sum_has_an_agent_outside_the_coalition(coalition: int, cohort: int) -> None:
    with pytest.raises(PrivacyError, match=f"coalition={coalition} must be below cohort={cohort}"):
        Masked(GaussianRelease(1.0), coalition, cohort)
