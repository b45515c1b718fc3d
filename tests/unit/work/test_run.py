from collections.abc import Sequence
from pathlib import Path

import pytest

from tacit.errors import RuntimeFailure
from tacit.reproduce import Piece
from tacit.reproduce.store import Store
from tacit.reproduce.target import Answer
from tacit.reproduce.work import Told, announced, answers, missing, run
from tests.unit.reproduce.pieces import die, fail, resume, square, squares


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


@pytest.mark.parametrize("cores", [1, 2])
def test_a_piece_that_resumes_finds_what_it_had_kept(tmp_path: Path, cores: int) -> None:
    store = Store(tmp_path / "pieces")
    pieces = [*squares(1), Piece(resume, {"number": 3.0}, 0.5, resumes=True)]
    with pytest.raises(ValueError, match=r"3\.0 is half squared"):
        finish(pieces, store, cores)
    assert [path.read_text() for path in store.folder.glob("*.part")] == ["9.0"]
    assert finish(pieces, store, cores)[1] == {"squared": 9.0}
    assert not list(store.folder.glob("*.part"))


def test_a_process_that_dies_is_reported_with_a_remedy(tmp_path: Path) -> None:
    pieces = [*squares(3), Piece(die, {"number": 9.0}, 0.5)]
    with pytest.raises(RuntimeFailure, match=r"a process was killed.*same command.*--cores"):
        finish(pieces, Store(tmp_path), 2)


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
