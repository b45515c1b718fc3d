"""A checkpoint is whole or absent, and belongs to exactly one run."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import tacit
from tacit._engine import checkpoint
from tacit.errors import EnvironmentMismatch, RuntimeFailure
from tests.conformance.table import ROWS, Row, task

STATES = {"x": np.arange(3.0), "n": np.array(4)}


def test_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    assert checkpoint.load(path, "id", STATES) is None
    checkpoint.save(path, "id", 7, STATES)
    found = checkpoint.load(path, "id", STATES)
    assert found is not None
    assert found[0] == 7
    assert np.array_equal(found[1]["x"], STATES["x"])
    assert list(tmp_path.iterdir()) == [path]
    assert os.name != "posix" or path.stat().st_mode & 0o777 == 0o600  # the seed is in it


def test_another_run_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    checkpoint.save(path, "id", 7, STATES)
    with pytest.raises(EnvironmentMismatch, match="another study, seed"):
        checkpoint.load(path, "other", STATES)
    with pytest.raises(EnvironmentMismatch, match="another layout"):
        checkpoint.load(path, "id", {"x": np.arange(3.0)})


@pytest.mark.parametrize("kept", [0, 10, 200])
def test_a_truncated_file_is_named(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "run.npz"
    checkpoint.save(path, "id", 7, STATES)
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(RuntimeFailure, match=r"run\.npz cannot be read"):
        checkpoint.load(path, "id", STATES)


def test_nobody_is_told_to_delete_a_file_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    np.savez(tmp_path / "data.npz", x=np.zeros(3))
    np.savez(tmp_path / "header.npz", header=np.array('{"format": "mine"}'))
    for path in (*tmp_path.iterdir(), tmp_path):
        with pytest.raises(RuntimeFailure, match="cannot be read") as refused:
            checkpoint.check(path, "id")
        assert str(refused.value).endswith("to start afresh, give the name of a new file")


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(RuntimeFailure, match="No such file or directory"):
        checkpoint.save(tmp_path / "absent" / "run.npz", "id", 7, STATES)


@pytest.mark.parametrize(
    "row",
    [ROWS[5], *(pytest.param(row, marks=pytest.mark.slow) for row in ROWS[6:8])],
    ids=lambda row: row.name,
)
def test_a_finished_run_is_read_back_from_its_checkpoint(tmp_path: Path, row: Row) -> None:
    path = tmp_path / "run.npz"

    def once() -> tacit.Result:
        return tacit.run(task(0), row.network, row.method, rounds=6, seed=1, checkpoint=path)

    first, second = once(), once()
    assert np.array_equal(first.solutions, second.solutions)
    for name, values in first.history.measured.items():
        assert np.array_equal(values, second.history.measured[name])
    with pytest.raises(EnvironmentMismatch):
        tacit.run(task(0), row.network, row.method, rounds=6, seed=2, checkpoint=path)


def test_a_run_without_a_seed_goes_on_with_that_of_its_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"

    def once() -> tacit.Result:
        method = tacit.DPSG(step=0.1, privacy=tacit.Privacy(clip=1.0, epsilon=1.0))
        return tacit.run(task(0), tacit.network.ring(4), method, rounds=3, checkpoint=path)

    first, again = once(), once()
    assert first.seed == again.seed and np.array_equal(first.solutions, again.solutions)
    assert first.seed >= 2**31  # but for one in four million
    path.unlink()
    assert once().seed != first.seed
