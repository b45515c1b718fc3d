"""Rounds of OR-ZO and ZOO-ADMM on two agents, worked in rationals from the papers' forms.

Agent k has the cost `(x - a_k)^2`; the penalty is `|x| / 4`, of which each agent has a half. The
directions are those of the run: every number that a computer draws is a fraction.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

import jax
import numpy as np
import pytest

import tacit
from tacit import network, problem
from tacit._engine.keys import agent_secret, phase_keys, trial_key
from tacit.method import ORZO, ZOOADMM
from tacit.method._directions import normal_directions
from tacit.method._two_point import SMALLEST
from tacit.papers.gratton2021.setting import paper_problem

SEED, SERVER = 7, 2
TARGETS = (Fraction(3), Fraction(-1))
STEP, PENALTY, CLIP, SHARE = Fraction(1, 8), Fraction(4), Fraction(3), Fraction(1, 8)


def cost(x: Fraction, target: Fraction) -> Fraction:
    return (x - target) ** 2


def shrunk(v: Fraction, by: Fraction) -> Fraction:
    """The proximal map of `by |x|`."""
    return max(abs(v) - by, Fraction(0)) * (1 if v > 0 else -1)


def answer(start: Fraction, end: Fraction, width: Fraction, clip: Fraction | None) -> Fraction:
    """The mean quotient of both agents, each clipped."""
    quotients = [(cost(end, a) - cost(start, a)) / width for a in TARGETS]
    if clip is not None:
        quotients = [max(-clip, min(clip, q)) for q in quotients]
    return sum(quotients) / 2


def drawn(round: int, shape: tuple[int, ...], server: int = SERVER) -> Any:
    """What the server drew in a round, from the run's own seed."""
    with jax.enable_x64(True):
        key = phase_keys(agent_secret(trial_key(SEED, 0), server), round, 0, 0).method
        return normal_directions(key, shape).tolist()


def or_zo(rounds: int, pairs: int, clip: Fraction | None, *, proximal: bool = False) -> Fraction:
    """Duchi et al. (2015): two points, the first one moved too; u1 = u/t, u2 = u/(P t)^2.

    The penalty is differenced with the costs, or with `proximal` taken exactly.
    """
    x = Fraction(0)
    for t in range(1, rounds + 1):
        u1 = Fraction(1, t)
        u2 = min(Fraction(1, t**2), u1 / 2)
        n1, n2 = drawn(t - 1, (2, pairs, 1))
        g = Fraction(0)
        for (first,), (second,) in zip(n1, n2, strict=True):
            start = x + u1 * Fraction(first)
            move = u2 * Fraction(second)
            quotient = answer(start, start + move, u2, clip)
            if not proximal:
                quotient += SHARE * (abs(start + move) - abs(start)) / u2
            g += quotient * Fraction(second) / pairs
        x -= STEP / t * g
        x = shrunk(x, STEP / t * SHARE) if proximal else x
    return x


def zoo_admm(rounds: int, pairs: int, clip: Fraction | None) -> Fraction:
    """Liu et al. (2018), algorithm 1, with A = 1, B = -1: in one dimension the sphere is +-1."""
    x = y = dual = Fraction(0)
    for t in range(1, rounds + 1):
        b = Fraction(1, t)
        g = Fraction(0)
        for (number,) in drawn(t - 1, (pairs, 1)):
            z = Fraction(1 if number > 0 else -1)
            g += answer(x, x + b * z, b, clip) * z / pairs
        x -= STEP / t * (g + PENALTY * (x - y) - dual)
        y = shrunk(x - dual / PENALTY, SHARE / PENALTY)
        dual -= PENALTY * (x - y)
    return y


def box(x: Any, agent: int) -> float:
    return (float(x[0]) - float(TARGETS[agent])) ** 2


@pytest.mark.long
@pytest.mark.parametrize(
    ("pairs", "clip"),
    [
        pytest.param(2, None, id="plain", marks=pytest.mark.long),
        pytest.param(1, CLIP, id="clipped"),
    ],
)
@pytest.mark.parametrize(
    ("kind", "by_hand", "more"),
    [
        (ORZO, or_zo, {}),
        (ORZO, partial(or_zo, proximal=True), {"proximal": True}),
        (ZOOADMM, zoo_admm, {"penalty": float(PENALTY)}),
    ],
    ids=["or-zo", "proximal or-zo", "zoo-admm"],
)
def test_two_rounds_worked_by_hand(
    kind: Any, by_hand: Any, more: dict[str, Any], pairs: int, clip: Fraction | None
) -> None:
    if clip is not None:
        # no noise: what is left is the clip
        more = {**more, "privacy": tacit.Privacy(clip=float(clip), noise_multiplier=0.0)}
    method = kind(
        step=float(STEP), directions=pairs, smoothing=1.0, decay=1.0, average=False, **more
    )
    task = problem.black_box_problem(box, 2, [0.0], regulariser=problem.L1(float(2 * SHARE)))
    for rounds in (1, 2):
        done = tacit.run(task, network.Coordinator(2), method, rounds=rounds, seed=SEED)
        assert done.solution[0] == pytest.approx(float(by_hand(rounds, pairs, clip)), abs=1e-12)
    assert done.solution[0] != 0.0


@pytest.mark.slow
def test_or_zo_as_published_ends_at_the_optimum() -> None:
    # a few lines of NumPy on one computer that knows the whole objective
    task = paper_problem("ridge", 0)
    optimum = task.reference().solution
    rows, targets = (np.array(a) for a in (task.objectives.features, task.objectives.targets))
    rows, targets = rows.reshape(-1, 10), targets.reshape(-1)

    def whole(points: Any) -> Any:
        residuals = points @ rows.T - targets
        return (np.sum(residuals**2, axis=1) + np.sum(points**2, axis=1)) / 5

    x, step, rounds = np.zeros(10), 0.12, 200
    for t in range(1, rounds + 1):
        n1, n2 = np.array(drawn(t - 1, (2, 30, 10), server=5))
        u1, u2 = 0.01 / t, max(min(0.01 / (10 * t) ** 2, 0.005 / t), SMALLEST)
        starts = x + u1 * n1
        slopes = (whole(starts + u2 * n2) - whole(starts)) / u2
        x = x - step / np.sqrt(t) * np.mean(slopes[:, None] * n2, axis=0)

    def found(proximal: bool) -> Any:
        method = ORZO(step, directions=30, average=False, proximal=proximal)
        return tacit.run(task, network.Coordinator(5), method, rounds=rounds, seed=SEED).solution

    def error(answer: Any) -> float:
        return 5 * float(np.sum((answer - optimum) ** 2) / np.sum(optimum**2))

    np.testing.assert_allclose(found(proximal=False), x, atol=1e-6)
    assert error(x) < 2.2e-7 and error(found(proximal=False)) < 2.2e-7
    # beside an exact penalty the costs' own gradient stays random
    assert error(found(proximal=True)) > 1e-5
