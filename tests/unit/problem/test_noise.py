"""The finite-difference step for noisy values: from their noise, and good for it."""

from typing import Any

import numpy as np
import pytest

import tacit
from tacit.errors import ConfigError, OracleError, ProblemError
from tacit.method import DZOA, ORZO, ZOOADMM, DZOASolver, DZOAStar
from tacit.network import Coordinator, ring
from tacit.privacy import Privacy
from tacit.problem import Squared, black_box_problem, costs, empirical_risk, measure_noise

START = np.array([0.4, -0.2, 0.7])


def noisy(deviation: float, seed: int = 0) -> Any:
    """A quadratic cost with second derivative 2 (agent + 1), and its values with noise."""
    rng = np.random.default_rng(seed)

    def simulate(x: Any, agent: int) -> float:
        return float((agent + 1) * x @ x + deviation * rng.normal())

    return black_box_problem(simulate, 2, x0=START, stochastic=True)


@pytest.mark.parametrize("deviation", [1e-6, 1e-2])
def test_noise_and_curvature_are_found(deviation: float) -> None:
    found = measure_noise(noisy(deviation), repeats=40, directions=40)
    np.testing.assert_allclose(found.deviation, deviation, rtol=0.5)
    np.testing.assert_allclose(found.curvature, [2.0, 4.0], rtol=0.5)
    best = 8**0.25 * np.sqrt(deviation / np.sqrt((2**2 + 4**2) / 2))
    assert found.smoothing == pytest.approx(best, rel=0.5)
    assert found.evaluations % 2 == 0


def test_the_step_is_better_than_others() -> None:
    """Difference quotients of noisy values are closest to the slope at the step that is chosen."""
    task = noisy(1e-2)
    found = measure_noise(task)
    host, slope = task.objectives.host, 2.0 * START[0]

    def error(move: float) -> float:
        points = np.tile(START, (400, 1))
        points[200:, 0] += move
        values = host.evaluate(points, np.zeros(400, int))[:, 0]
        return float(np.sqrt(np.mean(((values[200:] - values[:200]) / move - slope) ** 2)))

    best = error(found.smoothing)
    assert best < error(found.smoothing / 4.0)
    assert best < error(found.smoothing * 4.0)
    assert best == pytest.approx(found.error, rel=0.6)


def test_rounding_is_all_the_noise_of_exact_values() -> None:
    found = measure_noise(black_box_problem(lambda x, agent: float(x @ x), 2, x0=START))
    assert 1e-9 < found.smoothing < 1e-6
    np.testing.assert_allclose(found.curvature, 2.0, rtol=1e-3)
    found = measure_noise(black_box_problem(lambda x, agent: float(x @ x), 2, x0=0.0 * START))
    np.testing.assert_allclose(found.curvature, 2.0, rtol=1e-3)
    assert 0.0 < found.smoothing < 1e-6


def test_stored_values_are_not_taken_for_exact_ones(tmp_path: Any) -> None:
    task = black_box_problem(
        command=["sh", "-c", "echo 1"], agents=2, x0=[0.0], cache=tmp_path / "evaluations.sqlite"
    )
    with pytest.raises(ProblemError, match="every value of a cost is the same"):
        measure_noise(task, repeats=2, directions=1, widest=1e-4)
    objectives: Any = task.objectives
    assert objectives.calls == 8
    assert not (tmp_path / "evaluations.sqlite").exists()


def test_what_is_refused() -> None:
    for task in (
        empirical_risk([[[1.0]], [[2.0]]], [[1.0], [2.0]], Squared()),
        black_box_problem(lambda x, rows: rows @ x, [np.ones((2, 3))] * 2, x0=START),
        costs(lambda x, c: (x - c).sum(), np.ones((2, 3)), START),
    ):
        with pytest.raises(ProblemError, match="whole costs that are black boxes"):
            measure_noise(task)
    with pytest.raises(ProblemError, match="the problem has 3 values"):
        measure_noise(noisy(1.0), [0.0])
    with pytest.raises(ProblemError, match=r"noise hides the curvature within moves of 0\.01"):
        measure_noise(noisy(1.0), widest=0.01)
    with pytest.raises(ProblemError, match=r"the same at the point and .*: there is no noise"):
        measure_noise(black_box_problem(lambda x, agent: 5.0 + agent, 2, x0=START))
    with pytest.raises(OracleError, match="raised ZeroDivisionError"):
        measure_noise(black_box_problem(lambda x, agent: 1 / 0, 2, x0=START))
    skipping = black_box_problem(lambda x, agent: None, 2, x0=START, on_failure="skip")
    with pytest.raises(ProblemError, match="some evaluations were skipped"):
        measure_noise(skipping)
    with pytest.raises(ProblemError, match="a seed of each record's own"):
        black_box_problem(lambda x, r: r @ x, [np.ones((1, 3))] * 2, x0=START, stochastic=True)


def test_a_guarantee_says_what_it_takes_for_granted_of_random_values() -> None:
    said = noisy(1.0).objectives.assumptions[0]
    assert (
        "draws random numbers that depend on no data of others and gives a finite number everywhere"
        in said
    )


@pytest.mark.parametrize(
    ("method", "net"),
    [
        (ORZO(step=0.1), Coordinator(2)),
        (ZOOADMM(step=0.1), Coordinator(2)),
        (DZOASolver(step=0.1, penalty=0.4), ring(3)),
        (DZOA(privacy=Privacy(clip=1.0, epsilon=1.0)), ring(3)),
        (DZOAStar(privacy=Privacy(clip=1.0, epsilon=1.0)), Coordinator(2)),
    ],
)
def test_noise_without_a_shortest_difference_is_refused(method: Any, net: Any) -> None:
    def noisy(x: np.ndarray, agent: int) -> float:
        raise AssertionError("asked before it was refused")

    task = black_box_problem(noisy, net.agents, x0=START, stochastic=True)
    with pytest.raises(
        ConfigError, match=r"give (shortest|smoothing)=noise\.smooth.*measure_noise"
    ):
        tacit.run(task, net, method, rounds=1)
