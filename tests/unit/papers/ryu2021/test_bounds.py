"""Global sensitivities hold, and the noise scale alone tells neighbours apart."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit.errors import ConfigError
from tacit.papers.ryu2021.bounds import global_l1_sensitivity, noise_scale_delta, noise_scale_event

PIXELS, CLASSES, EPSILON = 784, 10, 0.05

LONGEST = [
    (266.886, 241.380),
    (269.733, 266.506),
    (241.678, 234.298),
    (243.604, 240.871),
    (278.173, 272.745),
    (253.220, 223.384),
    (311.698, 245.737),
    (238.847, 235.314),
    (242.788, 237.612),
    (274.416, 255.569),
]
"""Largest two sums of the pixels (in [0, 1]) of an image, in every tenth of MNIST's 60,000."""


def test_global_bounds_hold_and_are_reached() -> None:
    bound = global_l1_sensitivity(PIXELS, 1.0, "add_remove")
    assert bound == 1568.0
    assert global_l1_sensitivity(PIXELS, 60_000.0, "replace_one") == 4.0 * PIXELS / 60_000
    rng = np.random.default_rng(0)
    rows = rng.uniform(size=(200, PIXELS))
    likely = rng.dirichlet(np.ones(CLASSES), size=200)
    residuals = likely - np.eye(CLASSES)[rng.integers(0, CLASSES, 200)]
    lengths = np.abs(rows[:, :, None] * residuals[:, None, :]).sum(axis=(1, 2))
    assert lengths.max() < bound
    # all pixels white, and certain of the wrong class
    wrong = np.eye(CLASSES)[0] - np.eye(CLASSES)[1]
    assert np.abs(np.outer(np.ones(PIXELS), wrong)).sum() == bound


def test_every_tenth_of_mnist_gives_itself_away_in_one_iteration() -> None:
    # at the start all classes are equally likely, so gradients are as long as pixel sums
    found = [noise_scale_delta(EPSILON, PIXELS * CLASSES, less / most) for most, less in LONGEST]
    assert min(found) == pytest.approx(0.367, abs=0.002)
    assert all(delta > 0.36 for delta in found)
    # the noise of the paper is 2.8 times too small or more for such records, whoever is there
    assert global_l1_sensitivity(PIXELS, 1.0, "add_remove") / (1.8 * LONGEST[6][0]) > 2.79


@pytest.mark.not_quick
def test_the_event_in_a_simulation() -> None:
    ratio, runs, size = LONGEST[3][1] / LONGEST[3][0], 2000, PIXELS * CLASSES
    rng = np.random.default_rng(0)
    threshold = noise_scale_event(EPSILON, size, ratio)
    # in units of the noise's scale; the gradient moves by epsilon, in the direction that hides most
    move = np.zeros(size)
    move[0] = EPSILON
    there, absent = 0, 0
    for _ in range(20):
        noise = rng.laplace(size=(runs // 20, size))
        there += int(np.sum(np.abs(noise).sum(axis=1) > threshold))
        other = move + ratio * rng.laplace(size=(runs // 20, size))
        absent += int(np.sum(np.abs(other).sum(axis=1) > threshold))
    delta = there / runs - math.exp(EPSILON) * absent / runs
    closed = noise_scale_delta(EPSILON, size, ratio)
    # three standard errors of both frequencies
    assert delta == pytest.approx(closed, abs=3.0 * math.sqrt(0.5 / runs))
    assert delta > 0.3


def test_a_scale_that_hardly_moves_tells_nothing() -> None:
    assert noise_scale_delta(1.0, 10, 0.9999) == 0.0
    assert noise_scale_delta(0.05, 200, 0.5) > 0.99


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.0, 10, 0.5), "epsilon=0.0"),
        ((1.0, 0, 0.5), "dimension=0"),
        ((1.0, 10, 1.0), "ratio=1.0"),
    ],
)
def test_numbers_out_of_range(arguments: tuple[float, int, float], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        noise_scale_delta(*arguments)


def test_bounds_for_what_has_none() -> None:
    with pytest.raises(ConfigError, match="features=0"):
        global_l1_sensitivity(0, 1.0, "add_remove")
    with pytest.raises(ConfigError, match="whole costs"):
        global_l1_sensitivity(3, 1.0, "metric")
