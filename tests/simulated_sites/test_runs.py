"""Runs of all shapes end, and a seed repeats to the last byte."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.simulated_sites import cast, run, seams

ROOT = Path(__file__).parents[2]
DIGEST = """
from tests.simulated_sites import cast, run, seams
with seams.replaced():
    for shape in cast.SHAPES:
        print(run.simulate(7, shape).digest())
"""


@pytest.fixture(autouse=True)
def simulated() -> Generator[None, None, None]:
    with seams.replaced():
        yield


@pytest.mark.parametrize("shape", cast.SHAPES, ids=lambda shape: shape.name)
def test_a_run_without_faults_ends_and_repeats_to_the_last_byte(shape: cast.Shape) -> None:
    ran, again = (run.simulate(7, shape) for _ in range(2))
    assert set(ran.ended.values()) == {"finished"} and len(ran.ended) == shape.members
    assert ran.digest() == again.digest()
    assert run.simulate(8, shape).digest() != ran.digest()
    left = [each for each in ran.history if each[1] == "left"]
    assert len({each[4] for each in left}) >= shape.rounds * shape.agents


def _in_a_process(hashed: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", DIGEST],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": hashed, "PYTHONPATH": str(ROOT)},
    )
    return done.stdout.split()


@pytest.mark.long
def test_a_seed_is_the_same_run_in_another_process() -> None:
    here = [run.simulate(7, shape).digest() for shape in cast.SHAPES]
    assert _in_a_process("1") == _in_a_process("2") == here
