"""The sdist and the wheel, built, installed where nothing else is, and used there."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from tests.end_to_end.study import write

ROOT = Path(__file__).parents[2]
MOST = 750
"""Megabytes (of 2^20 bytes) that tacit and all that it needs may take, compiled files included."""

# an installation as others have it: compiled, and with no path to this tree
USUAL = {
    name: value
    for name, value in os.environ.items()
    if name not in ("PIP_NO_COMPILE", "PYTHONDONTWRITEBYTECODE", "PYTHONPATH")
}


def done(*command: str | Path, folder: Path) -> str:
    """What a command that must succeed prints."""
    ended = subprocess.run(
        list(map(str, command)), cwd=folder, env=USUAL, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The sdist, and the wheel that is built from it."""
    folder = tmp_path_factory.mktemp("dist")
    done(sys.executable, "-m", "build", "--outdir", folder, ROOT, folder=folder)
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return sdist, wheel


@pytest.mark.long
def test_nothing_is_missing_and_nothing_else_is_inside(built: tuple[Path, Path]) -> None:
    sdist, wheel = built
    source = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "tacit").rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert {"tacit/py.typed", "tacit/report/report.css"} <= source
    installed = set(zipfile.ZipFile(wheel).namelist())
    assert {name for name in installed if ".dist-info/" not in name} == source
    with tarfile.open(sdist) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    assert source | {"LICENSE", "README.md", "pyproject.toml", "tests/conftest.py"} <= packed
    assert {name.partition("/")[0] for name in packed} == {
        *("tacit", "tests", "docs", "benchmarks", "examples"),
        *("CHANGELOG.md", "CITATION.cff", "LICENSE", "PKG-INFO", "README.md", "SECURITY.md"),
        *("pyproject.toml", ".gitignore"),
    }


@pytest.mark.slow
def test_it_runs_where_nothing_else_is_installed(built: tuple[Path, Path], tmp_path: Path) -> None:
    venv.create(tmp_path / "clean", with_pip=True)
    scripts = tmp_path / "clean" / ("Scripts" if os.name == "nt" else "bin")
    python, tacit = scripts / "python", scripts / "tacit"
    (packages,) = (tmp_path / "clean").rglob("site-packages")
    pip = _size(packages)

    done(python, "-m", "pip", "install", "--quiet", built[1], folder=tmp_path)
    assert _size(packages) - pip <= MOST
    write(tmp_path)
    assert done(tacit, "--version", folder=tmp_path).startswith("tacit ")
    assert "Report: " in done(tacit, "run", "study.toml", folder=tmp_path)
    where = done(python, "-c", "import tacit; print(tacit.__file__)", folder=tmp_path)
    assert Path(where.strip()).is_relative_to(packages)

    again = ("install", "--quiet", "--force-reinstall", "--no-deps", built[0])
    done(python, "-m", "pip", *again, folder=tmp_path)
    assert "4 owners, 20 rounds" in done(tacit, "account", "study.toml", folder=tmp_path)
    done(python, "-m", "pip", "check", folder=tmp_path)


def _size(folder: Path) -> float:
    """What a folder takes on the disk, in megabytes, in blocks of 4 kB."""
    files = (path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return sum(-(-size // 4096) * 4096 for size in files) / 2**20
