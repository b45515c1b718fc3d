"""A run that is killed without warning goes on from its checkpoint to the same bits."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import tacit
from tacit import network
from tacit._engine import loop
from tests.conformance.table import task

PROGRAM = """
import sys
import tacit
from tacit import network
from tacit._engine import loop
from tests.conformance.table import task

loop._CHECKPOINT_SECONDS = 0.0
method = tacit.DPSG(step=0.01, privacy=tacit.Privacy(clip=0.5, epsilon=1.0))
tacit.run(
    task(0), network.ring(4), method, rounds=int(sys.argv[2]), seed=7, record=1000,
    checkpoint=sys.argv[1],
)
"""


@pytest.mark.long
def test_sigkill_and_resume(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.checkpoint"
    rounds = 60_000
    command = [sys.executable, "-c", PROGRAM, str(path), str(rounds)]
    killed = subprocess.Popen(command, cwd=Path(__file__).parents[2])
    end = time.monotonic() + 120
    while not path.exists():
        assert killed.poll() is None and time.monotonic() < end
        time.sleep(0.001)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    with np.load(path) as archive:
        assert f'"round": {rounds}' not in str(archive["header"]), "it ended before it was killed"

    monkeypatch.setattr(loop, "_CHECKPOINT_SECONDS", 0.0)
    method = tacit.DPSG(step=0.01, privacy=tacit.Privacy(clip=0.5, epsilon=1.0))

    def run(checkpoint: Path | None) -> tacit.Result:
        return tacit.run(
            task(0),
            network.ring(4),
            method,
            rounds=rounds,
            seed=7,
            record=1000,
            checkpoint=checkpoint,
        )

    resumed, whole = run(path), run(None)
    assert np.array_equal(resumed.solutions, whole.solutions)
    for name, values in whole.history.measured.items():
        assert np.array_equal(resumed.history.measured[name], values)
