"""What a process knows of the source that it computes with."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tacit._engine import environment

EDITED = """
import importlib
import pytest

from tacit._engine import environment

def state():
    return environment.source_digest(), environment.edited()

before = state()
path = environment.HOME / "method" / "_schedule.py"
path.write_text(path.read_text() + "\\n# another line\\n")
waiting = state()
for module in ("tacit.method._schedule", "tacit._engine.environment"):
    importlib.reload(importlib.import_module(module))
print(before[1], waiting[1], state()[1], state() == waiting, before[0] != waiting[0])
"""


@pytest.mark.long
def test_source_that_is_edited_and_loaded_anew_is_another(tmp_path: Path) -> None:
    shutil.copytree(
        environment.HOME, tmp_path / "tacit", ignore=shutil.ignore_patterns("__pycache__")
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", EDITED],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == ["False", "True", "True", "True", "True"], done.stderr


def test_source_that_nobody_touched_is_what_was_loaded() -> None:
    assert not environment.edited()
    assert len(environment.source_digest()) == 64


def test_every_package_that_decides_an_answer_is_digested() -> None:
    """A package that was renamed and is still named here as before would be passed over."""
    files = environment.computing()
    for package in environment._COMPUTING:
        assert environment.HOME / package / "__init__.py" in files
    there = {path.parent.name for path in environment.HOME.glob("*/__init__.py")}
    # what asks, draws, moves messages or judges, but computes no round
    others = {"_jobs", "adapters", "advise", "cli", "deploy", "estimators", "report", "statistics"}
    assert there - set(environment._COMPUTING) == others | {"study", "sweep", "testing"}
