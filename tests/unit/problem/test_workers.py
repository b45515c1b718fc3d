"""Black boxes in other processes: values, failures, time limits and interrupts."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tacit
from tacit import method, network, problem
from tacit._engine.doubts import doubts
from tacit.errors import OracleError, ProblemError
from tacit.method.d_zoa_solver import DZOASolver
from tacit.privacy import ClippedDifferences
from tacit.problem import black_box, black_box_problem, listening, record_box
from tacit.problem.program import Program
from tacit.types import Context

pytestmark = pytest.mark.not_quick

POINTS = np.arange(6.0).reshape(3, 2)
OWNERS = np.arange(3)


def cost(x: Any, agent: int) -> float:
    return float(x @ x + agent)


def asked(host: Any) -> Any:
    return host.evaluate(POINTS, OWNERS)[:, 0]


def python(folder: Path, text: str) -> list[str]:
    script = folder / "simulate.py"
    script.write_text(text)
    return [sys.executable, str(script)]


def test_a_function_is_called_in_other_processes() -> None:
    """The same values as here, from closures too, and what it prints does no harm."""
    weight, here = np.array([2.0, 1.0]), os.getpid()

    def weighted(x: Any, agent: int) -> float:
        print("simulating")
        assert os.getpid() != here
        return float(weight @ x + agent)

    host = black_box(weighted, 3, workers=2).host
    assert asked(host).tolist() == [1.0, 8.0, 15.0]
    assert asked(host).tolist() == [1.0, 8.0, 15.0]
    host.raise_pending()
    assert host.calls.tolist() == [2, 2, 2]


def test_points_are_evaluated_at_the_same_time(tmp_path: Path) -> None:
    """Each call waits until all three have begun."""

    def meeting(x: Any, agent: int) -> float:
        import time

        (tmp_path / str(agent)).touch()
        while len(list(tmp_path.iterdir())) < 3:
            time.sleep(0.01)
        return float(agent)

    host = black_box(meeting, 3, workers=3, timeout=60.0).host
    assert asked(host).tolist() == [0.0, 1.0, 2.0]


def test_batches_and_records_in_other_processes() -> None:
    host = black_box(lambda x, agent: x.sum(axis=1) + agent, 3, batched=True, workers=1).host
    assert asked(host).tolist() == [1.0, 6.0, 11.0]
    records = [np.ones((2, 2)), np.ones((1, 2))]
    host = record_box(lambda x, rows: rows @ x, records, workers=1).host
    assert host.evaluate(POINTS[:2], np.arange(2)).tolist() == [[1.0, 1.0], [5.0, 0.0]]


@pytest.mark.parametrize("workers", [None, 1])
def test_the_first_failure_stops(workers: int | None) -> None:
    def broken(x: Any, agent: int) -> float:
        if agent == 1:
            raise KeyError("no such plant")
        return 1.0

    host = black_box(broken, 3, workers=workers).host
    assert np.isnan(asked(host)).tolist() == [False, True, True]
    with pytest.raises(OracleError, match=r"agent 1 raised KeyError: 'no such plant'") as caught:
        host.raise_pending()
    assert isinstance(caught.value.__cause__, KeyError)
    where = r", at x0 = 2, x1 = 3\. Correct the function$"
    assert re.search(where, str(caught.value))
    assert (" (line " in str(caught.value)) is (workers is not None)


def test_the_traceback_of_a_failed_program_is_short() -> None:
    """The call, and the error: not what tacit passed through between them."""
    task = black_box_problem(command=["false"], agents=3, x0=[0.0], parameter_names=["level"])
    with pytest.raises(
        OracleError, match=r"exit status 1, at level = .*Correct the prog"
    ) as caught:
        tacit.run(task, network.Coordinator(3), method.ORZO(step=0.1), rounds=1, seed=0)
    package = Path(tacit.__file__ or "").parent
    own = [each for each in caught.traceback if Path(each.path).is_relative_to(package)]
    assert len(own) <= 1


def test_the_traceback_of_an_interrupt_is_short() -> None:
    def interrupted(x: Any, agent: int) -> float:
        raise KeyboardInterrupt

    task = black_box_problem(interrupted, agents=3, x0=[0.0])
    with pytest.raises(KeyboardInterrupt) as caught:
        tacit.run(task, network.Coordinator(3), method.ORZO(step=0.1), rounds=1, seed=0)
    package = Path(tacit.__file__ or "").parent
    own = [each for each in caught.traceback if Path(each.path).is_relative_to(package)]
    assert len(own) <= 1


@pytest.mark.parametrize("workers", [None, 1])
def test_retry_asks_three_times(tmp_path: Path, workers: int | None) -> None:
    def flaky(x: Any, agent: int) -> float:
        (tmp_path / f"{agent} {len(list(tmp_path.iterdir()))}").touch()
        tries = len(list(tmp_path.glob(f"{agent} *")))
        return float("nan") if tries <= agent else float(tries)

    host = black_box(flaky, 3, on_failure="retry", workers=workers).host
    assert asked(host).tolist() == [1.0, 2.0, 3.0]
    assert host.calls.tolist() == [1, 2, 3]
    host.raise_pending()
    always = black_box(lambda x, agent: None, 3, on_failure="retry", workers=workers).host
    asked(always)
    message = r"returned None instead of one number.*This was the last of 3 tries$"
    with pytest.raises(OracleError, match=message):
        always.raise_pending()
    assert always.calls.tolist() == [3, 0, 0]


@pytest.mark.parametrize("workers", [None, 1])
def test_a_point_is_skipped_after_all_its_tries(tmp_path: Path, workers: int | None) -> None:
    def flaky(x: Any, agent: int) -> float:
        (tmp_path / f"{agent} {len(list(tmp_path.iterdir()))}").touch()
        return float("nan") if len(list(tmp_path.glob(f"{agent} *"))) <= agent else float(agent)

    host = black_box(flaky, 3, on_failure="skip", tries=2, workers=workers).host
    assert asked(host)[:2].tolist() == [0.0, 1.0]
    assert host.calls.tolist() == [1, 2, 2]
    assert host.tally.skipped.tolist() == [0, 0, 1]
    assert host.tally.failure[2].endswith("This was the last of 2 tries")
    host.raise_pending()
    with pytest.raises(ProblemError, match="tries=1: on_failure='retry' asks again"):
        black_box(flaky, 3, on_failure="retry", tries=1)


def test_skip_leaves_a_point_out_and_goes_on() -> None:
    def partial(x: Any, agent: int) -> float:
        if agent == 1:
            raise ValueError("singular")
        return float(agent)

    host = black_box(partial, 3, on_failure="skip").host
    values = asked(host)
    assert values[[0, 2]].tolist() == [0.0, 2.0]
    assert np.isnan(values[1])
    host.raise_pending()
    assert host.tally.skipped.tolist() == [0, 1, 0]


def test_an_answer_of_noise_alone_is_an_error() -> None:
    def broken(x: Any, agent: int) -> float:
        if agent in lost:
            raise RuntimeError(f"no licence at {agent}")
        return cost(x, agent)

    task = black_box_problem(broken, 3, x0=[1.0, 1.0], on_failure="skip")
    how = (task, network.Coordinator(3), method.ORZO(step=0.1))
    lost = {0, 1, 2}
    with pytest.raises(OracleError, match=r"of every agent failed.*no licence at"):
        tacit.run(*how, rounds=2)
    lost = {1}
    found = tacit.run(*how, rounds=2)
    assert "no licence at 1" in found.failures["agent 1"]  # and not what failed in the run before
    assert list(found.silent) == ["agent 1"] and found.skipped["agent 1"] > 0
    (said,) = [each for each in doubts(found) if "skipped" in each]
    assert "Every evaluation of agent 1 failed" in said and "no licence at 1" in said
    lost = set()
    assert not tacit.run(*how, rounds=2).silent  # what failed in another run is not told again


@pytest.mark.usefixtures("float64")
def test_a_skipped_agent_answers_zero() -> None:
    """However an evaluation fails, the answer stays within the clip that its guarantee rests on."""

    def failing(x: Any, agent: int) -> float:
        return float("inf") if agent == 1 and x[0] > 1.0 else cost(x, agent)

    task = black_box_problem(failing, 3, x0=[1.0, 1.0], on_failure="skip")
    query = ClippedDifferences(
        lambda state: state, lambda state, context: jnp.eye(2), 1e-3, clip=0.5
    )
    zero, key = jnp.zeros((), int), jax.random.key(0)
    where = Context(zero, zero, zero, zero, key, task.public, zero, agents=2)
    ask = jax.jit(lambda objective, key: query(np.ones(2), objective, where, key))
    answers = [ask(task.agent(agent), jax.random.key(0)).tolist() for agent in (0, 1)]
    assert np.linalg.norm(answers[0]) == pytest.approx(0.5)
    assert answers[1] == [0.0, 0.0]
    # the second of its three points failed, and the third was spared
    assert task.objectives.host.calls.tolist() == [3, 2, 0]
    assert task.objectives.host.tally.skipped.tolist() == [0, 1, 0]
    task.objectives.raise_pending()
    assert task.objectives.assumptions == (
        "the function of each cost uses data of its own agent only and is deterministic",
        "what others can see of how long evaluations take and which fail and are repeated or "
        "skipped tells nothing of the costs",
    )


@pytest.mark.long
def test_a_run_names_the_agents_that_it_skipped() -> None:
    def failing(x: Any, agent: int) -> float:
        return float("inf") if agent == 1 else cost(x, agent)

    task = black_box_problem(failing, 3, x0=[1.0, 1.0], on_failure="skip")
    private = tacit.DZOA(privacy=tacit.Privacy(clip=1.0, epsilon=10.0))
    found = tacit.run(task, network.ring(3), private, rounds=4, seed=0)
    assert found.skipped == {"agent 1": 4} and "skipped (4 of agent 1)" in str(found)
    assert "times the clip" not in str(found)
    # two more than the run: the start and the answer are compared after it
    assert task.objectives.host.calls.tolist() == [14, 6, 14]


def test_skip_is_refused_where_nothing_bounds_an_answer() -> None:
    task = black_box_problem(cost, 3, x0=[1.0, 1.0], on_failure="skip")
    with pytest.raises(ProblemError, match="DZOASolver has no answer of a fixed size"):
        tacit.run(task, network.ring(3), DZOASolver(step=0.1), rounds=1, seed=0)
    with pytest.raises(ProblemError, match="more than a guarantee for records allows"):
        record_box(lambda x, rows: rows @ x, [np.ones((1, 2))] * 2, on_failure="skip")


def test_a_slow_function_is_stopped_and_its_worker_replaced() -> None:
    def slow(x: Any, agent: int) -> float:
        import time

        time.sleep(60.0 * (agent == 1))
        return float(agent)

    host = black_box(slow, 3, workers=1, timeout=2.0, on_failure="skip").host
    began = time.monotonic()
    values = asked(host)
    assert time.monotonic() - began < 30.0
    assert values[[0, 2]].tolist() == [0.0, 2.0]
    assert host.tally.skipped.tolist() == [0, 1, 0]
    with pytest.raises(ProblemError, match="timeout=1: a function that is called in this process"):
        black_box(slow, 3, timeout=1)


def test_a_function_that_kills_its_process() -> None:
    def fatal(x: Any, agent: int) -> float:
        import os
        import signal

        os.kill(os.getpid(), signal.SIGKILL)
        return 0.0

    host = black_box(fatal, 3, workers=1).host
    asked(host)
    with pytest.raises(OracleError, match="agent 0 ended its process by the signal SIGKILL"):
        host.raise_pending()


def test_a_function_that_cannot_be_sent() -> None:
    lock = threading.Lock()
    with pytest.raises(ProblemError, match="cannot be sent to another process"):
        black_box(lambda x, agent: float(lock.locked()), 3, workers=1)


def test_a_program_gets_json_and_prints_a_number(tmp_path: Path) -> None:
    command = python(
        tmp_path,
        "import json, sys\nasked = json.load(sys.stdin)\nprint('simulating')\n"
        "print(sum(asked['x']) / 3 + asked['agent'])\n",
    )
    host = black_box(command=command, agents=3, workers=2).host
    np.testing.assert_array_equal(asked(host), POINTS.sum(axis=1) / 3 + OWNERS)


def test_a_program_gets_values_in_its_arguments() -> None:
    task = black_box_problem(
        command=["sh", "-c", "echo $(( {level} * 100 + {agent} ))"],
        agents=3,
        x0=[1.0, 2.0],
        parameter_names=["level", "fraction"],
    )
    host: Any = task.objectives
    host.host.evaluate(np.array([[3.0, 1.0]]), np.array([1]))
    with pytest.raises(OracleError, match="ended with exit status"):
        host.raise_pending()  # a shell counts with whole numbers only
    assert Program(["printf", "%s", "{x1}"])(np.array([1.5, 0.1]), 0) == 0.1


def test_a_program_has_a_folder_and_variables_for_each_agent(tmp_path: Path) -> None:
    for agent in range(3):
        (tmp_path / str(agent)).mkdir()
        (tmp_path / str(agent) / "cost").write_text(f"{10 * agent}")
    given: dict[str, Any] = {
        "command": ["sh", "-c", 'echo $(( $(cat "$0") + EXTRA ))', "cost"],
        "agents": 3,
        "cwd": tmp_path / "{agent}",
        "env": {"EXTRA": "{agent}"},
    }
    cache = tmp_path / "evaluations.sqlite"
    assert asked(black_box(**given, cache=cache).host).tolist() == [0.0, 11.0, 22.0]
    (tmp_path / "1" / "cost").write_text("30")
    again = black_box(**given, cache=cache).host
    assert asked(again).tolist() == [0.0, 31.0, 22.0]
    assert again.calls.tolist() == [0, 1, 0]  # only what that file concerns


def test_each_agent_may_have_a_program_of_its_own(tmp_path: Path) -> None:
    cache, (first, second) = tmp_path / "kept.sqlite", [tmp_path / f"p{k}" for k in (0, 1)]
    for agent, path in enumerate((first, second)):
        path.write_text(f"#!/bin/sh\necho {agent + 1}\n")
        path.chmod(0o755)
    given: dict[str, Any] = {"command": [f"{tmp_path}/p{{agent}}"], "agents": 2, "cache": cache}
    assert black_box_problem(**given, x0=[0.0]).value([0.0]) == 3.0
    second.write_text("#!/bin/sh\necho 5\n")
    again = black_box_problem(**given, x0=[0.0])
    assert again.value([0.0]) == 6.0 and again.objectives.host.calls.tolist() == [0, 1]
    second.unlink()
    with pytest.raises(ProblemError, match=r"there is no program '.*p1' that can be run"):
        black_box_problem(**given, x0=[0.0])


def test_a_command_for_each_agent_is_answered_with_what_to_write(
    pytestconfig: pytest.Config,
) -> None:
    if pytestconfig.getoption("jaxtyping_packages", None):
        pytest.skip("annotations are checked before")
    lists: Any = [["plants/p0.sh"], ["plants/p1.sh"]]
    with pytest.raises(ProblemError, match=r"one command for all agents; write \{agent\} where"):
        black_box(command=lists, agents=2)


def test_errors_call_agents_by_their_names() -> None:
    def broken(x: Any, agent: int) -> float:
        raise RuntimeError("the valve stuck")

    task = black_box_problem(broken, agents=2, x0=[0.0], names=["north", "south"])
    with pytest.raises(OracleError, match="the black box of north raised RuntimeError"):
        task.value([0.0])
    script = ["sh", "-c", "exit 3"]
    task = black_box_problem(command=script, agents=2, x0=[0.0], names=["north", "south"])
    with pytest.raises(OracleError, match="the black box of north ended with exit status 3"):
        task.value([0.0])


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (
            "seq 9 >&2; echo lost >&2; exit 3",
            "agent 0 ended with exit status 3, at x0 = 0, x1 = 1. Its standard error ends with:\n"
            "    6\n    7\n    8\n    9\n    lost\n"
            "Correct the program; where it fails by chance, tries=3 asks again$",
        ),
        ("echo about 3", "printed 'about 3' as its last line instead of one number"),
        ("echo 7 >&2", "printed nothing instead of one number, .*\n    7\nLet the program print"),
        ("echo nan", "returned nan, which is not a finite number"),
        ("kill -9 $$", "ended by the signal SIGKILL"),
        ("sleep 60", "no answer within timeout=0.5 seconds and was stopped.* Give it more"),
        ("sleep 60 & echo 3.5", "left a process behind, which still held its output open after t"),
    ],
)
def test_programs_that_fail(script: str, message: str) -> None:
    host = black_box(command=["sh", "-c", script], agents=3, timeout=0.5).host
    asked(host)
    with pytest.raises(OracleError, match=message):
        host.raise_pending()


@pytest.mark.long
def test_what_a_skipped_program_said_is_one_line() -> None:
    script = 'echo licence server >&2; echo busy >&2; test "$0" != 1 && echo 3'
    task = black_box_problem(
        command=["sh", "-c", script, "{agent}"], agents=3, x0=[0.5], on_failure="skip"
    )
    found = tacit.run(task, network.Coordinator(3), method.ORZO(step=0.1), rounds=1, seed=0)
    told = found.failures["agent 1"]
    assert "Its standard error ends with: licence server | busy. Correct the program" in told
    assert told in found.summary()


@pytest.mark.parametrize("stream", ["1", "2"])
def test_a_program_that_prints_without_end(stream: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "LARGEST", 1_000_000)
    host = black_box(command=["sh", "-c", f"yes 3.5 >&{stream}"], agents=3).host
    asked(host)
    with pytest.raises(OracleError, match=r"printed more than 1 MB and was stopped.*print less"):
        host.raise_pending()


def test_what_a_program_leaves_behind_is_ended_with_it(tmp_path: Path) -> None:
    script = f"sleep 60 & echo $! > {tmp_path / 'number'}; echo 3.5"
    host = black_box(command=["sh", "-c", script], agents=3, timeout=0.3).host
    asked(host)
    with pytest.raises(OracleError):
        host.raise_pending()
    left = Path("/proc") / (tmp_path / "number").read_text().strip() / "stat"
    assert not left.exists() or left.read_text().rsplit(")", 1)[1].split()[0] == "Z"


def test_refused_commands() -> None:
    refused: dict[str, dict[str, Any]] = {
        "timeout='60' must be a number$": {"command": ["sh"], "timeout": "60"},
        "there is no folder /nowhere/0 for agent 0": {"command": ["sh"], "cwd": "/nowhere/{agent}"},
        r"\{plant\} is not a placeholder": {"command": ["sh"], "env": {"PLANT": "{plant}"}},
        "cwd and env are for the program": {"function": cost, "cwd": "/"},
        "give a list of texts": {"command": []},
        "there is no program 'no-such-simulator'": {"command": ["no-such-simulator"]},
        r"\{level\} is not a placeholder": {"command": ["sh", "{level}"]},
        "command and a function exclude": {"command": ["sh"], "function": cost},
        "command and batched exclude": {"command": ["sh"], "batched": True},
        "a black box needs a function of a point, or command": {},
    }
    for message, given in refused.items():
        with pytest.raises(ProblemError, match=message):
            black_box(agents=3, **given)
    with pytest.raises(ProblemError, match="command gives one number, the whole cost"):
        black_box_problem(command=["sh"], agents=[np.ones((1, 2))] * 2, x0=[0.0])
    host = black_box(command=["echo", "{x9}"], agents=3).host
    asked(host)
    with pytest.raises(OracleError, match="no parameter 'x9' for its command: there are 2"):
        host.raise_pending()


def test_progress_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[int, int]] = []
    host = black_box(cost, 3, progress=lambda done, of: told.append((done, of))).host
    asked(host)
    assert told == [(1, 3), (2, 3), (3, 3)]
    # a log has a line now and then, not one for each
    asked(black_box(cost, 3, progress=True).host)
    assert capsys.readouterr().err == "1 evaluations made, 2 waiting in this round\n"
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    asked(black_box(cost, 3, progress=True).host)
    assert capsys.readouterr().err.split("\r")[-1].rstrip() == (
        "3 evaluations made, 0 waiting in this round"
    )


INTERRUPTED = """
import signal, sys, time
from pathlib import Path

import tacit
from tacit import method, network, problem
from tacit.problem import black_box_problem

signal.signal(signal.SIGINT, signal.default_int_handler)
begun, workers = Path(sys.argv[1]), int(sys.argv[2]) or None
seconds, how = float(sys.argv[3]), sys.argv[4]


def slow(x, agent):
    begun.touch()
    time.sleep(seconds)
    return 1.0


task = black_box_problem(slow, 3, x0=[0.0, 0.0], workers=workers)
try:
    if how == "value":
        task.value([1.0, 1.0])
    else:
        runtime = tacit.Simulation(exact=how == "exact")
        solver = method.ORZO(step=0.1, directions=2)
        tacit.run(task, network.Coordinator(3), solver, rounds=2, seed=0, runtime=runtime)
except KeyboardInterrupt:
    if seconds < 5.0:
        assert task.value([1.0, 1.0]) == 3.0
    print("interrupted", flush=True)
"""
"""A program that is interrupted while its black box is busy. Not all shells let it hear that."""


@pytest.mark.parametrize(
    ("workers", "seconds", "how"),
    [
        ("1", "600", "run"),
        pytest.param("1", "600", "exact", marks=pytest.mark.long),
        pytest.param("1", "600", "value", marks=pytest.mark.long),
        pytest.param("0", "600", "run", marks=pytest.mark.long),
        pytest.param("0", "1", "run", marks=pytest.mark.long),
        pytest.param("1", "1", "run", marks=pytest.mark.long),
    ],
)
def test_ctrl_c_ends_a_program(tmp_path: Path, workers: str, seconds: str, how: str) -> None:
    """Also while a Python function is busy for long, and later calls find nothing broken."""
    begun, script = tmp_path / "begun", tmp_path / "program.py"
    script.write_text(INTERRUPTED)
    with subprocess.Popen(
        [sys.executable, str(script), str(begun), workers, seconds, how],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            end = time.monotonic() + 120.0
            while not begun.exists():
                assert process.poll() is None, process.communicate()
                assert time.monotonic() < end, "it did not begin"
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            printed, errors = process.communicate(timeout=60.0)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    assert (process.returncode, printed) == (0, "interrupted\n"), errors
    assert "Error" not in errors


@pytest.mark.long
def test_no_black_box_is_called_where_an_interrupt_arrives() -> None:
    """In the main thread it could arrive anywhere within JAX or a lock, and break it."""
    here, threads = threading.get_ident(), set[int]()

    def seen(x: Any, agent: int) -> float:
        threads.add(threading.get_ident())
        return float(agent)

    task = black_box_problem(seen, 3, x0=[0.0, 0.0])
    assert task.value([1.0, 1.0]) == 3.0
    for exact in (False, True):
        solver, runtime = method.ORZO(step=0.1, directions=2), tacit.Simulation(exact=exact)
        tacit.run(task, network.Coordinator(3), solver, rounds=1, seed=0, runtime=runtime)
    problem.measure_noise(black_box_problem(lambda x, k: seen(x, k) + x @ x, 2, x0=[1.0]))
    assert threads and here not in threads


def test_a_worker_that_was_stopped_while_idle_is_replaced() -> None:
    host = black_box(lambda x, agent: float(x @ x + agent), 3, workers=1).host
    values = asked(host)
    host.interrupt()
    with pytest.raises(KeyboardInterrupt):
        host.raise_pending()
    np.testing.assert_array_equal(asked(host), values)
    host.raise_pending()
