"""Real members at random: killed, started twice, emptied and put back. No question has two answers.

The others run all the time, so that whatever a mistake lets out is seen by somebody. A long run:
`TACIT_KILLS=200 pytest -m slow tests/end_to_end/test_owners_mistakes.py` (an hour of a processor).
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest

from tacit.deploy.operate.rehearse import Rehearsal, prepare
from tacit.privacy.ledger import read, verify
from tests.end_to_end.site_study import a_study, log_of, round_of, sent

KILLS = int(os.environ.get("TACIT_KILLS", "12"))
ROUNDS, MEMBERS = 300, range(3)
MISTAKES = ("none", "twin", "elsewhere", "emptied", "put back", "keys put back")


class Owners:
    """Members of a run, and what their owners do to them."""

    def __init__(self, rehearsal: Rehearsal, seed: int) -> None:
        self.rehearsal, self.draw = rehearsal, random.Random(seed)
        self.running = {number: self.start(number) for number in MEMBERS}
        self.copies: dict[int, Path] = {}
        self.done: Counter[str] = Counter()

    def start(self, number: int) -> subprocess.Popen[bytes]:
        return self.rehearsal.start(number, "--verbose")

    def place(self, number: int, name: str) -> Path:
        return self.rehearsal.folder / f"member-{number}" / name

    def kill(self, number: int) -> None:
        self.running[number].kill()
        self.running[number].wait()
        self.done["kills"] += 1

    def start_again(self, number: int) -> None:
        """Start a member, and kill it when it has sent something more."""
        before, ends = len(sent(self.rehearsal, number)), time.monotonic() + 120
        self.running[number] = self.start(number)
        while len(sent(self.rehearsal, number)) <= before:
            assert time.monotonic() < ends
            time.sleep(0.05)
        self.running[number].kill()
        self.running[number].wait()

    def refused(self, command: list[str]) -> None:
        """A start that must end by itself, with a sentence that says why."""
        ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        assert ended.returncode == 1 and "error: " in ended.stderr, ended.stderr[-2000:]
        assert " sent " not in ended.stderr and "Traceback" not in ended.stderr, ended.stderr
        self.done["refused"] += 1

    def copy(self, number: int) -> None:
        """Of state and keys, while the member runs."""
        copy = self.rehearsal.folder / f"copy-{number}"
        shutil.rmtree(copy, ignore_errors=True)
        for name in ("state", "keys"):
            shutil.copytree(self.place(number, name), copy / name, ignore_dangling_symlinks=True)
            (copy / name).chmod(0o700)
        self.copies[number] = copy

    def instead(self, number: int, name: str, other: Path | None) -> None:
        """Try to start with another folder in a place; then put the newest back."""
        place, newest = self.place(number, name), self.rehearsal.folder / "newest"
        place.rename(newest)
        if other is None:
            place.mkdir(mode=0o700)
        else:
            shutil.copytree(other, place)
        self.refused(self.rehearsal.command(number, "--verbose"))
        shutil.rmtree(place)
        newest.rename(place)

    def mistake(self, what: str, number: int) -> None:
        self.done[what] += 1
        if what in ("twin", "elsewhere"):
            command = self.rehearsal.command(number, "--verbose")
            if what == "elsewhere":
                command[command.index("--state") + 1] = str(self.place(number, "other"))
            self.refused(command)
            return
        self.kill(number)
        if what == "emptied":
            self.instead(number, "state", None)
        elif what != "none":
            name = "state" if what == "put back" else "keys"
            if what == "put back":
                # from the ledger beside the keys it would go on with a copy of the same start
                self.start_again(number)
            self.instead(number, name, self.copies.pop(number) / name)
        self.running[number] = self.start(number)

    def go(self, kills: int) -> None:
        """Until the run has ended; no mistakes after so many kills."""
        moved, ends = dict.fromkeys(MEMBERS, 0), time.monotonic() + 3600
        while any(process.poll() is None for process in self.running.values()):
            assert time.monotonic() < ends
            for number, process in self.running.items():
                assert process.poll() in (None, 0), log_of(self.rehearsal, number)[-3000:]
            time.sleep(self.draw.uniform(0.0, 0.3))
            number = self.draw.choice(MEMBERS)
            now = len(sent(self.rehearsal, number))
            if self.running[number].poll() is not None or now <= moved[number]:
                continue
            if round_of(self.rehearsal, number) > ROUNDS - 5:
                continue
            if number not in self.copies:
                self.copy(number)
                # a copy is an old one when the member has gone further, and the last message in
                # the copy may not have been sent yet
                moved[number] = len(sent(self.rehearsal, number)) + 1
            elif self.done["kills"] < kills:
                self.mistake(self.draw.choice(MISTAKES), number)
                moved[number] = len(sent(self.rehearsal, number))


@pytest.mark.slow
def test_no_mistake_of_owners_makes_a_real_member_answer_twice(tmp_path: Path) -> None:
    done: Counter[str] = Counter()
    while done["kills"] < KILLS:
        folder = tmp_path / f"run-{done['kills']}"
        folder.mkdir()
        owners = Owners(prepare(a_study(folder, rounds=ROUNDS), folder / "run"), done["kills"])
        try:
            owners.go(KILLS - done["kills"])
        finally:
            for process in owners.running.values():
                process.kill()
                process.wait()
        done += owners.done
        for number in MEMBERS:
            told = sent(owners.rehearsal, number)
            assert all(len(digests) == 1 for digests in told.values())
            # killed between the disk and the network, it sends after its next start
            assert {key for key in told if key.split("/")[2] == "0"} == {
                f"{number}/{round}/0/0" for round in range(1, ROUNDS + 1)
            }
            ledger = owners.rehearsal.ledger(number)
            assert verify(ledger).sound
            assert sum(each.releases for each in read(ledger).balances) == ROUNDS
            assert not list(owners.place(number, "state").glob("evidence/*"))
    print(dict(done))
    if KILLS >= 100:
        assert all(done[what] for what in MISTAKES)
