"""Noise from a budget: closed form, search and impossible budgets."""

import math
from collections.abc import Callable
from typing import Any

import pytest

from tacit.errors import PrivacyError
from tacit.privacy import accounting
from tacit.privacy.calibration import affordable_rounds, noise_multiplier
from tacit.privacy.event import (
    DiscreteGaussianRelease,
    DiscreteLaplaceRelease,
    Event,
    GaussianRelease,
    LaplaceRelease,
    ModelClaim,
    NonPrivate,
    PoissonSampled,
    Repeated,
)


def test_no_noise_for_an_infinite_budget_or_an_empty_run() -> None:
    assert noise_multiplier(math.inf, 1e-6, lambda z: [GaussianRelease(z)]) == 0.0
    assert noise_multiplier(1.0, 1e-6, lambda z: []) == 0.0


def test_a_pure_budget_gives_the_sum() -> None:
    noise = noise_multiplier(2.0, 0.0, lambda z: [Repeated(LaplaceRelease(z), 100)])
    assert 50.0 <= noise <= 50.0001


@pytest.mark.parametrize(
    "event",
    [
        lambda z: Repeated(LaplaceRelease(z), 20_000),
        lambda z: Repeated(PoissonSampled(0.1, GaussianRelease(z)), 50),
        lambda z: ModelClaim(Repeated(GaussianRelease(z), 30), "theorem", "assumption", "reason"),
    ],
)
def test_the_smallest_noise_within_the_budget(event: Callable[[float], Event]) -> None:
    def released(noise: float) -> list[Event]:
        return [event(noise)]

    noise = noise_multiplier(1.0, 1e-6, released)
    assert accounting.epsilon(released(noise), 1e-6) <= 1.0
    assert accounting.epsilon(released(noise * (1 - 1e-4)), 1e-6) > 1.0


def test_noise_that_does_not_scale_with_the_multiplier_is_searched_for() -> None:
    def released(noise: float) -> list[Event]:
        return [GaussianRelease(noise), GaussianRelease(20.0)]

    noise = noise_multiplier(1.0, 1e-6, released)
    assert 1.0 * (1 - 1e-4) < accounting.epsilon(released(noise), 1e-6) <= 1.0


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan])
def test_a_budget_must_be_positive(epsilon: float) -> None:
    with pytest.raises(PrivacyError, match=f"epsilon={epsilon!r} must be positive"):
        noise_multiplier(epsilon, 1e-6, lambda z: [GaussianRelease(z)])


def test_a_delta_that_is_too_small_is_refused() -> None:
    with pytest.raises(PrivacyError, match="delta=1e-15"):
        noise_multiplier(1.0, 1e-15, lambda z: [GaussianRelease(z)])


@pytest.mark.parametrize(
    ("delta", "event"),
    [
        (0.0, GaussianRelease),
        (1e-6, lambda z: NonPrivate()),
        (1e-6, lambda z: LaplaceRelease(0.5)),
    ],
)
def test_a_budget_that_no_noise_can_meet(delta: float, event: Callable[[float], Event]) -> None:
    with pytest.raises(PrivacyError, match="no noise meets epsilon=1"):
        noise_multiplier(1.0, delta, lambda z: [event(z)])


@pytest.mark.parametrize(
    "event",
    [
        GaussianRelease(30.0),
        LaplaceRelease(30.0),
        DiscreteLaplaceRelease(30.0),
        DiscreteGaussianRelease(30.0),
        PoissonSampled(0.1, GaussianRelease(3.0)),
        ModelClaim(LaplaceRelease(10.0), "theorem", "assumption", "reason"),
    ],
)
def test_one_round_more_than_affordable_exceeds_the_budget(event: Event) -> None:
    rounds = affordable_rounds(1.0, 1e-6, lambda n: [Repeated(event, n)])
    assert accounting.epsilon([Repeated(event, rounds)], 1e-6) <= 1.0
    assert accounting.epsilon([Repeated(event, rounds + 1)], 1e-6) > 1.0


def test_a_pure_budget_affords_its_quotient() -> None:
    assert affordable_rounds(1.0, 0.0, lambda n: [Repeated(LaplaceRelease(8.0), n)]) == 8


def test_noise_rounds_and_epsilon_follow_from_one_another() -> None:
    noise = noise_multiplier(1.5, 1e-6, lambda z: [Repeated(GaussianRelease(z), 137)])
    assert affordable_rounds(1.5, 1e-6, lambda n: [Repeated(GaussianRelease(noise), n)]) == 137


def test_a_round_may_be_out_of_reach() -> None:
    assert affordable_rounds(1.0, 1e-6, lambda n: [Repeated(GaussianRelease(0.1), n)]) == 0
    assert affordable_rounds(1.0, 1e-6, lambda n: [Repeated(NonPrivate(), n)]) == 0


def test_rounds_without_a_limit_are_not_counted() -> None:
    with pytest.raises(PrivacyError, match="no limit worth stating"):
        affordable_rounds(1.0, 1e-6, lambda n: [])
    with pytest.raises(PrivacyError, match="no limit worth stating"):
        affordable_rounds(math.inf, 1e-6, lambda n: [Repeated(GaussianRelease(1.0), n)])


def test_many_rounds_are_found_to_a_millionth() -> None:
    rounds = affordable_rounds(1.0, 1e-6, lambda n: [Repeated(GaussianRelease(1e5), n)])
    exact = (1e5 / 597.459818) ** 2 * 20_000  # the known noise for 20,000 rounds
    assert exact * (1 - 2e-6) <= rounds <= exact * (1 + 1e-8)


@pytest.mark.parametrize("calibrated", [noise_multiplier, affordable_rounds])
@pytest.mark.parametrize(
    ("events_at", "told"),
    [
        (
            lambda: [],
            r"events_at\(1\) takes \(\), and is called with \((noise_multiplier|rounds)\);",
        ),
        (lambda number: None, r"events_at\(1\) gives None; give the events .* lambda \w+: \["),
        (lambda number: GaussianRelease(1.0), "gives a GaussianRelease; give the events"),
    ],
)
def test_a_function_that_gives_no_events_is_told_what_to_give(
    calibrated: Callable[..., Any], events_at: Any, told: str
) -> None:
    with pytest.raises(PrivacyError, match=told):
        calibrated(1.0, 1e-6, events_at)
