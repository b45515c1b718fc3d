from pathlib import Path

import pytest

from tacit._engine.source_code import reached
from tacit._jobs import Piece, Store, name_of
from tacit.errors import RuntimeFailure
from tacit.papers import run
from tacit.sweep import chunk
from tests.unit._jobs.pieces import fail, square


def test_an_answer_comes_back(tmp_path: Path) -> None:
    store, piece = Store(tmp_path / "pieces"), Piece(square, {"number": 3.0}, 1.0)
    assert store.get(piece) is None
    store.put(piece, {"squared": 9.0, "names": ["a", "b"]})
    assert store.get(piece) == {"squared": 9.0, "names": ["a", "b"]}
    assert [file.suffix for file in (tmp_path / "pieces").iterdir()] == [".json"]


def test_the_name_depends_on_what_is_computed_and_not_on_its_price() -> None:
    piece = Piece(square, {"number": 3.0, "other": 1}, 1.0)
    assert name_of(piece) == name_of(Piece(square, {"other": 1, "number": 3.0}, 50.0))
    assert name_of(piece) != name_of(Piece(square, {"number": 3.5, "other": 1}, 1.0))
    assert name_of(piece) != name_of(Piece(fail, {"number": 3.0, "other": 1}, 1.0))


@pytest.mark.not_quick
def test_code_that_a_module_imports_is_part_of_the_name() -> None:
    found = {file.name for file in reached(Path(str(run.__file__)))[0]}
    assert found >= {"run.py", "catalogue.py", "claims.py", "images.py", "target.py"}
    found = {file.name for file in reached(Path(str(chunk.__file__)))[0]}
    assert found >= {"chunk.py", "read.py", "run.py", "build.py", "tables.py", "scores.py"}
    assert not found & {"page.py", "folder.py", "words.py"}


@pytest.mark.parametrize("torn", ["", '{"answer": {"squ', "[]", '{"piece": "x"}'])
def test_a_torn_file_counts_as_missing(tmp_path: Path, torn: str) -> None:
    store, piece = Store(tmp_path), Piece(square, {"number": 3.0}, 1.0)
    (tmp_path / f"{name_of(piece)}.json").write_text(torn, encoding="utf-8")
    assert store.get(piece) is None


def test_a_store_that_cannot_be_written_says_where_and_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    piece = Piece(square, {"number": 3.0}, 1.0)
    with pytest.raises(RuntimeFailure, match=r"cannot be written .*--output"):
        Store(tmp_path / "file" / "pieces").put(piece, {})
