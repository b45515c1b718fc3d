"""What `make quick` runs."""

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import socket
import subprocess
import sys

import jax
import numpy as np

def test_plain():
    assert np.add(1, 1) == 2

def test_compiled():
    assert jax.jit(lambda x: x + 1)(1) == 2

def test_process():
    subprocess.run([sys.executable, "-c", ""], check=True)

def test_socket():
    socket.socket().close()
"""


@pytest.mark.long
def test_what_compiles_starts_a_process_or_opens_a_socket_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "test_four.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider"]
    for option, outcome in (("--quick", "1 passed, 3 skipped"), ("--verbose", "4 passed")):
        ran = subprocess.run(
            [*command, option, str(tmp_path)], capture_output=True, text=True, check=False
        )
        assert outcome in ran.stdout, ran.stdout + ran.stderr
