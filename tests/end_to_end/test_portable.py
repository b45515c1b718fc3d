"""What Windows lacks is not needed: doors open in processes that have been robbed of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tacit.privacy.ledger import read
from tests.end_to_end.study import STUDY, visits, write

WITHOUT = Path(__file__).parent / "without_posix"
ROOT = Path(__file__).parents[2]

IMPORTS = """
import importlib, os, pkgutil
import tacit
names = [found.name for found in pkgutil.walk_packages(tacit.__path__, "tacit.")]
for name in names:
    if name != "tacit.__main__":
        importlib.import_module(name)
assert len(names) > 200
lock = importlib.import_module("tacit.privacy.ledger.lock")
assert hasattr(os, "O_DIRECTORY") and not hasattr(lock.os, "O_DIRECTORY")
try:
    import fcntl
except ModuleNotFoundError:
    print("robbed")
"""
COMMANDS = """
import sys
from tacit.cli import main
for line in sys.stdin.buffer.read().decode().splitlines():
    sys.argv = ["tacit", *line.split()]
    try:
        main()
    except SystemExit as ended:
        assert not ended.code, line
"""


def robbed(*command: str, folder: Path, given: str = "") -> str:
    """Run Python without what only POSIX has, and with the character set of a Western Windows."""
    path = f"{WITHOUT}{os.pathsep}{ROOT}"
    done = subprocess.run(
        [sys.executable, *command],
        input=given.encode(),
        capture_output=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "PYTHONIOENCODING": "cp1252"},
    )
    told = done.stdout.decode("cp1252") + done.stderr.decode("cp1252")
    assert done.returncode == 0, told
    return told


@pytest.mark.long
def test_all_modules_and_a_charged_run(tmp_path: Path) -> None:
    """One process for all of it: what takes long is to begin one."""
    study = STUDY.replace("clip = 1.0", 'clip = 1.0\nledger = "my.ledger"\ndataset = "visits"')
    frame = visits()
    frame["site"] = frame["site"].replace("north", "दिल्ली")
    write(tmp_path, study, frame)
    budget = "--dataset visits --epsilon 2 --delta 1e-6"
    owners = ("दिल्ली", "south", "east", "west")
    commands = [
        "ledger new my.ledger",
        *(f"ledger budget my.ledger --owner {owner} {budget}" for owner in owners),
        "init visits.csv -o begun.toml",
        "run study.toml",
        "ledger show my.ledger",
        "ledger show my.ledger --json",
    ]
    told = robbed("-c", IMPORTS + COMMANDS, folder=tmp_path, given="\n".join(commands))
    assert told.startswith("robbed") and '"\\u0926' in told
    assert [each.epsilon for each in read(tmp_path / "my.ledger").balances] == [2.0] * 4
    assert all(each.spent > 0.9 for each in read(tmp_path / "my.ledger").balances)
    assert (tmp_path / "results" / "report.html").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        "rehearse study.toml --rounds 3",
        "sweep study.toml --epsilon 1,2 --seeds 4 --workers 2",
        "audit study.toml --trials 20",
    ],
)
def test_doors_with_processes_of_their_own(tmp_path: Path, command: str) -> None:
    write(tmp_path)
    robbed("-m", "tacit", *command.split(), folder=tmp_path)
