"""A member that is killed, started twice, emptied and put back at random, and what must hold then.

    python tests/end_to_end/state_kills.py FOLDER KILLS SEED [unguarded]

Each start is a process of its own with the real binding, ledger and journal of an agent; what it
sends, it appends to a file that stands for the network, which forgets nothing. Between kills its
owner makes mistakes: it starts a second process, with the same state or another; it empties the
state; it puts back a copy that was taken at some moment before, also while the member ran, or an
older copy of what stands beside the keys. No neighbour is asked: what is refused is refused by the
member's own disk. Nothing is lost by a mistake that was refused: the newest state is put back then.
A member without that guard must be found out.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from tacit.deploy.agreement.binding import Binding
from tacit.deploy.identity import keys as site_keys
from tacit.deploy.messages.outgoing import Account, Charge, Made, Outgoing, state_digest
from tacit.deploy.messages.wire import Address
from tacit.errors import RuntimeFailure, TacitError
from tacit.privacy.event import GaussianRelease
from tacit.privacy.ledger import Ledger, ReleaseId, read, verify
from tacit.privacy.ledger.reading import export_json

AGENT, DATASET, RUN = "north", "records", bytes(range(32))
EVENT = GaussianRelease(1e5)
PHASES = {"gradient": 0, "start": 1}
"""One releases, and one sends what is public, through the journal."""

LONGEST = 0.08
"""Seconds of releasing until a member is killed, at most."""

LINE = 128
MISTAKES = ("none", "twin", "twin elsewhere", "emptied", "put back", "keys put back")


def position(address: Address) -> int:
    """Two phases a round."""
    return 2 * address.round + address.phase


def member(folder: Path, state: Path, ready: int, *, guarded: bool) -> None:
    """Take turns for ever."""
    keys = site_keys.load(folder / "keys")
    network = os.open(folder / "sent", os.O_WRONLY | os.O_APPEND)
    with Binding(keys, RUN, state) as binding:
        if guarded:
            binding.bind("")
        path = binding.ledger if guarded else state / "ledger"
        if not path.exists():
            Ledger.create(path).close()
        with Ledger.open(path) as ledger:
            if not read(path).balances:
                ledger.set_budget(AGENT, DATASET, epsilon=10.0, delta=1e-6)
            account = Account(ledger, AGENT, DATASET, "record, add_remove")
            outgoing = Outgoing(
                state / "journal.db",
                RUN.hex(),
                account,
                PHASES,
                0,
                position,
                binding if guarded else None,
            )
            turns(network, outgoing, ready)


def turns(network: int, outgoing: Outgoing, ready: int) -> None:
    """Go on from the last message, and send it again."""
    resumed = outgoing.resume(np.zeros(4))
    at, x = (-1, np.zeros(4)) if resumed is None else resumed
    for made in list(outgoing._stored.items()):
        send(network, *made)
    os.write(ready, b".")
    while True:
        at += 1
        round, phase = divmod(at, 2)
        address = Address(RUN, 0, round, phase)
        noise = np.frombuffer(os.urandom(32), np.uint64) / 2.0**64
        made = Made(at, address.key(), (x + noise).tobytes() * 20)
        id = ReleaseId(AGENT, RUN.hex(), round + 1, "gradient")
        charge = None if phase else Charge(id, EVENT, state_digest(at, x))
        x = x + noise
        outgoing.commit(made, x, ["south"], charge)
        send(network, made.key, made.data)
        outgoing.settle(at - 5, every=4)


def send(network: int, key: str, data: bytes) -> None:
    """One line of the network's memory; its length divides that of a page."""
    line = f"{key} {hashlib.sha256(data).hexdigest()}".ljust(LINE - 1)
    os.write(network, f"{line}\n".encode())


def start(folder: Path, state: Path, *, guarded: bool) -> tuple[int, bool]:
    """A new process, once it takes turns or has been refused: its number, and whether it runs."""
    ready, tell = os.pipe()
    child = os.fork()
    if child:
        os.close(tell)
        runs = bool(os.read(ready, 1))
        os.close(ready)
        if not runs:
            os.waitpid(child, 0)
        return child, runs
    os.close(ready)
    try:
        member(folder, state, tell, guarded=guarded)
    except RuntimeFailure as error:
        with (folder / "refused").open("a") as file:
            file.write(f"{error}\n")
    except (TacitError, OSError) as error:
        with (folder / "errors").open("a") as file:
            file.write(f"{type(error).__name__}: {error}\n")
    finally:
        os._exit(1)


def kill(child: int) -> None:
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


class Owner:
    """Starts the member, kills it, and makes mistakes."""

    def __init__(self, folder: Path, seed: int, *, guarded: bool) -> None:
        self.folder, self.draw, self.guarded = folder, random.Random(seed), guarded
        self.state, self.runs = folder / "state", folder / "keys" / "runs"
        self.state.mkdir(mode=0o700)
        self.counts: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.copies: list[Path] = []

    def started(self) -> int | None:
        child, runs = start(self.folder, self.state, guarded=self.guarded)
        self.counts["starts" if runs else "refused"] += 1
        return child if runs else None

    def work(self, child: int) -> None:
        """Let it run for a moment, take a copy perhaps, and kill it."""
        time.sleep(self.draw.uniform(0.0, LONGEST))
        if self.draw.random() < 0.3:
            self.copy()
            time.sleep(self.draw.uniform(0.0, LONGEST))
        kill(child)
        self.counts["kills"] += 1

    def copy(self) -> None:
        """Of state and of what stands beside the keys, at any moment."""
        place = self.folder / f"copy-{len(self.copies)}"
        for source, name in ((self.state, "state"), (self.runs, "runs")):
            shutil.copytree(source, place / name, ignore_dangling_symlinks=True)
        (place / "state").chmod(0o700)
        self.copies.append(place)

    def instead(self, place: Path, other: Path | None) -> None:
        """Try to start with another folder in a place; put the newest back if that is refused."""
        newest = self.folder / "newest"
        place.rename(newest)
        if other is None:
            place.mkdir(mode=0o700)
        else:
            shutil.copytree(other, place)
        child = self.started()
        if child is not None:
            self.counts["begun again"] += 1
            self.work(child)
        if child is None:
            shutil.rmtree(place)
            newest.rename(place)
        else:  # nothing was sent since the copy, or nobody guards; now this is the newest
            shutil.rmtree(newest)

    def mistake(self, what: str) -> None:
        self.counts[what] += 1
        before = self.counts["refused"]
        if what == "emptied":
            self.instead(self.state, None)
        elif what in ("put back", "keys put back"):
            name, place = ("state", self.state) if what == "put back" else ("runs", self.runs)
            self.instead(place, self.draw.choice(self.copies) / name)
        elif what.startswith("twin"):
            first = self.started()
            assert first is not None, (self.folder / "refused").read_text()[-500:]
            other = self.folder / f"other-{self.counts[what]}-{self.counts['kills']}"
            other.mkdir(mode=0o700)
            state = self.state if what == "twin" else other
            second, runs = start(self.folder, state, guarded=self.guarded)
            self.counts["starts" if runs else "refused"] += 1
            if runs:
                self.counts["begun again"] += 1
                time.sleep(self.draw.uniform(0.0, LONGEST))
                kill(second)
                self.counts["kills"] += 1
            self.work(first)
        if self.counts["refused"] == before:
            self.counts[f"{what}: not refused"] += 1

    def go(self, kills: int) -> None:
        while self.counts["kills"] < kills:
            child = self.started()
            if child is None:
                self.wrong.append((self.folder / "refused").read_text().splitlines()[-1])
                return  # the newest state must always go on
            self.work(child)
            what = self.draw.choice(MISTAKES)
            if what == "none" or (what.endswith("put back") and not self.copies):
                continue
            self.mistake(what)


def check(folder: Path, *, guarded: bool) -> dict[str, Any]:
    """One digest for each message; every release that was sent is in the ledger, once."""
    (ledger,) = (
        (folder / "keys" / "runs").glob("*/ledger") if guarded else [folder / "state/ledger"]
    )
    answers: dict[str, set[str]] = {}
    for line in (folder / "sent").read_text().splitlines():
        key, digest = line.split()
        answers.setdefault(key, set()).add(digest)
    releases = {
        f"0/{what['round']}/0/0": what["payload_hash"]
        for entry in json.loads(export_json(ledger))["entries"]
        if entry["body"]["kind"] == "release" and (what := entry["body"]["what"])
    }
    released = {key for key in answers if key.split("/")[2] == "0"}
    found = verify(ledger)
    return {
        "messages": len(answers),
        "sent_twice_differently": sum(len(each) > 1 for each in answers.values()),
        "released": len(released),
        "sent_but_not_in_the_ledger": sum(answers[key] != {releases.get(key)} for key in released),
        "in_the_ledger": len(releases),
        "counted": sum(each.releases for each in read(ledger).balances),
        "problem": "" if found.sound else str(found),
    }


def main(folder: Path, kills: int, seed: int, unguarded: bool = False) -> dict[str, Any]:
    site_keys.create(folder / "keys", AGENT)
    (folder / "keys" / "runs").mkdir(mode=0o700)
    for name in ("sent", "errors", "refused"):
        (folder / name).touch()
    owner = Owner(folder, seed, guarded=not unguarded)
    owner.go(kills)
    return {
        **owner.counts,
        "newest_refused": owner.wrong,
        "errors": (folder / "errors").read_text().splitlines()[:3],
        **check(folder, guarded=not unguarded),
    }


if __name__ == "__main__":
    where, number, first, *rest = sys.argv[1:]
    print(json.dumps(main(Path(where), int(number), int(first), bool(rest))))
