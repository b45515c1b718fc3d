"""Runs between sites: real processes, mutual TLS on loopback, and a crash at any moment."""

from __future__ import annotations

import random
import re
import signal
import subprocess
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import tacit
from tacit.config.read import Source, parse_study
from tacit.deploy.rehearse import Rehearsal, perform, prepare, results
from tacit.privacy.ledger import read, verify
from tacit.study import assemble

ROUNDS = 12
STUDY = f"""
title = "Three made-up sites"
[data]
path = "records.csv"
[data.features]
age = {{ lower = 0, upper = 100 }}
dose = {{ lower = 0, upper = 1 }}
[data.target]
column = "ill"
positive = "yes"
[partition]
by = "column"
column = "site"
[problem]
loss = "logistic"
regulariser = {{ kind = "l2", strength = 1e-2 }}
NETWORK
[method]
METHOD
[privacy]
epsilon = 4.0
delta = 1e-6
clip = 1.0
[run]
rounds = {ROUNDS}
seed = 3
"""
PEERS = ('[network]\ngraph = "ring"', 'name = "dpsg"\nstep = 0.5')
STAR = ('[network]\ngraph = "coordinator"', 'name = "gradient-descent"\nstep = 0.5')


def a_study(folder: Path, parts: tuple[str, str]) -> Source:
    rng = np.random.default_rng(0)
    rows = ["age,dose,ill,site"]
    for number in range(120):
        age, dose = rng.integers(18, 99), rng.random()
        ill = "yes" if rng.random() < age / 120 else "no"
        rows.append(f"{age},{dose},{ill},{('north', 'south', 'west')[number % 3]}")
    (folder / "records.csv").write_text("\n".join(rows) + "\n")
    text = STUDY.replace("NETWORK", parts[0]).replace("METHOD", parts[1])
    return parse_study(text, "study.toml", folder)


def simulated(source: Source, seed: int) -> np.ndarray:
    parts = assemble(source)
    exact = tacit.Simulation(exact=True)
    result = tacit.run(
        parts.problem, parts.network, parts.method, rounds=ROUNDS, seed=seed, runtime=exact
    )
    return result.solutions[0]


@pytest.mark.parametrize("parts", [PEERS, pytest.param(STAR, marks=pytest.mark.slow)])
def test_sites_compute_what_the_simulation_does_to_the_bit(
    tmp_path: Path, parts: tuple[str, str]
) -> None:
    source = a_study(tmp_path, parts)
    rehearsal = prepare(source, tmp_path / "rehearsal")
    found = perform(rehearsal, ["--test-seed", "5"], seconds=300.0)
    expected = simulated(source, 5)
    answers = [each["solution"] for each in found if "solution" in each]
    assert len(answers) == (3 if parts is PEERS else 1)
    for own, solution in enumerate(answers):
        np.testing.assert_array_equal(solution, expected[own])


def sent(rehearsal: Rehearsal, number: int) -> dict[str, set[str]]:
    """Digests under which each message of a member was ever sent."""
    log = (rehearsal.folder / f"member-{number}" / "log.txt").read_text()
    found: dict[str, set[str]] = defaultdict(set)
    for key, digest in re.findall(r"sent (\S+) (\S+)", log):
        found[key].add(digest)
    return found


def with_kills(rehearsal: Rehearsal, kills: int, *more: str, seed: int = 0) -> None:
    """Run to the end, while members are killed at random and started again."""
    rng = random.Random(seed)
    members = len(rehearsal.manifest.members)
    running = {i: rehearsal.start(i, "--verbose", *more) for i in range(members)}
    ends = time.monotonic() + 500
    try:
        while kills or any(process.poll() is None for process in running.values()):
            assert time.monotonic() < ends
            time.sleep(rng.uniform(0.5, 6.0) if kills else 0.1)
            alive = [i for i, process in running.items() if process.poll() is None]
            for i in set(running) - set(alive):
                assert running[i].returncode == 0, (
                    rehearsal.folder / f"member-{i}" / "log.txt"
                ).read_text()[-2000:]
            if not kills or not alive:
                kills = 0
                continue
            kills -= 1
            victim = rng.choice(alive)
            running[victim].send_signal(signal.SIGKILL)
            running[victim].wait()
            running[victim] = rehearsal.start(victim, "--verbose", *more)
    finally:
        for process in running.values():
            process.kill()
            process.wait()


@pytest.mark.slow
def test_kills_lose_nothing_and_release_nothing_twice(tmp_path: Path) -> None:
    source = a_study(tmp_path, PEERS)
    rehearsal = prepare(source, tmp_path / "rehearsal")
    with_kills(rehearsal, 12)
    epsilon = []
    for number in range(3):
        assert all(len(digests) == 1 for digests in sent(rehearsal, number).values())
        state = rehearsal.folder / f"member-{number}" / "state"
        assert verify(state / "ledger").sound
        assert sum(each.releases for each in read(state / "ledger").balances) == ROUNDS
        epsilon.append(results(rehearsal, number)["epsilon_spent"])
    assert epsilon == pytest.approx([4.0] * 3, rel=1e-3)


@pytest.mark.slow
def test_kills_change_no_bit(tmp_path: Path) -> None:
    source = a_study(tmp_path, PEERS)
    rehearsal = prepare(source, tmp_path / "rehearsal")
    with_kills(rehearsal, 8, "--test-seed", "5", seed=1)
    for number, expected in enumerate(simulated(source, 5)):
        np.testing.assert_array_equal(results(rehearsal, number)["solution"], expected)


DYING = """
import os, signal, sys
from tacit.deploy import party
publish, count = party.Party._publish, 0
def dying(self, address):
    global count
    count += 1
    if count == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    publish(self, address)
party.Party._publish = dying
from tacit.cli import main
main()
"""


def dies(rehearsal: Rehearsal, *more: str) -> None:
    """Start member 0, which dies between commit and send of its fifth message."""
    command = rehearsal.command(0, "--verbose", *more)
    at = command.index("-m")
    dying = [*command[:at], "-c", DYING, *command[at + 2 :]]
    with (rehearsal.folder / "member-0" / "log.txt").open("ab") as log:
        ended = subprocess.run(dying, stdout=log, stderr=log, check=False, timeout=300)
    assert ended.returncode == -signal.SIGKILL
    assert set(sent(rehearsal, 0)) == {f"0/{round}/0/0" for round in (1, 2, 3, 4)}


@pytest.mark.slow
@pytest.mark.parametrize("forgetting", [False, True])
def test_a_kill_between_commit_and_send_loses_nothing(tmp_path: Path, forgetting: bool) -> None:
    """And without the outbox, the control, the same questions get second answers."""
    rehearsal = prepare(a_study(tmp_path, PEERS), tmp_path / "rehearsal")
    running = [rehearsal.start(i, "--verbose") for i in (1, 2)]
    try:
        dies(rehearsal)
        if forgetting:
            for path in (rehearsal.folder / "member-0" / "state").iterdir():
                path.unlink()
        running.append(rehearsal.start(0, "--verbose"))
        assert [process.wait(timeout=300) for process in running] == [0, 0, 0]
    finally:
        for process in running:
            process.kill()
            process.wait()
    digests = sent(rehearsal, 0)
    assert len(digests) == ROUNDS + 1  # and the word that it has finished
    twice = [key for key, found in digests.items() if len(found) > 1]
    assert len(twice) == (3 if forgetting else 0)  # the first message is the public start


@pytest.mark.slow
def test_a_silent_neighbour_ends_the_run_and_is_named(tmp_path: Path) -> None:
    rehearsal = prepare(a_study(tmp_path, PEERS), tmp_path / "rehearsal", patience=5.0)
    running = [rehearsal.start(i) for i in (0, 1)]
    for number, process in enumerate(running):
        assert process.wait(timeout=200) == 1
        log = (rehearsal.folder / f"member-{number}" / "log.txt").read_text()
        assert "nothing from 'west' for 5 seconds" in log


@pytest.mark.slow
def test_the_coordinator_holds_nothing_but_what_was_released(tmp_path: Path) -> None:
    """Everything in its folder is read; no record and no gradient without noise is in it."""
    source = a_study(tmp_path, STAR)
    rehearsal = prepare(source, tmp_path / "rehearsal")
    perform(rehearsal, seconds=300.0)
    own = rehearsal.folder / "member-3"
    stored = b"".join(path.read_bytes() for path in own.rglob("*") if path.is_file())
    parts = assemble(source)
    objectives: list[Any] = [parts.problem.agent(number) for number in range(3)]
    with jax.enable_x64(True):
        start = np.zeros(parts.problem.dimension)
        private = [np.asarray(each.clipped_gradient(start, 1.0, 2, None)) for each in objectives]
    for number, gradient in enumerate(private):
        assert gradient.tobytes() not in stored
        table = np.asarray(objectives[number].features)
        assert not any(row[:2].tobytes() in stored for row in table)
    # the control: its own answer is there, bit by bit
    assert results(rehearsal, 3)["solution"].tobytes() in stored
