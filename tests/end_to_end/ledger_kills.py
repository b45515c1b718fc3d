"""Agents that are killed while they release, again and again, and what must hold afterwards.

    python tests/end_to_end/ledger_kills.py FOLDER KILLS SEED [careless]

Each agent is a process of its own that goes on from where the ledger stands. What it sends, it
appends to a file: that file stands for the network, which forgets nothing. A careless agent sends
before it has prepared; it must be found out.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from tacit.errors import TacitError
from tacit.privacy.event import GaussianRelease
from tacit.privacy.ledger import Ledger, Prepared, ReleaseId, verify
from tacit.privacy.ledger.reading import export_json

AGENT, RUN, DATASET = "clinic", "run", "visits"
RECIPIENTS = ("north", "south")
EVENT = GaussianRelease(1e5)
LONGEST = 0.05
"""Seconds of releasing until an agent is killed, at most."""

LINE = 128
"""Bytes of a line in the network's memory."""

OPENING = 0.1
"""Share of the agents that are killed while they open the ledger instead."""


def agent(folder: Path, seed: int, careless: bool, ready: int) -> None:
    """Release for ever."""
    draw = random.Random(seed)
    network = os.open(folder / "sent", os.O_WRONLY | os.O_APPEND)
    with Ledger.open(folder / "ledger") as ledger:
        for one in ledger.outstanding():
            send(network, one.id, one.payload)
            ledger.acknowledge(one.id, *RECIPIENTS)
        last = ledger.latest(AGENT, RUN)
        round = 0 if last is None else last.id.round + 1
        state = b"" if last is None or last.state is None else last.state
        os.write(ready, b".")
        while True:
            id = ReleaseId(AGENT, RUN, round, "gradient")
            # fresh randomness: an answer that is drawn twice is another one
            payload = os.urandom(draw.choice([80, 80, 8000, 80000]))
            if careless:
                send(network, id, payload)
            known = hashlib.sha256(state).hexdigest()
            state = hashlib.sha256(state + payload).digest()
            prepared = ledger.stored(id, known) or ledger.prepare(
                id,
                EVENT,
                payload,
                input_hash=known,
                dataset=DATASET,
                recipients=RECIPIENTS,
                state=state,
            )
            deliver(network, ledger, prepared, draw)
            round += 1


def deliver(network: int, ledger: Ledger, prepared: Prepared, draw: random.Random) -> None:
    """Send, and hear from some of the recipients."""
    send(network, prepared.id, prepared.payload)
    for who in RECIPIENTS:
        if draw.random() < 0.5:
            ledger.acknowledge(prepared.id, who)


def send(network: int, id: ReleaseId, payload: bytes | None) -> None:
    """One line of the network's memory.

    Its length divides that of a page: where one ends, a kill can cut a write short.
    """
    assert payload is not None
    line = f"{id.round} {hashlib.sha256(payload).hexdigest()}".ljust(LINE - 1)
    os.write(network, f"{line}\n".encode())


def start(folder: Path, seed: int, careless: bool, *, wait: bool) -> tuple[int, int]:
    """A new process, by default once it releases; its number, and the pipe to be closed."""
    ready, tell = os.pipe()
    child = os.fork()
    if child:
        os.close(tell)
        if wait:
            os.read(ready, 1)
        return child, ready
    os.close(ready)
    try:
        agent(folder, seed, careless, tell)
    except (TacitError, OSError) as error:
        with (folder / "errors").open("a") as file:
            file.write(f"{error}\n")
    finally:
        os._exit(1)


def check(folder: Path) -> dict[str, int | str]:
    """Every answer that was sent is the one in the ledger, and there is one for each question."""
    found = verify(folder / "ledger")
    entries = json.loads(export_json(folder / "ledger"))["entries"]
    stored = {
        one["body"]["what"]["round"]: one["body"]["what"]["payload_hash"]
        for one in entries
        if one["body"]["kind"] == "release"
    }
    sent = [line.split() for line in (folder / "sent").read_text().splitlines()]
    answers: dict[int, set[str]] = {}
    for round, answer in sent:
        answers.setdefault(int(round), set()).add(answer)
    return {
        "problem": found.problem,
        "entries": len(entries),
        "releases": len(stored),
        "sent": len(sent),
        "sent_twice_differently": sum(len(given) > 1 for given in answers.values()),
        "sent_but_not_on_disk": sum(not given <= {stored.get(r)} for r, given in answers.items()),
    }


def main(folder: Path, kills: int, seed: int, careless: bool = False) -> dict[str, int | str]:
    draw = random.Random(seed)
    with Ledger.create(folder / "ledger") as ledger:
        ledger.set_budget(AGENT, DATASET, epsilon=10.0, delta=1e-6)
        # loads here, once, what every agent would load
        ledger.check(AGENT, DATASET, [EVENT])
    (folder / "sent").touch()
    (folder / "errors").touch()
    killed = 0
    for i in range(kills):
        wait = draw.random() >= OPENING
        child, ready = start(folder, draw.randrange(2**32), careless, wait=wait)
        time.sleep(draw.uniform(0.0, LONGEST))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        os.close(ready)
        killed += os.WIFSIGNALED(status)
        if i % 50 == 0 and not verify(folder / "ledger").sound:
            break
    errors = (folder / "errors").read_text().splitlines()
    return {"killed": killed, "errors": "; ".join(errors), **check(folder)}


if __name__ == "__main__":
    where, number, first, *rest = sys.argv[1:]
    print(json.dumps(main(Path(where), int(number), int(first), bool(rest))))
