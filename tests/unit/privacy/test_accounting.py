"""The accountant's interface: grouping, refusals, curves."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tacit.errors import PrivacyError, UnsupportedEvent
from tacit.privacy import accounting, loss_distribution
from tacit.privacy.event import (
    DiscreteGaussianRelease,
    DiscreteLaplaceRelease,
    Event,
    GaussianRelease,
    LaplaceRelease,
    Masked,
    ModelClaim,
    NonPrivate,
    NoRelease,
    PoissonSampled,
    Repeated,
)
from tacit.privacy.tally import Tally


def test_numbers_are_no_events() -> None:
    numbers: Any = [1, 2]
    with pytest.raises(PrivacyError, match=r"events\[0\] is 1; give an event, such as .*Gaussian"):
        accounting.epsilon(numbers, 1e-5)


def test_nothing_released_costs_nothing() -> None:
    assert accounting.epsilon([], 1e-6) == 0.0
    assert accounting.epsilon([NoRelease(), Repeated(GaussianRelease(1.0), 0)], 1e-6) == 0.0
    assert accounting.delta([], 0.0) == 0.0


def test_an_unprotected_release_costs_everything() -> None:
    exposed = [Repeated(NonPrivate(), 3), GaussianRelease(1.0)]
    assert accounting.epsilon(exposed, 1e-6) == math.inf
    assert accounting.quick_epsilon(exposed, 1e-6) == math.inf
    assert accounting.delta(exposed, 100.0) == 1.0
    assert accounting.epsilon([GaussianRelease(0.0)], 1e-6) == math.inf


def test_repetition_nests_and_equals_listing() -> None:
    nested = [Repeated(Repeated(GaussianRelease(10.0), 4), 5)]
    assert Tally.of(nested) == Tally.of([GaussianRelease(10.0)] * 20)


def test_trivial_sampling_is_resolved() -> None:
    full = Tally.of([PoissonSampled(1.0, GaussianRelease(2.0))])
    assert full == Tally.of([GaussianRelease(2.0)])
    assert Tally.of([PoissonSampled(0.0, GaussianRelease(2.0))]).empty
    assert Tally.of([LaplaceRelease(math.inf)]).empty
    assert Tally.of([PoissonSampled(0.5, NonPrivate())]).exposed


def test_a_gaussian_release_has_no_pure_epsilon() -> None:
    assert accounting.epsilon([GaussianRelease(100.0)], 0.0) == math.inf


KINDS = [GaussianRelease, LaplaceRelease, DiscreteGaussianRelease, DiscreteLaplaceRelease]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("noise", [1e-300, 1e-80, 1e71, 1e160, 1e308])
def test_noise_of_any_size_has_a_price(kind: Any, noise: float) -> None:
    for event in (kind(noise), PoissonSampled(0.1, kind(noise))):
        spent = accounting.epsilon([Repeated(event, 5)], 1e-6)
        # more noise than counts costs what so much costs
        assert spent == math.inf if noise < 1.0 else 0.0 <= spent < 0.02
        assert accounting.delta([event], 1.0) == (1.0 if noise < 1.0 else 0.0)
    pure = accounting.epsilon([LaplaceRelease(noise)], 0.0)
    assert pure == math.inf if noise < 1.0 else 0.0 < pure <= 1e-70


@pytest.mark.not_quick
@pytest.mark.parametrize(
    "event",
    [
        LaplaceRelease(1e5),
        pytest.param(PoissonSampled(1e-300, LaplaceRelease(1e-5)), marks=pytest.mark.slow),
        pytest.param(PoissonSampled(0.5, GaussianRelease(1e5)), marks=pytest.mark.slow),
    ],
    ids=repr,
)
def test_no_number_of_releases_is_too_long_for_the_grid(event: Event) -> None:
    spent = accounting.epsilon([Repeated(event, 2**40)], 1e-6)
    assert spent <= min(accounting.quick_epsilon([Repeated(event, 2**40)], 1e-6), 1e7)


def test_more_releases_than_anybody_makes_are_refused() -> None:
    for count in (2**60, 10**299):
        with pytest.raises(PrivacyError, match="count must be from 0"):
            accounting.epsilon([Repeated(GaussianRelease(1.0), count)], 1e-6)
    with pytest.raises(PrivacyError, match="count=a number of more than 300 digits"):
        Repeated(GaussianRelease(1.0), 10**400)


@pytest.mark.parametrize("event", [GaussianRelease(50.0), LaplaceRelease(300.0)], ids=repr)
def test_what_grows_is_charged_as_its_events_one_by_one(event: Event) -> None:
    at = [0, 3, 40, 100]
    one_by_one = accounting.epsilon_curve([event] * 100, at, 1e-6)
    together = accounting.growing_epsilon([[Repeated(event, n)] for n in at], 1e-6)
    np.testing.assert_allclose(together, one_by_one, rtol=1e-12)
    assert accounting.growing_epsilon([], 1e-6).shape == (0,)


def test_sampling_amplifies_a_pure_epsilon() -> None:
    amplified = accounting.epsilon([PoissonSampled(0.1, LaplaceRelease(1.0))], 0.0)
    assert amplified == pytest.approx(math.log1p(0.1 * math.expm1(1.0)))


def test_a_model_claim_costs_what_it_amounts_to() -> None:
    claim = ModelClaim(GaussianRelease(5.0), "paper", "normality", "it is assumed")
    assert accounting.epsilon([claim], 1e-6) == accounting.epsilon([GaussianRelease(5.0)], 1e-6)


@pytest.mark.parametrize("delta", [-1e-6, 1e-13, 1.0, 2.0, math.nan])
def test_delta_out_of_range_is_refused(delta: float) -> None:
    with pytest.raises(PrivacyError, match=f"delta={delta!r}"):
        accounting.epsilon([GaussianRelease(1.0)], delta)


@pytest.mark.parametrize("epsilon", [-0.1, math.nan])
def test_epsilon_out_of_range_is_refused(epsilon: float) -> None:
    with pytest.raises(PrivacyError, match=f"epsilon={epsilon!r}"):
        accounting.delta([GaussianRelease(1.0)], epsilon)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        *(
            (lambda kind=kind: kind(-1.0), "noise_multiplier=-1.0 must be at least 0")
            for kind in (
                GaussianRelease,
                LaplaceRelease,
                DiscreteGaussianRelease,
                DiscreteLaplaceRelease,
            )
        ),
        (lambda: PoissonSampled(1.5, GaussianRelease(1.0)), r"rate=1.5 must be in \[0, 1\]"),
        (lambda: PoissonSampled(-0.5, GaussianRelease(1.0)), r"rate=-0.5 must be in \[0, 1\]"),
        (lambda: Repeated(GaussianRelease(1.0), -1), "count=-1 must be at least 0"),
        (lambda: Masked(GaussianRelease(1.0), -1, 3), "coalition=-1 must be at least 0"),
    ],
)
def test_an_event_out_of_range_is_refused_when_it_is_made(
    make: Callable[[], Event], said: str
) -> None:
    with pytest.raises(PrivacyError, match=said):
        make()


def test_more_releases_than_are_counted_are_refused() -> None:
    with pytest.raises(PrivacyError, match=r"2\^48 releases in all"):
        accounting.epsilon([Repeated(GaussianRelease(1.0), 2**48 + 1)], 1e-6)


def test_noise_that_is_no_number_is_refused_where_it_is_said() -> None:
    with pytest.raises(PrivacyError, match="noise_multiplier=nan must be a number"):
        LaplaceRelease(math.nan)


class Unheard(Event):
    """An event that no accountant knows."""


@pytest.mark.parametrize(
    "event", [Unheard(), PoissonSampled(0.5, Repeated(GaussianRelease(1.0), 2))]
)
def test_an_event_without_a_rule_is_refused(event: Event) -> None:
    with pytest.raises(UnsupportedEvent, match="no proved rule"):
        accounting.epsilon([event], 1e-6)


def test_loss_distributions_refuse_what_they_do_not_know() -> None:
    with pytest.raises(UnsupportedEvent, match="NonPrivate"):
        loss_distribution.bucketed({NonPrivate(): 1})


def test_grouping_scales_is_conservative_and_close() -> None:
    scales = np.linspace(100.0, 200.0, 200)
    grouped = loss_distribution.bucketed({LaplaceRelease(z): 1 for z in scales})
    assert len(grouped) < 100
    assert sum(grouped.values()) == 200
    exact = [Repeated(LaplaceRelease(float(z)), 1) for z in scales[::4]]
    few = accounting.epsilon(exact, 1e-6)  # 50 distinct ones: not grouped
    rounded = [LaplaceRelease(float(z) / 1.01) for z in scales[::4]]
    assert few < accounting.epsilon(rounded, 1e-6) < few * 1.02
    originals = sorted(z for z in scales)
    lowered = sorted(
        event.noise_multiplier
        for event, count in grouped.items()
        if isinstance(event, LaplaceRelease)
        for _ in range(count)
    )
    assert all(b <= a <= b * 1.0100001 for a, b in zip(originals, lowered, strict=True))


def test_many_distinct_scales_cost_about_the_same_as_their_mean_square() -> None:
    # Near 1000 releases of noise 500 to 550 behave like Gaussians of the same variance.
    events = [LaplaceRelease(500.0 + i / 20) for i in range(1000)]
    spent = accounting.epsilon(events, 1e-6)
    least = accounting.epsilon([Repeated(LaplaceRelease(550.0), 1000)], 1e-6)
    most = accounting.epsilon([Repeated(LaplaceRelease(500.0), 1000)], 1e-6)
    assert least < spent < most


def test_sampled_laplace_costs_less_than_its_sum() -> None:
    events = [Repeated(PoissonSampled(0.1, LaplaceRelease(2.0)), 100)]
    assert 0.0 < accounting.epsilon(events, 1e-6) < accounting.epsilon(events, 0.0)


@pytest.mark.parametrize(
    "event",
    [
        DiscreteLaplaceRelease(10.0),
        DiscreteGaussianRelease(10.0),
        PoissonSampled(0.1, DiscreteLaplaceRelease(2.0)),
        PoissonSampled(0.1, DiscreteGaussianRelease(2.0)),
    ],
)
def test_discrete_noise_is_accounted_at_least_as_dear_as_continuous(event: Event) -> None:
    inner: Any = event.event if isinstance(event, PoissonSampled) else event
    kinds = {DiscreteLaplaceRelease: LaplaceRelease, DiscreteGaussianRelease: GaussianRelease}
    plain: Event = kinds[type(inner)](inner.noise_multiplier)
    if isinstance(event, PoissonSampled):
        plain = PoissonSampled(event.rate, plain)
    for count in (1, 50):
        discrete = accounting.epsilon([Repeated(event, count)], 1e-6)
        continuous = accounting.epsilon([Repeated(plain, count)], 1e-6)
        assert continuous * (1 - 1e-9) <= discrete <= continuous * 2.5


def test_discrete_laplace_noise_is_pure() -> None:
    events = [Repeated(DiscreteLaplaceRelease(4.0), 3)]
    assert accounting.epsilon(events, 0.0) == pytest.approx(0.75)
    assert accounting.epsilon([DiscreteLaplaceRelease(4.0)], 1e-12) <= 0.25


def test_one_pure_release_has_the_profile_of_randomised_response() -> None:
    epsilons = np.array([0.0, 0.1, 0.3, 0.5])
    # delta = (e^pure - e^epsilon) / (1 + e^pure)
    exact = (math.exp(0.5) - np.exp(epsilons)) / (1.0 + math.exp(0.5))
    found = accounting.profile([DiscreteLaplaceRelease(2.0)], epsilons)
    np.testing.assert_allclose(found, exact, rtol=1e-4, atol=1e-12)
    assert np.all(found >= exact - 1e-12)


def test_an_overwhelming_pure_loss_keeps_its_sum() -> None:
    events = [Repeated(DiscreteLaplaceRelease(1e-3), 4)]
    assert 3e3 < accounting.epsilon(events, 1e-6) <= 4e3


def test_discrete_noise_mixes_with_every_other_kind() -> None:
    continuous = [
        Repeated(GaussianRelease(40.0), 30),
        Repeated(LaplaceRelease(30.0), 30),
        Repeated(PoissonSampled(0.1, GaussianRelease(2.0)), 5),
        Repeated(PoissonSampled(0.1, LaplaceRelease(5.0)), 5),
    ]
    with_laplace = [*continuous, Repeated(DiscreteLaplaceRelease(30.0), 30)]
    with_both = [*with_laplace, Repeated(DiscreteGaussianRelease(40.0), 30)]
    sampled = [*with_both, PoissonSampled(0.1, DiscreteGaussianRelease(5.0))]
    costs = [accounting.epsilon(e, 1e-6) for e in (continuous, with_laplace, with_both, sampled)]
    assert costs == sorted(costs)
    assert costs[-1] < 10.0


def test_a_profile_agrees_with_single_answers_in_any_order() -> None:
    events: list[Event] = [Repeated(LaplaceRelease(10.0), 40), GaussianRelease(3.0)]
    asked = [2.0, 0.0, 1.0, 50.0]
    found = accounting.profile(events, asked)
    assert found.tolist() == [accounting.delta(events, epsilon) for epsilon in asked]
    assert accounting.profile([NonPrivate()], asked).tolist() == [1.0] * 4
    assert accounting.profile([], asked).tolist() == [0.0] * 4
    assert accounting.profile(events, []).shape == (0,)


@pytest.mark.parametrize("asked", [[-1.0], [math.nan], [1.0, -0.5]])
def test_a_profile_is_asked_at_epsilons_of_at_least_nothing(asked: list[float]) -> None:
    with pytest.raises(PrivacyError, match="must all be at least 0"):
        accounting.profile([GaussianRelease(1.0)], asked)


def test_owners_whose_records_are_disjoint_do_not_add_up() -> None:
    owners: list[list[Event]] = [
        [Repeated(GaussianRelease(20.0), 50)],
        [Repeated(LaplaceRelease(20.0), 10)],
        [],
    ]
    alone = [accounting.epsilon(events, 1e-6) for events in owners]
    assert accounting.parallel_epsilon(owners, 1e-6) == max(alone) > 0.0
    together = accounting.epsilon([event for events in owners for event in events], 1e-6)
    assert accounting.parallel_epsilon(owners, 1e-6) < together
    assert accounting.parallel_epsilon([], 1e-6) == 0.0
    with pytest.raises(PrivacyError, match="delta=2"):
        accounting.parallel_epsilon(owners, 2.0)


def test_the_quick_bound_is_an_upper_bound() -> None:
    events = [Repeated(LaplaceRelease(10.0), 100), GaussianRelease(3.0)]
    assert accounting.epsilon(events, 1e-6) <= accounting.quick_epsilon(events, 1e-6)


def test_tiny_losses_keep_a_finite_grid() -> None:
    spent = accounting.epsilon([Repeated(LaplaceRelease(1e6), 10)], 1e-9)
    assert 0.0 < spent <= 1.0000001e-5


def test_large_losses_keep_a_small_grid() -> None:
    spent = accounting.epsilon([Repeated(LaplaceRelease(0.01), 1000)], 1e-6)
    assert 0.9e5 < spent <= 1e5


def test_a_curve_that_is_not_gaussian_is_an_upper_bound_that_grows() -> None:
    events = [LaplaceRelease(20.0)] * 60
    at = list(range(0, 61, 2))
    curve = accounting.epsilon_curve(events, at, 1e-6)
    exact = [accounting.epsilon(events[:n], 1e-6) for n in at]
    assert np.all(np.diff(curve) >= 0.0)
    assert np.all(curve >= exact)
    assert curve[0] == 0.0
    assert curve[-1] == exact[-1]


def test_a_pure_curve_is_the_running_sum() -> None:
    curve = accounting.epsilon_curve([LaplaceRelease(10.0)] * 50, [10, 20, 50], 0.0)
    np.testing.assert_allclose(curve, [1.0, 2.0, 5.0])


def test_a_curve_without_points_is_empty() -> None:
    assert accounting.epsilon_curve([GaussianRelease(1.0)], [], 1e-6).shape == (0,)


@pytest.mark.parametrize("at", [[2, 1], [-1, 1], [0, 4]])
def test_points_of_a_curve_must_ascend_within_the_run(at: list[int]) -> None:
    with pytest.raises(PrivacyError, match="must ascend within"):
        accounting.epsilon_curve([GaussianRelease(1.0)] * 3, at, 1e-6)


def test_a_large_delta_buys_a_little_leakage_outright() -> None:
    assert accounting.epsilon([LaplaceRelease(64.0)], 0.0078125) == 0.0


@pytest.mark.parametrize("noise", [1e-320, 1e-100, 1e-6, 1e150])
@pytest.mark.parametrize(("rate", "count"), [(1.0, 3), (1e-4, 1), (0.5, 10_000)])
def test_noise_and_samples_of_any_size_have_a_price(noise: float, rate: float, count: int) -> None:
    """Audits ask for the price of all sizes of noise, a million times less or more."""
    events = [Repeated(PoissonSampled(rate, GaussianRelease(noise)), count)]
    assert accounting.epsilon(events, 1e-6) >= 0.0
    # a record is left alone at least where it takes no part; noise like none is taken for none
    seen = -math.expm1(count * math.log1p(-rate)) if noise > 1e-70 and rate < 1.0 else 1.0
    at_one = accounting.delta(events, 1.0)
    assert 0.0 <= at_one <= seen * (1.0 + 1e-9)
    assert noise > 1.0 or at_one >= seen * (1.0 - 1e-9)


def test_a_release_without_any_use_of_noise_is_counted_beside_others() -> None:
    told = PoissonSampled(1e-4, GaussianRelease(1e-6))
    noised = Repeated(PoissonSampled(0.1, GaussianRelease(2.0)), 20)
    alone, both = (accounting.delta(events, 2.0) for events in ([noised], [noised, told]))
    # the one gives the record away with probability 1e-4, and else says nothing
    assert alone + 0.99e-4 * (1.0 - alone) < both < alone + 1.02e-4


def test_a_rounding_error_of_a_loss_is_no_domain_error() -> None:
    events = [PoissonSampled(1e-9, GaussianRelease(100.0))]
    assert 0.0 <= accounting.delta(events, 1.0) < 1e-9
