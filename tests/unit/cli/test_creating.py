"""`tacit new method`: a package that works, and names that cannot be one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tacit.cli import app
from tests.installed import installed

ROOT = Path(__file__).parents[3]


def new(*arguments: str | Path, code: int = 0) -> str:
    done = CliRunner().invoke(app, ["new", "method", *map(str, arguments)])
    assert done.exit_code == code, (done.output, done.exception)
    return done.output


def python(*arguments: str | Path, folder: Path, site: Path | None = None) -> str:
    """Run a module in a folder; what it printed."""
    places = [ROOT] if site is None else [ROOT, site]
    done = subprocess.run(
        [sys.executable, "-m", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, places)), "COLUMNS": "400"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_file_is_written_and_in_good_style(tmp_path: Path) -> None:
    package = tmp_path / "package"
    document = json.loads(new("noisy-mixing-2", "-o", package, "--json"))
    assert document["format"] == "tacit-new-1" and document["name"] == "noisy-mixing-2"
    names = {str(Path(each).relative_to(package).as_posix()) for each in document["files"]}
    assert names == {
        "README.md",
        "pyproject.toml",
        "noisy_mixing_2/__init__.py",
        "noisy_mixing_2/method.py",
        "tests/test_method.py",
    }
    project = tomllib.loads((package / "pyproject.toml").read_text())["project"]
    assert project["name"] == "noisy-mixing-2"
    assert project["entry-points"]["tacit.methods"] == {
        "noisy-mixing-2": "noisy_mixing_2.method:NoisyMixing2"
    }
    assert not any("$" in Path(each).read_text() for each in document["files"])
    settings = ["--config", str(ROOT / "pyproject.toml")]
    python("ruff", "check", *settings, package, folder=ROOT)
    python("ruff", "format", "--check", *settings, package, folder=ROOT)


@pytest.mark.long
def test_its_tests_pass_and_tacit_finds_it(tmp_path: Path) -> None:
    package = tmp_path / "own-mixing"
    assert f"Next: pip install -e '{package}[test]'" in new("own-mixing", "-o", package)
    site = installed(tmp_path / "site", package)
    said = python("pytest", "-q", "-p", "no:cacheprovider", package, folder=package, site=site)
    assert "5 passed" in said
    found = json.loads(
        python("tacit", "describe", "own-mixing", "--json", folder=package, site=site)
    )
    assert found["status"] == "proved" and found["part"]["distribution"] == "own-mixing"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("NoisyMixing", "must be lower-case words with hyphens between, such as noisy-mixing"),
        ("noisy_mixing", "such as noisy-mixing"),
        ("2", "such as my-method"),
        ("../up", "such as up"),
        ("dpsg", "NAME 'dpsg' is a method already"),
        ("pvp-as-published", "is a method already"),
        ("class", "a module or a word 'class' already"),
        ("numpy", "a module or a word 'numpy' already"),
        ("tests", "a module or a word 'tests' already"),
    ],
)
def test_a_name_that_cannot_be_one_is_refused(name: str, said: str, tmp_path: Path) -> None:
    assert said in " ".join(new(name, "-o", tmp_path / "out", code=2).split())
    assert not (tmp_path / "out").exists()


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    assert "is not an empty directory" in new("own-mixing", "-o", tmp_path, code=2)
    assert "is not an empty directory" in new("own-mixing", "-o", tmp_path / "notes.txt", code=2)
    assert "cannot be written" in new("own-mixing", "-o", tmp_path / "notes.txt" / "in", code=2)
    assert [each.name for each in tmp_path.iterdir()] == ["notes.txt"]
