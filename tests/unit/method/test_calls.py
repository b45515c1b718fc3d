"""A black box is called as often as its own agent needs, and as often as the history says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tacit
from tacit import DZOASolver, Privacy, network, problem
from tacit.method import DZOA, ORZO, ZOOADMM, DZOAStar

pytestmark = pytest.mark.long

AGENTS, DIMENSION = 5, 3
JOINTLY = Privacy(clip=1.0, noise_multiplier=1.0)
SLOW = pytest.mark.slow


def calls(method: Any, net: Any, rounds: int = 3, **changes: Any) -> tuple[np.ndarray, Any]:
    """How often each agent's function is called by a run, and the run."""
    box = problem.black_box_problem(
        lambda x, agent: float((x - agent) @ (x - agent)), AGENTS, np.zeros(DIMENSION)
    )
    done = tacit.run(box, net, method, rounds=rounds, seed=0, record=[], **changes)
    # two of every agent measure the objective at the start and at the answer
    return box.objectives.host.calls - 2, done


@pytest.mark.parametrize(
    ("printed", "exact"),
    [
        (False, False),
        (True, True),
        *(pytest.param(p, not p, marks=SLOW) for p in (False, True)),
    ],
)
def test_every_agent_is_asked_along_its_own_directions(printed: bool, exact: bool) -> None:
    directions = np.array([2, 2, 2, 16, 1])
    method = DZOASolver(0.1, directions=directions, inner_steps=10, printed=printed)
    runtime = tacit.Simulation(exact=exact)
    counted, done = calls(method, network.ring(AGENTS), runtime=runtime)
    assert counted.tolist() == [120, 120, 120, 960, 60]
    assert done.history.evaluations.tolist() == [0, 1380]
    assert np.isfinite(done.solutions).all()


@pytest.mark.parametrize(
    ("method", "star", "each"),
    [
        (ORZO(0.1, directions=4), True, 8),
        (ZOOADMM(0.1, directions=4), True, 5),
        (DZOA(privacy=JOINTLY), False, DIMENSION + 1),
        pytest.param(ORZO(0.1, directions=4, privacy=JOINTLY), True, 8, marks=SLOW),
        pytest.param(DZOAStar(privacy=JOINTLY), True, DIMENSION + 1, marks=SLOW),
        pytest.param(DZOA(privacy=JOINTLY, estimator="scalar"), False, 2, marks=SLOW),
    ],
    ids=["or-zo", "zoo-admm", "d-zoa", "private or-zo", "d-zoa-star", "scalar d-zoa"],
)
def test_calls_are_those_that_the_history_counts(method: Any, star: bool, each: int) -> None:
    net = network.Coordinator(AGENTS) if star else network.ring(AGENTS)
    counted, done = calls(method, net)
    assert counted.tolist() == [3 * each] * AGENTS
    assert done.history.evaluations[-1] == counted.sum()


@pytest.mark.parametrize("exact", [False, pytest.param(True, marks=SLOW)])
def test_who_sleeps_through_a_round_is_not_asked(exact: bool) -> None:
    net = network.Coordinator(AGENTS, probability=0.5)
    runtime = tacit.Simulation(exact=exact)
    counted, done = calls(ORZO(0.1, directions=4), net, rounds=6, runtime=runtime)
    assert done.history.evaluations[-1] == counted.sum()
    assert 0 < counted.sum() < 6 * 8 * AGENTS
