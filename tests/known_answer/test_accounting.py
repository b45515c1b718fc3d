"""Epsilons that two independent sources agree on."""

import math

import pytest

from tacit.privacy import accounting
from tacit.privacy.calibration import noise_multiplier
from tacit.privacy.event import Event, GaussianRelease, LaplaceRelease, PoissonSampled, Repeated

SAMPLED = PoissonSampled(0.01, GaussianRelease(1.0))


def decaying(rounds: int) -> list[Event]:
    """Laplace releases of epsilon 0.1, 0.09, 0.081, ..."""
    return [LaplaceRelease(10.0 / 0.9**t) for t in range(rounds)]


@pytest.mark.parametrize(
    ("noise", "count", "delta", "expected"),
    [
        (1.0, 1, 1e-5, 4.37717810),
        (1.0, 1000, 1e-5, 633.929851),
        (100.0, 20_000, 1e-5, 6.57297007),
        (200.0, 20_000, 1e-6, 3.3076007),
    ],
)
def test_gaussian_releases_compose_exactly(
    noise: float, count: int, delta: float, expected: float
) -> None:
    spent = accounting.epsilon([Repeated(GaussianRelease(noise), count)], delta)
    assert spent == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(
    ("events", "delta", "expected"),
    [
        ([Repeated(LaplaceRelease(10.0), 100)], 1e-6, 4.692668),
        ([Repeated(LaplaceRelease(1.0), 10)], 1e-6, 9.998978),
        ([Repeated(LaplaceRelease(100.0), 20_000)], 1e-6, 7.271031),
        ([Repeated(LaplaceRelease(200.0), 20_000)], 1e-6, 3.304212),
        ([Repeated(LaplaceRelease(1000.0), 20_000)], 1e-6, 0.5749127),
        (decaying(20), 1e-6, 0.787356),
        (decaying(30), 1e-6, 0.799097),
        (
            [Repeated(LaplaceRelease(20.0), 100), Repeated(GaussianRelease(50.0), 100)],
            1e-6,
            2.394432,
        ),
        ([Repeated(SAMPLED, 1000)], 1e-5, 1.828244),
        ([Repeated(SAMPLED, 20_000)], 1e-5, 9.267541),
    ],
)
def test_other_releases_compose_within_a_thousandth_and_never_below(
    events: list[Event], delta: float, expected: float
) -> None:
    spent = accounting.epsilon(events, delta)
    assert expected * (1 - 1e-6) <= spent <= expected * (1 + 1e-3)


@pytest.mark.parametrize(("rounds", "total"), [(20, 0.878423), (30, 0.957609)])
def test_pure_epsilons_add_up(rounds: int, total: float) -> None:
    assert accounting.epsilon(decaying(rounds), 0.0) == pytest.approx(total, abs=5e-7)


def test_delta_of_many_laplace_releases() -> None:
    spent = accounting.delta([Repeated(LaplaceRelease(10.0), 100)], 1.0)
    assert spent == pytest.approx(0.1212518, rel=1e-3)


@pytest.mark.parametrize("noise", [0.5, 1.0, 10.0])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.7, 0.9])
def test_delta_of_one_laplace_release(noise: float, share: float) -> None:
    pure = 1.0 / noise
    exact = 1.0 - math.exp((share - 1.0) * pure / 2.0)
    spent = accounting.delta([LaplaceRelease(noise)], share * pure)
    assert exact * (1 - 1e-9) <= spent <= exact * (1 + 1e-3)


def test_one_small_laplace_release_costs_no_more_than_its_pure_epsilon() -> None:
    # Renyi orders alone would charge 0.1051.
    assert accounting.epsilon([LaplaceRelease(10.0)], 1e-6) <= 0.1


def test_noise_for_a_budget_of_one() -> None:
    noise = noise_multiplier(1.0, 1e-6, lambda z: [Repeated(GaussianRelease(z), 20_000)])
    assert noise == pytest.approx(597.459818, rel=1e-9)
