"""Two rounds of each method on a problem of two agents, worked in rationals from its paper's form.

Agent k holds one record, `f_k(x) = (x - a_k)^2`, so the gradient is `2 (x - a_k)`; the weights
between the two are 1/2 and 1/2.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import tacit
from tacit import network, problem
from tacit.method import EXTRA, DPFedSGD, FedAvg, FedProx, GradientTracking
from tacit.types import Role

TARGETS = (Fraction(3), Fraction(-1))
STEP, CLIP = Fraction(1, 8), Fraction(3, 4)
Pair = tuple[Fraction, Fraction]


def slope(x: Pair) -> Pair:
    """The gradients of both agents, each at its own point."""
    return (2 * (x[0] - TARGETS[0]), 2 * (x[1] - TARGETS[1]))


def mixed(x: Pair) -> Pair:
    mean = (x[0] + x[1]) / 2
    return (mean, mean)


def combine(*terms: tuple[Fraction | int, Pair]) -> Pair:
    first, second = (sum((c * v[i] for c, v in terms), Fraction(0)) for i in (0, 1))
    return (first, second)


def extra(rounds: int) -> Pair:
    """Shi et al. (2015), algorithm 1: x2 = (I+W) x1 - (I+W)/2 x0 - s (g1 - g0)."""
    before: Pair = (Fraction(0), Fraction(0))
    x = combine((1, mixed(before)), (-STEP, slope(before)))
    for _ in range(rounds - 1):
        half = Fraction(1, 2)
        after = combine(
            (1, x),
            (1, mixed(x)),
            (-half, before),
            (-half, mixed(before)),
            (-STEP, slope(x)),
            (STEP, slope(before)),
        )
        before, x = x, after
    return x


def gradient_tracking(rounds: int) -> Pair:
    """Nedic, Olshevsky, Shi (2017), algorithm 1: x1 = W x0 - s y0; y1 = W y0 + g1 - g0."""
    x: Pair = (Fraction(0), Fraction(0))
    y = slope(x)
    for _ in range(rounds):
        after = combine((1, mixed(x)), (-STEP, y))
        y = combine((1, mixed(y)), (1, slope(after)), (-1, slope(x)))
        x = after
    return x


def fed_avg(rounds: int) -> Pair:
    """McMahan et al. (2017), algorithm 1, two local steps; Li et al. (2020) pull by m = 1/4."""
    w = Fraction(0)
    for _ in range(rounds):
        x: Pair = (w, w)
        for _ in range(2):
            x = combine((1, x), (-STEP, slope(x)), (-STEP / 4, x), (STEP / 4, (w, w)))
        w = sum(x) / 2
    return (w, w)


def clipped_fed_avg(rounds: int) -> Pair:
    """McMahan et al. (2018), algorithm 1, two local steps: each client's update clipped whole."""
    w = Fraction(0)
    for _ in range(rounds):
        x: Pair = (w, w)
        for _ in range(2):
            x = combine((1, x), (-STEP, slope(x)))
        w += sum(max(-CLIP, min(CLIP, own - w)) for own in x) / 2
    return (w, w)


def clipped_descent(rounds: int) -> Pair:
    """Federated SGD, McMahan et al. (2018), with each client's only record's gradient clipped."""
    w, clip = Fraction(0), 4 * CLIP  # of one gradient only
    for _ in range(rounds):
        w -= STEP * sum(max(-clip, min(clip, own)) for own in slope((w, w))) / 2
    return (w, w)


def _silent(clip: Fraction) -> tacit.Privacy:
    """A clip without noise."""
    return tacit.Privacy(clip=float(clip), noise_multiplier=0.0)


METHODS: list[tuple[Any, Callable[[int], Pair]]] = [
    (EXTRA(step=float(STEP)), extra),
    (GradientTracking(step=float(STEP)), gradient_tracking),
    (FedAvg(step=float(STEP), local_steps=2, proximal=0.25), fed_avg),
    (FedProx(step=float(STEP), local_steps=2, proximal=0.25, release="update"), fed_avg),
    (
        FedAvg(step=float(STEP), local_steps=2, release="update", privacy=_silent(CLIP)),
        clipped_fed_avg,
    ),
    (DPFedSGD(step=float(STEP), privacy=_silent(4 * CLIP)), clipped_descent),
    # a step along a gradient that is clipped is the step, clipped by as much
    (
        DPFedSGD(step=float(STEP), release="update", privacy=_silent(STEP * 4 * CLIP)),
        clipped_descent,
    ),
]


@pytest.mark.long
@pytest.mark.parametrize(
    "rounds", [*(pytest.param(fewer, marks=pytest.mark.long) for fewer in (1, 2)), 3]
)
@pytest.mark.parametrize(("method", "by_hand"), METHODS, ids=lambda part: type(part).__name__)
def test_rounds_worked_by_hand(method: Any, by_hand: Callable[[int], Pair], rounds: int) -> None:
    task = problem.empirical_risk(
        [np.ones((1, 1))] * 2, [np.array([float(a)]) for a in TARGETS], problem.Squared()
    )
    starred = any(phase.sender is Role.SERVER for phase in method.phases())
    where = network.Coordinator(2) if starred else network.complete(2)
    result = tacit.run(task, where, method, rounds=rounds, seed=0)
    expected = [float(value) for value in by_hand(rounds)]
    answers = result.solutions[0, :, 0]
    assert answers == pytest.approx(expected[: len(answers)], abs=1e-13)
