"""The installed tacit: which one it is, and when it has become another."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import tacit
from tacit.deploy.standing import installed
from tacit.deploy.standing.installed import Found, Installed
from tests.standing import Three


def test_it_is_not_the_one_in_the_folder_where_one_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tacit").mkdir()
    (tmp_path / "tacit" / "__init__.py").write_text("raise ImportError")
    monkeypatch.chdir(tmp_path)
    assert installed.installed() == (tacit.__version__, "")


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a tacit 9.9 that is installed and has nothing in it."""
    made = tmp_path / "installed" / "tacit"
    made.mkdir(parents=True)
    (made / "__init__.py").write_text('__version__ = "9.9"')
    (made / "__main__.py").write_text('print("tacit 9.9")')
    monkeypatch.setenv("PYTHONPATH", str(made.parent))
    return made


def test_one_that_cannot_be_imported_has_no_version(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (package / "__init__.py").write_text("raise ImportError('a broken release')")
    assert installed.installed() == ("", "ImportError: a broken release")
    (package / "__init__.py").write_text("import time; time.sleep(60)")
    monkeypatch.setattr(installed, "_ANSWER_SECONDS", 1.0)
    assert installed.installed() == ("", "it has not answered for 1 s")
    monkeypatch.setattr(installed, "COMMAND", (str(package / "nowhere"),))
    version, why = installed.installed()
    assert (version, "No such file" in why) == ("", True)


def test_one_that_has_a_version_may_not_start(package: Path, tmp_path: Path) -> None:
    assert installed.installed() == ("9.9", "")
    lacking = Found("", "ModuleNotFoundError: No module named 'tacit.cli'")
    assert installed.startable(tmp_path) == lacking
    found = Installed(tmp_path)
    found.look()
    assert (found.found, found.other, found.settled) == (lacking, True, False)
    assert f"No module named 'tacit.cli'); install {tacit.__version__} again" in found.told()


@pytest.mark.long
def test_one_starts_for_a_folder_that_it_can_read(three: Three) -> None:
    folder = three.sites["north"].folder
    assert installed.startable(folder) == (tacit.__version__, "")
    (folder / "site.toml").write_text('format = "tacit-site-9"')
    version, why = installed.startable(folder)
    assert (version, "of another version" in why) == ("", True)


def test_it_is_asked_for_when_its_files_have_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, mark = list[str](), [1]
    there = [tacit.__version__]
    monkeypatch.setattr(installed, "_mark", lambda: tuple(mark))
    monkeypatch.setattr(installed, "installed", lambda: asked.append("") or Found(there[0]))
    monkeypatch.setattr(installed, "startable", lambda folder: Found(there[0]))
    monkeypatch.setattr(installed, "_AGAIN_SECONDS", 0.0)
    found = Installed(tmp_path)
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
    time.sleep(0.05)
    found.look()  # it is mended
    assert not found.other


def test_one_that_answers_slowly_is_asked_seldom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent does nothing else meanwhile."""
    asked = list[str]()

    def slow() -> Found:
        asked.append("")
        time.sleep(0.1)
        return Found("")

    monkeypatch.setattr(installed, "_mark", lambda: ())
    monkeypatch.setattr(installed, "installed", slow)
    monkeypatch.setattr(installed, "_AGAIN_SECONDS", 0.0)
    found = Installed(tmp_path)
    ends = time.monotonic() + 0.8
    while time.monotonic() < ends:
        found.look()
    assert len(asked) == 1
