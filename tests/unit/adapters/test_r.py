"""R users call the command line, and read its JSON."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

SCRIPT = Path(__file__).parents[3] / "examples" / "r" / "regression.R"


def has_r() -> bool:
    if shutil.which("Rscript") is None:
        return False
    asked = ["Rscript", "-e", "stopifnot(requireNamespace('jsonlite', quietly = TRUE))"]
    return subprocess.run(asked, capture_output=True, check=False).returncode == 0


@pytest.mark.long
@pytest.mark.skipif(not has_r(), reason="R with jsonlite is not installed")
def test_a_regression_from_r(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    age = rng.integers(18, 96, 600)
    ill = np.where(rng.random(600) < age / 120, "yes", "no")
    clinic = rng.choice(["north", "south", "west"], 600)
    table = pd.DataFrame({"age": age, "ill": ill, "clinic": clinic})
    table.to_csv(tmp_path / "visits.csv", index=False)
    table.drop(columns="ill").to_csv(tmp_path / "none.csv", index=False)
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "tacit"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m tacit "$@"\n')
    command.chmod(0o700)
    root = str(SCRIPT.parents[2])
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"

    def run(name: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["Rscript", str(SCRIPT), name],
            cwd=tmp_path,
            env={**os.environ, "PATH": path, "PYTHONPATH": root},
            capture_output=True,
            text=True,
            check=False,
        )

    found = run("visits.csv")
    assert found.returncode == 0, found.stderr
    assert "(1, 1e-6)-DP per record" in found.stdout
    assert found.stdout.splitlines()[-1].split()[:2] == ["2", "age"]
    wrong = run("none.csv")
    assert wrong.returncode != 0 and "the model names 'ill'" in wrong.stderr
