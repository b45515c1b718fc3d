"""Whose source a digest of code is made of."""

from __future__ import annotations

from pathlib import Path

import jax
import pytest

from tacit._engine import source_code
from tacit._engine.source_code import reached


def made(folder: Path, **files: str) -> Path:
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    return folder


def test_what_a_users_file_imports_is_followed_and_of_what_is_installed_the_version_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = ["import math, jax.numpy", "from first.inner import x", "def f():", " import second"]
    folder = made(tmp_path / "own", work="\n".join(lines), second="", third="")
    made(folder / "first", __init__="from . import beside", inner="", beside="", other="")
    monkeypatch.syspath_prepend(folder)
    files, packages = reached(folder / "work.py")
    names = {str(file.relative_to(folder)) for file in files}
    inner = {"first/__init__.py", "first/inner.py", "first/beside.py"}
    assert names == {"work.py", "second.py"} | inner and packages == {"jax"}
    assert reached(Path(str(jax.__file__))) == (set(), {"jax"})
    (tmp_path / "built.so").write_bytes(bytes(64))
    assert reached(tmp_path / "built.so") == ({tmp_path / "built.so"}, set())
    files, _ = reached(folder / "first" / "inner.py")
    assert {file.name for file in files} == {"inner.py", "__init__.py", "beside.py"}


def test_of_an_installed_package_the_code_that_runs_is_followed_within_it(tmp_path: Path) -> None:
    lines = "import jax\nfrom acme.inner import x\nimport beside"
    home = made(tmp_path / "site-packages" / "acme", __init__="", work=lines, inner="", other="")
    made(tmp_path / "site-packages" / "beside", __init__="")
    files, packages = reached(home / "work.py")
    assert {file.name for file in files} == {"__init__.py", "work.py", "inner.py"}
    assert packages == {"acme", "jax", "beside"}


def test_tacit_is_followed_where_it_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = made(tmp_path / "site-packages" / "tacit", a="from tacit.b import c", b="", d="")
    monkeypatch.setattr(source_code, "HOME", home)
    assert reached(home / "a.py") == ({home / "a.py", home / "b.py"}, set())
