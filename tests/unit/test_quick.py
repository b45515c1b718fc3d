"""What `make quick` and a share of the tests run."""

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import multiprocessing
import socket
import subprocess
import sys

import jax
import numpy as np
import pytest

@pytest.mark.parametrize("more", [1, 2])
def test_plain(more):
    assert np.add(1, more) == 1 + more

@pytest.mark.not_quick
def test_that_takes_long():
    pass

def test_compiled():
    assert jax.jit(lambda x: x + 1)(1) == 2

def test_process():
    subprocess.run([sys.executable, "-c", ""], check=True)

def test_process_of_multiprocessing():
    process = multiprocessing.get_context("spawn").Process(target=print)
    process.start()
    process.join()

def test_socket():
    socket.socket().close()
"""


@pytest.mark.long
def test_quick_is_one_case_of_what_compiles_nothing_and_starts_nothing(tmp_path: Path) -> None:
    (tmp_path / "test_seven.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider"]
    for option, outcome in (
        ("--quick", "1 passed, 4 skipped, 2 deselected"),
        ("--verbose", "7 passed"),
    ):
        ran = subprocess.run(
            [*command, option, str(tmp_path)], capture_output=True, text=True, check=False
        )
        assert outcome in ran.stdout, ran.stdout + ran.stderr


@pytest.mark.long
def test_every_test_is_in_one_share_with_its_cases(tmp_path: Path) -> None:
    tests = "".join(f"def test_{i}(): pass\n" for i in range(20))
    cases = "@pytest.mark.parametrize('case', range(5))\ndef test_cases(case): pass\n"
    (tmp_path / "test_many.py").write_text(f"import pytest\n{tests}{cases}")
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider"]
    shares: list[list[str]] = []
    for number in (1, 2, 3):
        given = ["--share", f"{number}/3", "--collect-only", "--quiet", str(tmp_path)]
        ran = subprocess.run([*command, *given], capture_output=True, text=True, check=True)
        shares.append([line for line in ran.stdout.splitlines() if "::" in line])
    assert all(shares) and sum(map(len, shares)) == len(set().union(*shares)) == 25
    assert sum(any("test_cases" in name for name in share) for share in shares) == 1
