import os
import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import pytest

from tacit._engine.environment import HOME
from tacit._jobs import Answer, Piece, Store, Told, announced, answers, missing, name_of, run
from tacit.errors import RuntimeFailure
from tests.unit._jobs.pieces import die, die_once, fail, resume, square, square_of, squares, whose


def finish(
    pieces: Sequence[Piece], store: Store, cores: int, told: Told | None = None
) -> list[Answer]:
    """Run what is missing, and read all answers."""
    for piece in run(missing(pieces, store), store, cores, told):
        assert store.get(piece) is not None
    return answers(pieces, store)


def test_answers_stand_in_the_order_of_the_pieces_and_are_run_once(tmp_path: Path) -> None:
    store, pieces = Store(tmp_path), squares(3)
    found = finish([pieces[2], pieces[0], pieces[2]], store, 1)
    assert [answer["squared"] for answer in found] == [4.0, 0.0, 4.0]
    assert found[0]["when"] == found[2]["when"]
    assert finish([pieces[0]], store, 1)[0]["when"] == found[1]["when"]


def test_processes_answer_the_same(tmp_path: Path) -> None:
    told: list[tuple[float, float]] = []
    found = finish(squares(4), Store(tmp_path), 2, lambda *done: told.append(done))
    assert [answer["squared"] for answer in found] == [0.0, 1.0, 4.0, 9.0]
    assert told == [(1.0, 4.0), (2.0, 4.0), (3.0, 4.0), (4.0, 4.0)]


@pytest.mark.parametrize("cores", [1, 2])
def test_what_ended_before_a_failure_is_stored(tmp_path: Path, cores: int) -> None:
    store = Store(tmp_path)
    pieces = [*squares(3), Piece(fail, {"number": 9.0}, 0.5)]
    with pytest.raises(ValueError, match=r"9\.0 is not to be squared"):
        finish(pieces, store, cores)
    assert missing(pieces, store) == [pieces[-1]]


@pytest.mark.long
@pytest.mark.parametrize("cores", [1, 2])
def test_a_piece_that_resumes_finds_what_it_had_kept(tmp_path: Path, cores: int) -> None:
    store = Store(tmp_path / "pieces")
    pieces = [*squares(1), Piece(resume, {"number": 3.0}, 0.5, resumes=True)]
    with pytest.raises(ValueError, match=r"3\.0 is half squared"):
        finish(pieces, store, cores)
    assert [path.read_text() for path in store.folder.glob("*.part")] == ["9.0"]
    assert finish(pieces, store, cores)[1] == {"squared": 9.0}
    assert not list(store.folder.glob("*.part"))


def test_nothing_is_stored_under_code_that_did_not_compute_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path)
    monkeypatch.setattr("tacit._engine.environment._LOADED", "what the process began with")
    with pytest.raises(RuntimeFailure, match=r"edited after .* start Python anew"):
        missing(squares(1), store)
    with pytest.raises(RuntimeFailure, match=r"edited after .* start Python anew"):
        next(run(squares(1), store, 1))
    assert not list(tmp_path.iterdir())


@pytest.mark.long
def test_a_process_that_dies_again_and_again_is_reported_with_a_remedy(tmp_path: Path) -> None:
    store, pieces = Store(tmp_path), [*squares(3), Piece(die, {"number": 9.0}, 0.5)]
    with pytest.raises(RuntimeFailure, match=r"killed 3 times.*same command.*--cores"):
        finish(pieces, store, 2)
    assert pieces[-1] in missing(pieces, store)


@pytest.mark.long
def test_a_process_that_is_killed_is_replaced_and_loses_nothing(tmp_path: Path) -> None:
    log = tmp_path / "log"
    pieces = [
        *squares(3),
        Piece(die_once, {"number": 9.0, "log": str(log)}, 0.5),
        *squares(6, first=3),
    ]
    found = finish(pieces, Store(tmp_path / "pieces"), 2)
    assert [answer["squared"] for answer in found] == [
        0.0,
        1.0,
        4.0,
        81.0,
        *(n**2 for n in range(3, 9)),
    ]
    assert log.read_text() == "x"


def test_little_work_starts_no_process(tmp_path: Path) -> None:
    pieces = [Piece(whose, {"number": n}, 0.1) for n in range(6)]
    store = Store(tmp_path)
    for _ in run(pieces, store, 2, patience=5.0):
        pass
    assert {answer["process"] for answer in answers(pieces, store)} == {os.getpid()}


@pytest.mark.long
def test_work_that_turns_out_long_is_spread(tmp_path: Path) -> None:
    pieces = [Piece(whose, {"number": n, "seconds": 0.1}, 0.1) for n in range(8)]
    store = Store(tmp_path)
    for _ in run(pieces, store, 2, patience=0.3):
        pass
    found = [answer["process"] for answer in answers(pieces, store)]
    # two pieces told how long they take
    assert found[:2] == [os.getpid()] * 2 and os.getpid() not in found[2:]


def test_a_file_is_part_of_the_name_by_what_it_holds(tmp_path: Path) -> None:
    one, two = tmp_path / "one.txt", tmp_path / "two.txt"
    one.write_text("3")
    two.write_text("3")
    store = Store(tmp_path / "pieces")
    assert finish([Piece(square_of, {}, 1.0, inputs={"file": one})], store, 1) == [{"squared": 9.0}]
    assert not missing([Piece(square_of, {}, 1.0, inputs={"file": two})], store)
    one.write_text("44")
    changed = Piece(square_of, {}, 1.0, inputs={"file": one})
    assert missing([changed], store) == [changed]
    one.unlink()
    with pytest.raises(RuntimeFailure, match=r"one\.txt can no longer be read.*put it back"):
        missing([changed], store)


def test_files_that_match_a_pattern_are_part_of_the_name_with_theirs(tmp_path: Path) -> None:
    own = tmp_path / "sites"
    own.mkdir()
    for name in ("north", "south"):
        (own / f"{name}.csv").write_text(name)

    def name() -> str:
        return name_of(Piece(square_of, {}, 1.0, inputs={"file": own / "*.csv"}))

    first = name()
    (own / "notes.txt").write_text("no record")
    assert name() == first
    (own / "south.csv").write_text("others")
    second = name()
    (own / "south.csv").rename(own / "west.csv")
    third = name()
    assert len({first, second, third}) == 3
    for each in own.glob("*.csv"):
        each.unlink()
    with pytest.raises(RuntimeFailure, match=r"no file matches .*\*\.csv any longer"):
        name()


def test_the_longest_come_first_and_bound_the_time() -> None:
    store = Store(Path("nowhere"))
    pieces = [Piece(square, {"number": n}, seconds) for n, seconds in enumerate((2.0, 9.0, 4.0))]
    assert [piece.seconds for piece in missing(pieces, store)] == [9.0, 4.0, 2.0]
    assert announced(pieces, 1) == 15.0
    assert announced(pieces, 2) == 9.0
    assert announced([], 2) == 0.0


def test_an_answer_that_vanished_is_reported(tmp_path: Path) -> None:
    with pytest.raises(RuntimeFailure, match=r"vanished.*same command again"):
        answers(squares(1), Store(tmp_path))


SCRIPT = """
from pathlib import Path
from tacit._jobs import Piece, Store, answers, missing, run
from own.work import doubled
pieces, store = [Piece(doubled, {"number": 3.0}, 1.0)], Store(Path("pieces"))
left = missing(pieces, store)
for _ in run(left, store, 1):
    pass
print(len(left), answers(pieces, store)[0]["value"])
"""
OWN = {
    "own/__init__.py": "",
    "own/work.py": "from .law import law\ndef doubled(number): return {'value': law(number)}",
    "own/law.py": "import factor\ndef law(number): return factor.FACTOR * number",
    "factor.py": "FACTOR = 2",
}


@pytest.mark.long
def test_an_answer_of_ones_own_code_is_computed_anew_when_that_code_was_edited(
    tmp_path: Path,
) -> None:
    """Also where a module was edited that the work's own module imports."""
    (tmp_path / "own").mkdir()
    for name, text in {**OWN, "script.py": SCRIPT}.items():
        (tmp_path / name).write_text(text)

    def told() -> list[str]:
        command = [sys.executable, "script.py"]
        place = {**os.environ, "PYTHONPATH": str(HOME.parent), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(command, cwd=tmp_path, env=place, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    assert [told(), told()] == [["1", "6.0"], ["0", "6.0"]]
    (tmp_path / "factor.py").write_text("FACTOR = 5")
    assert told() == ["1", "15.0"]
    (tmp_path / "own" / "law.py").write_text("def law(number): return number")
    assert told() == ["1", "3.0"]


def test_ones_own_code_that_is_edited_while_it_runs_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "edited_work.py").write_text("def work(number): return {'value': number}")
    monkeypatch.syspath_prepend(tmp_path)
    pieces, store = (
        [Piece(import_module("edited_work").work, {"number": 1.0}, 1.0)],
        Store(tmp_path),
    )
    assert missing(pieces, store) == pieces
    (tmp_path / "edited_work.py").write_text("def work(number): return {'value': -number}")
    with pytest.raises(RuntimeFailure, match=r"edited after .* start Python anew"):
        next(run(pieces, store, 1))
