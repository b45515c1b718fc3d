"""What must hold of the accountant and of calibration whatever is released.

Grids move an epsilon by at most `GRID` of itself, so nothing sharper is asked where one is used.
"""

import math
import random
from dataclasses import replace

import numpy as np
import pytest
from dp_accounting import get_epsilon_gaussian
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.privacy import accounting
from tacit.privacy.calibration import noise_multiplier
from tacit.privacy.convolution import composed
from tacit.privacy.event import (
    DiscreteGaussianRelease,
    DiscreteLaplaceRelease,
    Event,
    GaussianRelease,
    LaplaceRelease,
    PoissonSampled,
    Repeated,
)
from tacit.privacy.renyi import Renyi
from tacit.privacy.tally import Tally

GRID = 5e-4

noises = st.floats(0.3, 1e4)
deltas = st.floats(1e-11, 1e-2)
counts = st.integers(1, 10_000)
KINDS = (GaussianRelease, LaplaceRelease, DiscreteLaplaceRelease, DiscreteGaussianRelease)


@st.composite
def sequences(draw: st.DrawFn, discrete_gaussian: bool = True) -> list[Repeated]:
    """A few kinds of releases of any sort, a few dozen times each."""
    events: list[Repeated] = []
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(KINDS if discrete_gaussian else KINDS[:3]))
        noise = math.exp(draw(st.floats(0.0, 4.0)))
        event: Event = kind(noise)
        if draw(st.booleans()):
            event = PoissonSampled(draw(st.sampled_from([0.05, 0.3])), event)
        events.append(Repeated(event, draw(st.integers(1, 40))))
    return events


def noisier(event: Event, factor: float) -> Event:
    """The same releases with more noise."""
    match event:
        case Repeated(inner, count):
            return Repeated(noisier(inner, factor), count)
        case PoissonSampled(rate, inner):
            return PoissonSampled(rate, noisier(inner, factor))
        case _ if isinstance(event, KINDS):
            return replace(event, noise_multiplier=event.noise_multiplier * factor)
        case _:
            raise TypeError(f"{event} has no additive noise")


@pytest.mark.long
@settings(deadline=None, max_examples=15)
@given(sequences(), deltas, st.floats(1.1, 3.0), st.integers(2, 3))
def test_epsilon_grows_with_rounds_and_falls_with_noise_and_delta(
    events: list[Event], delta: float, factor: float, times: int
) -> None:
    spent = accounting.epsilon(events, delta)
    assert accounting.epsilon(events * times, delta) >= spent * (1 - GRID)
    assert accounting.epsilon([noisier(e, factor) for e in events], delta) <= spent * (1 + GRID)
    assert accounting.epsilon(events, min(delta * factor, 0.5)) <= spent * (1 + 1e-12)


@pytest.mark.long
@settings(deadline=None, max_examples=15)
@given(sequences(), deltas, st.randoms(use_true_random=False))
def test_the_order_of_releases_does_not_matter(
    events: list[Repeated], delta: float, shuffler: random.Random
) -> None:
    listed = [event.event for event in events for _ in range(event.count)]
    shuffler.shuffle(listed)
    assert accounting.epsilon(listed, delta) == accounting.epsilon(events, delta)


@settings(deadline=None, max_examples=20)
@given(sequences(discrete_gaussian=False), deltas)
def test_what_is_reported_is_the_least_of_sum_renyi_and_loss_distribution(
    events: list[Event], delta: float
) -> None:
    tally = Tally.of(events)
    pure = accounting.epsilon(events, 0.0)
    renyi = Renyi.of(tally).epsilon(delta)
    ways = composed(tally)
    grid = max(losses.epsilon(delta) for losses in ways)
    spent = accounting.epsilon(events, delta)
    if tally.mu is None:
        assert spent == min(pure, renyi, grid)
    else:  # exact
        assert spent <= min(pure, renyi, grid) * (1 + 1e-9)
    # near the end of what losses reach, a grid is a cell off
    assert min(grid, pure) <= renyi * (1 + GRID) + ways[0].width
    assert spent <= pure


@settings(deadline=None, max_examples=6)
@given(sequences(), deltas)
def test_delta_at_epsilon_at_delta_returns(events: list[Event], delta: float) -> None:
    spent = accounting.epsilon(events, delta)
    back = accounting.delta(events, spent)
    # Renyi bounds round-trip through one order and may come back smaller, never larger
    assert back <= delta * (1 + 1e-6)
    if back > 0.0:
        assert math.isclose(accounting.epsilon(events, max(back, 1e-12)), spent, rel_tol=1e-3)


@settings(deadline=None, max_examples=10)
@given(sequences(), st.lists(st.floats(0.0, 20.0), min_size=2, max_size=6))
def test_a_profile_falls(events: list[Event], epsilons: list[float]) -> None:
    profile = accounting.profile(events, sorted(epsilons))
    assert np.all((profile >= 0.0) & (profile <= 1.0))
    assert np.all(np.diff(profile) <= 1e-12)


@settings(deadline=None, max_examples=10)
@given(st.lists(sequences(), min_size=1, max_size=3), deltas)
def test_disjoint_owners_cost_the_dearest_of_them(owners: list[list[Event]], delta: float) -> None:
    spent = accounting.parallel_epsilon(owners, delta)
    assert spent == max(accounting.epsilon(events, delta) for events in owners)
    together = accounting.epsilon([event for events in owners for event in events], delta)
    assert spent <= together * (1 + GRID) + 1e-12


@settings(deadline=None, max_examples=50)
@given(noises, counts, deltas)
def test_gaussian_composition_agrees_with_dp_accounting(
    noise: float, count: int, delta: float
) -> None:
    ours = accounting.epsilon([Repeated(GaussianRelease(noise), count)], delta)
    with np.errstate(divide="ignore"):  # theirs takes the logarithm of 0 where epsilon is near 0
        theirs = get_epsilon_gaussian(noise / math.sqrt(count), delta)
    assert math.isclose(ours, theirs, rel_tol=1e-6, abs_tol=1e-9)


@settings(deadline=None, max_examples=50)
@given(st.lists(noises, min_size=1, max_size=6), deltas)
def test_delta_and_epsilon_of_gaussians_invert_each_other(
    scales: list[float], delta: float
) -> None:
    events = [GaussianRelease(z) for z in scales]
    spent = accounting.epsilon(events, delta)
    assert accounting.delta(events, spent) <= delta * (1 + 1e-9)
    if spent > 0.0:
        assert math.isclose(accounting.delta(events, spent), delta, rel_tol=1e-6)


@settings(deadline=None, max_examples=25)
@given(st.lists(st.floats(0.5, 100.0), min_size=1, max_size=4), counts, deltas)
def test_more_releases_never_cost_less(scales: list[float], count: int, delta: float) -> None:
    events: list[Event] = [Repeated(GaussianRelease(z), count) for z in scales]
    assert accounting.epsilon(events[:-1], delta) <= accounting.epsilon(events, delta)


@settings(max_examples=20, deadline=None)
@given(st.floats(0.5, 200.0), st.integers(1, 50), deltas)
def test_laplace_costs_at_most_the_sum_and_at_least_nothing(
    noise: float, count: int, delta: float
) -> None:
    spent = accounting.epsilon([Repeated(LaplaceRelease(noise), count)], delta)
    assert 0.0 <= spent <= count / noise * (1 + 1e-12)


@settings(deadline=None, max_examples=25)
@given(st.floats(1e-3, 50.0), deltas, counts)
def test_a_gaussian_run_never_exceeds_its_budget_and_wastes_little(
    budget: float, delta: float, count: int
) -> None:
    def released(noise: float) -> list[Event]:
        return [Repeated(GaussianRelease(noise), count)]

    noise = noise_multiplier(budget, delta, released)
    assert accounting.epsilon(released(noise), delta) <= budget
    assert accounting.epsilon(released(noise * (1 - 1e-6)), delta) > budget


@settings(max_examples=4, deadline=None)
@given(
    st.floats(0.05, 8.0),
    st.sampled_from([1e-9, 1e-6, 1e-3]),
    st.integers(1, 200),
    st.sampled_from(["laplace", "mixed"]),
)
def test_any_run_never_exceeds_its_budget_and_wastes_little(
    budget: float, delta: float, count: int, kind: str
) -> None:
    def released(noise: float) -> list[Event]:
        laplace = Repeated(LaplaceRelease(noise), count)
        gaussian = Repeated(GaussianRelease(2.0 * noise), count)
        return [laplace] if kind == "laplace" else [laplace, gaussian]

    noise = noise_multiplier(budget, delta, released)
    assert accounting.epsilon(released(noise), delta) <= budget
    assert accounting.epsilon(released(noise * 0.999), delta) > budget * 0.998


@settings(deadline=None, max_examples=25)
@given(st.lists(noises, min_size=1, max_size=8), deltas)
def test_a_gaussian_curve_is_epsilon_of_every_prefix(scales: list[float], delta: float) -> None:
    events = [GaussianRelease(z) for z in scales]
    curve = accounting.epsilon_curve(events, range(len(events) + 1), delta)
    prefixes = [accounting.epsilon(events[:n], delta) for n in range(len(events) + 1)]
    np.testing.assert_allclose(curve, prefixes, rtol=1e-9, atol=1e-12)
