"""Python functions as objectives: in compiled code, in float64, counted, with clean errors."""

import sys
import threading
import time
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tacit
from tacit import method, network
from tacit.clipping import clipped
from tacit.errors import OracleError, ProblemError
from tacit.problem.blackbox import black_box, black_box_problem, record_box
from tacit.problem.boxes import CostBox, RecordBox, computed
from tacit.problem.host import Host
from tacit.problem.owned import Dispatch
from tacit.types import Unit

THIRD = 1.0 / 3.0


def cost(x: np.ndarray, agent: int) -> float:
    return float(x @ x + agent)


def many_costs(points: np.ndarray, agent: int) -> np.ndarray:
    return np.sum(points**2, axis=1) + agent


def squared(x: np.ndarray, records: Any) -> np.ndarray:
    rows, targets = records
    return (rows @ x - targets) ** 2


def many_squared(points: np.ndarray, records: Any) -> np.ndarray:
    return np.stack([squared(x, records) for x in points])


RECORDS = [
    (np.array([[1.0, 2.0], [0.0, 1.0], [3.0, 1.0]]), np.array([1.0, 2.0, 3.0])),
    (np.array([[2.0, 2.0]]), np.array([5.0])),
]


def values(objectives: Any, points: Any) -> Any:
    """Every agent at its own points, shape `(agents, m)`."""

    def at_points(objective: Any, own: Any) -> Any:
        return jax.vmap(objective.value)(own)

    return eqx.filter_jit(eqx.filter_vmap(at_points))(objectives, points)


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize(("function", "batched"), [(cost, False), (many_costs, True)])
def test_agents_and_points_in_one_batch(function: Any, batched: bool) -> None:
    objectives = black_box(function, 3, batched=batched)
    points = np.random.default_rng(0).normal(size=(3, 4, 2))
    expected = np.sum(points**2, axis=2) + np.arange(3)[:, None]
    np.testing.assert_allclose(np.asarray(values(objectives, points)), expected, rtol=1e-14)
    assert objectives.calls == 12
    assert objectives.host.calls.tolist() == [4, 4, 4]
    assert repr(objectives.host) == f"<Host of {function.__name__} for 3 agents>"


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize(("function", "batched"), [(squared, False), (many_squared, True)])
def test_records_of_different_numbers(function: Any, batched: bool) -> None:
    objectives = record_box(function, RECORDS, batched=batched)
    assert objectives.units == 3
    assert objectives.unit is Unit.RECORD
    points = np.array([[[1.0, 1.0], [0.5, 0.0]], [[1.0, 1.0], [0.5, 0.0]]])
    losses = eqx.filter_vmap(lambda o, own: jax.vmap(o.losses)(own))(objectives, points)
    np.testing.assert_array_equal(
        np.asarray(losses),
        [[[4, 1, 1], [0.25, 4, 2.25]], [[1, 0, 0], [16, 0, 0]]],
    )
    np.testing.assert_allclose(
        np.asarray(values(objectives, points)), [[2.0, 6.5 / 3], [1.0, 16.0]], rtol=1e-15
    )


@pytest.mark.usefixtures("float64")
def test_numbers_keep_all_their_digits_on_every_thread() -> None:
    """Large arguments are handled on another thread, where JAX would round to float32."""
    threads = set()

    def third(x: np.ndarray, agent: int) -> float:
        threads.add(threading.get_ident())
        assert x.dtype == np.float64
        assert np.all(x == THIRD)
        return THIRD * 1e-9

    objectives = black_box(third, 2)
    for size in (1, 5000):
        answer = np.asarray(values(objectives, jnp.full((2, 8, size), THIRD)))
        objectives.raise_pending()
        assert answer.dtype == np.float64
        assert np.all(answer == THIRD * 1e-9)
    assert threads


def test_single_precision_stays_single_outside_x64() -> None:
    with jax.enable_x64(False):
        objective = black_box(cost, 2)
        answer = values(objective, jnp.ones((2, 1, 3), dtype=jnp.float32))
    assert answer.dtype == np.float32
    assert answer.tolist() == [[3.0], [4.0]]


@pytest.mark.usefixtures("float64")
def test_scan_over_rounds_and_trials() -> None:
    objectives = black_box(cost, 3)

    def descend(x: Any) -> Any:
        def move(x: Any, _: None) -> Any:
            def slope(objective: Any, own: Any) -> Any:
                eye = jnp.eye(2) * 1e-4
                return (
                    jax.vmap(lambda d: objective.value(own + d) - objective.value(own - d))(eye)
                    / 2e-4
                )

            return x - 0.25 * eqx.filter_vmap(slope)(objectives, x), None

        return jax.lax.scan(move, x, None, length=20)[0]

    start = np.random.default_rng(1).normal(size=(5, 3, 2))
    end = np.asarray(jax.jit(jax.vmap(descend))(start))
    objectives.raise_pending()
    np.testing.assert_allclose(end, start * 0.5**20, atol=1e-10)
    assert objectives.calls == 5 * 3 * 2 * 2 * 20


@pytest.mark.usefixtures("float64")
def test_large_batches_with_two_boxes_end() -> None:
    """Two callbacks that wait for each other's thread would never end."""
    first, second = black_box(cost, 4), black_box(cost, 4)
    weight = np.random.default_rng(0).random((100, 100))

    @jax.jit
    def run(points: Any) -> Any:
        def move(points: Any, _: None) -> Any:
            total = values(first, points) + values(second, 2 * points)
            return points * 0.5, total + 0.0 * jnp.sum(weight @ weight * points[0, 0, 0])

        return jax.lax.scan(move, points, None, length=5)[1]

    pending = [run(jnp.full((4, 3, 5000), float(k))) for k in range(1, 4)]
    for k, answer in enumerate(pending, start=1):
        np.testing.assert_allclose(np.asarray(answer)[0, 1], 5 * 5000 * k**2 + 2, rtol=1e-14)
    assert first.calls == second.calls == 3 * 5 * 12


def test_agents_take_turns_in_the_users_function() -> None:
    """User code need not be safe between threads."""
    inside, most = 0, 0

    def watched(x: np.ndarray, agent: int) -> float:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        time.sleep(0.002)
        inside -= 1
        return 0.0

    host = black_box(watched, 2).host
    point = np.zeros((3, 1))
    threads = [
        threading.Thread(target=host.evaluate, args=(point, np.zeros(3, int))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1
    assert host.calls.tolist() == [12, 0]


@pytest.mark.usefixtures("float64")
def test_a_function_may_change_its_argument() -> None:
    def greedy(x: np.ndarray, agent: int) -> float:
        x += 1.0
        return float(x[0])

    points = jnp.zeros((2, 3, 1))
    assert np.all(np.asarray(values(black_box(greedy, 2), points)) == 1.0)


@pytest.mark.usefixtures("float64")
def test_an_exception_becomes_an_oracle_error() -> None:
    calls = []

    def broken(x: np.ndarray, agent: int) -> float:
        calls.append(agent)
        if agent == 1:
            raise KeyError("no such plant")
        return 0.0

    objectives = black_box(broken, 3)
    answer = np.asarray(values(objectives, np.full((3, 2, 6), 2.0)))
    assert np.isnan(answer[1:]).all()
    assert calls == [0, 0, 1]
    assert objectives.calls == 3
    with pytest.raises(
        OracleError,
        match=r"agent 1 raised KeyError: 'no such plant', at x0 = 2, .*, x5 = 2\. Correct",
    ) as caught:
        computed(lambda: None, objectives)
    assert isinstance(caught.value.__cause__, KeyError)
    objectives.raise_pending()
    np.asarray(values(objectives, np.zeros((3, 2, 6))))
    with pytest.raises(OracleError):
        objectives.raise_pending()


def test_an_exit_ends_the_function_and_not_the_run() -> None:
    def leaving(x: np.ndarray, agent: int) -> float:
        if agent == 1:
            sys.exit(3)
        return 1.0

    with pytest.raises(OracleError, match=r"agent 1 raised SystemExit: 3, at x0 = 0\. Correct"):
        black_box_problem(leaving, 3, x0=[0.0]).value([0.0])
    skipping = black_box(leaving, 3, on_failure="skip").host
    skipping.evaluate(np.zeros((3, 1)), np.arange(3))
    assert skipping.tally.skipped.tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("function", "words"),
    [(lambda done: None, r"TypeError: .*positional"), (lambda done, asked: 1 / 0, "ZeroDivision")],
)
def test_a_function_of_progress_that_fails_is_named(function: Any, words: str) -> None:
    with pytest.raises(ProblemError, match=f"progress raised {words}.*points asked for"):
        black_box_problem(cost, 2, x0=[0.0], progress=function).value([0.0])


def test_an_interrupt_stays_an_interrupt() -> None:
    def interrupted(x: np.ndarray, agent: int) -> float:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        black_box_problem(interrupted, 2, x0=[0.0]).value([0.0])


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (np.nan, "agent 0 returned nan, which is not a finite number"),
        (-np.inf, "returned -inf"),
        (None, "returned None instead of one number"),
        ("3.0", "returned '3.0' instead of one number"),
        (1j, "returned 1j instead"),
        ([1.0, 2.0], r"an array of shape \(2,\) instead of one number"),
        (np.ones((1, 1)), r"an array of shape \(1, 1\) instead of one number"),
        ([None, None], "an array of object instead of one number"),
        (True, "returned True instead of one number at x0 = 1: return real numbers, such as 1.0"),
    ],
)
def test_answers_that_are_no_number(answer: Any, message: str) -> None:
    objectives = black_box(lambda x, agent: answer, 2)
    assert np.isnan(np.asarray(values(objectives, np.ones((2, 1, 1))))).all()
    with pytest.raises(OracleError, match=message):
        objectives.raise_pending()


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("answer", [2, 2.0, True + 1, np.float32(2), np.array([2.0]), np.array(2)])
def test_answers_that_are_a_number(answer: Any) -> None:
    objectives = black_box(lambda x, agent: answer, 2)
    assert np.all(np.asarray(values(objectives, np.ones((2, 1, 1)))) == 2.0)
    objectives.raise_pending()


@pytest.mark.parametrize(
    ("make", "called"),
    [
        (lambda: black_box(lambda x: 0.0, 2), r"takes \(x\), .* with \(x, agent\): x is a point"),
        (
            lambda: black_box(lambda x: x, 2, batched=True),
            r"with \(points, agent\): points is",
        ),
        (lambda: record_box(lambda x: x, RECORDS), r"with \(x, records\): .* records of the agent"),
        (
            lambda: record_box(lambda x, a, b: x, RECORDS, batched=True),
            r"the black box takes \(x, a, b\), and is called with \(points, records\)",
        ),
        (lambda: black_box_problem(lambda x: 0.0, 2, [0.0]), r"with \(x, agent\): .*, from 0$"),
        (
            lambda: Dispatch((cost, lambda x: 0.0)),
            r"the black box of agent 1 takes \(x\), and is called with \(x, agent\)",
        ),
    ],
)
def test_a_function_of_other_arguments_is_refused_and_not_called(make: Any, called: str) -> None:
    with pytest.raises(ProblemError, match=called):
        make()


@pytest.mark.parametrize("function", [cost, print, lambda *given: 0.0, lambda x, agent, f=1: 0.0])
def test_a_function_that_takes_the_arguments_is_taken(function: Any) -> None:
    assert black_box(function, 2).calls == 0


@pytest.mark.usefixtures("float64")
def test_truth_values_of_records_are_no_losses() -> None:
    box = record_box(lambda x, records: squared(x, records) > 1.0, RECORDS)
    values(box, np.ones((2, 1, 2))).block_until_ready()
    with pytest.raises(OracleError, match=r"an array of bool instead of .* 1\.0 for True and 0"):
        box.raise_pending()


@pytest.mark.usefixtures("float64")
def test_shapes_of_batched_and_record_functions() -> None:
    objectives: CostBox | RecordBox = black_box(lambda points, agent: 1.0, 2, batched=True)
    values(objectives, np.ones((2, 3, 1))).block_until_ready()
    with pytest.raises(OracleError, match=r"shape \(\) instead of an array of shape \(3,\)"):
        objectives.raise_pending()
    objectives = record_box(lambda x, records: np.zeros(2), RECORDS)
    values(objectives, np.ones((2, 1, 2))).block_until_ready()
    with pytest.raises(OracleError, match=r"shape \(2,\) instead of an array of shape \(3,\)"):
        objectives.raise_pending()
    objectives = black_box(lambda points, agent: np.log(points[:, 0]), 2, batched=True)
    with np.errstate(divide="ignore"):
        values(objectives, np.arange(6.0)[::-1].reshape(2, 3, 1)).block_until_ready()
        with pytest.raises(OracleError, match=r"agent 1 returned -inf.*at x0 = 0: return"):
            objectives.raise_pending()


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("spoiled", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("batched", [False, True])
def test_a_record_without_a_loss_is_no_error_and_counts_nothing(
    spoiled: float, batched: bool
) -> None:
    def partial(x: np.ndarray, records: Any) -> np.ndarray:
        losses = many_squared(x, records) if batched else squared(x, records)
        losses[..., 0] = spoiled
        return losses

    objectives = record_box(partial, RECORDS, batched=batched)
    points = np.array([[[1.0, 1.0], [0.5, 0.0]]] * 2)
    losses = np.asarray(eqx.filter_vmap(lambda o, own: jax.vmap(o.losses)(own))(objectives, points))
    objectives.raise_pending()
    np.testing.assert_array_equal(losses[0], [[np.nan, 1, 1], [np.nan, 4, 2.25]])
    differences = clipped(jnp.asarray(losses[0, 1:] - losses[0, :1]).T, 1.0, 2)
    np.testing.assert_array_equal(differences, [[0.0], [1.0], [1.0]])


def test_a_loss_beyond_float32_is_infinite_there() -> None:
    objectives = record_box(lambda x, records: records[:, 0] * 1e39, [np.ones((1, 1))] * 2)
    with jax.enable_x64(False):
        answer = values(objectives, jnp.ones((2, 1, 1), dtype=jnp.float32))
    objectives.raise_pending()
    assert np.isinf(answer).all()


def test_what_is_taken_on_trust_of_a_function() -> None:
    assert "finite number everywhere" in black_box(cost, 2).assumptions[0]
    own = record_box(squared, RECORDS).assumptions
    assert own == (
        "the loss of each record depends on that record only, and the function is deterministic",
        "the function raises for no record",
        "what others can see of how long evaluations take tells nothing of the records",
    )


@pytest.mark.parametrize(
    ("given", "values", "unseen"),
    [
        ({}, "gives a finite number everywhere", "how long evaluations take"),
        (
            {"workers": 1, "timeout": 60},
            "gives a finite number everywhere within 60 seconds",
            "how long evaluations take and which are stopped after 60 seconds",
        ),
        (
            {"on_failure": "retry"},
            "gives a finite number everywhere in one of 3 tries",
            "how long evaluations take and how often they are repeated",
        ),
        (
            {"tries": 5},
            "gives a finite number everywhere in one of 5 tries",
            "how long evaluations take and how often they are repeated",
        ),
        (
            {"on_failure": "skip", "workers": 1, "timeout": 0.5},
            "uses data of its own agent only and is deterministic",
            "how long evaluations take, which are stopped after 0.5 seconds and which fail and are "
            "repeated or skipped",
        ),
    ],
)
def test_a_guarantee_assumes_that_time_and_failures_tell_nothing(
    given: dict[str, Any], values: str, unseen: str
) -> None:
    task = black_box_problem(cost, 2, x0=[1.0], **given)
    solver = method.ORZO(
        step=0.1, directions=2, privacy=tacit.Privacy(clip=1.0, epsilon=1.0, delta=1e-6)
    )
    stated = tacit.account(task, network.Coordinator(2), solver, rounds=2).guarantee.worst
    assert any(each.endswith(values) for each in stated.assumptions)
    assert f"what others can see of {unseen} tells nothing of the costs" in stated.assumptions
    assert f"what others can see of {unseen} tells nothing" in stated.sentence()


def test_records_are_assumed_not_to_be_told_by_time_either() -> None:
    said = record_box(squared, RECORDS, workers=1, timeout=60, on_failure="retry").assumptions
    assert said[1:] == (
        "the function raises for no record and answers in one of 3 tries within 60 seconds",
        "what others can see of how long evaluations take, which are stopped after 60 seconds and "
        "how often they are repeated tells nothing of the records",
    )


@pytest.mark.usefixtures("float64")
def test_a_diverged_point_is_not_the_functions_fault() -> None:
    objectives = black_box(cost, 2)
    answer = np.asarray(values(objectives, np.array([[[np.inf]], [[1.0]]])))
    assert np.isnan(answer[0, 0])
    assert answer[1, 0] == 2.0
    assert objectives.calls == 1
    objectives.raise_pending()


def test_a_problem_of_whole_costs() -> None:
    problem = black_box_problem(cost, 3, x0=[1.0, 2.0], names=["a", "b", "c"])
    assert problem.counts.tolist() == [1, 1, 1]
    assert problem.normaliser.tolist() == [1.0, 1.0, 1.0]
    assert problem.declared
    assert problem.parameter_names == ("x0", "x1")
    assert problem.unit is Unit.AGENT
    assert problem.value([1.0, 2.0]) == 18.0
    with jax.enable_x64(True):
        assert float(problem.agent(2).value(jnp.ones(2))) == 4.0


def test_a_problem_of_records() -> None:
    problem = black_box_problem(squared, RECORDS, x0=np.zeros(2), normaliser=2.0)
    assert problem.counts.tolist() == [3, 1]
    assert problem.normaliser.tolist() == [2.0, 2.0]
    assert problem.declared
    assert not black_box_problem(squared, RECORDS, x0=np.zeros(2)).declared
    assert problem.value([1.0, 1.0]) == 3.5


def test_refused_arguments() -> None:
    with pytest.raises(ProblemError, match="agents=1: agreement needs at least two"):
        black_box(cost, 1)
    with pytest.raises(ProblemError, match="records holds 1 agent"):
        record_box(squared, RECORDS[:1])
    with pytest.raises(ProblemError, match=r"agent 1: .* lengths \[1, 2\]"):
        record_box(squared, [RECORDS[0], (np.ones((2, 2)), np.ones(1))])
    with pytest.raises(ProblemError, match=r"agent 0: .* lengths \[0\]"):
        record_box(squared, [np.ones((0, 2)), np.ones((1, 2))])
    for normaliser in (0.0, -1.0, [1.0], float("nan")):
        with pytest.raises(ProblemError, match=r"normaliser.* positive number"):
            record_box(squared, RECORDS, normaliser=normaliser)
    with pytest.raises(ProblemError, match="a whole cost has none"):
        black_box_problem(cost, 2, x0=[0.0], normaliser=2.0)
    with pytest.raises(ProblemError, match=r"x0\[1\]=nan must be a finite number"):
        black_box_problem(cost, 2, x0=[0.0, np.nan])


def test_lists_of_functions_are_refused(pytestconfig: pytest.Config) -> None:
    if pytestconfig.getoption("jaxtyping_packages", None):
        pytest.skip("annotations are checked before")
    alone = r"got a list of 6: write functions = .* functions\[agent\]\(x\), agents=6$"
    several: Any = [cost] * 6
    more: list[dict[str, Any]] = [{}, {"x0": [0.0]}, {"agents": 6}]
    for given in more:
        with pytest.raises(ProblemError, match=alone):
            black_box_problem(several, **given)
    with pytest.raises(ProblemError, match=alone):
        black_box(several)
    several = [squared] * 3
    with pytest.raises(ProblemError, match=r"needs a function of a point, got list$"):
        record_box(several, RECORDS)
    with pytest.raises(ProblemError, match="needs a function of a point, got float"):
        Host(3.0, (0,), None, False)


def test_other_objectives_have_nothing_pending() -> None:
    from tacit.problem import Squared, empirical_risk

    objectives = empirical_risk([[[1.0]], [[2.0]]], [[1.0], [2.0]], Squared()).objectives
    assert computed(threading.get_ident, objectives) == threading.get_ident()
