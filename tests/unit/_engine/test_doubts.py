"""What speaks against an answer is said wherever the result is shown."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tacit
from tacit import Privacy, method, network, problem
from tacit._engine.doubts import seen

pytestmark = pytest.mark.long

ROWS = np.random.default_rng(0).normal(size=(4, 30, 3))


def task(x0: Any = None) -> problem.Problem:
    labels = list((ROWS[..., 0] > 0) * 1.0)
    return problem.empirical_risk(list(ROWS), labels, problem.Logistic(), problem.L2(0.1), x0=x0)


def found(step: float, clip: float, reference: str | None = None) -> tacit.Result:
    given = method.ORZO(step=step, privacy=Privacy(clip=clip, epsilon=1e4, delta=1e-6))
    where = network.Coordinator(4)
    return tacit.run(task(), where, given, rounds=20, seed=0, reference=reference)


@pytest.mark.parametrize(
    ("step", "clip", "told"),
    [
        (1e-6, 10.0, ["step or the clip is too small; take a larger"]),
        (
            1.0,
            1e-5,
            ["shortens the differences of about 100% of the records: raise", "or the clip is too"],
        ),
        (1.0, 10.0, []),
    ],
)
def test_a_run_that_gets_nowhere_says_so_everywhere(
    step: float, clip: float, told: list[str]
) -> None:
    result = found(step, clip)
    for shown in (result.summary(), result._repr_html_()):
        assert all(each in shown for each in told)
        assert ("Simulation only" in shown) == bool(told)
    # private records decide on no line of a paper's source
    assert "%" not in result.to_latex()


def test_noise_that_was_added_once_is_not_blamed_on_the_step() -> None:
    """Functional perturbation moves the minimiser itself."""
    box = problem.Box(-2.0, 2.0)
    labels = list((ROWS[..., 0] > 0) * 1.0)
    there = problem.empirical_risk(list(ROWS), labels, problem.Logistic(), problem.L2(0.1), box)
    privacy = Privacy(clip=4.0, epsilon=0.05, delta=0.0, noise="laplace")
    basis = method.QuadraticBasis([-2.0] * 3, [2.0] * 3)
    bounds = method.CurvatureBounds(0.05, 3.0)
    given = method.FunctionalPerturbation(method.EXTRA(step=0.05), basis, bounds, privacy=privacy)
    said = tacit.run(there, network.ring(4), given, rounds=60, seed=0).summary()
    assert "the noise was added once" in said and "smaller step or" not in said


@pytest.mark.parametrize(
    ("start", "said"),
    [
        ([0.9, 0.9], "from bound to bound, as it is too large"),
        ([1.0, -1.0], "either the step is so large"),  # it is back at the start
    ],
)
def test_a_step_that_jumps_between_bounds_is_told(start: list[float], said: str) -> None:
    """A projection hides that it diverges: no number grows."""
    rng = np.random.default_rng(0)
    rows = [3.0 * rng.normal(size=(30, 2)) for _ in range(3)]
    there = problem.empirical_risk(
        rows,
        [each @ [0.3, -0.2] for each in rows],
        problem.Squared(),
        constraint=problem.Box(-1.0, 1.0),
        x0=start,
    )

    def told(step: float, x: Any = there) -> str:
        return tacit.run(x, network.ring(3), method.DGD(step=step), rounds=100, seed=0).summary()

    assert said in told(50.0) and "bound" not in told(0.02)


def test_noise_within_bounds_is_not_taken_for_jumps_between_them() -> None:
    labels = list((ROWS[..., 0] > 0) * 1.0)
    there = problem.empirical_risk(
        list(ROWS), labels, problem.Logistic(), problem.L2(0.1), problem.Box(-2.0, 2.0)
    )
    privacy = Privacy(clip=1.0, epsilon=3.0, delta=1e-6)
    given = method.DPSG(step=0.5, privacy=privacy)
    result = tacit.run(there, network.ring(4), given, rounds=20, seed=0)
    assert result.inwards is None and "bound" not in "".join(seen(result))


def bowls(**given: Any) -> problem.Problem:
    def cost(x: np.ndarray, agent: int) -> float:
        if agent == 1 and x[0] > 0.5:
            return np.nan
        return float(np.sum((x - 0.1 * agent) ** 2))

    return problem.black_box_problem(cost, agents=3, x0=[0.1, 0.1], **given)


def boxed(task: problem.Problem, rounds: int = 10, step: float = 0.5) -> tacit.Result:
    privacy = Privacy(clip=1.0, epsilon=1.0, delta=1e-3)
    given = method.ORZO(step=step, directions=2, privacy=privacy)
    return tacit.run(task, network.Coordinator(3), given, rounds=rounds, seed=0)


def test_an_answer_of_black_boxes_that_is_worse_than_the_start_is_told() -> None:
    """Two evaluations of every agent, which a run does not make to measure on its way."""
    task = bowls(constraint=problem.Box(-1.0, 0.4))
    result = boxed(task)
    assert result.ends == pytest.approx((0.04, task.value(result.solution)))
    assert "worse than the start: the objective is" in result.summary()
    assert int(task.objectives.calls) - result.history.evaluations[-1] == 2 * 3 + 3
    better = tacit.run(task, network.Coordinator(3), method.ORZO(step=1e-3), rounds=2, seed=0)
    assert better.ends is not None and "worse than" not in better.summary()


def test_a_value_that_is_not_finite_is_told_with_agent_and_place() -> None:
    said = boxed(bowls(on_failure="skip", constraint=problem.Box(-1.0, 1.0))).summary()
    assert "The first of agent 1 failed: the black box of agent 1 returned nan" in said
    assert "finite number, at x0 = " in said

    def losses(x: np.ndarray, rows: np.ndarray) -> np.ndarray:
        found = np.sum((rows - x) ** 2, axis=1)
        found[4] = np.inf if x[0] > 0.05 else found[4]
        return found

    task = problem.black_box_problem(losses, list(ROWS[:3]), x0=[0.0] * 3)
    result = boxed(task)
    assert set(result.lost) == {"agent 0", "agent 1", "agent 2"}
    said = result.lost["agent 0"]
    assert ", the first that of its record 4 at x0 = " in said
    assert f"where they are clipped (agent 0: {said}; agent 1: " in result.summary()


def test_a_known_solution_decides() -> None:
    start = tacit.run(task(), network.ring(4), method.DGD(step=1e-9), rounds=2, reference="solve")
    assert "too small" in start.summary()
    at = np.asarray(start.reference)
    there = task(at)
    solved = tacit.run(there, network.ring(4), method.DGD(step=1e-9), rounds=2, reference=at)
    assert "too small" not in solved.summary()


def test_a_reference_of_what_is_not_convex_is_told_as_stationary() -> None:
    def wells(x: Any, own: Any) -> Any:
        return own * (x[0] ** 2 - 1.0) ** 2

    def run(solved: bool = False, **options: Any) -> tacit.Result:
        task = problem.costs(wells, np.ones(3), np.array([0.5]), **options)
        ring, method = network.ring(3), tacit.DGD(step=0.01)
        known: Any = task.reference() if solved else "solve"
        return tacit.run(task, ring, method, rounds=2, seed=0, reference=known)

    found = run()
    assert "The reference is a stationary point" in str(found)
    assert "stationary point" in repr(found.history) and found.stationary
    assert run(solved=True).stationary and "%" not in run(solved=True).to_latex()
    assert "stationary" not in str(run(convex=True)) + str(run(solved=True, convex=True))
