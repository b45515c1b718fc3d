"""Evaluations that are kept in a file: nothing is evaluated twice, and a stopped run goes on."""

import collections
import functools
import random
import re
import sqlite3
import stat
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

import tacit
from tacit.errors import OracleError, ProblemError
from tacit.method import ORZO
from tacit.network import Coordinator
from tacit.problem import black_box, black_box_problem, forget_failures, record_box
from tacit.problem.code_digest import digest

POINTS = np.arange(6.0).reshape(3, 2) / 3.0
OWNERS = np.arange(3)
FACTOR = 2.0


def helped(x: Any) -> float:
    return float(FACTOR * x.sum())


def cost(x: Any, agent: int) -> float:
    return helped(x) + agent


def made(text: str, **given: Any) -> Any:
    """A function from its source, as another version of a program would have it."""
    names = dict(given)
    exec(text, names)
    return names["f"]


@pytest.mark.not_quick
@pytest.mark.parametrize("workers", [None, 2])
def test_a_point_is_evaluated_once(tmp_path: Path, workers: int | None) -> None:
    file = tmp_path / "evaluations.sqlite"
    first = black_box(cost, 3, cache=file, workers=workers).host
    values = first.evaluate(POINTS, OWNERS)
    again = black_box(cost, 3, cache=str(file)).host
    np.testing.assert_array_equal(again.evaluate(POINTS, OWNERS), values)
    assert again.calls.tolist() == [0, 0, 0]
    # another point, and another agent at a known one
    again.evaluate(np.nextafter(POINTS, 9.0), OWNERS)
    again.evaluate(POINTS, np.roll(OWNERS, 1))
    assert again.calls.tolist() == [2, 2, 2]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_file_that_was_open_to_others_is_closed_to_them(tmp_path: Path) -> None:
    file, other = tmp_path / "evaluations.sqlite", tmp_path / "records.csv"
    for path in (file, other):
        path.write_text("" if path is file else "age,ill\n40,yes\n" * 9)
        path.chmod(0o644)
    for _ in range(2):  # empty, then one of tacit's own
        file.chmod(0o644)
        box = black_box(cost, 3, cache=file)
        box.host.evaluate(POINTS, OWNERS)
        beside = list(tmp_path.glob("evaluations.sqlite*"))  # the log, too
        assert {stat.S_IMODE(path.stat().st_mode) for path in beside} == {0o600}
        assert len(beside) > 1
        del box
    with pytest.raises(ProblemError, match="cannot be used for evaluations"):
        black_box(cost, 3, cache=other)
    assert stat.S_IMODE(other.stat().st_mode) == 0o644


def test_a_stopped_run_goes_on_where_it_was(tmp_path: Path) -> None:
    file, broken = tmp_path / "evaluations.sqlite", tmp_path / "broken"

    def fragile(x: Any, agent: int) -> float:
        if agent == 2 and broken.exists():
            raise OSError("no licence")
        return float(agent)

    broken.touch()
    host = black_box(fragile, 3, cache=file).host
    host.evaluate(POINTS, OWNERS)
    with pytest.raises(OracleError, match="no licence"):
        host.raise_pending()
    broken.unlink()
    host = black_box(fragile, 3, cache=file).host
    assert host.evaluate(POINTS, OWNERS)[:, 0].tolist() == [0.0, 1.0, 2.0]
    assert host.calls.tolist() == [0, 0, 1]


@pytest.mark.long
def test_a_skipped_point_is_skipped_again_until_it_is_forgotten(tmp_path: Path) -> None:
    """A simulator that fails by chance, in a run that is repeated."""
    file = tmp_path / "evaluations.sqlite"
    random.seed(1)

    def flaky(x: Any, agent: int) -> float:
        if agent == 2 and random.random() < 0.3:
            raise OSError("no licence")
        return float(np.sum((x - agent) ** 2))

    def run() -> tuple[tacit.Result, int]:
        task = black_box_problem(flaky, 3, x0=[0.9, 0.9], on_failure="skip", cache=file)
        found = tacit.run(task, Coordinator(3), ORZO(step=0.1, directions=3), rounds=6, seed=0)
        objectives: Any = task.objectives
        return found, objectives.calls

    first, made = run()
    again, asked = run()
    assert first.skipped["agent 2"] > 1 and made > 50
    assert (asked, again.skipped) == (0, first.skipped)
    np.testing.assert_array_equal(again.solutions, first.solutions)
    assert "kept in cache" in again.failures["agent 2"] and "forget_failures" in str(again)
    assert "kept in cache" not in first.failures["agent 2"]
    assert forget_failures(file) == first.skipped["agent 2"]
    changed, asked = run()
    assert asked > 0 and changed.skipped != first.skipped


def test_only_a_run_that_skips_passes_by_what_has_failed(tmp_path: Path) -> None:
    file, broken = tmp_path / "evaluations.sqlite", tmp_path / "broken"

    def fragile(x: Any, agent: int) -> float:
        if broken.exists():
            raise OSError("no licence")
        return float(agent)

    broken.touch()
    skipping = black_box(fragile, 3, cache=file, on_failure="skip").host
    assert np.isnan(skipping.evaluate(POINTS, OWNERS)).all()
    broken.unlink()
    host = black_box(fragile, 3, cache=file).host
    assert host.evaluate(POINTS, OWNERS)[:, 0].tolist() == [0.0, 1.0, 2.0]


def test_what_an_interrupt_ends_has_not_failed(tmp_path: Path) -> None:
    file, began = tmp_path / "evaluations.sqlite", tmp_path / "began"
    command = ["sh", "-c", f"touch {began}; sleep 60"]
    host = black_box(command=command, agents=2, cache=file, on_failure="skip").host
    thread = threading.Thread(target=host.evaluate, args=(POINTS[:2], OWNERS[:2]))
    thread.start()
    while not began.exists():
        time.sleep(0.01)
    host.interrupt()
    thread.join(30.0)
    with closing(sqlite3.connect(file)) as kept:
        assert kept.execute("SELECT count(*) FROM failures").fetchone() == (0,)
    with pytest.raises(KeyboardInterrupt):
        host.raise_pending()


def test_failures_are_forgotten_of_evaluations_only(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match=r"no file of evaluations \(there is none\)"):
        forget_failures(tmp_path / "none.sqlite")
    assert not (tmp_path / "none.sqlite").exists()
    (tmp_path / "study.toml").write_text("title = 'not a database, and long enough to tell'\n" * 9)
    with pytest.raises(ProblemError, match="not a database"):
        forget_failures(tmp_path / "study.toml")


def test_batches_and_records_are_found_point_by_point(tmp_path: Path) -> None:
    def many(points: Any, agent: int) -> Any:
        return points.sum(axis=1)

    given: dict[str, Any] = {"batched": True, "cache": tmp_path / "evaluations.sqlite"}
    black_box(many, 3, **given).host.evaluate(POINTS[:1], 0 * OWNERS[:1])
    host = black_box(many, 3, **given).host
    np.testing.assert_array_equal(host.evaluate(POINTS, 0 * OWNERS)[:, 0], POINTS.sum(axis=1))
    assert host.calls.tolist() == [2, 0, 0]

    def losses(x: Any, rows: Any) -> Any:
        return rows @ x

    rows = [np.ones((2, 2)), np.zeros((1, 2))]
    for tables, calls in ((rows, [1, 1]), (rows, [0, 0]), ([rows[0], 1 + rows[1]], [0, 1])):
        host = record_box(losses, tables, cache=given["cache"]).host
        values = host.evaluate(POINTS[1:], np.arange(2))
        assert values[0].tolist() == [POINTS[1].sum()] * 2
        assert host.calls.tolist() == calls


def test_other_code_is_another_function() -> None:
    text = "def f(x, agent):\n    return g(x) + {}\n"
    one = digest(made(text.format(1), g=helped))
    assert one == digest(made("\n\n" + text.format(1), g=helped))
    assert one != digest(made(text.format(2), g=helped))
    assert one != digest(made(text.format(1), g=lambda x: 0.0))
    assert digest(functools.partial(cost, 1)) != digest(functools.partial(cost, 2))

    def scaled(by: Any) -> Any:
        return lambda x, agent: by * x

    assert digest(scaled(2.0)) == digest(scaled(2.0)) != digest(scaled(3.0))


class Simulator:
    def __init__(self, factor: float) -> None:
        self.factor = factor

    def __call__(self, x: Any, agent: int) -> float:
        return self.factor * helped(x)


def test_objects_are_compared_by_class_and_state(monkeypatch: pytest.MonkeyPatch) -> None:
    one = digest(Simulator(2.0))
    assert one == digest(Simulator(2.0)) != digest(Simulator(3.0))
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    assert one != digest(Simulator(2.0))


class Tabled(dict[str, float]):
    """Holds its content as a dict, beside its attributes."""


class Slotted:
    __slots__ = ("factor",)

    def __init__(self, factor: float) -> None:
        self.factor = factor


class Constant:
    factor = 2.0

    @property
    def twice(self) -> float:
        return 2.0 * self.factor

    def __call__(self, x: Any, agent: int) -> float:
        return self.twice * helped(x)


class Listed(list[float]):
    def __init__(self, name: str, *values: float) -> None:
        super().__init__(values)
        self.name = name


def nested(factor: float) -> Any:
    """An object that is its own part."""
    made: Any = Simulator(factor)
    made.itself = made
    return made


Pair = collections.namedtuple("Pair", "low high")


@pytest.mark.parametrize(
    "of",
    [
        lambda c: collections.OrderedDict(factor=c),
        lambda c: collections.deque([c]),
        lambda c: np.rec.array([(c, 1)], dtype=[("factor", float), ("n", int)]),
        lambda c: np.array([Slotted(c)], dtype=object),
        lambda c: np.ma.masked_equal([1.0, c], 1.0),
        lambda c: np.float64(c),
        lambda c: np.random.default_rng(int(c)),
        lambda c: Tabled(factor=c),
        lambda c: Listed("values", c),
        lambda c: Listed(str(c)),
        lambda c: Pair(0.0, c),
        lambda c: Slotted(c),
        lambda c: nested(c),
        lambda c: {"factor": [c, Simulator(c)]},
        lambda c: {"a", "b", str(c)},
        lambda c: pd.DataFrame({"factor": [c]}),
        lambda c: functools.partial(cost, agent=c),
        lambda c: Simulator(c).__call__,
        lambda c: jnp.array([c]),
        lambda c: re.compile(str(c)),
        lambda c: np.sin if c == 2.0 else np.cos,
    ],
)
def test_content_is_compared_wherever_an_object_holds_it(of: Any) -> None:
    assert digest(of(2.0)) == digest(of(2.0)) != digest(of(3.0))
    assert digest(lambda x: of(2.0)) == digest(lambda x: of(2.0))


def test_constants_and_properties_of_a_class_are_code(monkeypatch: pytest.MonkeyPatch) -> None:
    one = digest(Constant())
    monkeypatch.setattr(Constant, "factor", 3.0)
    other = digest(Constant())
    monkeypatch.setattr(Constant, "twice", property(lambda self: 4.0))
    assert len({one, other, digest(Constant())}) == 3


def test_which_of_two_values_comes_again_is_seen() -> None:
    a, b = Slotted(1.0), Slotted(2.0)
    assert digest([a, b, a]) != digest([a, b, b])


def test_agents_never_share_values(tmp_path: Path) -> None:
    """Not even with equal data: a function may keep more about them."""

    def losses(x: Any, rows: Any) -> Any:
        return rows @ x

    rows = [np.ones((2, 2))] * 2
    host = record_box(losses, rows, cache=tmp_path / "evaluations.sqlite").host
    host.evaluate(POINTS[:1], np.arange(2))
    assert host.calls.tolist() == [1, 1]


def test_what_cannot_be_compared_is_refused(tmp_path: Path) -> None:
    loop: list[Any] = []
    loop.append(loop)
    for content in ((x for x in loop), threading.Lock(), loop):
        with pytest.raises(ProblemError, match="cache: the function or its data hold what cannot"):
            black_box(lambda x, agent, c=content: 0.0, 3, cache=tmp_path / "file")
    assert not (tmp_path / "file").exists()


def test_a_changed_program_is_another_one(tmp_path: Path) -> None:
    script = tmp_path / "simulate.sh"
    found = []
    for text in ("echo 1", "echo 1", "echo 2"):
        script.write_text(text)
        given: dict[str, Any] = {"command": ["sh", str(script)], "agents": 3}
        host = black_box(**given, cache=tmp_path / "evaluations.sqlite").host
        found.append((host.evaluate(POINTS[:1], OWNERS[:1]).item(), int(host.calls.sum())))
    assert found == [(1.0, 1), (1.0, 0), (2.0, 1)]


def test_a_database_of_another_program_is_left_as_it_is(tmp_path: Path) -> None:
    for name, made in (
        ("other", "CREATE TABLE patients (name TEXT)"),
        ("like", "CREATE TABLE evaluations (patient TEXT)"),
    ):
        file = tmp_path / name
        with closing(sqlite3.connect(file)) as other:
            other.execute(made)
        before = file.read_bytes(), file.stat().st_mode
        with pytest.raises(ProblemError, match="a database of another program"):
            black_box(cost, 3, cache=file)
        assert (file.read_bytes(), file.stat().st_mode) == before


def test_what_was_not_yet_moved_from_a_log_counts(tmp_path: Path) -> None:
    file, own = tmp_path / "other", tmp_path / "own"
    with closing(sqlite3.connect(file)) as other:
        other.execute("PRAGMA journal_mode = WAL")
        other.execute("CREATE TABLE patients (name TEXT)")  # in the log alone
        other.commit()
        before = file.read_bytes(), file.stat().st_mode
        with pytest.raises(ProblemError, match="a database of another program"):
            black_box(cost, 3, cache=file)
        assert (file.read_bytes(), file.stat().st_mode) == before
    box = black_box(cost, 3, cache=own)
    box.host.evaluate(POINTS, OWNERS)
    killed = tmp_path / "killed"
    for each in tmp_path.glob("own*"):  # as a killed process leaves its files
        copy = killed.with_name(each.name.replace("own", "killed"))
        copy.write_bytes(each.read_bytes())
        copy.chmod(0o644)
    again = black_box(cost, 3, cache=killed).host
    again.evaluate(POINTS, OWNERS)
    assert again.calls.tolist() == [0, 0, 0]
    modes = {stat.S_IMODE(each.stat().st_mode) for each in tmp_path.glob("killed*")}
    assert modes == {0o600}


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a database, but long enough to be taken for a broken one")
    for file in (tmp_path / "text", tmp_path / "no folder" / "file", tmp_path):
        with pytest.raises(ProblemError, match="cannot be used for evaluations"):
            black_box(cost, 3, cache=file)


def test_a_file_that_another_run_makes_is_waited_for(tmp_path: Path) -> None:
    file = tmp_path / "evaluations.sqlite"
    other = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    done = threading.Timer(0.5, other.close)
    done.start()
    box = black_box(cost, 3, cache=file).host
    box.evaluate(POINTS, OWNERS)
    done.join()
    assert box.calls.tolist() == [1, 1, 1]


def test_a_full_disk_is_told_with_a_remedy(tmp_path: Path) -> None:
    file = tmp_path / "evaluations.sqlite"
    box = black_box(cost, 3, cache=file).host
    box.evaluate(POINTS, OWNERS)
    with closing(sqlite3.connect(file)) as other:
        other.execute(
            "CREATE TRIGGER full BEFORE INSERT ON evaluations "
            "BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END"
        )
        other.commit()
    box.evaluate(POINTS + 1.0, OWNERS)
    with pytest.raises(ProblemError, match=r"disk is full.*What was stored .* the same again"):
        box.raise_pending()
