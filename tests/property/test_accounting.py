"""What must hold of the accountant and of calibration whatever is released."""

import math

import numpy as np
from dp_accounting import get_epsilon_gaussian
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.privacy import accounting
from tacit.privacy.calibration import noise_multiplier
from tacit.privacy.event import Event, GaussianRelease, LaplaceRelease, Repeated

noises = st.floats(0.3, 1e4)
deltas = st.floats(1e-11, 1e-2)
counts = st.integers(1, 10_000)


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
