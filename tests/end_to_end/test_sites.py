"""Runs between sites: real processes, mutual TLS on loopback, and a crash at any moment."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest

from tacit.deploy.operate.rehearse import Rehearsal, perform, prepare, results
from tacit.privacy.ledger import read, verify
from tacit.study import assemble
from tacit.study.read import parse_study
from tacit.testing import check_between_sites
from tacit.testing import sites as held
from tests.end_to_end.site_study import (
    PEERS,
    STAR,
    a_study,
    log_of,
    round_of,
    sent,
    simulated,
)

ROUNDS = 12


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param(PEERS, marks=pytest.mark.long),  # `make test` has a coordinator, with masks
        pytest.param(STAR, marks=pytest.mark.slow),
    ],
)
def test_sites_compute_what_the_simulation_does_to_the_bit(
    tmp_path: Path, parts: tuple[str, str]
) -> None:
    path = tmp_path / "study.toml"
    path.write_text(a_study(tmp_path, parts).text)
    check_between_sites(path)


@pytest.mark.slow
def test_each_check_between_sites_can_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = a_study(tmp_path, STAR, rounds=3)
    rehearsal = prepare(source, tmp_path / "rehearsal")
    found = perform(rehearsal, ["--verbose"], seconds=300.0)
    held.promises_hold(source, rehearsal)
    held.charges_hold(rehearsal)
    held.messages_hold(rehearsal)
    held.models_hold(rehearsal, found)
    cheaper = parse_study(source.text.replace("epsilon = 4.0", "epsilon = 3.9"), folder=tmp_path)
    with pytest.raises(AssertionError, match="epsilon is 4"):
        held.promises_hold(cheaper, rehearsal)
    with pytest.raises(AssertionError, match="other bits"):  # nobody can draw this noise again
        held.bits_hold(source, rehearsal, found, 5)
    with pytest.raises(AssertionError, match="without a model"):
        held.models_hold(rehearsal, [{}, *found[1:]])
    other = found[0] | {"solution": found[0]["solution"] + 1e-15}
    with pytest.raises(AssertionError, match="another model"):
        held.models_hold(rehearsal, [*found[:-1], other])
    with (rehearsal.folder / "member-1" / "log.txt").open("a") as log:
        key = next(iter(sent(rehearsal, 1)))
        log.write(f"sent {key} {'0' * 64}\n")
    with pytest.raises(AssertionError, match=f"other contents again as {key}"):
        held.messages_hold(rehearsal)
    twice = [replace(each, releases=6) for each in read(rehearsal.ledger(0)).balances]
    monkeypatch.setattr(held, "read", lambda path: SimpleNamespace(balances=twice))
    with pytest.raises(AssertionError, match="6 charges for 3 releases"):
        held.charges_hold(rehearsal)


def with_kills(rehearsal: Rehearsal, kills: int, *more: str, seed: int = 0) -> None:
    """Run to the end, while members that have gone on since their start are killed at random."""
    rng = random.Random(seed)
    members = len(rehearsal.manifest.members)
    running = {i: rehearsal.start(i, "--verbose", *more) for i in range(members)}
    born = dict.fromkeys(running, -1)
    ends = time.monotonic() + 900
    try:
        while any(process.poll() is None for process in running.values()):
            assert time.monotonic() < ends
            time.sleep(rng.uniform(0.1, 1.0))
            alive = [i for i, process in running.items() if process.poll() is None]
            for i in set(running) - set(alive):
                assert running[i].returncode == 0, log_of(rehearsal, i)[-2000:]
            moved = [i for i in alive if round_of(rehearsal, i) > born[i]]
            if not kills or not moved:
                continue
            kills -= 1
            victim = rng.choice(moved)
            running[victim].send_signal(signal.SIGKILL)
            running[victim].wait()
            born[victim] = round_of(rehearsal, victim)
            running[victim] = rehearsal.start(victim, "--verbose", *more)
    finally:
        for process in running.values():
            process.kill()
            process.wait()
    assert not kills  # else the run was too short


@pytest.mark.slow
def test_kills_lose_nothing_and_release_nothing_twice(tmp_path: Path) -> None:
    rounds = 400
    rehearsal = prepare(a_study(tmp_path, rounds=rounds), tmp_path / "rehearsal")
    with_kills(rehearsal, 12)
    epsilon = []
    for number in range(3):
        assert all(len(digests) == 1 for digests in sent(rehearsal, number).values())
        ledger = rehearsal.ledger(number)
        assert verify(ledger).sound
        assert sum(each.releases for each in read(ledger).balances) == rounds
        epsilon.append(results(rehearsal, number)["epsilon_spent"])
    assert epsilon == pytest.approx([4.0] * 3, rel=1e-3)


@pytest.mark.slow
def test_kills_change_no_bit(tmp_path: Path) -> None:
    source = a_study(tmp_path, rounds=300)
    rehearsal = prepare(source, tmp_path / "rehearsal")
    with_kills(rehearsal, 8, "--test-seed", "5", seed=1)
    for number, expected in enumerate(simulated(source, 5)):
        np.testing.assert_array_equal(results(rehearsal, number)["solution"], expected)


@pytest.mark.slow
def test_a_lost_coordinator_is_restored_to_the_bit(tmp_path: Path) -> None:
    """Killed, its folder deleted, and begun again with a copy of its keys that knows of no run."""
    source = a_study(tmp_path, STAR, rounds=150)
    rehearsal = prepare(source, tmp_path / "rehearsal")
    seeded = ("--test-seed", "5")
    running = [rehearsal.start(number, *seeded) for number in range(4)]
    try:
        ends = time.monotonic() + 120
        while round_of(rehearsal, 3) < 5:
            assert time.monotonic() < ends, log_of(rehearsal, 3)[-2000:]
            time.sleep(0.05)
        running[3].kill()
        running[3].wait()
        own = rehearsal.folder / "member-3"
        shutil.rmtree(own / "state")
        shutil.rmtree(own / "keys" / "runs")
        running[3] = rehearsal.start(3, "--restore", *seeded)
        for number, process in enumerate(running):
            assert process.wait(200) == 0, log_of(rehearsal, number)[-2000:]
    finally:
        for process in running:
            process.kill()
            process.wait()
    assert "restored with the newest message" in log_of(rehearsal, 3)
    for number in range(4):
        found = results(rehearsal, number)
        np.testing.assert_array_equal(found["solution"], simulated(source, 5)[0])
        assert number == 3 or len(found["compared"]["same"]) == 2


DYING = """
import os, signal, sys
from tacit.deploy.member.sending import Sender
publish, count = Sender.publish, 0
def dying(self, address):
    global count
    count += 1
    if count == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    publish(self, address)
Sender.publish = dying
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


UNGUARDED = """
from tacit.deploy.member.peers import Neighbours
Neighbours.meet = Neighbours._check_state = lambda self, sent: None
from tacit.cli import main
main()
"""


def instead(rehearsal: Rehearsal, script: str) -> subprocess.Popen[bytes]:
    """Member 0 by a script."""
    command = rehearsal.command(0, "--verbose")
    at = command.index("-m")
    with (rehearsal.folder / "member-0" / "log.txt").open("ab") as log:
        started = [*command[:at], "-c", script, *command[at + 2 :]]
        return subprocess.Popen(started, stdout=log, stderr=log)


@pytest.mark.slow
@pytest.mark.parametrize(
    "state",
    ["kept", "forgotten", "forgotten beside the keys too", "the same, and nobody asked"],
)
def test_a_kill_between_commit_and_send_loses_nothing(tmp_path: Path, state: str) -> None:
    """Without its outbox a member is refused; and, the control, unguarded it answers twice."""
    rehearsal = prepare(a_study(tmp_path), tmp_path / "rehearsal", patience=30.0)
    running = [rehearsal.start(i, "--verbose") for i in (1, 2)]
    try:
        dies(rehearsal)
        if state != "kept":
            for path in (rehearsal.folder / "member-0" / "state").iterdir():
                path.unlink()
        if state not in ("kept", "forgotten"):
            shutil.rmtree(rehearsal.folder / "member-0" / "keys" / "runs")
        unguarded = state.endswith("asked")
        last = instead(rehearsal, UNGUARDED) if unguarded else rehearsal.start(0, "--verbose")
        running.append(last)
        ended = [process.wait(timeout=300) for process in running]
    finally:
        for process in running:
            process.kill()
            process.wait()
    digests = sent(rehearsal, 0)
    twice = [key for key, found in digests.items() if len(found) > 1]
    if state.startswith("forgotten"):
        assert ended == [1, 1, 1] and not twice
        own, others = "the folder was emptied since", "it was lost, or is an older copy"
        assert (own if state == "forgotten" else others) in log_of(rehearsal, 0)
        return
    if unguarded:  # nothing holds it back: its neighbours have both answers, and stop
        assert ended == [1, 1, 1] and twice
        told = log_of(rehearsal, 1) + log_of(rehearsal, 2)
        assert "two different messages 0/" in told
        return
    assert ended == [0, 0, 0] and not twice
    assert len(digests) == ROUNDS + 1  # and the word that it has finished


@pytest.mark.slow
def test_a_silent_neighbour_ends_the_run_and_is_named(tmp_path: Path) -> None:
    rehearsal = prepare(a_study(tmp_path), tmp_path / "rehearsal", patience=5.0)
    running = [rehearsal.start(i) for i in (0, 1)]
    for number, process in enumerate(running):
        assert process.wait(timeout=200) == 1
        assert "nothing from 'west' for 5 seconds" in log_of(rehearsal, number)


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


FUNCTIONAL = """
inner = { name = "extra", step = 0.1 }
bounds = { strong_convexity = 0.0, smoothness = 4.0 }
basis = { kind = "quadratic", lower = [-2.0, -2.0, -2.0], upper = [2.0, 2.0, 2.0] }
"""
"""One release, before the first round."""

FEW = {
    "or-zo": ("coordinator", "step = 0.05\ndirections = 4\nsmoothing = 1e-3"),
    "zoo-admm": ("coordinator", "step = 0.05\ndirections = 4\nsmoothing = 1e-3\npenalty = 1.0"),
    "d-zoa": ("ring", 'estimator = "scalar"'),
    "functional-perturbation": ("ring", FUNCTIONAL),
}
"""Methods whose answers have fewer entries, or more, than there are parameters."""


@pytest.mark.slow
@pytest.mark.parametrize("name", FEW)
@pytest.mark.parametrize("seed", [5, None])
def test_answers_of_another_size_than_the_parameters(
    tmp_path: Path, name: str, seed: int | None
) -> None:
    graph, settings = FEW[name]
    parts = (f'[network]\ngraph = "{graph}"', f'name = "{name}"\n{settings}')
    budget = 'noise = "laplace"' if settings is FUNCTIONAL else ""
    source = a_study(tmp_path, parts, 3, budget)
    rehearsal = prepare(source, tmp_path / "rehearsal")
    found = perform(rehearsal, [] if seed is None else ["--test-seed", str(seed)], seconds=600.0)
    assert [each["rounds"] for each in found] == [3] * len(found)
    if seed is None:  # with noise that nobody can draw again
        return
    expected = simulated(source, seed)
    for own, solution in enumerate(each["solution"] for each in found if "solution" in each):
        np.testing.assert_array_equal(solution, expected[own if graph == "ring" else 0])
