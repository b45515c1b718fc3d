"""Noise that vanishes stays within bounds with positive probability, and then hides nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from tacit.errors import ConfigError
from tacit.papers.nozari2016.message_noise import (
    Law,
    bounded_noise_probability,
    check_impossibility,
)


@pytest.mark.parametrize("law", ["laplace", "normal"])
@pytest.mark.parametrize("decay", [1.0, 0.5])
def test_the_probability_that_noise_stays_within_a_radius(law: Law, decay: float) -> None:
    scale, radius, trials, steps = 1.5, 2.5, 20_000, 400
    rng = np.random.default_rng(0)
    k = np.arange(1.0, steps + 1.0)
    if law == "laplace":
        noise = rng.laplace(size=(trials, steps)) * scale / k**decay
    else:
        noise = rng.normal(size=(trials, steps)) * np.sqrt(scale / k**decay)
    stays = float(np.mean(np.abs(noise).max(axis=1) <= radius))
    found = bounded_noise_probability(scale, decay, radius, law=law)
    assert found == pytest.approx(stays, abs=4.0 * math.sqrt(stays / trials))


def test_the_rest_of_the_product_counts() -> None:
    # at p = 1/4 factors after the 100,000th matter: exp(-17.8) each, for a long time
    fast, slow = (bounded_noise_probability(1.0, decay, 1.0) for decay in (1.0, 0.25))
    assert 0.0 < slow < 1e-3 < fast
    many = np.arange(1.0, 3_000_001.0)
    direct = math.exp(float(np.sum(np.log1p(-np.exp(-(many**0.25))))))
    assert slow <= direct and slow == pytest.approx(direct, rel=1e-3)
    # positive, but no float is as small
    assert bounded_noise_probability(1.0, 0.01, 0.1) == 0.0


def test_noise_of_scale_one_over_log_k_leaves_every_radius_up_to_one() -> None:
    # prod_(k = 2)^K (1 - exp(-r log k)) = 1/K at r = 1
    k = np.arange(2.0, 1001.0)
    assert np.prod(1.0 - np.exp(-np.log(k))) == pytest.approx(1.0 / 1000.0)


def descent(centres: list[float], step: float = 0.2) -> Callable[[Any, Any], Any]:
    """Two agents mix messages and descend: `z = W xi`, `x = z - step (z - centre)`."""

    def update(x: Any, message: Any) -> Any:
        mixed = jnp.asarray([[0.7, 0.3], [0.3, 0.7]]) @ message
        return mixed - step * (mixed - jnp.asarray(centres))

    return update


def at_rest(centres: list[float], step: float = 0.2) -> np.ndarray:
    """Where `descent` stays: `x = (1 - s) W x + s m`."""
    weights = np.array([[0.7, 0.3], [0.3, 0.7]])
    return np.linalg.solve(np.eye(2) - (1.0 - step) * weights, step * np.array(centres))


def test_descent_on_two_sets_of_costs_is_never_private() -> None:
    one, two = [1.0, 3.0], [-2.0, 0.5]
    found = check_impossibility(descent(one), descent(two), at_rest(one), at_rest(two), decay=0.3)
    assert found.stable and found.applies
    assert found.spectral_radius == pytest.approx((0.8, 0.8))
    assert found.apart > 1.0 and found.moved > 0.5 and found.within is None
    assert "no epsilon is enough" in str(found)


def test_the_event_that_tells_two_sets_of_costs_apart() -> None:
    # messages settle at the first minimiser under the first costs, and never under the second
    one, two, steps = [1.0, 3.0], [-2.0, 0.5], 2000
    rng = np.random.default_rng(0)
    weights = np.array([[0.7, 0.3], [0.3, 0.7]])
    settled = []
    for centres in (one, two):
        x = np.broadcast_to(at_rest(one), (200, 2))
        for k in range(1, steps + 1):
            message = x + rng.laplace(size=x.shape) / k**0.7
            x = 0.8 * message @ weights.T + 0.2 * np.array(centres)
        settled.append(np.mean(np.linalg.norm(message - at_rest(one), axis=1) < 0.2))
    assert settled[0] > 0.9 and settled[1] == 0.0


def test_minimisers_that_are_the_same_tell_nothing_apart() -> None:
    def pulled(m: float) -> Callable[[Any, Any], Any]:
        return lambda x, message: message - 0.3 * (message - m)

    same = pulled(1.0), pulled(1.0)
    # the first minimiser is an equilibrium of the other system: (i) says nothing
    found = check_impossibility(*same, [1.0], [1.0], decay=1.0, stability_radius=0.5)
    assert found.within is True and not found.applies and "not told apart" in str(found)
    apart = check_impossibility(
        pulled(1.0), pulled(-1.0), [1.0], [-1.0], decay=1.0, stability_radius=1.5
    )
    assert apart.within is False and apart.applies  # by (i)


def test_what_is_not_stable_is_not_ruled_out() -> None:
    one, two = [1.0, 3.0], [-2.0, 0.5]
    # steps of PDOP that have vanished: every point where agents agree is an equilibrium
    frozen = check_impossibility(
        descent(one, 0.0), descent(two, 0.0), [2.0, 2.0], [-0.75, -0.75], decay=1.0
    )
    assert frozen.spectral_radius == pytest.approx((1.0, 1.0))
    assert not frozen.stable and not frozen.applies
    assert "not seen to be stable" in str(frozen)
    # the minimiser of the mean cost is not where these agents stay
    moved = check_impossibility(descent(one), descent(two), [2.0, 2.0], [-0.75, -0.75], decay=1.0)
    assert moved.shift[0] == pytest.approx(0.2 * math.sqrt(2.0)) and not moved.applies


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: bounded_noise_probability(0.0, 1.0, 1.0), "scale=0.0"),
        (lambda: bounded_noise_probability(1.0, -1.0, 1.0), "decay=-1.0"),
        (lambda: bounded_noise_probability(1.0, 1.0, math.inf), "radius=inf"),
    ],
)
def test_numbers_out_of_range(make: Callable[[], object], word: str) -> None:
    with pytest.raises(ConfigError, match=word):
        make()


def test_arguments_of_the_check() -> None:
    systems = descent([0.0, 0.0]), descent([1.0, 1.0])
    for minimisers in (([0.0], [1.0, 1.0]), ([0.0, math.nan], [1.0, 1.0])):
        with pytest.raises(ConfigError, match="two finite vectors"):
            check_impossibility(*systems, *minimisers, decay=1.0)
    for change, word in (
        ({"decay": 0.0}, "decay=0.0"),
        ({"decay": 1.0, "stability_radius": 0.0}, "stability_radius=0.0"),
        ({"decay": 1.0, "tolerance": -1.0}, "tolerance=-1.0"),
    ):
        with pytest.raises(ConfigError, match=word):
            check_impossibility(*systems, [0.0, 0.0], [1.0, 1.0], **change)
