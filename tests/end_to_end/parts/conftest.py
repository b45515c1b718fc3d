"""A study of a package's parts, and the command line where the package is installed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.end_to_end.parts.package import METHOD, NETWORK, ROOT, Command
from tests.end_to_end.site_study import STUDY, a_study
from tests.installed import installed


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A study with a method and a graph of the package, beside its records."""
    a_study(tmp_path)
    text = STUDY.replace("NETWORK", NETWORK).replace("METHOD", METHOD)
    path = tmp_path / "study.toml"
    path.write_text(text.replace("ROUNDS", "6").replace("BUDGET", ""))
    return path


@pytest.fixture
def tacit(tmp_path: Path) -> Command:
    """The command line where the package is installed."""
    site = installed(tmp_path / "site")

    def run(*arguments: str | Path, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "tacit", *map(str, arguments)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={
                **os.environ,
                "PYTHONPATH": f"{ROOT}{os.pathsep}{site}",
                "TACIT_PARTS": str(tmp_path / "pins.json"),
                "COLUMNS": "400",
            },
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done

    return run
