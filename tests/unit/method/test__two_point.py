"""Two-point questions: everybody is asked at the same points, and a clip means what it should."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tacit
from tacit import Privacy, network, problem
from tacit.errors import ConfigError, ProblemError
from tacit.method import ORZO, ZOOADMM
from tacit.method._two_point import SMALLEST, Probe
from tacit.types import Context, Role, Unit

pytestmark = pytest.mark.long

KINDS = pytest.mark.parametrize("kind", [ORZO, ZOOADMM])
CENTRES = np.array([[1.0, 2.0], [-1.0, 0.5], [0.5, -1.5]])
STAR = network.Coordinator(3)


def box(**changes: Any) -> Any:
    def cost(x: np.ndarray, agent: int) -> float:
        return float(np.sum((x - CENTRES[agent]) ** 2))

    return problem.black_box_problem(cost, 3, x0=np.zeros(2), **changes)


def context(round: int, seed: int = 0) -> Context:
    number = jnp.asarray(round)
    return Context(number, 0, number, number, jax.random.key(seed), box().public, number, agents=3)


def asked(method: Any, dimension: int, round: int) -> Probe:
    state = method.init(Role.SERVER, jnp.zeros(dimension), 3)
    return method.ask(state, None, context(round))[1]


@KINDS
@pytest.mark.usefixtures("float64")
def test_quotients_are_about_as_long_as_the_gradient_and_lead_back_to_it(kind: Any) -> None:
    gradient = jnp.array([3.0, -1.0, 0.5, 2.0])
    probe = asked(kind(step=0.1, directions=20_000), 4, round=0)
    quotients = probe.directions @ gradient
    assert float(jnp.linalg.norm(quotients)) == pytest.approx(
        float(jnp.linalg.norm(gradient)), rel=0.02
    )
    np.testing.assert_allclose(quotients @ probe.directions, gradient, atol=0.1)


@pytest.mark.usefixtures("float64")
def test_steps_of_the_papers() -> None:
    rows = jnp.linalg.norm
    # u2 = u / (P t)^2 times a standard normal, from u1 = u / t times another
    moves = asked(ORZO(step=0.1, directions=20_000, smoothing=0.6), 2, round=2)
    np.testing.assert_allclose(jnp.std(moves.width * moves.directions), 0.6 / 36, rtol=0.02)
    assert moves.offsets is not None
    np.testing.assert_allclose(jnp.std(moves.offsets), 0.2, rtol=0.02)
    # in one dimension the first round's u2 is half of u1, not all of it
    first = asked(ORZO(step=0.1, directions=1, smoothing=0.6), 1, round=0)
    assert float(first.width) == pytest.approx(0.3)
    # b = u / (P t) along the sphere
    moves = asked(ZOOADMM(step=0.1, directions=7, smoothing=0.6), 2, round=2)
    np.testing.assert_allclose(rows(moves.width * moves.directions, axis=1), 0.1)
    assert moves.offsets is None


@KINDS
@pytest.mark.usefixtures("float64")
def test_a_finite_difference_never_drowns_in_rounding(kind: Any) -> None:
    probe = asked(kind(step=0.1, directions=4, smoothing=1e-9), 2, round=10**9)
    # what a direction is scaled by, J = 4 and P = 2
    scale = 1.0 / 2.0 if kind is ORZO else np.sqrt(2.0 / 4.0)
    assert float(probe.width) * scale == pytest.approx(SMALLEST)


@KINDS
def test_all_clients_are_asked_at_the_same_points(kind: Any) -> None:
    seen: dict[int, list[tuple[float, ...]]] = {0: [], 1: [], 2: []}

    def cost(x: np.ndarray, agent: int) -> float:
        seen[agent].append(tuple(x))
        return float(x @ x)

    task = problem.black_box_problem(cost, 3, x0=np.zeros(2))
    done = tacit.run(task, STAR, kind(step=0.1, directions=3), rounds=2, seed=0)
    points = 2 * 3 if kind is ORZO else 1 + 3
    assert done.history.evaluations[-1] == 2 * 3 * points
    # the start is also asked before the run, twice, to see whether its value changes
    there = [set(each) - {(0.0, 0.0)} for each in seen.values()]
    # the mean answer is asked after it, to see whether it is better than the start
    assert len(there[0]) == 2 * points - (kind is not ORZO) + 1
    assert there[0] == there[1] == there[2]


@KINDS
def test_whole_black_boxes_are_protected(kind: Any) -> None:
    method = kind(step=0.1, privacy=Privacy(clip=1.0, epsilon=3.0))
    planned = tacit.account(box(), STAR, method, rounds=20)
    worst = planned.guarantee.worst
    assert (worst.unit, worst.status.value, worst.releases) == (Unit.AGENT, "proved", 20)
    assert planned.releases[0][0].sensitivity == 2.0


@KINDS
def test_a_record_moves_the_answer_by_two_clips_over_the_number(kind: Any) -> None:
    rows = [np.ones((count, 2)) for count in (4, 5, 8)]
    task = problem.empirical_risk(rows, [x[:, 0] for x in rows], problem.Squared())
    method = kind(step=0.1, privacy=Privacy(clip=0.5, epsilon=3.0))
    releases = tacit.account(task, STAR, method, rounds=20).releases
    assert [each[0].sensitivity for each in releases] == [1 / 4, 1 / 5, 1 / 8]


@pytest.mark.slow
def test_kinks_are_no_obstacle() -> None:
    def cost(x: np.ndarray, agent: int) -> float:
        return float(np.sum(np.abs(x - CENTRES[agent])))

    task = problem.black_box_problem(cost, 3, x0=np.zeros(2))
    done = tacit.run(task, STAR, ORZO(step=0.5), rounds=400, seed=0)
    np.testing.assert_allclose(done.solution, np.median(CENTRES, axis=0), atol=0.03)


@pytest.mark.slow
def test_the_answer_keeps_to_the_set_and_is_sparse() -> None:
    task = box(regulariser=problem.L1(8.0), constraint=problem.Box(-0.05, 1.0))
    method = ZOOADMM(step=0.2, average=False)
    done = tacit.run(task, STAR, method, rounds=60, seed=0)
    # 2 sum (x - c) + 8 sign(x) = 0 has no root but 0 in both coordinates
    assert np.array_equal(done.solution, [0.0, 0.0])
    near = box(regulariser=problem.L1(0.1), constraint=problem.Box(-0.05, 0.05))
    done = tacit.run(near, STAR, method, rounds=60, seed=0)
    np.testing.assert_allclose(done.solution, [0.05, 0.05], atol=1e-12)


def test_what_does_not_fit_is_refused() -> None:
    for kind in (ORZO, ZOOADMM):
        with pytest.raises(ConfigError, match="directions=0 must be"):
            kind(step=0.1, directions=0)
        with pytest.raises(ConfigError, match=r"smoothing=-1\.0 must be"):
            kind(step=0.1, smoothing=-1.0)
        low = tacit.Simulation(precision="float32")
        with pytest.raises(ConfigError, match="float32 leaves no digits"):
            tacit.run(box(), STAR, kind(step=0.1), rounds=1, runtime=low)
    with pytest.raises(ConfigError, match=r"step=0\.5 times penalty=3\.0 must be below 1"):
        ZOOADMM(step=0.5, penalty=3.0)
    kinked = problem.empirical_risk([np.ones((2, 2))] * 3, [np.ones(2)] * 3, problem.Hinge())
    with pytest.raises(ProblemError, match="ZOOADMM needs losses with continuous gradients"):
        tacit.account(kinked, STAR, ZOOADMM(step=0.1), rounds=1)
    unprojected = box(regulariser=problem.L1(1.0), constraint=problem.Ball(1.0, centre=[0.5, 0.0]))
    with pytest.raises(ProblemError, match="ZOOADMM needs the exact proximal map"):
        tacit.account(unprojected, STAR, ZOOADMM(step=0.1), rounds=1)
