"""Programs that the command line keeps: the same bits, nothing of the data, never in the way."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.end_to_end.site_study import PEERS, STUDY, a_study

ROOT = Path(__file__).parents[2]


def run(folder: Path, cache: str | Path) -> np.ndarray:
    """The model that a study came to, with programs kept in a folder."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("JAX_")}
    done = subprocess.run(
        [sys.executable, "-m", "tacit", "run", "study.toml", "--force"],
        cwd=folder,
        env={**kept, "PYTHONPATH": str(ROOT), "TACIT_CACHE": str(cache)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and "compilation" not in done.stderr, done.stderr
    return np.load(folder / "results" / "model.npz")["solution"]


@pytest.fixture
def study(tmp_path: Path) -> Path:
    a_study(tmp_path)
    text = STUDY.replace("NETWORK", PEERS[0]).replace("METHOD", PEERS[1])
    text = text.replace("ROUNDS", "4").replace("BUDGET", "")
    (tmp_path / "study.toml").write_text(text)
    return tmp_path


def kept(cache: Path) -> set[str]:
    return {path.name for path in cache.rglob("*-cache")}


@pytest.mark.slow
def test_kept_programs_compute_the_same_and_hold_nothing_of_the_data(study: Path) -> None:
    cache = study / "cache"
    first = run(study, cache)
    programs = kept(cache)
    assert programs
    np.testing.assert_array_equal(run(study, cache), first)
    records = study / "records.csv"
    header, *rows = records.read_text().splitlines()
    swapped = [row.replace("yes", "?").replace("no,", "yes,").replace("?", "no") for row in rows]
    records.write_text("\n".join([header, *swapped]) + "\n")
    assert not np.array_equal(run(study, cache), first)
    assert kept(cache) == programs  # a program with a record in it would be another program


@pytest.mark.slow
def test_damaged_programs_are_compiled_again(study: Path) -> None:
    cache = study / "cache"
    first = run(study, cache)
    for path in cache.rglob("*-cache"):
        path.write_bytes(path.read_bytes()[:100])
    np.testing.assert_array_equal(run(study, cache), first)


@pytest.mark.slow
def test_where_nothing_can_be_kept_everything_runs(study: Path) -> None:
    blocked = study / "file"
    blocked.write_text("no folder")
    run(study, blocked / "cache")
    run(study, "")
    assert not kept(study)
