"""Masked sums between real processes: kills at any moment, members that never come back."""

from __future__ import annotations

import random
import re
import signal
import subprocess
import time
from collections import Counter, defaultdict
from pathlib import Path

import jax
import numpy as np
import pytest
from scipy.stats import chi2

from tacit.deploy.operate.rehearse import Rehearsal, perform, prepare, results
from tacit.privacy.ledger import read, verify
from tacit.study import assemble
from tacit.study.read import Source, parse_study
from tests.end_to_end.site_study import log_of, round_of, sent, simulated

AGENTS, ROUNDS, TRIED, LEAST = 8, 100, 200, 5
COORDINATOR = AGENTS

STUDY = """
title = "Eight made-up sites"
[data]
path = "records.csv"
[data.features]
age = { lower = 0, upper = 100 }
dose = { lower = 0, upper = 1 }
a = { lower = 0, upper = 1 }
b = { lower = 0, upper = 1 }
c = { lower = 0, upper = 1 }
[data.target]
column = "ill"
positive = "yes"
[partition]
by = "even"
sites = AGENTS
[problem]
loss = "logistic"
[network]
graph = "coordinator"
[method]
name = "gradient-descent"
step = 1.0
[privacy]
epsilon = EPSILON
delta = 1e-6
clip = 1.0
masks = { coalition = 1, MORE }
[run]
rounds = ROUNDS
"""

RECORDED = """
import sys
from dataclasses import replace
from pathlib import Path
from tacit.deploy.messages import transport
publish, answer = transport.Transport.publish, transport.Transport.__init__
path = Path(sys.argv[sys.argv.index("--state") + 1]).parent / "wire.bin"
def keep(key, data):
    if data is not None:
        with path.open("ab") as file:
            file.write(len(key).to_bytes(4, "little") + len(data).to_bytes(4, "little"))
            file.write(key.encode() + data)
def recorded(self, key, data):
    keep(key, data)
    publish(self, key, data)
def made(self, endpoint):
    def served(key):
        data = endpoint.serve(key)
        keep(key, data)
        return data
    answer(self, replace(endpoint, serve=served))
transport.Transport.publish, transport.Transport.__init__ = recorded, made
from tacit.cli import main
main()
"""


def a_study(
    folder: Path, rounds: int, more: str, epsilon: float = 4.0, agents: int = AGENTS
) -> Source:
    rng = np.random.default_rng(0)
    rows = ["age,dose,a,b,c,ill"]
    for _ in range(40 * agents):
        age, rest = rng.integers(18, 99), rng.random(4)
        ill = "yes" if rng.random() < age / 120 else "no"
        rows.append(f"{age},{','.join(map(str, rest))},{ill}")
    (folder / "records.csv").write_text("\n".join(rows) + "\n")
    text = STUDY.replace("AGENTS", str(agents)).replace("EPSILON", str(epsilon))
    text = text.replace("ROUNDS", str(rounds)).replace("MORE", more)
    return parse_study(text, "study.toml", folder)


def start(rehearsal: Rehearsal, number: int) -> subprocess.Popen[bytes]:
    """A member that keeps a copy of everything that it sends."""
    command = rehearsal.command(number, "--verbose")
    at = command.index("-m")
    with (rehearsal.folder / f"member-{number}" / "log.txt").open("ab") as log:
        recorded = [*command[:at], "-c", RECORDED, *command[at + 2 :]]
        return subprocess.Popen(recorded, stdout=log, stderr=log)


def wire(rehearsal: Rehearsal, number: int) -> list[tuple[str, bytes]]:
    """Everything that a member sent, with its name."""
    data, found = (rehearsal.folder / f"member-{number}" / "wire.bin").read_bytes(), []
    while data:
        key, size = (int.from_bytes(data[i : i + 4], "little") for i in (0, 4))
        if len(data) < 8 + key + size:
            break  # killed while this copy was written
        found.append((data[8 : 8 + key].decode(), data[8 + key : 8 + key + size]))
        data = data[8 + key + size :]
    # what a coordinator passes on is a client's word, not its own
    return [(key, data) for key, data in found if "/word/" not in key]


def cohorts(rehearsal: Rehearsal) -> dict[int, list[int]]:
    """Who is in the sum of each round, as the coordinator took it last."""
    told = re.findall(r"summed ([\d ]+) in round (\d+)", log_of(rehearsal, COORDINATOR))
    return {int(round): [int(each) for each in who.split()] for who, round in told}


@pytest.mark.long
def test_real_sums_are_those_of_the_simulation_to_the_bit(tmp_path: Path) -> None:
    source = a_study(tmp_path, 12, "attempts = 15", agents=3)
    rehearsal = prepare(source, tmp_path / "rehearsal")
    found = perform(rehearsal, ["--test-seed", "5"], seconds=300.0)
    for each in found:
        np.testing.assert_array_equal(each["solution"], simulated(source, 5)[0])
        assert each["rounds"] == 12
    # the keys for masks are gone: what was recorded stays masked
    assert not list(rehearsal.folder.glob("member-*/keys/masks/*"))


@pytest.mark.slow
def test_kills_and_members_gone_for_good_end_in_the_right_model(tmp_path: Path) -> None:
    """30 random kills, and three agents that never come back: a kill, a stop and a kill."""
    more = f"min_cohort = {LEAST}, attempts = {TRIED}"
    # noise moves a coordinate of the model by 1e-4 (one standard deviation), a wrong sum by more
    source = a_study(tmp_path, ROUNDS, more, epsilon=1e7)
    rehearsal = prepare(source, tmp_path / "rehearsal", patience=20.0, silent="skip")
    rng, members = random.Random(0), range(AGENTS + 1)
    running = {number: start(rehearsal, number) for number in members}
    born = dict.fromkeys(members, -1)
    gone, leave = dict[int, subprocess.Popen[bytes]](), {15: 7, 35: 2, 55: 5}
    kills, ends = 0, time.monotonic() + 3000
    try:
        while any(process.poll() is None for process in running.values()):
            assert time.monotonic() < ends, log_of(rehearsal, COORDINATOR)[-3000:]
            time.sleep(rng.uniform(0.1, 0.6))
            for number, process in running.items():
                if process.poll() == 1:  # nobody answered for too long, on a busy machine
                    assert "Everything is stored" in log_of(rehearsal, number)[-400:]
                    running[number] = start(rehearsal, number)
                assert process.poll() in (None, 0, 1), log_of(rehearsal, number)[-3000:]
            now = round_of(rehearsal, COORDINATOR)
            for when, number in list(leave.items()):
                if now >= when:
                    del leave[when]
                    gone[number] = running.pop(number)
                    stopped = signal.SIGSTOP if when == 35 else signal.SIGKILL
                    gone[number].send_signal(stopped)
            moved = [
                number
                for number, process in running.items()
                if process.poll() is None and round_of(rehearsal, number) > born[number]
            ]
            if kills < 30 and now >= 5 and moved:
                kills += 1
                victim = rng.choice(moved)
                running[victim].send_signal(signal.SIGKILL)
                running[victim].wait()
                born[victim] = round_of(rehearsal, victim)
                running[victim] = start(rehearsal, victim)
    finally:
        for process in [*running.values(), *gone.values()]:
            process.kill()
            process.wait()
    assert kills == 30 and not leave
    left = [number for number in members if number not in gone]
    model = results(rehearsal, COORDINATOR)["solution"]
    for number in left:
        assert results(rehearsal, number)["rounds"] == ROUNDS
        np.testing.assert_array_equal(results(rehearsal, number)["solution"], model)
    summed = cohorts(rehearsal)
    assert sorted(summed) == list(range(1, ROUNDS + 1))
    assert min(map(len, summed.values())) == AGENTS - 3 >= LEAST
    np.testing.assert_allclose(model, right_model(source, summed), atol=2e-3)
    check_releases(rehearsal, left)
    check_wires(rehearsal)


def right_model(source: Source, summed: dict[int, list[int]]) -> np.ndarray:
    """Clipped gradient steps without noise over the same cohorts, in NumPy."""
    with jax.enable_x64(True):
        objectives = assemble(source).problem.objectives
    rows, signs = np.asarray(objectives.features), np.asarray(objectives.targets)
    mask = np.asarray(objectives.mask) > 0
    x = np.zeros(rows.shape[-1])
    for round in sorted(summed):
        steps = []
        for agent in summed[round]:
            features, target = rows[agent][mask[agent]], signs[agent][mask[agent]]
            slope = (1.0 / (1.0 + np.exp(-features @ x)) - target)[:, None] * features
            slope /= np.maximum(1.0, np.linalg.norm(slope, axis=1, keepdims=True))
            steps.append(slope.mean(axis=0))
        x = x - np.mean(steps, axis=0)
    return x


def check_releases(rehearsal: Rehearsal, left: list[int]) -> None:
    """One answer to each sum, ever, and each of them in the ledger, within the budget."""
    for number in range(AGENTS):
        told = sent(rehearsal, number)
        assert all(len(digests) == 1 for digests in told.values())
        ledger = rehearsal.ledger(number)
        assert verify(ledger).sound
        charged = sum(each.releases for each in read(ledger).balances)
        answered = {key for key in told if key.split("/")[2] == "1"}
        # what was charged and killed before it was sent is sent at the next start
        assert len(answered) <= charged <= TRIED and (number not in left or charged >= ROUNDS)


def check_wires(rehearsal: Rehearsal) -> None:
    """Nothing that an agent sent is a value: it is uniform, and so are the differences."""
    vectors = defaultdict(list)
    for number in range(AGENTS):
        # a greeting tells no value: it is read in tests/unit/deploy/messages/test_handshake.py
        once = {key: data for key, data in wire(rehearsal, number) if "/hello/" not in key}
        kinds = Counter(key.split("/")[2] for key in once if key.count("/") == 3)
        assert set(kinds) <= {"1", "255"}  # masked answers, and farewells
        for key, data in once.items():
            if key.count("/") == 3 and key.split("/")[2] == "1":
                assert len(data) == 50 + 6 + 8 * 6 + 64
                vectors[number].append(np.frombuffer(data[56:-64], "<u8"))
    pooled = np.concatenate([np.stack(each) for each in vectors.values()])
    assert len(pooled) > 5 * ROUNDS
    for words in (pooled.reshape(-1), (pooled[1:] - pooled[:-1]).reshape(-1)):
        counts = np.bincount(words.view(np.uint8), minlength=256)
        statistic = np.sum((counts - counts.mean()) ** 2 / counts.mean())
        # differences share words, so only the first is exact; both have false alarms below 1e-6
        assert statistic < chi2.isf(1e-6, 255) * (1 if words.size == pooled.size else 3)
    assert np.abs(pooled.view(np.int64).astype(float)).max(axis=1).min() > 2.0**55
