"""Arguments of `tacit.run` that cannot work are refused before anything runs."""

from __future__ import annotations

import pickle
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tacit
from tacit import (
    DGD,
    DPSG,
    DZOA,
    DZOASolver,
    GradientDescent,
    Privacy,
    Simulation,
    network,
    problem,
)
from tacit._engine.memory import exhausted
from tacit.errors import ConfigError, NetworkError, PrivacyError, ProblemError, RuntimeFailure
from tests.conformance.table import task

PRIVATE = Privacy(clip=1.0, epsilon=1.0)


def refuse(error: type[Exception], match: str, **changes: Any) -> None:
    """Run with something changed and expect a refusal."""
    settings: dict[str, Any] = {
        "problem": task(0),
        "network": network.ring(4),
        "method": DGD(step=0.1),
        "rounds": 3,
        "seed": 0,
    }
    settings |= changes
    with pytest.raises(error, match=match):
        tacit.run(
            settings.pop("problem"), settings.pop("network"), settings.pop("method"), **settings
        )


@pytest.mark.parametrize(
    ("match", "changes"),
    [
        ("rounds=0 must be at least 1", {"rounds": 0}),
        ("seed=-1 must be", {"seed": -1}),
        ("dataset='d' names an account in a ledger, and no ledger", {"dataset": "d"}),
        ("owner='o' names an account in a ledger, and no ledger", {"owner": "o"}),
        (r"progress raised TypeError: .*\(rounds done, rounds\)", {"progress": lambda done: None}),
        ("record=0 must be", {"record": 0}),
        (r"record=\[9\] must lie between", {"record": [9]}),
        ("reference has shape", {"reference": np.zeros(7)}),
        (
            "use precision='float64'",
            {"method": DZOA(privacy=PRIVATE), "runtime": Simulation(precision="float32")},
        ),
    ],
)
def test_arguments(match: str, changes: dict[str, Any]) -> None:
    refuse(ConfigError, match, **changes)


@pytest.mark.parametrize(
    ("match", "changes"),
    [
        ("the network has 5 agents and the problem 4", {"network": network.ring(5)}),
        ("runs between peers", {"network": network.Coordinator(4)}),
        ("Coordinator", {"method": GradientDescent(step=0.1)}),
        (
            "needs undirected links",
            {
                "method": DZOA(privacy=PRIVATE),
                "network": network.Graph.from_edges(
                    4, [(0, 1), (1, 2), (2, 3), (3, 0)], directed=True
                ),
            },
        ),
        (
            "this network varies",
            {
                "method": DZOASolver(step=0.1),
                "network": network.LinkFailure(network.ring(4), 0.1),
            },
        ),
    ],
)
def test_networks(match: str, changes: dict[str, Any]) -> None:
    refuse(NetworkError, match, **changes)


def test_problems_that_a_method_excludes() -> None:
    features = [np.eye(3)] * 4
    awkward = problem.empirical_risk(
        features,
        [np.ones(3)] * 4,
        problem.Squared(),
        regulariser=problem.L1(0.1),
        constraint=problem.Simplex(1.0),
    )
    refuse(ProblemError, "no closed|closed form", problem=awkward, method=DZOA(privacy=PRIVATE))
    refuse(ProblemError, "directions has shape", method=DZOASolver(directions=np.array([3, 4])))
    hinge = problem.empirical_risk(features, [np.array([0.0, 1.0, 1.0])] * 4, problem.Hinge())
    refuse(ProblemError, "give step", problem=hinge, method=DZOASolver())


@pytest.mark.parametrize("step", [0.0, -1.0, float("inf")])
def test_steps_out_of_range(step: float) -> None:
    with pytest.raises(ConfigError, match="step="):
        DGD(step=step)


def test_no_seed_draws_and_records_one() -> None:
    runs = [
        tacit.run(task(0), network.ring(4), DPSG(step=0.1, privacy=PRIVATE), rounds=2)
        for _ in range(2)
    ]
    assert runs[0].seed != runs[1].seed
    again = tacit.run(
        task(0), network.ring(4), DPSG(step=0.1, privacy=PRIVATE), rounds=2, seed=runs[0].seed
    )
    assert np.array_equal(again.solutions, runs[0].solutions)


@pytest.mark.slow
def test_single_precision_runs_in_single_precision() -> None:
    result = tacit.run(
        task(0),
        network.ring(4),
        DGD(step=0.1),
        rounds=5,
        seed=0,
        runtime=Simulation(precision="float32"),
    )
    double = tacit.run(task(0), network.ring(4), DGD(step=0.1), rounds=5, seed=0)
    assert result.solutions.dtype == np.float32 and double.solutions.dtype == np.float64
    np.testing.assert_allclose(result.solutions, double.solutions, atol=1e-6)
    assert not np.array_equal(result.solutions, double.solutions)


def test_bytes_and_evaluations_are_counted() -> None:
    result = tacit.run(task(0), network.ring(4), DGD(step=0.1), rounds=4, seed=0, record=[1])
    # eight links, three float64 numbers; 8 declared records at each of 4 sites
    assert list(result.history.bytes) == [0, 8 * 3 * 8, 4 * 8 * 3 * 8]
    assert list(result.history.evaluations) == [0, 32, 128]
    star = tacit.run(task(0), network.Coordinator(4), GradientDescent(step=0.1), rounds=1, seed=0)
    assert star.history.bytes[-1] == 2 * 4 * 3 * 8


def test_the_history_as_a_frame() -> None:
    runtime = Simulation(trials=3)
    frame = tacit.run(
        task(0), network.ring(4), DGD(step=0.1), rounds=4, seed=0, record=2, runtime=runtime
    ).history.frame()
    assert len(frame) == 3 * 3
    assert set(frame["trial"]) == {0, 1, 2}
    assert np.isinf(frame["epsilon"].iloc[-1])


def test_the_table_of_releases() -> None:
    result = tacit.run(
        task(0),
        network.Coordinator(4),
        GradientDescent(step=0.1, privacy=PRIVATE),
        rounds=4,
        seed=0,
    )
    iterate, gradient = result.releases
    assert (iterate.released, iterate.noise_scale, iterate.times) == ("", 0.0, 0)
    assert gradient.mechanism == "Gaussian" and gradient.times == 4
    assert gradient.sensitivity == pytest.approx(2 * 1.0 / 8)
    assert gradient.noise_scale > gradient.sensitivity


def test_a_printed_result_is_short_and_says_what_was_promised() -> None:
    method = DPSG(step=0.1, privacy=PRIVATE)
    result = tacit.run(task(0), network.ring(4), method, rounds=3, seed=0)
    told = str(result)
    assert told.startswith("finished; mean answer of 4 agents after 3 rounds: [")
    assert told.endswith("\n" + result.guarantee.sentence())
    shown: list[str] = []
    result._repr_pretty_(SimpleNamespace(text=shown.append), False)
    assert shown == [told]
    # nothing that was an answer to another problem, or to none
    measured = {**result.history.measured, "objective": np.full((4, 1), np.inf)}
    outside = replace(result, history=replace(result.history, measured=measured))
    for told in (str(outside), outside._repr_html_()):
        assert "the objective is infinite at the mean answer" in told and "from their mean" in told
    told = str(replace(result, skipped={"agent 1": 12}))
    assert "evaluations that failed were skipped (12 of agent 1)" in told
    gone = replace(result, diverged=np.array([2]))
    assert str(gone).startswith("diverged at round 2; no answer: ")
    assert "<table" not in gone._repr_html_() and "no answer" in gone._repr_html_()


def test_a_result_is_kept_whole_by_pickle() -> None:
    method = DPSG(step=0.1, privacy=PRIVATE)
    result = tacit.run(task(0), network.ring(4), method, rounds=3, seed=0, reference="solve")
    loaded = pickle.loads(pickle.dumps(result))
    assert np.array_equal(loaded.solutions, result.solutions)
    assert loaded.history.frame().equals(result.history.frame())
    for name in ("guarantee", "releases", "answer", "seed", "environment", "papers"):
        assert getattr(loaded, name) == getattr(result, name), name
    assert loaded.summary() == result.summary() and loaded.to_latex() == result.to_latex()


@pytest.mark.long
def test_of_several_trials_one_is_published_and_the_guarantee_says_so() -> None:
    method = DPSG(step=0.1, privacy=PRIVATE)
    result = tacit.run(
        task(0), network.ring(4), method, rounds=2, seed=0, runtime=Simulation(trials=3)
    )
    published = "one trial is published, the first of 3, and no other"
    assert all(published in promise.assumptions for promise in result.guarantee)
    assert result.to_latex().startswith("% the first of 3 trials\n\\begin{tabular}")


def test_an_answer_that_is_chance_is_called_so() -> None:
    """Whole costs of three agents at epsilon 0.5: a mean cannot be longer than the clip."""
    costs = problem.black_box_problem(lambda x, agent: float(x @ x), 3, x0=[0.0, 0.0])
    private = tacit.DZOA(privacy=Privacy(clip=1.0, epsilon=0.5, delta=1e-3))
    result = tacit.run(costs, network.ring(3), private, rounds=2, seed=0)
    noise = result.releases[0].noise_scale
    assert noise is not None
    told = f"is {noise / np.sqrt(3 * 2):.2g} times the clip"
    assert noise > 5.0 and told in str(result)


def test_noise_that_a_precision_rounds_to_nothing_is_refused() -> None:
    method = DPSG(step=0.1, privacy=Privacy(clip=1e-40, epsilon=1.0, delta=1e-5))
    asked: dict[str, Any] = {"rounds": 1, "seed": 0}
    with pytest.raises(PrivacyError, match=r"'iterate' has scale .* float32 .* no noise"):
        tacit.run(
            task(0), network.ring(4), method, **asked, runtime=Simulation(precision="float32")
        )
    assert tacit.run(task(0), network.ring(4), method, **asked).guarantee.worst.status == "proved"


def test_more_trials_than_fit_in_memory_are_refused() -> None:
    match = r"trials=1000000000: they need at least \d+ GB of memory, and there are [\d,]+ GB"
    refuse(ConfigError, match, runtime=Simulation(trials=10**9))
    with (
        pytest.raises(RuntimeFailure, match=r"memory ran out \(no room\); take fewer trials"),
        exhausted(2),
    ):
        raise MemoryError("no room")
    with pytest.raises(ValueError, match="another"), exhausted(2):
        raise ValueError("another")


def test_a_result_is_no_reference() -> None:
    refuse(
        ConfigError, "reference is a SimpleNamespace; give a point of", reference=SimpleNamespace()
    )


def test_what_was_not_measured_is_told_how_to_measure() -> None:
    found = tacit.run(task(0), network.ring(4), tacit.DGD(step=0.1), rounds=1, seed=0)
    with pytest.raises(
        KeyError, match=r"'distance' was not .*reference='solve'.*There is consensus"
    ):
        found.history.measured["distance"]
    with pytest.raises(KeyError, match=r"'norm' was not measured: .*metrics=\{name: function\}"):
        found.history.measured["norm"]
    assert "distance" not in found.history.measured


@pytest.mark.parametrize("convex", [True, False])  # without it, a point is stationary only
def test_the_reference_of_another_problem_is_refused(convex: bool) -> None:
    def posed(scale: float) -> problem.Problem:
        centres = scale * np.arange(8.0).reshape(4, 2)
        return problem.costs(
            lambda x, centre: ((x - centre) ** 2).sum(), centres, x0=np.zeros(2), convex=convex
        )

    other = problem.solve(posed(3.0))
    refuse(ConfigError, "it is of another problem", problem=posed(1.0), reference=other)
    found = tacit.run(posed(3.0), network.ring(4), DGD(step=0.1), rounds=3, seed=0, reference=other)
    assert found.history.stationary is not convex
    refuse(ConfigError, "reference has shape", reference=problem.solve(posed(1.0)), problem=task(0))
