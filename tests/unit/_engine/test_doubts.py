"""What speaks against an answer is said wherever the result is shown."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tacit
from tacit import Privacy, method, network, problem

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
