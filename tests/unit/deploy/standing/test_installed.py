"""The installed tacit: which one it is, and when it has become another."""

from __future__ import annotations

from pathlib import Path

import pytest

import tacit
from tacit.deploy.standing import installed
from tacit.deploy.standing.installed import Installed


def test_it_is_not_the_one_in_the_folder_where_one_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tacit").mkdir()
    (tmp_path / "tacit" / "__init__.py").write_text("raise ImportError")
    monkeypatch.chdir(tmp_path)
    assert installed.installed() == tacit.__version__


def test_one_that_cannot_be_imported_has_no_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tacit").mkdir()
    (tmp_path / "tacit" / "__init__.py").write_text("raise ImportError")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert installed.installed() == ""


def test_it_is_asked_for_when_its_files_have_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, mark = list[str](), [1]
    there = [tacit.__version__]
    monkeypatch.setattr(installed, "_mark", lambda: tuple(mark))
    monkeypatch.setattr(installed, "installed", lambda: asked.append("") or there[0])
    found = Installed()
    for _ in range(3):
        found.look()
    assert (len(asked), found.other, found.told()) == (1, False, "")
    there[0] = "9.9"
    found.look()
    assert not found.other
    mark[0] = 2
    found.look()
    assert (found.other, found.settled) == (True, False)  # pip may be at it
    assert "is 9.9" in found.told()
    monkeypatch.setattr(installed, "_SETTLED_SECONDS", 0.0)
    assert found.settled
    there[0] = ""
    found.look(again=True)
    assert (found.other, found.settled, "does not start" in found.told()) == (True, False, True)
    there[0] = tacit.__version__
    monkeypatch.setattr(installed, "_AGAIN_SECONDS", 0.0)
    found.look()  # it is mended
    assert not found.other
