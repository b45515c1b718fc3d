"""What is said of PDOP's accuracy, and the parameters chosen by it."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import networkx as nx
import numpy as np
import pytest

from tacit import network
from tacit.errors import ConfigError, NetworkError
from tacit.method._pdop_budget import optimised_split
from tacit.papers.huang2015.bounds import (
    consensus_bound,
    corrected_accuracy,
    exact_accuracy,
    mixing_rate,
    noise_variances,
    printed_accuracy,
    rate_of,
)
from tacit.papers.huang2015.tuning import PDOPConstants, Tuned, tune_pdop

pytestmark = pytest.mark.not_quick

RENDEZVOUS = PDOPConstants(
    epsilon=1.0,
    dimension=2,
    agents=10,
    curvature=2.0,
    gradient_bound=4.0 * math.sqrt(2.0),
    diameter=2.0 * math.sqrt(2.0),
)


def left_over(steps: np.ndarray, curvature: float) -> np.ndarray:
    """`prod_{l > t} (1 - h gamma_l)^2`, one factor after the other."""
    return np.array([np.prod((1.0 - curvature * steps[t + 1 :]) ** 2) for t in range(len(steps))])


def variance(noise: np.ndarray, steps: np.ndarray, curvature: float) -> float:
    return float(np.sum(left_over(steps, curvature) * noise**2))


@pytest.mark.long
@pytest.mark.parametrize("pure", [True, False])
@pytest.mark.parametrize("ratio", [0.5, 0.9, 0.98, 1.0])
@pytest.mark.parametrize("bend", [0.0, 0.3, 0.5, 1.5])
def test_the_optimised_split_is_never_worse_than_geometric_noise(
    pure: bool, ratio: float, bend: float
) -> None:
    steps = ratio ** np.arange(60)

    def answer(relative: np.ndarray) -> float:
        """Variance at a budget of 1."""
        spent = np.sum(1.0 / relative) if pure else math.sqrt(np.sum(1.0 / relative**2))
        return variance(relative * steps * spent, steps, bend)

    best = answer(np.array(optimised_split(ratio, bend, 60, pure=pure)))
    geometric = [answer((p / ratio) ** np.arange(60)) for p in np.linspace(ratio * 0.9, 1.0, 200)]
    assert best <= min(geometric) * (1.0 + 1e-9)


def test_the_optimised_split_cannot_be_improved_by_small_changes() -> None:
    steps, rng = 0.9 ** np.arange(20), np.random.default_rng(0)
    relative = np.array(optimised_split(0.9, 0.5, 20))

    def answer(relative: np.ndarray) -> float:
        return variance(relative * steps * np.sum(1.0 / relative), steps, 0.5)

    for _ in range(50):
        assert answer(relative * np.exp(0.05 * rng.normal(size=20))) >= answer(relative)


def test_a_step_that_forgets_everything_leaves_finite_noise() -> None:
    # h gamma_3 = 1: what was added before does not matter any more
    relative = np.array(optimised_split(0.5, 8.0, 6))
    assert np.all(np.isfinite(relative)) and relative.min() == 1.0
    assert relative[:3].min() > 40.0 * relative[3:].max()


def test_gains_over_geometric_noise_at_the_settings_stated_in_the_errata() -> None:
    def gain(ratio: float, rounds: int, noise_ratio: float | None) -> float:
        steps = 0.25 * ratio ** np.arange(rounds)

        def answer(noise_ratio: float) -> float:
            variances = noise_variances(steps, distance=1.0, noise_ratio=noise_ratio, epsilon=1.0)
            return float(np.sum(left_over(steps, 2.0) * variances)) / 2.0

        relative = np.array(optimised_split(ratio, 0.5, rounds))
        best = variance(relative * steps * np.sum(1.0 / relative), steps, 2.0)
        if noise_ratio is not None:
            return best / answer(noise_ratio)
        return best / min(answer(p) for p in np.linspace(ratio, 1.0, 400))

    assert gain(0.9, 200, None) == pytest.approx(0.570, abs=0.001)
    assert gain(0.9, 200, 0.95) == pytest.approx(0.504, abs=0.001)
    assert gain(0.98, 200, None) == pytest.approx(0.314, abs=0.001)
    assert gain(0.98, 200, 0.99) == pytest.approx(0.063, abs=0.001)


def test_the_exact_formula_term_by_term() -> None:
    found = exact_accuracy(
        [0.3, 0.2], [1.0, 4.0], curvature=2.0, start=3.0, dimension=5, agents=10, first_variance=7.0
    )
    kept = (0.4**2, 0.6**2)
    noise = 7.0 * kept[0] * kept[1] + 1.0 * kept[1] + 4.0
    assert found == pytest.approx(kept[0] * kept[1] * 9.0 + 0.5 * noise, rel=1e-14)


def test_noise_that_spends_the_budget() -> None:
    steps = np.array([0.5, 0.3, 0.1])
    scales = np.sqrt(noise_variances(steps, distance=4.0, noise_ratio=0.7, epsilon=0.3) / 2.0)
    assert np.sum(4.0 * steps / scales) == pytest.approx(0.3, rel=1e-14)
    assert scales[1:] / scales[:-1] == pytest.approx([0.7, 0.7], rel=1e-14)


def test_theorem_10_as_printed() -> None:
    c, q, p, epsilon = 0.1, 0.5, 0.8, 2.0
    found = printed_accuracy(
        c, q, p, epsilon=epsilon, diameter=3.0, gradient_bound=4.0, curvature=2.0, dimension=2
    )
    noise = sum(2 * 2 * (2.0 * 4.0 * c * p**t / (epsilon * (p - q))) ** 2 for t in range(1, 400))
    assert found == pytest.approx(3.0 * math.exp(-0.4) + 0.16 / 0.75 + noise, rel=1e-12)


def drifting(contraction: float, step: float, ratio: float, rounds: int) -> tuple[float, float]:
    """PDOP without noise on Hessians 1 and 9 with the minimisers 1 and -1, from 0.

    The squared distance of the mean from the optimum -.8, which the paper's definition 2 is about,
    and the mean of both squared distances.
    """
    first = second = 0.0
    for _ in range(rounds):
        mean, half = (first + second) / 2.0, contraction * (first - second) / 2.0
        first = min(mean + half - step * (mean + half - 1.0), 1.0)
        second = max(mean - half - 9.0 * step * (mean - half + 1.0), -1.0)
        step *= ratio
    both = ((first + 0.8) ** 2 + (second + 0.8) ** 2) / 2.0
    return ((first + second) / 2.0 + 0.8) ** 2, both


def test_theorem_10_is_no_bound_where_mixing_is_slow_and_the_corrected_one_is() -> None:
    slow = 1.0 - 2e-9  # a mixing weight of 1e-9
    settings: dict[str, Any] = {
        "curvature": 1.0,
        "gradient_bound": 18.0,
        "start": 0.8,
        "dimension": 1,
        "agents": 2,
    }

    def printed(c: float, q: float) -> float:
        constants: dict[str, Any] = {"diameter": 2.0, "curvature": 1.0, "dimension": 1}
        return printed_accuracy(c, q, q ** (1 / 3), epsilon=1e9, gradient_bound=18.0, **constants)

    rounds, c, q = 600_000, 5e-5, 1.0 - 1e-5
    assert printed(c, q) == pytest.approx(0.054, abs=5e-4)
    accuracy, both = drifting(slow, c, q, rounds)
    assert accuracy == pytest.approx(0.634, abs=5e-4)
    steps, silence = c * q ** np.arange(rounds), np.zeros(rounds)
    assert corrected_accuracy(steps, silence, contraction=slow, **settings) > both > accuracy
    # with fast mixing all three agree that it arrives
    rounds, c, q = 60_000, 5e-4, 1.0 - 1e-4
    arrived, both = drifting(0.8, c, q, rounds)
    steps, silence = c * q ** np.arange(rounds), np.zeros(rounds)
    assert arrived <= both < printed(c, q)
    assert both < corrected_accuracy(steps, silence, contraction=0.8, **settings) < 0.5


def test_the_corrected_bound_needs_short_steps() -> None:
    with pytest.raises(ConfigError, match=r"a step of 0\.6 exceeds"):
        corrected_accuracy(
            [0.6],
            [0.0],
            curvature=2.0,
            gradient_bound=1.0,
            start=1.0,
            dimension=1,
            agents=2,
            contraction=0.0,
        )


@pytest.mark.parametrize("noisy", [False, True])
def test_disagreement_stays_below_the_consensus_bound(noisy: bool) -> None:
    net, rng = network.ring(5), np.random.default_rng(0)
    weights = np.zeros((5, 5))
    weights[net.links.receivers, net.links.senders] = np.asarray(net.weight)
    weights += np.diag(np.asarray(net.self_weight))
    steps = 0.1 * 0.9 ** np.arange(40)
    noise = (0.3 if noisy else 0.0) * rng.laplace(size=(40, 5, 2))
    bound = consensus_bound(
        steps,
        np.linalg.norm(noise, axis=2).max(axis=1),
        agents=5,
        smallest_weight=network.smallest_positive_weight(net),
        gradient_bound=2.0,
        radius=math.sqrt(2.0),
    )
    x = rng.uniform(-1.0, 1.0, (5, 2))
    pull = np.array([[2.0, 0.0], [0.0, 2.0], [-2.0, 0.0], [0.0, -2.0], [1.0, 1.0]])
    for t in range(40):
        z = np.clip(weights @ (x + noise[t]), -1.0, 1.0)
        x = np.clip(z - steps[t] * pull, -1.0, 1.0)
        assert np.linalg.norm(x - x.mean(axis=0), axis=1).max() <= bound[t]


def test_mixing_rates() -> None:
    assert mixing_rate(2, 0.5) == pytest.approx(1.0 - 0.5 / 16.0)
    assert mixing_rate(2, 0.5, window=3) ** 3 == pytest.approx(mixing_rate(2, 0.5))
    net = network.Graph.from_networkx(nx.cycle_graph(3, create_using=nx.DiGraph))
    assert rate_of(net) == pytest.approx(1.0 - 0.5 / 36.0)
    with pytest.raises(ConfigError, match="smallest_weight=0"):
        mixing_rate(2, 0.0)
    with pytest.raises(NetworkError, match="sleep"):
        rate_of(network.RandomActivation(network.ring(4), 0.5))
    with pytest.raises(NetworkError, match="coordinator"):
        rate_of(network.Coordinator(4))


def test_tuning_by_the_printed_theorem_does_not_move_at_all() -> None:
    found = tune_pdop(RENDEZVOUS, "printed")
    assert found.noise_ratio == pytest.approx(found.ratio ** (1.0 / 3.0), rel=1e-3)
    # by the formula nearly C1, the start; and the bias term alone says that it did not move
    assert found.accuracy > 0.99 * RENDEZVOUS.diameter
    assert math.exp(-RENDEZVOUS.curvature * found.step / (1.0 - found.ratio)) > 0.98


@pytest.mark.long
def test_tuning_by_the_exact_formula_finds_one_step() -> None:
    many = dataclasses.replace(RENDEZVOUS, agents=10_000, distance=8.0)
    found = tune_pdop(many, "exact")
    assert found.ratio < 1e-3 and found.step == pytest.approx(0.5, rel=0.02)
    # one release of Lap(8 * 0.5) a coordinate, averaged over the agents
    assert found.accuracy == pytest.approx(2 * 2 * 4.0**2 / 10_000, rel=0.02)


@pytest.mark.long
def test_tuning_by_the_corrected_bound_is_within_its_range() -> None:
    found = tune_pdop(dataclasses.replace(RENDEZVOUS, epsilon=1e4), "corrected")
    assert found.step * RENDEZVOUS.curvature <= 1.0
    assert found.accuracy < 0.5 * RENDEZVOUS.diameter**2


def test_tuning_by_a_function_of_the_users() -> None:
    def bowl(step: float, ratio: float, noise_ratio: float) -> float:
        return math.log(step / 0.05) ** 2 + (ratio - 0.6) ** 2 + (noise_ratio - 0.8) ** 2

    found = tune_pdop(RENDEZVOUS, bowl)
    assert (found.step, found.ratio, found.noise_ratio) == pytest.approx((0.05, 0.6, 0.8), rel=2e-2)
    assert isinstance(found, Tuned) and found.accuracy < 1e-4


def test_what_cannot_be_tuned_is_refused() -> None:
    with pytest.raises(ConfigError, match="evaluations=5"):
        tune_pdop(RENDEZVOUS, evaluations=5)
    for name, value in (("epsilon", 0.0), ("curvature", math.inf), ("rounds", 0)):
        with pytest.raises(ConfigError, match=f"{name}="):
            dataclasses.replace(RENDEZVOUS, **{name: value})
