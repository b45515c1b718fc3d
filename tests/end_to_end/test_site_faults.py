"""Runs between sites whose processes are stopped, whose disk is full, whose link is cut."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from tacit.deploy.operate.rehearse import Rehearsal, prepare, results
from tacit.privacy.ledger import read, verify
from tests.end_to_end.site_study import a_study, log_of, round_of, simulated

Processes = dict[int, subprocess.Popen[bytes]]
SEED = ("--test-seed", "5")
MEMBERS = 3


@pytest.fixture
def processes() -> Iterator[Processes]:
    running: Processes = {}
    yield running
    for process in running.values():
        process.kill()
        process.wait()


def until(holds: Callable[[], bool], seconds: float = 240.0) -> None:
    ends = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < ends
        time.sleep(0.1)


def assert_unchanged(rehearsal: Rehearsal, expected: np.ndarray) -> None:
    for number in range(MEMBERS):
        np.testing.assert_array_equal(results(rehearsal, number)["solution"], expected[number])


@pytest.mark.slow
def test_a_process_that_stands_still_for_ten_seconds_changes_no_bit(
    tmp_path: Path, processes: Processes
) -> None:
    source = a_study(tmp_path, rounds=300)
    rehearsal = prepare(source, tmp_path / "rehearsal")
    processes |= {i: rehearsal.start(i, *SEED) for i in range(MEMBERS)}
    until(lambda: round_of(rehearsal, 1) > 5)
    processes[1].send_signal(signal.SIGSTOP)
    stopped_at = round_of(rehearsal, 0)
    time.sleep(10.0)
    assert round_of(rehearsal, 0) <= stopped_at + 60  # the others wait
    assert processes[0].poll() is None
    processes[1].send_signal(signal.SIGCONT)
    assert [process.wait(timeout=300) for process in processes.values()] == [0, 0, 0]
    assert_unchanged(rehearsal, simulated(source, 5))


@pytest.mark.long
def test_a_machine_that_stands_still_for_longer_than_patience_gives_nobody_up(
    tmp_path: Path, processes: Processes
) -> None:
    source = a_study(tmp_path, rounds=300)
    rehearsal = prepare(source, tmp_path / "rehearsal", patience=4.0)
    processes |= {i: rehearsal.start(i, *SEED) for i in range(MEMBERS)}
    until(lambda: round_of(rehearsal, 1) > 5)
    for process in processes.values():
        process.send_signal(signal.SIGSTOP)
    time.sleep(6.0)
    for process in processes.values():
        process.send_signal(signal.SIGCONT)
    assert [process.wait(timeout=300) for process in processes.values()] == [0, 0, 0]
    assert_unchanged(rehearsal, simulated(source, 5))


@pytest.mark.slow
def test_a_full_disk_stops_one_member_cleanly_and_space_lets_it_go_on(
    tmp_path: Path, processes: Processes
) -> None:
    source = a_study(tmp_path, rounds=300)
    rehearsal = prepare(source, tmp_path / "rehearsal", patience=200.0)
    for number in (0, 2):
        processes[number] = rehearsal.start(number, *SEED)
    with (rehearsal.folder / "member-1" / "log.txt").open("ab") as log:
        # no file may grow beyond 100 kB: what a full disk answers, without filling one
        limited = ["sh", "-c", 'ulimit -f 200 && exec "$@"', "sh", *rehearsal.command(1, *SEED)]
        processes[1] = subprocess.Popen(limited, stdout=log, stderr=log)
    assert processes[1].wait(timeout=240) == 1
    told = log_of(rehearsal, 1)
    assert "cannot be written" in told and "same command again" in told
    assert "Traceback" not in told
    processes[1] = rehearsal.start(1, *SEED)
    assert [process.wait(timeout=300) for process in processes.values()] == [0, 0, 0]
    assert_unchanged(rehearsal, simulated(source, 5))


@dataclass
class Hosts:
    """Two hosts of this machine, each with a network of its own, and a cable between them."""

    names: tuple[str, str]
    addresses: tuple[str, str] = ("10.231.77.1", "10.231.77.2")

    def command(self, host: int, *command: str) -> list[str]:
        return ["ip", "netns", "exec", self.names[host], *command]

    def cable(self, state: str) -> None:
        _ip("-n", self.names[0], "link", "set", "cable0", state)


def _ip(*command: str) -> None:
    subprocess.run(["ip", *command], check=True, capture_output=True)


@pytest.fixture
def hosts() -> Iterator[Hosts]:
    if shutil.which("ip") is None or os.geteuid() != 0:
        pytest.skip("needs iproute2 and the right to make network namespaces")
    names = (f"tacit-{os.getpid()}-a", f"tacit-{os.getpid()}-b")
    made = Hosts(names)
    try:
        try:
            for name in names:
                _ip("netns", "add", name)
        except subprocess.CalledProcessError as error:
            pytest.skip(f"network namespaces cannot be made here: {error.stderr.decode()}")
        _ip("link", "add", "cable0", "netns", names[0], "type", "veth", "peer", "name", "cable1",
            "netns", names[1])  # fmt: skip
        for number, name in enumerate(names):
            _ip("-n", name, "addr", "add", f"{made.addresses[number]}/24", "dev", f"cable{number}")
            _ip("-n", name, "link", "set", f"cable{number}", "up")
            _ip("-n", name, "link", "set", "lo", "up")
        yield made
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


@pytest.mark.slow
def test_two_hosts_follow_the_guide_and_a_cut_cable_loses_nothing(
    tmp_path: Path, hosts: Hosts, processes: Processes
) -> None:
    guide = (Path(__file__).parents[2] / "docs" / "sites.md").read_text()
    study = guide.split("```toml\n")[1].split("```")[0]
    rounds = 1500
    (tmp_path / "study.toml").write_text(
        study.replace("rounds = 50", f"rounds = {rounds}").replace('"ring"', '"complete"')
    )
    rng = np.random.default_rng(0)
    names = ("north", "south")
    for name in names:
        rows = [f"{rng.integers(18, 96)},{rng.poisson(1)}" for _ in range(60)]
        (tmp_path / f"{name}.csv").write_text("age,visits\n" + "\n".join(rows) + "\n")

    def tacit(host: int, *command: str, code: int = 0) -> str:
        done = subprocess.run(
            hosts.command(host, sys.executable, "-m", "tacit", *command),
            cwd=tmp_path, capture_output=True, text=True, timeout=240, check=False,
        )  # fmt: skip
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    for host, name in enumerate(names):
        tacit(
            host, "keys", "new", name, "--name", name, "--address", f"{hosts.addresses[host]}:7447"
        )
    cards = [part for name in names for part in ("--agent", f"{name}/card.toml=60")]
    tacit(0, "manifest", "new", "study.toml", "run.toml", "--data", "north.csv", *cards)
    for host, name in enumerate(names):
        tacit(host, "manifest", "sign", "run.toml", "--keys", name)
    assert "yes" in tacit(0, "manifest", "check", "run.toml")
    own = [("--manifest", "run.toml", "--keys", name, "--data", f"{name}.csv") for name in names]
    told = tacit(0, "doctor", *own[0], code=1)  # the other does not run yet
    assert "south" in told and "WRONG" in told
    for host, name in enumerate(names):
        with (tmp_path / f"{name}.txt").open("ab") as log:
            command = [
                sys.executable,
                "-m",
                "tacit",
                "agent",
                *own[host],
                "--state",
                f"{name}-state",
            ]
            processes[host] = subprocess.Popen(
                hosts.command(host, *command, "--verbose"), stdout=log, stderr=log, cwd=tmp_path
            )
    status = tmp_path / "north-state" / "status.json"
    until(lambda: status.exists() and json.loads(status.read_text())["round"] > 5)
    hosts.cable("down")
    time.sleep(8.0)
    assert "south" in tacit(0, "status", "north-state")
    assert all(process.poll() is None for process in processes.values())
    hosts.cable("up")
    assert [process.wait(timeout=300) for process in processes.values()] == [0, 0]
    for name in names:
        (ledger,) = (tmp_path / name / "runs").glob("*/ledger")
        (balance,) = read(ledger).balances
        assert balance.releases == rounds and verify(ledger).sound
        assert balance.spent == pytest.approx(2.0, rel=1e-3)
