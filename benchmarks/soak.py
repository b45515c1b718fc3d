"""A long run between processes of this machine, with members that are killed again and again.

    python benchmarks/soak.py [--rounds 20000] [--members 8] [--kill-every 30] [--kills 0]

Says how much memory the members and their state folders take as rounds go by, and at the end
whether every message had one digest ever, whether each ledger counts one release a round and the
promised epsilon, and whether all chains of entries are whole. Any other end is an error.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import signal
import subprocess
import time
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from tacit.deploy.operate.rehearse import Rehearsal, prepare, results
from tacit.privacy.ledger import read, verify
from tacit.study.read import Source, parse_study

STUDY = """
title = "A soak"
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
[network]
graph = "ring"
[method]
name = "dpsg"
step = 0.5
[privacy]
epsilon = 4.0
delta = 1e-6
clip = 1.0
[run]
rounds = {rounds}
"""


def a_study(folder: Path, rounds: int, members: int) -> Source:
    rng = np.random.default_rng(0)
    rows = ["age,dose,ill,site"]
    for number in range(40 * members):
        age, dose = rng.integers(18, 99), rng.random()
        ill = "yes" if rng.random() < age / 120 else "no"
        rows.append(f"{age},{dose},{ill},site-{number % members}")
    (folder / "records.csv").write_text("\n".join(rows) + "\n")
    return parse_study(STUDY.format(rounds=rounds), "study.toml", folder)


def resident(process: subprocess.Popen[bytes]) -> float:
    """Megabytes of memory that a process has."""
    try:
        text = Path(f"/proc/{process.pid}/status").read_text()
    except OSError:
        return 0.0
    found = re.search(r"VmRSS:\s+(\d+)", text)
    return 0.0 if found is None else int(found.group(1)) / 1024


def stored(rehearsal: Rehearsal, number: int) -> float:
    """Megabytes of a state folder."""
    state, total = rehearsal.folder / f"member-{number}" / "state", 0
    for path in state.rglob("*"):
        try:
            total += path.stat().st_size
        except OSError:
            continue
    return total / 2**20


def round_of(rehearsal: Rehearsal, number: int) -> int:
    try:
        path = rehearsal.folder / f"member-{number}" / "state" / "status.json"
        return int(json.loads(path.read_text())["round"])
    except (OSError, ValueError):
        return -1


class Soak:
    """The processes of a run."""

    def __init__(self, rehearsal: Rehearsal, seed: int) -> None:
        self.rehearsal, self.random = rehearsal, random.Random(seed)
        self.members = len(rehearsal.manifest.members)
        self.running = {i: rehearsal.start(i, "--verbose") for i in range(self.members)}
        # memory of each process at its first look after warming up, and the most since then
        self.warm: dict[int, float] = {}
        self.growth = 0.0
        self.born = {i: round_of(rehearsal, i) for i in self.running}

    def alive(self) -> list[int]:
        living = [i for i, process in self.running.items() if process.poll() is None]
        for i in set(self.running) - set(living):
            if self.running[i].returncode != 0:
                log = self.rehearsal.folder / f"member-{i}" / "log.txt"
                raise SystemExit(f"member {i} failed:\n{log.read_text()[-2000:]}")
        return living

    def kill_one(self) -> int:
        """Kill a member that has gone on since it was started, so that something can be lost."""
        moved = [i for i in self.alive() if round_of(self.rehearsal, i) > self.born[i] + 1]
        if not moved:
            return 0
        victim = self.random.choice(moved)
        self.running[victim].send_signal(signal.SIGKILL)
        self.running[victim].wait()
        self.born[victim] = round_of(self.rehearsal, victim)
        self.warm.pop(victim, None)
        self.running[victim] = self.rehearsal.start(victim, "--verbose")
        return 1

    def look(self, warm_rounds: int) -> tuple[float, float]:
        """The most memory and the largest state folder, in megabytes."""
        for i in self.alive():
            if round_of(self.rehearsal, i) > self.born[i] + warm_rounds:
                now = resident(self.running[i])
                self.growth = max(self.growth, now - self.warm.setdefault(i, now))
        return (
            max(map(resident, self.running.values())),
            max(stored(self.rehearsal, i) for i in range(self.members)),
        )

    def end(self) -> None:
        for process in self.running.values():
            process.kill()
            process.wait()


def judged(rehearsal: Rehearsal, rounds: int) -> None:
    """Everything that must hold at the end."""
    for number in range(len(rehearsal.manifest.members)):
        digests: dict[str, set[str]] = defaultdict(set)
        for line in (rehearsal.folder / f"member-{number}" / "log.txt").open(errors="replace"):
            if found := re.search(r"sent (\S+) (\S+)", line):
                digests[found.group(1)].add(found.group(2))
        twice = [key for key, each in digests.items() if len(each) > 1]
        ledger = rehearsal.folder / f"member-{number}" / "state" / "ledger"
        (balance,) = read(ledger).balances
        whole = verify(ledger).sound
        told: dict[str, Any] = results(rehearsal, number)
        print(
            f"member {number}: {len(digests):,} messages, {len(twice)} with two digests; "
            f"{balance.releases:,} releases, epsilon {told['epsilon_spent']:.6g}, ledger "
            f"{'whole' if whole else 'BROKEN'}",
            flush=True,
        )
        if twice or balance.releases != rounds or not whole or abs(balance.spent - 4.0) > 1e-3:
            raise SystemExit("something was lost or released twice")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20_000)
    parser.add_argument("--members", type=int, default=8)
    parser.add_argument("--kill-every", type=float, default=30.0, help="seconds")
    parser.add_argument("--kills", type=int, default=0, help="at most; 0: until the run ends")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with TemporaryDirectory() as name:
        folder = Path(name)
        study = a_study(folder, options.rounds, options.members)
        rehearsal = prepare(study, folder / "run", patience=300.0)
        soak, began, kills, last = Soak(rehearsal, options.seed), time.monotonic(), 0, 0.0
        killed = began
        try:
            while soak.alive():
                time.sleep(0.5)
                now = time.monotonic()
                if now - killed > options.kill_every and (
                    not options.kills or kills < options.kills
                ):
                    done = soak.kill_one()
                    kills, killed = kills + done, now if done else killed
                if now - last > 30.0:
                    memory, disk = soak.look(warm_rounds=100)
                    last = now
                    print(
                        f"{now - began:6.0f} s: round {round_of(rehearsal, 0):,}, {kills} kills, "
                        f"memory {memory:.0f} MB, grown by {soak.growth:.1f} since 100 rounds "
                        f"after a start, state {disk:.1f} MB",
                        flush=True,
                    )
        finally:
            soak.end()
        print(
            f"{options.rounds:,} rounds of {options.members} members with {kills} kills in "
            f"{time.monotonic() - began:.0f} s; memory grew by {soak.growth:.1f} MB at most, the "
            f"largest state folder has {max(stored(rehearsal, i) for i in range(soak.members)):.1f}"
            " MB"
        )
        judged(rehearsal, options.rounds)


if __name__ == "__main__":
    main()
