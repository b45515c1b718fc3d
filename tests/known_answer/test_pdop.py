"""Two rounds of PDOP worked by hand in rationals, noise included, and its noise in closed form.

Two agents hold `f_k(x) = (x - a_k)^2` with `a = (3, -1)` on `[-1, 1]`; `c = 1/8`, `q = 1/2`, and
all weights are 1/2. The noise is a given list of fractions.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float

from tacit import Privacy, network, problem
from tacit._engine.exact import ExactEngine
from tacit.method import PDOP
from tacit.papers.huang2015.method import PDOPPrinted
from tests.laid_out import lay_out

CENTRES = (Fraction(3), Fraction(-1))
STEPS = (Fraction(1, 8), Fraction(1, 16))
START = (Fraction(3), Fraction(-1, 2))
NOISE = ((Fraction(1, 4), Fraction(5, 2)), (Fraction(-1, 3), Fraction(1, 7)))
HALF = Fraction(1, 2)


def cost(x: Float[Array, " n"], centre: Float[Array, ""]) -> Float[Array, ""]:
    return jnp.sum((x - centre) ** 2)


TASK = problem.costs(
    cost, np.array([float(a) for a in CENTRES]), np.zeros(1), constraint=problem.Box(-1.0, 1.0)
)


def clip(value: Fraction) -> Fraction:
    return min(max(value, Fraction(-1)), Fraction(1))


def by_hand(*, printed: bool) -> tuple[list[Fraction], list[tuple[Fraction, Fraction]], Fraction]:
    """The points that gradients are asked at, the steps that result, and the answer."""
    z = Fraction(0)
    if printed:  # y(1) = x(0) + w(1)
        z = HALF * START[0] + HALF * START[1]
    points, answers = [], []
    for gamma, noise in zip(STEPS, NOISE, strict=True):
        v = z if printed else clip(z)
        first, second = (clip(v - gamma * 2 * (v - a)) for a in CENTRES)
        points.append(v)
        answers.append((first, second))
        z = HALF * (first + noise[0]) + HALF * (second + noise[1])
    return points, answers, clip(z)


def test_the_hand_works_where_clip_and_projection_bite() -> None:
    points, answers, end = by_hand(printed=False)
    # x(1) = (3/4, -1/4), z = (1 + 9/4)/2 = 13/8, P z = 1; x(2) = (5/4 -> 1, 3/4)
    assert answers[0] == (Fraction(3, 4), Fraction(-1, 4))
    assert points[1] == 1 and answers[1] == (1, Fraction(3, 4))
    assert end == Fraction(131, 168)
    printed, _, _ = by_hand(printed=True)
    assert printed[0] == Fraction(5, 4) > 1


METHODS = {
    "certified": PDOP(
        step=0.125, ratio=0.5, privacy=Privacy(clip=100.0, noise_multiplier=1.0, noise="laplace")
    ),
    "printed": PDOPPrinted(step=0.125, ratio=0.5, noise_ratio=0.8, epsilon=1.0, gradient_bound=8.0),
}


@pytest.mark.parametrize("name", METHODS)
def test_two_rounds_with_given_noise(name: str) -> None:
    method, printed = METHODS[name], name == "printed"
    points, answers, end = by_hand(printed=printed)
    phase = 1 if printed else 0
    given: dict[tuple[int, int, int, int, int], Any] = {}
    if printed:
        given |= {(0, -1, 0, 0, k): np.array([float(START[k])]) for k in range(2)}
    for t in range(2):
        for k in range(2):
            given[0, t, phase, 0, k] = np.array([float(answers[t][k] + NOISE[t][k])])
    net = network.complete(2)
    with jax.enable_x64(True):
        plan, roots, _ = lay_out(TASK, net, method, 2, seed=0)
        engine = ExactEngine(plan, roots, replay=given)
        states = engine.start()
        query = plan.method.phases()[phase].query
        assert query is not None
        for t in range(2):
            before = jax.tree.leaves(states)
            for k in range(2):
                own = jax.tree.map(lambda leaf, k=k: leaf[0, k], next(iter(states.values())))
                answer = query(own, _objective(plan, k), _context(plan, t, k), jax.random.key(0))
                assert float(answer[0]) == pytest.approx(float(answers[t][k]), abs=1e-15)
                asked = own.sent if printed else own.x
                assert float(asked[0]) == pytest.approx(float(points[t]), abs=1e-15)
            states, _ = engine.advance(states, np.array([[t, t + 1]]))
            assert len(jax.tree.leaves(states)) == len(before)
        final = next(iter(states.values())).x
    np.testing.assert_allclose(final.ravel(), [float(end)] * 2, atol=1e-15)


def _objective(plan: Any, agent: int) -> Any:
    return jax.tree.map(lambda leaf: leaf[agent], plan.objectives)


def _context(plan: Any, round: int, agent: int) -> Any:
    from tacit._engine.step import context_of

    return context_of(
        plan.public,
        round=jnp.asarray(round),
        rounds=plan.rounds,
        step=0,
        agent=jnp.asarray(agent),
        agents=2,
        degree=jnp.asarray(1),
        records=jnp.asarray(1),
        secret=jax.random.key(0),
        phase=0,
    )[0]


def test_the_noise_of_both_schedules() -> None:
    # G = 2 C2 sqrt(1) = 16; M_t = G c p^t / (eps (p - q)) printed, p^(t-1) corrected
    net = network.complete(2)
    with jax.enable_x64(True):
        printed = lay_out(TASK, net, METHODS["printed"], 3, seed=0)[0].scales
        corrected = PDOP(
            step=0.125,
            ratio=0.5,
            noise_ratio=0.8,
            privacy=Privacy(clip=8.0, noise_multiplier=0.8 / (0.8 - 0.5), noise="laplace"),
        )
        ours = lay_out(TASK, net, corrected, 3, seed=0)[0].scales[0]
    first = 16.0 * 0.125 / (0.8 - 0.5)
    assert float(printed[0][0]) == pytest.approx(first * 0.8, rel=1e-13)
    np.testing.assert_allclose(printed[1][:, 0], first * 0.8 ** np.array([2, 3, 4]), rtol=1e-13)
    np.testing.assert_allclose(ours[:, 0], first * 0.8 ** np.array([1, 2, 3]), rtol=1e-13)
