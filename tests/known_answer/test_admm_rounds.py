"""ADMM and its private forms: rounds worked from the papers' forms in rationals.

Agent k of two holds one record, `f_k(x) = (x - a_k)^2`; the penalty is `x^2 / 2`, of which each
agent has a half, so that its share is `x^2 / 4`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import tacit
from tacit import Privacy, network, problem
from tacit.method import ADMM, DPADMM, PVP

TARGETS = (Fraction(3), Fraction(-1))
RHO, CLIP, STEP = Fraction(1, 2), Fraction(2), Fraction(1, 4)


def exact(linear: Fraction, target: Fraction, clip: Fraction | None) -> Fraction:
    """argmin (x - a)^2 + x^2/4 + rho x^2 + linear x, with the first slope kept within the clip."""
    free = (2 * target - linear) / (2 + Fraction(1, 2) + 2 * RHO)
    slope = 2 * (free - target)
    if clip is None or abs(slope) <= clip:
        return free
    # the clipped slope is constant there, on the side of the free minimiser
    return -((clip if slope > 0 else -clip) + linear) / (Fraction(1, 2) + 2 * RHO)


def admm(rounds: int, clip: Fraction | None) -> list[Fraction]:
    """Shi et al. (2014) between two agents: primal, then dual with the fresh iterates."""
    x, dual = [Fraction(0)] * 2, [Fraction(0)] * 2
    for _ in range(rounds):
        linear = [dual[k] - RHO * (x[k] + x[1 - k]) for k in (0, 1)]
        x = [exact(linear[k], TARGETS[k], clip) for k in (0, 1)]
        dual = [dual[k] + RHO * (x[k] - x[1 - k]) for k in (0, 1)]
    return x


def dp_admm(rounds: int) -> list[Fraction]:
    """Huang et al. (2020), algorithm 2 without noise: w_k from its own last one, w, gamma_k."""
    w, own, dual = Fraction(0), [Fraction(0)] * 2, [Fraction(0)] * 2
    for t in range(1, rounds + 1):
        inverse = Fraction(math.sqrt(t)) / STEP
        for k in (0, 1):
            slope = max(-CLIP, min(CLIP, 2 * (own[k] - TARGETS[k]))) + own[k] / 2
            own[k] = (RHO * w + inverse * own[k] - slope + dual[k]) / (RHO + inverse)
        w = sum((own[k] - dual[k] / RHO for k in (0, 1)), Fraction(0)) / 2
        dual = [dual[k] - RHO * (own[k] - w) for k in (0, 1)]
    return [w, w]


SILENT = Privacy(clip=float(CLIP), noise_multiplier=0.0)
CASES: list[tuple[str, Any, Callable[[int], list[Fraction]]]] = [
    ("admm", ADMM(penalty=float(RHO), tolerance=1e-13), lambda rounds: admm(rounds, None)),
    (
        "pvp",
        PVP(penalty=float(RHO), tolerance=1e-13, average=False, privacy=SILENT),
        lambda rounds: admm(rounds, CLIP),
    ),
    ("dp-admm", DPADMM(penalty=float(RHO), step=float(STEP), privacy=SILENT), dp_admm),
]


@pytest.mark.long
@pytest.mark.parametrize(
    "rounds", [*(pytest.param(fewer, marks=pytest.mark.long) for fewer in (1, 2)), 3]
)
@pytest.mark.parametrize(("name", "method", "by_hand"), CASES, ids=[case[0] for case in CASES])
def test_rounds_worked_by_hand(
    name: str, method: Any, by_hand: Callable[[int], list[Fraction]], rounds: int
) -> None:
    task = problem.empirical_risk(
        [np.ones((1, 1))] * 2,
        [np.array([float(a)]) for a in TARGETS],
        problem.Squared(),
        regulariser=problem.L2(0.5),
    )
    where = network.Coordinator(2) if name == "dp-admm" else network.complete(2)
    answers = tacit.run(task, where, method, rounds=rounds, seed=0).solutions[0, :, 0]
    expected = [float(value) for value in by_hand(rounds)]
    assert answers == pytest.approx(expected, abs=1e-12)


def test_the_clip_matters_in_those_rounds() -> None:
    assert admm(2, CLIP) != admm(2, None)
